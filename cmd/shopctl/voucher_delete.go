package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/voucher"
)

type deletedVoucherJSON struct {
	Shop string `json:"customer"`
	Code string `json:"code"` // as written at creation
}

type deletedBatchJSON struct {
	Shop     string `json:"customer"`
	Batch    string `json:"batch"`
	Vouchers int    `json:"vouchers"` // in the batch
	Deleted  int    `json:"deleted"`
	Kept     int    `json:"kept"` // because they were redeemed or held
}

func newVoucherDeleteCommand(s *session) *cobra.Command {
	var batch string
	var yes bool
	command := &cobra.Command{
		Use:   "delete SHOP {CODE | --batch NAME} [--yes]",
		Short: "Delete an unused voucher, or all unused vouchers of a batch",
		Args:  codeOrBatch, DisableFlagsInUseLine: true,
		Long: fmt.Sprintf(`Delete a voucher that was never redeemed or held by a checkout, for good. Its code can then be created again. A voucher
that was redeemed or held stays, even if the use was undone: run shopctl voucher disable to stop it.

With --batch the command deletes the vouchers of the batch that were never redeemed or held, and keeps the others. It
asks first; in a script, give --yes.

A code with many uses is first disabled. The command then waits %.0f seconds until no request for the code is in flight,
and deletes the code. If the code was used in the meantime, the command enables it again. If the command is interrupted,
such codes stay disabled: run the command again.`, backoffice.Draining.Seconds()),
		Example: "  shopctl --local voucher delete emberforge CENTURY-VIP\n  shopctl --local voucher delete " +
			"emberforge --batch launch --yes",
		RunE: s.command(func(ctx context.Context, args []string) error {
			if batch == "" {
				return s.deleteVoucher(ctx, args)
			}
			return s.deleteBatch(ctx, args[0], batch, yes)
		}),
	}
	command.Flags().Var(textFlag(&batch), "batch",
		"delete the vouchers of the batch `NAME` that were never redeemed or held")
	command.Flags().BoolVar(&yes, "yes", false, "delete a batch without asking")
	return command
}

func (s *session) deletion(bar *progress) backoffice.Deletion {
	return backoffice.Deletion{
		Bulk: s.bulk("deleted or kept", bar),
		Wait: func(ctx context.Context, delay time.Duration) error {
			bar.end()
			s.note(fmt.Sprintf("codes with many uses are disabled now; waiting %s until no request for them is in "+
				"flight",
				delay))
			return s.sleep(ctx, delay)
		},
	}
}

func (s *session) deleteVoucher(ctx context.Context, args []string) error {
	shop, code, err := s.shopAndCode(ctx, args)
	if err != nil {
		return err
	}
	deleted, err := shop.DeleteVoucher(ctx, code, s.deletion(new(progress)))
	if errors.Is(err, voucher.ErrUsed) {
		return refused(kindInvalid, "voucher %s was redeemed or held; nothing was changed: to stop it run %s %s %s",
			deleted.Written,
			s.commandLine("voucher disable"), shop.Profile.ID, asArgument(deleted))
	}
	if err != nil {
		return s.describeStopped(s.describeNoVoucher(err, shop, args[1]))
	}
	return s.line(deletedVoucherJSON{string(shop.Profile.ID), deleted.Written}, "deleted voucher "+deleted.Written)
}

func (s *session) deleteBatch(ctx context.Context, shopID, batch string, yes bool) error {
	if err := s.requireYes(yes); err != nil {
		return err
	}
	shop, err := s.shop(ctx, shopID)
	if err != nil {
		return err
	}
	if !yes {
		if err := s.confirmDeletion(ctx, shop, batch); err != nil {
			return err
		}
	}
	bar := new(progress)
	result, err := shop.DeleteBatch(ctx, batch, s.deletion(bar))
	bar.end()
	text := fmt.Sprintf("deleted %d of %s in batch %s", result.Deleted, countOf(result.Vouchers, "voucher"), batch)
	if err != nil {
		if result.Vouchers > 0 {
			s.note(text + ", then stopped")
		}
		return s.describeStopped(err)
	}
	if result.Kept > 0 {
		text += fmt.Sprintf("; kept %d that had been redeemed or held: to stop the batch run %s %s --batch %s",
			result.Kept,
			s.commandLine("voucher disable"), shop.Profile.ID, shellWord(batch))
	}
	return s.line(deletedBatchJSON{string(shop.Profile.ID), batch, result.Vouchers, result.Deleted, result.Kept}, text)
}

// requireYes returns an error if a command without --yes cannot ask.
func (s *session) requireYes(yes bool) error {
	if !yes && (s.json || !isTerminal(s.stdin)) {
		return misused("give --yes: without a terminal, or with --json, the command cannot ask")
	}
	return nil
}

// confirmDeletion asks for the name of the batch on the terminal. It returns an error if the user types another name,
// or if the context ends first.
func (s *session) confirmDeletion(ctx context.Context, shop *backoffice.Shop, batch string) error {
	count, err := shop.CountBatch(ctx, batch)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("Delete up to %s of batch %s? Those that were redeemed or held stay. Type the name of "+
		"the batch to go on: ", countOf(count, "voucher"), batch)
	return s.confirm(ctx, question, batch, "that is not the name of the batch; nothing was deleted")
}

// confirm asks the question on the terminal. If the user types anything but the wanted answer, the error has the text
// otherwise.
func (s *session) confirm(ctx context.Context, question, want, otherwise string) error {
	_, _ = fmt.Fprint(s.stderr, question) // as in note
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(s.stdin).ReadString('\n') // at the end of input, the line is what was typed so far
		answer <- strings.TrimRight(line, "\r\n")
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case typed := <-answer:
		if typed != want {
			return refused(kindInvalid, "%s", otherwise)
		}
		return nil
	}
}

// describeStopped adds a hint to the error of an interrupted or failed deletion: codes may be disabled.
func (s *session) describeStopped(err error) error {
	p := s.explain(err)[0]
	if p.exit != exitRefused {
		p.next = "codes with many uses may be disabled: run the command again"
	}
	return p
}
