package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shopfront/pkg/operator"
	"shopfront/pkg/voucher"
)

func newVoucherGenerateCommand(s *session) *cobra.Command {
	var flags createFlags
	var count int
	var resume string
	command := &cobra.Command{
		Use: "generate CUSTOMER --count N --reward REWARD", Short: "Generate a batch of codes that cannot be guessed", Args: exactly("CUSTOMER"),
		Long: fmt.Sprintf(`Generate a batch of vouchers with random codes of 80 bits. The vouchers are the same except for their codes. The
command prints each code on its own line when the voucher is stored, and a summary to stderr. Without --batch it
makes up a name for the batch and prints it. A batch has at most %d vouchers.

After an interruption, every printed code is stored, and every stored code belongs to the batch. Run the command
again with --resume BATCH instead of --batch and the same other flags: it prints the stored codes and completes
the batch to --count. Do not run it twice at once for one batch. Vouchers that were edited in between stay as
they are, and the command says how many are disabled. The command refuses to resume if a voucher has another
reward than the flags, or another kind of limit (1, more than 1, none).

Up to %d codes of an interrupted run may still be in flight, and be stored after the batch was completed. The
batch then has more vouchers than --count, and their codes were not printed. With --resume the command then
refuses and says how many vouchers exist; run it with that --count to print them all.

`, voucher.MaxGenerated, operator.MaxWriters) + rewardHelp,
		Example: `  shopctl --local voucher generate emberforge --count 500 --reward coins/500 --batch launch > launch.txt
  shopctl --local voucher generate emberforge --count 500 --reward coins/500 --resume launch > launch.txt`,
	}
	command.RunE = s.command(func(ctx context.Context, args []string) error {
		switch {
		case count == 0:
			return misused("--count is missing: say how many codes to generate")
		case resume != "" && command.Flags().Changed("batch"):
			return misused("give --batch to start a batch, or --resume to complete one, not both")
		}
		shop, err := s.shop(ctx, args[0])
		if err != nil {
			return err
		}
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
		order := voucher.BatchOrder{Customer: shop.Customer.ID, Terms: terms, Count: count, Resume: resume != ""}
		if err := order.Validate(); err != nil {
			return err
		}
		if !named {
			s.summary(map[string]string{"batch": terms.Batch}, "batch "+terms.Batch)
		}
		return s.generate(ctx, shop, order)
	})
	flags.add(command.Flags())
	command.Flags().Var(numberFlag(&count), "count", "how many vouchers the batch gets in all (required)")
	command.Flags().Var(textFlag(&resume), "resume", "complete the batch `BATCH`, which was started with the same flags")
	return command
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
	Customer string `json:"customer"`
	Batch    string `json:"batch"`
	Found    int    `json:"found"`   // existed before
	Created  int    `json:"created"` // by this command; a lower bound if it failed
}

func (s *session) generate(ctx context.Context, shop *operator.Shop, order voucher.BatchOrder) error {
	bar := s.newProgress("generated", order.Count, s.stdout)
	disabled := 0
	result, err := shop.Generator(s.random, s.now, s.bulk("", bar)).Generate(ctx, order, func(v voucher.Voucher) error {
		bar.step()
		if v.Disabled && !order.Terms.Disabled {
			disabled++
		}
		return s.line(generatedJSON{v.Written, v.Batch}, v.Written)
	})
	bar.end()
	if result == (voucher.BatchResult{}) && err != nil {
		return err
	}
	batch := order.Terms.Batch
	created := fmt.Sprintf("%d created", result.Created)
	if err != nil {
		created = "at least " + created // responses to the last writes may be lost
	}
	if order.Resume {
		created = fmt.Sprintf("%d existed, %s", result.Found, created)
	}
	s.summary(map[string]batchSummaryJSON{"summary": {string(shop.Customer.ID), batch, result.Found, result.Created}}, "batch "+batch+": "+created)
	if disabled > 0 {
		s.warn(fmt.Sprintf("batch %s has %s, and new ones are not disabled: to enable all run %s %s --batch %s",
			batch, countOf(disabled, "disabled voucher"), s.commandLine("voucher enable"), shop.Customer.ID, shellWord(batch)))
	}
	if err == nil {
		return nil
	}
	stopped := s.explain(err)[0]
	stopped.next = fmt.Sprintf("to complete the batch to %d run the command with --resume %s", order.Count, shellWord(batch))
	return stopped
}
