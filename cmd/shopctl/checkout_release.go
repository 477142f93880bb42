package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"shopfront/pkg/checkout"
)

type releasedCheckoutsJSON struct {
	Shop      string `json:"customer"`
	Product   string `json:"product"`
	DryRun    bool   `json:"dryRun"`
	Checkouts int    `json:"checkouts"` // that were found
	Kept      int    `json:"kept"`      // because --keep names them
	Released  int    `json:"released"`
}

// checkoutRelease has the flags of the command that releases checkouts.
type checkoutRelease struct {
	checkoutFilter

	keep        []string // IDs and numbers
	dryRun, yes bool
}

func newCheckoutReleaseCommand(s *session) *cobra.Command {
	release := checkoutRelease{checkoutFilter: checkoutFilter{session: s}}
	release.filter.Status = checkout.StatusOpen
	command := &cobra.Command{
		Use: "release SHOP {ID | --product ID}", Short: "End checkouts, so that they cannot be ordered",
		Args: func(command *cobra.Command, args []string) error {
			for _, name := range []string{"product", "variant", "status", "since", "until", "keep", "dry-run", "yes"} {
				if len(args) == 2 && command.Flags().Changed(name) {
					return fmt.Errorf("give ID, or --product with its flags: --%s is not for one checkout", name)
				}
			}
			if command.Flags().Changed("product") {
				return exactly("SHOP")(command, args)
			}
			return exactly("SHOP", "ID (or --product ID)")(command, args)
		},
		Long: `End a checkout that was not ordered, or all open checkouts of a product, for example because the price was wrong.
They can no longer be ordered. The uses of codes that they hold are free at once; a use that checkouts of one nick
share stays held until the hold lapses.

With --product the command asks first; in a script, give --yes. Shopfront cannot see who is paying. List the payments
in progress at your payment provider, and name their checkouts with --keep. A payment for a released checkout is
refused, and must be refunded.`,
		Example: `  shopctl --local checkout release emberforge ID
  shopctl --local checkout release emberforge --product coins --keep 7KQ2M-X4T9B --dry-run`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			if len(args) == 2 {
				return release.one(ctx, args)
			}
			return release.ofProduct(ctx, args[0])
		}),
	}
	release.addWith(command, []checkout.Status{checkout.StatusOpen, checkout.StatusExpired})
	flags := command.Flags()
	flags.StringSliceVar(&release.keep, "keep", nil, "keep the checkouts with these `IDS` or numbers, separated by commas")
	flags.BoolVar(&release.dryRun, "dry-run", false, "say how many would be released, and change nothing")
	flags.BoolVar(&release.yes, "yes", false, "release the checkouts of a product without asking")
	return command
}

func (r *checkoutRelease) one(ctx context.Context, args []string) error {
	shop, id, err := r.shopAndID(ctx, args)
	if err != nil {
		return err
	}
	c, replayed, err := shop.ReleaseCheckout(ctx, id)
	if errors.Is(err, checkout.ErrOrdered) {
		return refused(kindInvalid, "checkout %s was ordered; nothing was changed: to end it run %s", id.Number(),
			r.lineAbout("order cancel", shop, id))
	}
	if err != nil {
		return r.describeNoCheckout(err, shop, string(id))
	}
	if err := r.showCheckout(c); err != nil {
		return err
	}
	if replayed {
		r.note(fmt.Sprintf("checkout %s was released or replaced before; nothing was changed", id.Number()))
	}
	return nil
}

func (r *checkoutRelease) ofProduct(ctx context.Context, shopID string) error {
	kept, err := r.kept()
	if err != nil {
		return err
	}
	if err := r.requireYes(r.yes || r.dryRun); err != nil {
		return err
	}
	found, err := r.open(ctx, shopID, r.now())
	if err != nil {
		return err
	}
	var all, picked []checkout.Checkout
	for c, err := range found {
		if err != nil {
			return err
		}
		if all = append(all, c); !kept(c.ID) {
			picked = append(picked, c)
		}
	}
	product := string(r.filter.Product)
	result := releasedCheckoutsJSON{shopID, product, r.dryRun, len(all), len(all) - len(picked), len(picked)}
	text := fmt.Sprintf("%d of %s of product %s", len(picked), countOf(len(all), string(r.filter.Status)+" checkout"),
		product)
	if r.dryRun {
		return r.line(result, "would release "+text)
	}
	if len(picked) > 0 && !r.yes {
		question := fmt.Sprintf("Release %s? Their shoppers can no longer pay. Type the ID of the product to go on: ",
			text)
		if err := r.confirm(ctx, question, product, "that is not the product; nothing was released"); err != nil {
			return err
		}
	}
	return r.releaseAll(ctx, picked, result)
}

// releaseAll releases checkouts, and prints the result.
func (r *checkoutRelease) releaseAll(
	ctx context.Context, picked []checkout.Checkout, result releasedCheckoutsJSON,
) error {
	shop, err := r.shop(ctx, result.Shop)
	if err != nil {
		return err
	}
	bar := new(progress)
	result.Released, err = shop.ReleaseCheckouts(ctx, picked, r.bulk("released", bar))
	bar.end()
	text := fmt.Sprintf("released %d of %s of product %s", result.Released,
		countOf(result.Checkouts, string(r.filter.Status)+" checkout"), result.Product)
	if err != nil {
		r.note(text + ", then stopped: run the command again")
		return err
	}
	if result.Kept > 0 {
		text += fmt.Sprintf("; kept %d", result.Kept)
	}
	return r.line(result, text)
}

// kept returns a function that reports whether --keep names the checkout with an ID.
func (r *checkoutRelease) kept() (func(checkout.ID) bool, error) {
	var ids []checkout.ID
	var numbers []checkout.Number
	for _, text := range r.keep {
		id, number, err := checkout.ParseReference(text)
		if err != nil {
			return nil, misused("--keep %q: %s", text, err)
		}
		ids, numbers = append(ids, id), append(numbers, number)
	}
	return func(id checkout.ID) bool {
		return slices.Contains(ids, id) || slices.Contains(numbers, id.Number())
	}, nil
}
