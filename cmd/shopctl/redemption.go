package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/csvfile"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

// redemptionJSON is a redemption as in HTTP responses, with what only the operator sees.
type redemptionJSON struct {
	wire.Redemption

	Batch    string `json:"batch,omitempty"`
	UndoneBy string `json:"undoneBy,omitempty"` // operator, order, or "key:" and the ID of a key
	Imported bool   `json:"imported,omitempty"` // redeemed in another system, before the code was imported

	reward string
}

func redemptionHead() []string {
	return []string{"REDEEMED", "STATUS", "CODE", "NICK", "REWARD", "BATCH", "ID"}
}

func (r redemptionJSON) cells() []string {
	return []string{r.RedeemedAt, r.shownStatus(), r.Code, r.Nick, r.reward, r.Batch, r.ID}
}

// shownStatus returns the status as people read it.
func (r redemptionJSON) shownStatus() string {
	if r.Imported && r.UndoneAt == "" {
		return "imported"
	}
	return r.Status
}

func (r redemptionJSON) fields() []field {
	return []field{
		{"ID", r.ID},
		{"status", r.shownStatus()},
		{"code", r.Code},
		{"nick", r.Nick},
		{"reward", r.reward},
		{"batch", r.Batch},
		{"redeemed", r.RedeemedAt},
		{"undone", r.UndoneAt},
		{"reason", r.UndoReason},
		{"undone by", r.UndoneBy},
	}
}

func representRedemption(r backoffice.Redemption) redemptionJSON {
	return redemptionJSON{
		Redemption: wire.OfRedemption(r.Redemption), Batch: r.Batch, UndoneBy: r.UndoneBy, Imported: r.Imported,
		reward: formatReward(r.Reward),
	}
}

func newRedemptionCommand(s *session) *cobra.Command {
	return newGroup("redemption", "List, export, show and undo redemptions",
		newRedemptionListCommand(s), newRedemptionExportCommand(s), newRedemptionShowCommand(s),
		newRedemptionUndoCommand(s))
}

// redemptionFilter has the flags that pick redemptions.
type redemptionFilter struct {
	*session

	filter     backoffice.RedemptionFilter
	period     period
	code, nick string
}

func (f *redemptionFilter) add(command *cobra.Command) {
	flags := command.Flags()
	flags.Var(textFlag(&f.code), "code", "only redemptions of the voucher `CODE`")
	flags.Var(textFlag(&f.nick), "nick", "only redemptions by the shopper `NICK`")
	flags.Var(textFlag(&f.filter.Batch), "batch", "only redemptions of vouchers in the batch `NAME`")
	f.period.add(command, f.session, "only redemptions")
}

func (f *redemptionFilter) open(
	ctx context.Context, shopID string, _ time.Time,
) (_ iter.Seq2[backoffice.Redemption, error], err error) {
	if f.filter.Nick, err = voucher.ParseNick(f.nick); err != nil {
		return nil, err
	}
	if f.code != "" {
		if f.filter.Code, err = voucher.ParseCode(f.code); err != nil {
			return nil, describeNotFound(err, "--code %q: a code cannot have such characters", f.code)
		}
	}
	shop, err := f.shop(ctx, shopID)
	if err != nil {
		return nil, err
	}
	if f.filter.From, f.filter.Until, err = f.period.in(shop.Zone); err != nil {
		return nil, err
	}
	list := shop.Redemptions
	if f.filter.Nick != (voucher.Nick{}) && f.code == "" {
		list = shop.RedemptionsOfNick
	}
	return func(yield func(backoffice.Redemption, error) bool) {
		for redemption, err := range list(ctx, f.filter) {
			if !yield(redemption, f.describeNoVoucher(err, shop, f.code)) {
				return
			}
		}
	}, nil
}

// redemptionOrder is a part of help texts.
const redemptionOrder = `They are sorted by code.

Without --code or --nick the command reads all of the shop's vouchers and redemptions. With --nick but no --code it
reads an index, in which redemptions appear after some seconds; the oldest come first.`

func newRedemptionListCommand(s *session) *cobra.Command {
	filter := redemptionFilter{session: s}
	command := &cobra.Command{
		Use: "list SHOP", Short: "List redemptions, sorted by code", Args: exactly("SHOP"),
		Long: `List redemptions, including those that were undone. ` + redemptionOrder,
		Example: `  shopctl --local redemption list emberforge
  shopctl --local redemption list emberforge --nick Heron --since 2026-11-01 --until 2026-11-30 --json`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			redemptions, err := filter.open(ctx, args[0], s.now())
			if err != nil {
				return err
			}
			return stream(&s.output, "redemptions", redemptionHead(), redemptions, representRedemption)
		}),
	}
	filter.add(command)
	return command
}

func newRedemptionExportCommand(s *session) *cobra.Command {
	command := newExportCommand(s, "redemption", &redemptionFilter{session: s},
		func(file io.Writer, _ time.Time) (csvfile.Writer, func(backoffice.Redemption) error) {
			rows := csvfile.NewRedemptionWriter(file)
			return rows.Writer, func(r backoffice.Redemption) error { return rows.Write(r.Redemption, r.Batch) }
		})
	command.Long = `Write redemptions to a CSV file, including those that were undone. docs/reference/files.md describes the columns. ` +
		redemptionOrder
	command.Example = "  shopctl --local redemption export emberforge --since 2026-11-01 --until 2026-11-30 " +
		"--output november.csv"
	return command
}

func newRedemptionShowCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show SHOP CODE ID", Short: "Show a redemption", Args: exactly("SHOP", "CODE", "ID"),
		Long:    "Show a redemption, even if it was undone. The command reads all redemptions of the code.",
		Example: "  shopctl --local redemption show emberforge FORUM-5 ID",
		RunE: s.redemptionCommand(func(ctx context.Context, shop *backoffice.Shop, code voucher.Code,
			id string,
		) (backoffice.Redemption, bool, error) {
			redemption, err := shop.Redemption(ctx, code, id)
			return redemption, false, err
		}),
	}
}

func newRedemptionUndoCommand(s *session) *cobra.Command {
	var reason string
	command := &cobra.Command{
		Use: "undo SHOP CODE ID [--reason TEXT]", Short: "Undo a redemption for good, and give its use back",
		Args: exactly("SHOP", "CODE", "ID"), DisableFlagsInUseLine: true,
		Long: `Undo a redemption for good, and give its use back: the code can be redeemed once more, under its usual rules. The
command takes nothing back from the shopper: do that first. The record stays, marked as undone, and a retry of the
redemption with its key is refused. If you run the command again, it changes nothing: the first time and reason
stay. To undo a redemption that an order made, run shopctl order cancel.`,
		Example: `  shopctl --local redemption undo emberforge FORUM-5 ID --reason "granted twice"`,
		PreRunE: func(*cobra.Command, []string) error {
			_, err := voucher.ParseUndoReason(reason)
			if field, is := errors.AsType[*voucher.FieldError](err); is {
				return fmt.Errorf("--reason %w", field.Err)
			}
			return err
		},
		RunE: s.redemptionCommand(func(ctx context.Context, shop *backoffice.Shop, code voucher.Code,
			id string,
		) (backoffice.Redemption, bool, error) {
			return s.undo(ctx, shop, code, id, reason)
		}),
	}
	command.Flags().Var(textFlag(&reason), "reason",
		fmt.Sprintf("why, at most %d bytes of `TEXT`", voucher.MaxUndoReasonBytes))
	return command
}

func (s *session) undo(
	ctx context.Context, shop *backoffice.Shop, code voucher.Code, id, reason string,
) (backoffice.Redemption, bool, error) {
	standing, err := shop.Voucher(ctx, code, s.now())
	if err != nil {
		return backoffice.Redemption{}, false, err
	}
	undone, replayed, err := shop.UndoRedemption(ctx, code, id, reason, s.now())
	if errors.Is(err, voucher.ErrRedemptionOfOrder) {
		err = s.describeOfOrder(ctx, shop, id)
	}
	return backoffice.Redemption{Redemption: undone, Batch: standing.Batch}, replayed, err
}

// describeOfOrder names the command that undoes a redemption that an order made.
func (s *session) describeOfOrder(ctx context.Context, shop *backoffice.Shop, id string) error {
	order, err := shop.OrderOf(ctx, id)
	if err != nil {
		return err
	}
	return refused(kindInvalid, "an order made redemption %s; nothing was changed: cancel the order, which undoes "+
		"the redemption: %s", id, s.lineAbout("order cancel", shop, order)+" --reason TEXT")
}

// redemptionCommand wraps the work of a command about one redemption, and prints the redemption. The function do
// reports in replayed whether the redemption was already undone.
func (s *session) redemptionCommand(
	do func(ctx context.Context, shop *backoffice.Shop, code voucher.Code, id string) (r backoffice.Redemption,
		replayed bool, err error),
) func(*cobra.Command, []string) error {
	return s.command(func(ctx context.Context, args []string) error {
		id, err := voucher.ParseRedemptionID(args[2])
		if err != nil {
			return misused("ID: a redemption ID has 22 characters of A-Z a-z 0-9 _ -")
		}
		shop, code, err := s.shopAndCode(ctx, args)
		if err != nil {
			return err
		}
		redemption, replayed, err := do(ctx, shop, code, id)
		if err != nil {
			return s.describeNoRedemption(err, shop, args[1], id)
		}
		document := representRedemption(redemption)
		if err := s.document(document, document.fields()); err != nil {
			return err
		}
		if replayed {
			s.note(fmt.Sprintf("redemption %s was already undone; nothing was changed", id))
		}
		return nil
	})
}

// describeNoRedemption explains why a redemption could not be shown or undone.
func (s *session) describeNoRedemption(err error, shop *backoffice.Shop, code, id string) error {
	shopID := string(shop.Profile.ID)
	if errors.Is(err, voucher.ErrRedemptionNotFound) {
		return refused(kindNotFound, "voucher %s of shop %s has no redemption %s: see %s",
			strconv.QuoteToGraphic(code), shopID, id,
			s.commandLine("redemption list "+shopID+" --code "+shellWord(code)))
	}
	return s.describeNoVoucher(err, shop, code)
}
