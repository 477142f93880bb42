package main

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
)

// checkoutJSON is a checkout as in the HTTP interface.
type checkoutJSON struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Product string `json:"product"`
	Variant string `json:"variant"`
	Amount  int64  `json:"amount"`
	// Data is an object if the variant declares a schema, otherwise a string.
	Data      any        `json:"data"`
	UnitPrice *moneyJSON `json:"unitPrice"`
	Subtotal  *moneyJSON `json:"subtotal"`
	Discount  *moneyJSON `json:"discount"`
	Total     *moneyJSON `json:"total"`
	CreatedAt string     `json:"createdAt"`
	ExpiresAt string     `json:"expiresAt"`
}

func (c checkoutJSON) cells() []string {
	return []string{c.CreatedAt, c.Status, c.Product + "/" + c.Variant, strconv.FormatInt(c.Amount, 10), c.Total.Display, c.ID}
}

func representCheckout(c checkout.Checkout, at time.Time) checkoutJSON {
	represented := checkoutJSON{
		ID: string(c.ID), Status: string(c.Status(at)), Product: string(c.Product), Variant: string(c.Variant), Amount: c.Amount, Data: c.Data,
		UnitPrice: representMoney(c.UnitPrice), Subtotal: representMoney(c.Subtotal), Discount: representMoney(c.Discount), Total: representMoney(c.Total),
		CreatedAt: formatTime(c.Created), ExpiresAt: formatTime(c.Expires),
	}
	if c.DataIsObject {
		represented.Data = json.RawMessage(c.Data)
	}
	return represented
}

func newCheckoutCommand(s *session) *cobra.Command {
	return newGroup("checkout", "Show checkouts", newCheckoutListCommand(s), newCheckoutShowCommand(s))
}

func newCheckoutListCommand(s *session) *cobra.Command {
	var product, status string
	var since, until time.Time
	statuses := []checkout.Status{checkout.StatusOpen, checkout.StatusExpired}
	command := &cobra.Command{
		Use: "list CUSTOMER", Short: "List checkouts, oldest first", Args: exactly("CUSTOMER"),
		Long: "List checkouts, oldest first. A checkout is deleted 7 days after it expires.",
		Example: `  shopctl --local checkout list emberforge --status open
  shopctl --local checkout list sakura-goods --since 2026-11-20T18:00:00Z --json`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			if err := checkPeriod(since, until); err != nil {
				return err
			}
			filter := checkout.Filter{Status: checkout.Status(status), From: since, Until: until}
			if filter.Status != "" && filter.Status != checkout.StatusOpen && filter.Status != checkout.StatusExpired {
				return misused("--status must be %s", alternatives(statuses))
			}
			if product != "" {
				var err error
				if filter.Product, err = catalog.ParseID[catalog.ProductID](product); err != nil {
					return misused("--product %s", err)
				}
			}
			shop, err := s.shop(ctx, args[0])
			if err != nil {
				return err
			}
			at := s.now()
			checkouts, err := shop.Checkouts(ctx, filter, at)
			if err != nil {
				return err
			}
			rows := represent(checkouts, func(c checkout.Checkout) checkoutJSON { return representCheckout(c, at) })
			return list(&s.output, "checkouts", []string{"CREATED", "STATUS", "VARIANT", "AMOUNT", "TOTAL", "ID"}, rows)
		}),
	}
	flags := command.Flags()
	flags.Var(textFlag(&product), "product", "only checkouts of the product `ID`")
	flags.Var(textFlag(&status), "status", "only checkouts with the `STATUS` "+alternatives(statuses))
	complete(command, "status", statuses)
	flags.Var(timeFlag(&since), "since", "only checkouts made at or after this time; a date means midnight UTC")
	flags.Var(timeFlag(&until), "until", "only checkouts made before this time; a date means midnight UTC")
	return command
}

// withDashedID lets the command "checkout show" accept an ID that begins with a dash. It moves the ID behind --, where an argument
// cannot be a flag.
func withDashedID(root *cobra.Command, args []string) []string {
	command, _, err := root.Find(args)
	if err != nil || command.CommandPath() != "shopctl checkout show" || slices.Contains(args, "--") {
		return args
	}
	at := slices.IndexFunc(args, func(arg string) bool {
		_, err := checkout.ParseID(arg)
		return err == nil && strings.HasPrefix(arg, "-")
	})
	if at < 0 {
		return args
	}
	return slices.Concat(args[:at], args[at+1:], []string{"--", args[at]})
}

func newCheckoutShowCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show CUSTOMER ID", Short: "Show a checkout", Args: exactly("CUSTOMER", "ID"),
		Example: "  shopctl --local checkout show emberforge ID",
		RunE: s.command(func(ctx context.Context, args []string) error {
			id, err := checkout.ParseID(args[1])
			if err != nil {
				return misused("ID: %s", err)
			}
			shop, err := s.shop(ctx, args[0])
			if err != nil {
				return err
			}
			c, err := shop.Checkout(ctx, id)
			if err != nil {
				return describeNotFound(err, "customer %s has no checkout %s: see %s; checkouts are deleted 7 days after they expire",
					shop.Customer.ID, id, s.commandLine("checkout list "+string(shop.Customer.ID)))
			}
			document := representCheckout(c, s.now())
			return s.document(document, []field{
				{"ID", document.ID},
				{"status", document.Status},
				{"variant", document.Product + "/" + document.Variant},
				{"amount", strconv.FormatInt(c.Amount, 10)},
				{"data", c.Data},
				{"unit price", document.UnitPrice.Display},
				{"subtotal", document.Subtotal.Display},
				{"discount", document.Discount.Display},
				{"total", document.Total.Display},
				{"created", document.CreatedAt},
				{"expires", document.ExpiresAt},
			})
		}),
	}
}
