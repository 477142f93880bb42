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
	var count numberFlag
	var resume textFlag
	command := &cobra.Command{
		Use: "generate CUSTOMER --count N --reward REWARD", Short: "Generate a batch of codes that cannot be guessed", Args: exactly("CUSTOMER"),
		Long: fmt.Sprintf(`Generate a batch of vouchers that differ in nothing but their codes, each of which has 80 bits of
randomness. A code is printed on a line of its own once its voucher is stored; a summary goes to stderr.

The batch is called as --batch says, or gets a name, which is told. Where the command was interrupted, all
that was printed is stored, and all that is stored belongs to the batch: run it again with --resume BATCH in
place of --batch, with the same other flags. That prints what is stored and completes it to --count, at most
%d. Run it once at a time for a batch. Vouchers of it that were edited meanwhile stay as they are; it is
refused where one has another reward, or a limit of another kind (1, more, none), than the flags say.

What an interrupted run was storing, %d codes at most, may reach the store after the batch was completed:
the batch then has more than --count, and those were not printed. Run with --resume once more, the command
is refused and says how many there are; with that --count it prints them all.

`, voucher.MaxGenerated, voucher.GenerateWriters) + rewardHelp,
		Example: `  shopctl --local voucher generate emberforge --count 500 --reward coins/500 --batch launch > launch.txt
  shopctl --local voucher generate emberforge --count 500 --reward coins/500 --resume launch > launch.txt`,
	}
	command.RunE = s.command(func(ctx context.Context, args []string) error {
		switch {
		case count == 0:
			return misused("--count is missing: give how many codes the batch is to have")
		case resume != "" && command.Flags().Changed("batch"):
			return misused("give --batch to begin a batch, or --resume to complete it, not both")
		case command.Flags().Changed("batch") && flags.batch == "":
			return misused("--batch must not be empty")
		}
		shop, err := s.shop(ctx, args[0])
		if err != nil {
			return err
		}
		terms, err := s.terms(ctx, shop, &flags)
		if err != nil {
			return err
		}
		if resume != "" {
			terms.Batch = string(resume)
		}
		named := terms.Batch != ""
		if !named {
			if terms.Batch, err = s.nameBatch(); err != nil {
				return err
			}
		}
		order := voucher.BatchOrder{Customer: shop.Customer.ID, Terms: terms, Count: int(count), Resume: resume != ""}
		if err := order.Validate(); err != nil {
			return err
		}
		if !named {
			s.summary(map[string]string{"batch": terms.Batch}, "batch "+terms.Batch)
		}
		return s.generate(ctx, shop, order)
	})
	flags.add(command.Flags())
	command.Flags().Var(&count, "count", "how many vouchers the batch is to have (required)")
	command.Flags().Var(&resume, "resume", "complete the batch `BATCH`, which was begun with the same flags")
	return command
}

// nameBatch makes a name that no other batch has.
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
	Found    int    `json:"found"`   // were there before
	Created  int    `json:"created"` // by this command; where it failed, at least
}

func (s *session) generate(ctx context.Context, shop *operator.Shop, order voucher.BatchOrder) error {
	bar := s.newProgress("generate", order.Count, s.stdout)
	result, err := shop.Generator(s.random, s.now).Generate(ctx, order, func(v voucher.Voucher) error {
		bar.step()
		return s.line(generatedJSON{v.Written, v.Batch}, v.Written)
	})
	bar.end()
	if result == (voucher.BatchResult{}) && err != nil {
		return err
	}
	batch := order.Terms.Batch
	created := fmt.Sprintf("%d created", result.Created)
	if err != nil {
		created = "at least " + created // the answers to the last writes may be lost
	}
	if order.Resume {
		created = fmt.Sprintf("%d were there, %s", result.Found, created)
	}
	s.summary(map[string]batchSummaryJSON{"summary": {string(shop.Customer.ID), batch, result.Found, result.Created}}, "batch "+batch+": "+created)
	if err == nil {
		return nil
	}
	stopped := s.explain(err)[0]
	stopped.next = fmt.Sprintf("to complete the batch to %d run the command with --resume %s", order.Count, shellWord(batch))
	return stopped
}
