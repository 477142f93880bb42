package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/csvfile"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

func newVoucherGenerateCommand(s *session) *cobra.Command {
	var flags createFlags
	codes := codeFlags{format: voucher.DefaultCodeFormat(), rows: "text", qr: qrFolder{format: "png"}}
	var count int
	var resume string
	command := &cobra.Command{
		Use: "generate SHOP --count N --reward REWARD", Short: "Generate a batch of codes that cannot be guessed",
		Args: exactly("SHOP"),
		Long: fmt.Sprintf(`Generate a batch of vouchers with codes of at least 80 random bits. The vouchers are the same except for their
codes. The command prints each code on its own line when the voucher is stored, and a summary to stderr. Without
--batch it makes up a name for the batch and prints it. A batch has at most %d vouchers.

--prefix, --length and --group say what the codes look like, such as XMAS-7K3M-Q2ZD-9F4T-XB6W. With --format csv the
command prints the columns code, reward, valid-until and link, for a mail merge. --link is a web page of yours; {code}
in it stands for the code. --qr writes each code's QR code to a file with the code's name. It contains the link, or the
code if there is no link.

After an interruption, every printed code is stored, and every stored code belongs to the batch. Run the command
again with the same flags, but with --resume BATCH instead of --batch: it prints the stored codes and completes
the batch to --count. Do not run it twice at once for one batch. Vouchers that were edited in between stay as
they are, and the command says how many are disabled. The command refuses to resume if a voucher's reward
differs from the flags, or if its limit is of another kind: one use, several uses, or no limit.

Up to %d codes of an interrupted run may still be in flight, and be stored after the batch was completed. The
batch then has more vouchers than --count, and the extra codes were not printed. With --resume the command then
refuses and says how many vouchers exist; run it with that --count to print all codes.

`, voucher.MaxGenerated, backoffice.MaxWriters) + rewardHelp,
		Example: `  shopctl --local voucher generate emberforge --count 500 --reward coins/500 --batch launch > launch.txt
  shopctl --local voucher generate emberforge --count 500 --reward coins/500 --resume launch > launch.txt
  shopctl --local voucher generate emberforge --count 500 --reward 20% --prefix XMAS --qr posters --qr-format svg
  shopctl --local voucher generate emberforge --count 500 --reward 20% --format csv --link 'https://shop.example/redeem?code={code}' > mail.csv`,
	}
	command.PreRunE = func(*cobra.Command, []string) error {
		switch {
		case count == 0:
			return errors.New("--count is missing: say how many codes to generate")
		case resume != "" && command.Flags().Changed("batch"):
			return errors.New("give --batch to start a batch, or --resume to complete one, not both")
		}
		return codes.check(command.Flags(), s.json)
	}
	command.RunE = s.shopCommand(func(ctx context.Context, shop *backoffice.Shop, _ []string) error {
		if resume != "" {
			flags.batch = resume
		}
		terms, err := s.terms(ctx, shop, &flags)
		if err != nil {
			return err
		}
		named := terms.Batch != ""
		if !named {
			if terms.Batch, err = s.nameBatch(); err != nil {
				return err
			}
		}
		request := voucher.BatchRequest{
			Terms: terms, Count: count, Format: codes.format,
			Resume: resume != "",
		}
		if err := request.Validate(); err != nil {
			return err
		}
		issue, err := s.issuer(&codes)
		if err != nil {
			return err
		}
		if !named {
			s.summary(map[string]string{"batch": terms.Batch}, "batch "+terms.Batch)
		}
		return s.generate(ctx, shop, request, issue)
	})
	flags.add(command.Flags())
	codes.add(command)
	command.Flags().Var(numberFlag(&count, 1), "count", "how many vouchers the batch gets in all (required)")
	command.Flags().Var(textFlag(&resume), "resume",
		"complete the batch `BATCH`, which was started with the same flags")
	return command
}

// codeFlags say what generated codes look like, and where they go.
type codeFlags struct {
	format voucher.CodeFormat
	rows   string // text or csv
	link   string
	qr     qrFolder
}

func (f *codeFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.Var(textFlag(&f.format.Prefix), "prefix",
		"begin each code with `TEXT`: letters, digits, and dashes between them")
	flags.Var(numberFlag(&f.format.Length, 0), "length", "make codes of `N` random characters, 16 to 48")
	flags.Var(numberFlag(&f.format.Group, 0), "group", "put a dash after every `N` characters; 0 means no dashes")
	addChoice(command, &f.rows, "format", "what to print", "text", "csv")
	flags.Var(linkFlag(&f.link), "link", "a `URL` with {code} in it, for --format csv and --qr")
	flags.Var(textFlag(&f.qr.path), "qr", "write QR codes to the folder `DIR`")
	addChoice(command, &f.qr.format, "qr-format", "the format of the QR codes", "png", "svg")
}

func (f *codeFlags) check(flags *pflag.FlagSet, json bool) error {
	switch {
	case json && f.rows == "csv":
		return errors.New("give --format csv or --json, not both")
	case f.link != "" && f.rows != "csv" && f.qr.path == "":
		return errors.New("--link is for --format csv and --qr: give one of them, or both")
	case flags.Changed("qr-format") && f.qr.path == "":
		return errors.New("--qr-format is for --qr: name the folder of the QR codes with --qr")
	}
	if field, is := errors.AsType[*voucher.FieldError](f.format.Validate()); is {
		return fmt.Errorf("--%s: %w", field.Field, field.Err)
	}
	return nil
}

// linkFlag is a URL with {code} in it.
func linkFlag(value *string) *parsedFlag {
	return &parsedFlag{kind: "URL", parse: func(text string) error {
		*value = text
		link, err := url.Parse(text)
		if err != nil || link.Scheme != "https" && link.Scheme != "http" || link.Host == "" ||
			strings.Contains(text, " ") ||
			strings.Count(text, codeInLink) != 1 {
			return errors.New("must be a URL with exactly one {code}, after the host, such as " +
				"https://shop.example/redeem?code={code}")
		}
		return nil
	}}
}

const codeInLink = "{code}"

// issuer returns a function that prints a voucher and writes its QR code. Nothing is printed before the first voucher.
func (s *session) issuer(f *codeFlags) (func(voucher.Voucher) error, error) {
	if f.qr.path != "" {
		if err := os.MkdirAll(f.qr.path, 0o750); err != nil {
			return nil, err
		}
	}
	rows := csvfile.NewWriter(s.file(), "code", "reward", "valid-until", "link")
	return func(v voucher.Voucher) error {
		// a resumed batch may have codes that an operator wrote, with spaces
		link := strings.Replace(f.link, codeInLink, url.PathEscape(v.Written), 1)
		if f.qr.path != "" {
			if err := f.qr.write(v.Written, cmp.Or(link, v.Written)); err != nil {
				return err
			}
		}
		if f.rows == "csv" {
			return errors.Join(rows.Row(v.Written, v.Reward.String(), wire.Time(v.ValidUntil), link), rows.Flush())
		}
		return s.line(generatedJSON{v.Written, v.Batch}, v.Written)
	}, nil
}

// nameBatch makes up a name that no other batch has.
func (s *session) nameBatch() (string, error) {
	random, err := voucher.GenerateCode(s.random)
	if err != nil {
		return "", err
	}
	return "generated-" + s.now().UTC().Format(time.DateOnly) + "-" + strings.ToLower(random[:4]+random[5:9]), nil
}

type generatedJSON struct {
	Code  string `json:"code"`
	Batch string `json:"batch"`
}

type batchSummaryJSON struct {
	Shop    string `json:"customer"`
	Batch   string `json:"batch"`
	Found   int    `json:"found"`   // existed before the command
	Created int    `json:"created"` // by this command; a lower bound if it failed
}

func (s *session) generate(
	ctx context.Context, shop *backoffice.Shop, request voucher.BatchRequest, issue func(voucher.Voucher) error,
) error {
	bar := s.newProgress("generated", request.Count, s.stdout)
	disabled := 0
	result, err := shop.Generator(s.random, s.now, s.bulk("", bar)).Generate(ctx, request, func(v voucher.Voucher) error {
		bar.step()
		if v.Disabled && !request.Terms.Disabled {
			disabled++
		}
		return issue(v)
	})
	bar.end()
	if result == (voucher.BatchResult{}) && err != nil {
		return err
	}
	batch := request.Terms.Batch
	created := fmt.Sprintf("%d created", result.Created)
	if err != nil {
		created = "at least " + created // responses to the last writes may be lost
	}
	if request.Resume {
		created = fmt.Sprintf("%d existed, %s", result.Found, created)
	}
	s.summary(map[string]batchSummaryJSON{"summary": {string(shop.Profile.ID), batch, result.Found, result.Created}},
		"batch "+batch+": "+created)
	if disabled > 0 {
		s.warn(fmt.Sprintf("batch %s has %s, and the vouchers created now are enabled: to enable all, run %s %s "+
			"--batch %s",
			batch, countOf(disabled, "disabled voucher"), s.commandLine("voucher enable"), shop.Profile.ID,
			shellWord(batch)))
	}
	if err == nil {
		return nil
	}
	stopped := s.explain(err)[0]
	stopped.next = fmt.Sprintf("to complete the batch of %d, run the command with --resume %s", request.Count,
		shellWord(batch))
	return stopped
}
