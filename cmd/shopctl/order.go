package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/checkout"
	"shopfront/pkg/csvfile"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

type orderJSON struct{ wire.Order }

func (o orderJSON) cells() []string {
	return []string{
		o.OrderedAt, o.Status, o.Product + "/" + o.Variant, strconv.FormatInt(o.Amount, 10), o.Code, o.Total.Display,
		formatPayment(o.Payment), o.Nick, o.Number,
	}
}

// placementFields returns the lines that an order adds to its checkout.
func placementFields(p wire.Placement) []field {
	return []field{
		{"payment", formatPayment(p.Payment)},
		{"ordered", p.OrderedAt},
		{"fulfilled", p.FulfilledAt},
		{"cancelled", p.CancelledAt},
		{"reason", p.CancelReason},
	}
}

// formatPayment formats a payment for people. The text is empty if nothing was paid.
func formatPayment(p *wire.Payment) string {
	if p == nil {
		return ""
	}
	if p.Amount == 0 {
		return p.Provider + " " + p.Reference
	}
	paid := money.Money{Minor: p.Amount, Currency: money.Currency(p.Currency)}
	return fmt.Sprintf("%s %s (%s)", p.Provider, p.Reference, paid)
}

func representOrder(c checkout.Checkout) orderJSON { return orderJSON{wire.OfOrder(c)} }

func newOrderCommand(s *session) *cobra.Command {
	return newGroup("order", "List, export, show, place, fulfil and cancel orders",
		newOrderListCommand(s), newOrderExportCommand(s), newOrderShowCommand(s), newOrderPlaceCommand(s),
		newOrderFulfilCommand(s), newOrderCancelCommand(s))
}

// orderFilter has the flags that pick orders.
type orderFilter struct {
	*session

	filter  checkout.OrderFilter
	period  period
	nick    string
	payment string
}

func (f *orderFilter) add(command *cobra.Command) {
	flags := command.Flags()
	addChoice(command, &f.filter.Status, "status",
		"only orders with the `STATUS` "+alternatives(checkout.OrderStatuses()), checkout.OrderStatuses()...)
	flags.Var(textFlag(&f.nick), "nick", "only orders whose checkout had the nick `NICK`")
	flags.Var(textFlag(&f.payment), "payment", "only orders with the `PAYMENT`, such as stripe:pi_3QK8ZbF2eZvKYlo1")
	f.period.add(command, f.session, "only orders placed")
}

func (f *orderFilter) open(
	ctx context.Context, shopID string, _ time.Time,
) (_ iter.Seq2[checkout.Checkout, error], err error) {
	if f.filter.Nick, err = voucher.ParseNick(f.nick); err != nil {
		return nil, err
	}
	if f.payment != "" {
		if f.filter.Payment, err = checkout.FindPayment(f.payment); err != nil {
			return nil, misused("--payment must be a provider, a colon and a reference, such as " +
				"stripe:pi_3QK8ZbF2eZvKYlo1")
		}
	}
	shop, err := f.shop(ctx, shopID)
	if err != nil {
		return nil, err
	}
	if f.filter.From, f.filter.Until, err = f.period.in(shop.Zone); err != nil {
		return nil, err
	}
	return shop.Orders(ctx, f.filter), nil
}

func newOrderListCommand(s *session) *cobra.Command {
	filter := orderFilter{session: s}
	command := &cobra.Command{
		Use: "list SHOP", Short: "List orders, oldest first", Args: exactly("SHOP"),
		Long: `List orders, oldest first. An order may be missing, or be listed with its former status, for about a second after it
was placed or changed.`,
		Example: `  shopctl --local order list emberforge --status placed
  shopctl --local order list emberforge --nick Alder
  shopctl --local order list emberforge --since 2026-11-01 --until 2026-11-30 --json`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			found, err := filter.open(ctx, args[0], s.now())
			if err != nil {
				return err
			}
			head := []string{"ORDERED", "STATUS", "VARIANT", "AMOUNT", "CODE", "TOTAL", "PAYMENT", "NICK", "NUMBER"}
			return stream(&s.output, "orders", head, found, representOrder)
		}),
	}
	filter.add(command)
	return command
}

func newOrderExportCommand(s *session) *cobra.Command {
	command := newExportCommand(s, "order", &orderFilter{session: s},
		func(file io.Writer, _ time.Time) (csvfile.Writer, func(checkout.Checkout) error) {
			rows := csvfile.NewOrderWriter(file)
			return rows.Writer, rows.Write
		})
	command.Long = `Write orders to a CSV file, oldest first. An order may be missing, or have its former status, for about a second after
it was placed or changed. docs/reference/files.md describes the columns.`
	command.Example = "  shopctl --local order export emberforge --since 2026-11-01 --until 2026-11-30 --output " +
		"november.csv"
	return command
}

func newOrderShowCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show SHOP ID", Short: "Show an order", Args: exactly("SHOP", "ID"),
		Example: "  shopctl --local order show emberforge ID",
		RunE: s.orderCommand("shown",
			func(ctx context.Context, shop *backoffice.Shop, id checkout.ID) (checkout.Checkout, bool, error) {
				order, err := shop.Order(ctx, id)
				return order, false, err
			}),
	}
}

func newOrderPlaceCommand(s *session) *cobra.Command {
	var provider, reference, amount string
	var payment checkout.Payment
	command := &cobra.Command{
		Use: "place SHOP ID [--provider NAME --reference TEXT [--amount AMOUNT]]", Short: "Turn a paid checkout into an order",
		Args: exactly("SHOP", "ID"), DisableFlagsInUseLine: true,
		Long: `Turn a paid checkout into an order, up to 7 days after the checkout expired. The command refuses if the checkout's key
has made another checkout since, or if another checkout replaced this one. If the checkout has a code, the order
redeems it; the command refuses if somebody else has taken the use of the code. The order has the ID of its checkout.
The shop's server normally places orders; use the command if the server could not. First check with the payment
provider that the payment was made: Shopfront only stores the payment's ID. The clock of this machine decides whether
the 7 days are over.

--provider and --reference name the payment. A checkout with a total of zero needs none. With --amount, the command
refuses if the orders of the payment would exceed what it paid. If you run the command again with the same payment, it
changes nothing and prints the same order.`,
		Example: "  shopctl --local order place emberforge ID --provider stripe --reference pi_3QK8ZbF2eZvKYlo1 " +
			"--amount 11.98",
		PreRunE: func(*cobra.Command, []string) (err error) {
			if (provider == "") != (reference == "") {
				return errors.New("--provider and --reference belong together: give both, or neither if the total " +
					"is zero")
			}
			if provider != "" {
				payment, err = checkout.ParsePayment(provider, reference)
			} else if amount != "" {
				err = errors.New("--amount needs --provider and --reference")
			}
			return describeMember(err)
		},
		RunE: s.orderCommand("placed",
			func(ctx context.Context, shop *backoffice.Shop, id checkout.ID) (checkout.Checkout, bool, error) {
				if amount != "" {
					var err error
					if payment.Amount, err = money.Parse(amount, shop.Profile.Currency); err != nil {
						return checkout.Checkout{}, false, refused(kindInvalid, "--amount: %v", err)
					}
				}
				order, replayed, err := shop.PlaceOrder(ctx, id, payment, s.now())
				if errors.Is(err, checkout.ErrPaymentMismatch) && payment == (checkout.Payment{}) {
					err = refused(kindExists, "checkout %s was ordered with a payment, but the command names no "+
						"payment; nothing was changed: see %s", id.Number(),
						s.lineAbout("order show", shop, id))
				}
				return order, replayed, err
			}),
	}
	command.Flags().Var(textFlag(&provider), "provider", "the payment provider's `NAME`, such as stripe")
	command.Flags().Var(textFlag(&reference), "reference",
		"the provider's ID of the payment, at most 255 characters of `TEXT`")
	command.Flags().Var(textFlag(&amount), "amount", "what was paid, in the shop's currency: an `AMOUNT` such as 11.98")
	return command
}

func newOrderFulfilCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "fulfil SHOP ID", Short: "Note that an order was delivered", Args: exactly("SHOP", "ID"),
		Long: `Note that an order was delivered. The command delivers nothing. If you run it again, it changes nothing: the
first time stays. A cancelled order cannot be fulfilled.`,
		Example: "  shopctl --local order fulfil emberforge ID",
		RunE: s.orderCommand("fulfilled",
			func(ctx context.Context, shop *backoffice.Shop, id checkout.ID) (checkout.Checkout, bool, error) {
				return shop.FulfilOrder(ctx, id, s.now())
			}),
	}
}

func newOrderCancelCommand(s *session) *cobra.Command {
	var reason string
	command := &cobra.Command{
		Use: "cancel SHOP ID --reason TEXT", Short: "Cancel an order for good", Args: exactly("SHOP", "ID"),
		Long: `Cancel an order for good. The command refunds nothing: do that at the payment provider. An order that was
fulfilled can be cancelled, too, for example after a chargeback. If the order redeemed a code, the redemption is
undone, and its use comes back. If you run the command again, it changes nothing: the first time and reason stay.`,
		Example: `  shopctl --local order cancel emberforge ID --reason "refunded on request"`,
		PreRunE: func(*cobra.Command, []string) (err error) {
			if reason == "" {
				return errors.New("--reason is missing: say why the order is cancelled")
			}
			_, err = checkout.ParseReason(reason)
			return describeMember(err)
		},
		RunE: s.orderCommand("cancelled",
			func(ctx context.Context, shop *backoffice.Shop, id checkout.ID) (checkout.Checkout, bool, error) {
				return shop.CancelOrder(ctx, id, reason, s.now())
			}),
	}
	command.Flags().Var(textFlag(&reason), "reason",
		fmt.Sprintf("why, at most %d bytes of `TEXT` (required)", checkout.MaxReasonBytes))
	return command
}

// describeMember returns an error that names the flag instead of the member of a request body.
func describeMember(err error) error {
	if member, is := errors.AsType[*checkout.MemberError](err); is {
		return fmt.Errorf("--%s %s", path.Base(member.Pointer), member.Reason)
	}
	return err
}

// orderCommand wraps the work of a command about one order, and prints the order. The parameter done names the change
// in messages, such as placed. The function do reports in replayed whether the change was made before.
func (s *session) orderCommand(
	done string,
	do func(ctx context.Context, shop *backoffice.Shop, id checkout.ID) (c checkout.Checkout, replayed bool, err error),
) func(*cobra.Command, []string) error {
	return s.command(func(ctx context.Context, args []string) error {
		shop, id, err := s.shopAndID(ctx, args)
		if err != nil {
			return err
		}
		order, replayed, err := do(ctx, shop, id)
		if err != nil {
			return s.describeNoOrder(ctx, err, shop, id)
		}
		document := wire.OfOrder(order)
		fields := append(pricedFields(document.Priced, order.Data), placementFields(document.Placement)...)
		if err := s.document(document, fields); err != nil {
			return err
		}
		if replayed {
			s.note(fmt.Sprintf("order %s was %s before; nothing was changed", id.Number(), done))
		}
		return nil
	})
}

// lineAbout returns the command line that runs a command, such as order show, for an order or a checkout.
func (s *session) lineAbout(command string, shop *backoffice.Shop, id checkout.ID) string {
	return s.commandLine(fmt.Sprintf("%s %s %s", command, shop.Profile.ID, id.Number()))
}

// describeNoOrder explains why an order could not be shown, placed or changed.
func (s *session) describeNoOrder(ctx context.Context, err error, shop *backoffice.Shop, id checkout.ID) error {
	show, number := s.lineAbout("order show", shop, id), id.Number()
	member, isMember := errors.AsType[*checkout.MemberError](err)
	switch {
	case isMember && member.Pointer != "/payment", errors.Is(err, checkout.ErrPaymentInsufficient):
		return refused(kindInvalid, "%v; nothing was ordered: see the payment's orders with %s", describeMember(err),
			s.commandLine("order list "+string(shop.Profile.ID)+" --payment PAYMENT"))
	case isMember:
		return refused(kindInvalid, "checkout %s needs a payment, because its total is not zero: give --provider "+
			"and --reference", number)
	case errors.Is(err, checkout.ErrOrderNotFound):
		return s.describeNotOrdered(ctx, shop, id)
	case errors.Is(err, checkout.ErrExpired):
		return refused(kindInvalid, "checkout %s expired more than 7 days ago, its key made another checkout since, "+
			"the use of its code was taken since, or the ID is mistyped; nothing was ordered: check it with %s "+
			"before you refund anything", number, s.lineAbout("checkout show", shop, id))
	case errors.Is(err, checkout.ErrReplaced):
		return refused(kindInvalid, "checkout %s was replaced by a newer one; nothing was ordered: find the newer one "+
			"with %s, and refund the payment unless it is for the newer one", number,
			s.commandLine("checkout list "+string(shop.Profile.ID)))
	case errors.Is(err, checkout.ErrReleased):
		return refused(kindInvalid, "checkout %s was released; nothing was ordered: refund the payment", number)
	case errors.Is(err, checkout.ErrPaymentMismatch):
		return refused(kindExists, "checkout %s was ordered with another payment; nothing was changed: see %s, and "+
			"refund the payment that the order does not name", number, show)
	case errors.Is(err, checkout.ErrOrderCancelled):
		return refused(kindInvalid, "order %s is cancelled for good; nothing was changed: do not deliver it, and "+
			"refund its payment unless that is done; see %s", number, show)
	default:
		return s.describeNoCheckout(err, shop, string(id))
	}
}

// describeNotOrdered explains that there is no order with the ID. If there is a checkout with the ID, the error says
// how to order it.
func (s *session) describeNotOrdered(ctx context.Context, shop *backoffice.Shop, id checkout.ID) error {
	shopID := string(shop.Profile.ID)
	_, err := shop.Checkout(ctx, id)
	if err == nil {
		return refused(kindNotFound, "checkout %s of shop %s was not ordered: if it was paid, run %s",
			id.Number(), shopID, s.lineAbout("order place", shop, id))
	}
	return describeNotFound(err, "shop %s has no order %s, and no checkout with this ID: see %s and %s",
		shopID, id, s.commandLine("order list "+shopID), s.commandLine("checkout list "+shopID))
}
