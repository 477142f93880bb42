package main

import (
	"context"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/csvfile"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

// checkoutJSON is a checkout as in HTTP responses, with its order.
type checkoutJSON struct {
	wire.Checkout

	Order *checkoutOrderJSON `json:"order,omitempty"` // nil: not ordered
}

type checkoutOrderJSON struct {
	Status string `json:"status"`
	wire.Placement
}

func (c checkoutJSON) cells() []string {
	return []string{
		c.CreatedAt, c.Status, c.Product + "/" + c.Variant, strconv.FormatInt(c.Amount, 10), c.Code, c.Discount.Display,
		c.Total.Display, c.Nick, c.Number,
	}
}

// pricedFields returns the lines that a checkout and its order have in common.
func pricedFields(p wire.Priced, data string) []field {
	return []field{
		{"number", p.Number},
		{"status", p.Status},
		{"variant", p.Product + "/" + p.Variant},
		{"amount", strconv.FormatInt(p.Amount, 10)},
		{"data", data},
		{"code", p.Code},
		{"nick", p.Nick},
		{"unit price", p.UnitPrice.Display},
		{"subtotal", p.Subtotal.Display},
		{"discount", p.Discount.Display},
		{"total", p.Total.Display},
		{"created", p.CreatedAt},
	}
}

func representCheckout(c checkout.Checkout, at time.Time) checkoutJSON {
	represented := checkoutJSON{Checkout: wire.OfCheckout(c, at)}
	if c.Order != nil {
		represented.Order = &checkoutOrderJSON{string(c.Order.Status()), wire.OfPlacement(*c.Order)}
	}
	return represented
}

func newCheckoutCommand(s *session) *cobra.Command {
	return newGroup("checkout", "List, export, show and release checkouts", newCheckoutListCommand(s),
		newCheckoutExportCommand(s), newCheckoutShowCommand(s), newCheckoutReleaseCommand(s))
}

// checkoutFilter has the flags that pick checkouts.
type checkoutFilter struct {
	*session

	filter checkout.Filter
	period period
}

func checkoutStatuses() []checkout.Status {
	return []checkout.Status{
		checkout.StatusOpen, checkout.StatusExpired, checkout.StatusReleased,
		checkout.StatusOrdered,
	}
}

func (f *checkoutFilter) add(command *cobra.Command) { f.addWith(command, checkoutStatuses()) }

// addWith is add with a choice of fewer statuses.
func (f *checkoutFilter) addWith(command *cobra.Command, statuses []checkout.Status) {
	command.Flags().Var(idFlag(&f.filter.Product), "product", "only checkouts of the product `ID`")
	command.Flags().Var(idFlag(&f.filter.Variant), "variant", "only checkouts of variants with this `ID`")
	addChoice(command, &f.filter.Status, "status", "only checkouts with the `STATUS` "+alternatives(statuses),
		statuses...)
	f.period.add(command, f.session, "only checkouts made")
}

func idFlag[ID catalog.ProductID | catalog.VariantID](value *ID) *parsedFlag {
	return &parsedFlag{kind: "ID", parse: func(text string) (err error) {
		if *value, err = catalog.ParseID[ID](text); err != nil {
			return catalog.ErrMalformedID // the error of the flag quotes the text
		}
		return nil
	}}
}

func (f *checkoutFilter) open(
	ctx context.Context, shopID string, at time.Time,
) (iter.Seq2[checkout.Checkout, error], error) {
	shop, err := f.shop(ctx, shopID)
	if err != nil {
		return nil, err
	}
	if f.filter.From, f.filter.Until, err = f.period.in(shop.Zone); err != nil {
		return nil, err
	}
	return shop.Checkouts(ctx, f.filter, at), nil
}

func newCheckoutListCommand(s *session) *cobra.Command {
	filter := checkoutFilter{session: s}
	command := &cobra.Command{
		Use: "list SHOP", Short: "List checkouts, oldest first", Args: exactly("SHOP"),
		Long: `List checkouts, oldest first. A checkout is deleted 8 days after it expires, unless it was ordered. A released
checkout can no longer be ordered; a newer one may have replaced it.`,
		Example: `  shopctl --local checkout list emberforge --status open
  shopctl --local checkout list sakura-goods --since 2026-11-20T18:00:00Z --json`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			at := s.now()
			found, err := filter.open(ctx, args[0], at)
			if err != nil {
				return err
			}
			head := []string{"CREATED", "STATUS", "VARIANT", "AMOUNT", "CODE", "DISCOUNT", "TOTAL", "NICK", "NUMBER"}
			return stream(&s.output, "checkouts", head, found,
				func(c checkout.Checkout) checkoutJSON { return representCheckout(c, at) })
		}),
	}
	filter.add(command)
	return command
}

func newCheckoutExportCommand(s *session) *cobra.Command {
	command := newExportCommand(s, "checkout", &checkoutFilter{session: s},
		func(file io.Writer, at time.Time) (csvfile.Writer, func(checkout.Checkout) error) {
			rows := csvfile.NewCheckoutWriter(file)
			return rows.Writer, func(c checkout.Checkout) error { return rows.Write(c, at) }
		})
	command.Long = "Write checkouts to a CSV file, oldest first. docs/reference/files.md describes the columns."
	command.Example = "  shopctl --local checkout export emberforge --status expired --output left-behind.csv"
	return command
}

// shopAndID reads the arguments SHOP and ID of a checkout or an order. If ID is a number, shopAndID looks the ID up.
func (s *session) shopAndID(ctx context.Context, args []string) (*backoffice.Shop, checkout.ID, error) {
	id, number, err := checkout.ParseReference(args[1])
	if err != nil {
		return nil, "", misused("ID: %s", err)
	}
	shop, err := s.shop(ctx, args[0])
	if err != nil || number == "" {
		return shop, id, err
	}
	c, err := shop.NumberedCheckout(ctx, number)
	if err != nil {
		return nil, "", s.describeNoCheckout(err, shop, string(number))
	}
	return shop, c.ID, nil
}

// withDashedID lets commands accept an ID of a checkout, an order, a redemption or an event that begins with a dash. It
// moves the ID, which is the last argument, to the end of the command line, after a --. There the ID is not parsed as a
// flag.
func withDashedID(root *cobra.Command, args []string) []string {
	command, _, err := root.Find(args)
	if err != nil || slices.Contains(args, "--") {
		return args
	}
	takes := func(arguments string) bool { return strings.HasPrefix(command.Use, command.Name()+arguments) }
	if !takes(" SHOP CODE ID") && !takes(" SHOP ID") && !takes(" SHOP {ID") {
		return args
	}
	isID := func(text string) bool {
		_, notCheckout := checkout.ParseID(text)
		_, notOther := voucher.ParseRedemptionID(text)
		return notCheckout == nil || notOther == nil
	}
	isValue := func(at int) bool { // whether the argument is the value of the flag before it
		name, isFlag := strings.CutPrefix(args[max(at-1, 0)], "--")
		flag := command.Flag(name)
		return isFlag && flag != nil && flag.NoOptDefVal == ""
	}
	for at, arg := range args {
		if isID(arg) && strings.HasPrefix(arg, "-") && !isValue(at) {
			return slices.Concat(args[:at], args[at+1:], []string{"--", arg})
		}
	}
	return args
}

func newCheckoutShowCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show SHOP ID", Short: "Show a checkout", Args: exactly("SHOP", "ID"),
		Long:    "Show a checkout. ID may be its number, such as 7KQ2M-X4T9B, as in all commands about checkouts and orders.",
		Example: "  shopctl --local checkout show emberforge ID",
		RunE: s.command(func(ctx context.Context, args []string) error {
			shop, id, err := s.shopAndID(ctx, args)
			if err != nil {
				return err
			}
			c, err := shop.Checkout(ctx, id)
			if err != nil {
				return s.describeNoCheckout(err, shop, string(id))
			}
			return s.showCheckout(c)
		}),
	}
}

func (s *session) showCheckout(c checkout.Checkout) error {
	document := representCheckout(c, s.now())
	fields := append(pricedFields(document.Priced, c.Data), field{"expires", document.ExpiresAt})
	if document.Order != nil {
		fields = append(fields, field{"order", document.Order.Status})
		fields = append(fields, placementFields(document.Order.Placement)...)
	}
	return s.document(document, fields)
}

// describeNoCheckout explains why a checkout could not be read. name is its ID or its number.
func (s *session) describeNoCheckout(err error, shop *backoffice.Shop, name string) error {
	return describeNotFound(err, "shop %s has no checkout %s: see %s; "+
		"a checkout is deleted 8 days after it expires, unless it was ordered",
		shop.Profile.ID, name, s.commandLine("checkout list "+string(shop.Profile.ID)))
}
