package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/csvfile"
)

// importedJSON is the result of an import, in rows of the file.
type importedJSON struct {
	Shop       string `json:"customer"`
	DryRun     bool   `json:"dryRun"`
	Created    int    `json:"created"`    // with dryRun: would be created
	Existed    int    `json:"existed"`    // with the same terms; unchanged
	OtherTerms int    `json:"otherTerms"` // exist with other terms; unchanged
	Rejected   int    `json:"rejected"`
}

// voucherImport is one run of voucher import.
type voucherImport struct {
	*session

	skipInvalid, dryRun bool
	path                string     // of the imported file
	rejected            *wholeFile // nil: no row was rejected so far
	bar                 progress
}

func newVoucherImportCommand(s *session) *cobra.Command {
	i := &voucherImport{session: s}
	command := &cobra.Command{
		Use: "import SHOP FILE.csv", Short: "Create the vouchers of a CSV file",
		Args: exactly("SHOP", "FILE.csv"),
		Long: fmt.Sprintf(`Create the vouchers of a CSV file in UTF-8, such as shopctl voucher export writes. Its first row names the columns:
  code, reward                      required; a reward is written as in voucher create
  max-uses, max-uses-per-nick, valid-from, valid-until, disabled, nick, batch, note, parts
                                    as the flags of voucher create; an empty cell means the default
  redeemed_at, redeemed_by          when, and by which nick, a single-use code was used in another system
  uses                              how often a code with many uses was used in another system
  created_at                        when the code was created; an empty cell means now

The command ignores the other columns of an export, but checks reward_currency. An unknown column is an error. Imported
uses count as uses of the code, but make no events. A file has at most %d rows.

The command checks the whole file first, and names each mistake with its line. If there are any, it writes nothing.
With --skip-invalid it imports the other rows, and copies the rejected ones to FILE.rejected.csv, with the reason in
the first column. The command never overwrites a code that exists: it rejects a row whose terms differ. Whenever it
rejects a row, it exits with %d. It warns of a code with more uses than its limit.

If the command is interrupted, run it again to complete it. A further run changes nothing. With --skip-invalid, move
FILE.rejected.csv away first.`, csvfile.MaxRows, exitRefused),
		Example: `  shopctl --local voucher export emberforge --batch summer --output summer.csv
  shopctl --local voucher import emberforge summer.csv --dry-run
  shopctl --local voucher import emberforge summer.csv --skip-invalid`,
		ValidArgsFunction: func(command *cobra.Command, args []string, typed string) ([]cobra.Completion,
			cobra.ShellCompDirective,
		) {
			if len(args) == 1 {
				return []cobra.Completion{"csv"}, cobra.ShellCompDirectiveFilterFileExt
			}
			return completer(s.shopNames)(command, args, typed)
		},
		RunE: s.command(i.run),
	}
	command.Flags().BoolVar(&i.skipInvalid, "skip-invalid", false, "import the other rows if some cannot be imported")
	command.Flags().BoolVar(&i.dryRun, "dry-run", false, "say what would be imported, and change nothing")
	return command
}

func (i *voucherImport) run(ctx context.Context, args []string) error {
	i.path = args[1]
	errNotSeekable := misused("import reads FILE.csv twice, so it cannot be standard input or a pipe: give the path of a file")
	if i.path == "-" {
		return errNotSeekable
	}
	file, err := os.Open(i.path)
	if err != nil {
		return misused("read vouchers: %s", err)
	}
	defer func() { _ = file.Close() }() // the file is only read
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return errNotSeekable
	}
	if _, err := os.Lstat(i.rejectedPath()); err == nil && i.keepsRejected() {
		return refused(kindExists, "%s exists: move or delete it first, because it would get the rejected rows",
			i.rejectedPath())
	}
	shop, err := i.shop(ctx, args[0])
	if err != nil {
		return err
	}
	label := "imported"
	if i.dryRun {
		label = "checked"
	}
	result, err := shop.Import(ctx, file, backoffice.ImportOptions{
		Bulk: i.bulk(label, &i.bar), SkipInvalid: i.skipInvalid, DryRun: i.dryRun, Now: i.now(), Random: i.random,
		Reject: i.reject, OverLimit: func(row csvfile.Row) {
			i.warn(fmt.Sprintf("%s line %d: %d uses of %d: the code is imported as used up", i.path, row.Line,
				row.Past.Uses, *row.Terms.MaxUses))
		},
	})
	i.bar.end()
	if i.rejected != nil {
		err = i.rejected.end(err)
	}
	return i.report(string(shop.Profile.ID), result, err)
}

func (i *voucherImport) keepsRejected() bool { return i.skipInvalid && !i.dryRun }

func (i *voucherImport) rejectedPath() string {
	return strings.TrimSuffix(i.path, ".csv") + ".rejected.csv"
}

// reject reports why a row is not imported. With --skip-invalid it also copies the row to the file of rejected rows.
func (i *voucherImport) reject(row csvfile.Row, why error) (err error) {
	i.bar.end()
	var reasons []string
	for _, p := range i.explain(why) {
		reasons = append(reasons, p.message)
		p.message = fmt.Sprintf("%s line %d: %s", i.path, row.Line, p.message)
		i.reportProblems([]*problem{p})
	}
	if !i.keepsRejected() {
		return nil
	}
	if i.rejected == nil {
		if i.rejected, err = newWholeFile(i.rejectedPath()); err != nil {
			return err
		}
		if _, err := i.rejected.Write(row.RejectedHeader()); err != nil {
			return err
		}
	}
	_, err = i.rejected.Write(row.Rejected(strings.Join(reasons, "; ")))
	return err
}

func (i *voucherImport) report(shop string, result backoffice.ImportResult, err error) error {
	text := fmt.Sprintf("created %d", result.Created)
	if i.dryRun {
		text = fmt.Sprintf("would create %d", result.Created)
	}
	for _, part := range []struct {
		count int
		what  string
	}{
		{result.Existed, "existed %d (unchanged)"},
		{result.OtherTerms, "%d with other terms (unchanged)"},
		{result.Rejected, "%d rejected"},
	} {
		if part.count > 0 {
			text += ", " + fmt.Sprintf(part.what, part.count)
		}
	}
	_, isInvalid := errors.AsType[*backoffice.InvalidFileError](err)
	switch {
	case errors.Is(err, backoffice.ErrInvalidRows):
		return refused(kindInvalid, "%s of %s cannot be imported; nothing was written: correct the file, or import "+
			"the other rows with --skip-invalid",
			countOf(result.Rejected, "row"), i.path)
	case isInvalid:
		return refused(kindInvalid, "%s: %s", i.path, err)
	case err != nil:
		if result != (backoffice.ImportResult{}) {
			i.note(text + ", then stopped")
		}
		return err
	}
	if err := i.line(importedJSON{
		Shop: shop, DryRun: i.dryRun, Created: result.Created, Existed: result.Existed,
		OtherTerms: result.OtherTerms, Rejected: result.Rejected,
	}, text); err != nil {
		return err
	}
	kind, place := kindInvalid, i.path
	if result.Rejected == 0 {
		kind = kindExists
	}
	if i.rejected != nil {
		place = i.rejectedPath()
	}
	instead := ""
	if result.OtherTerms > 0 {
		instead = ", or run " + i.commandLine("voucher edit") + " for codes with other terms"
	}
	if rejected := result.Rejected + result.OtherTerms; rejected > 0 {
		return refused(kind, "not imported: %s: correct %s and import it%s", countOf(rejected, "row"), place, instead)
	}
	return nil
}
