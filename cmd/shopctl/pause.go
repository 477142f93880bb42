package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// The 15 seconds in takesEffect follow from access.Lifetime.
const takesEffect = "this takes effect within 15 seconds"

// pauseJSON is the pause of a shop's codes.
type pauseJSON struct {
	All     bool     `json:"all"`
	Batches []string `json:"batches"` // paused by name
}

func representPause(p voucher.Pause) pauseJSON {
	return pauseJSON{p.All, represent(p.Batches, toString)}
}

// formatPause formats a pause for people. The text is empty if nothing is paused.
func formatPause(p voucher.Pause) string {
	var paused []string
	if p.All {
		paused = append(paused, "all codes")
	}
	if len(p.Batches) > 0 {
		paused = append(paused, "batch "+strings.Join(p.Batches, ", batch "))
	}
	return strings.Join(paused, ", ")
}

type shopPauseJSON struct {
	Shop string `json:"customer"`
	pauseJSON
}

// batchCommand is shopCommand for a command with the flag --batch, which can be repeated.
func (s *session) batchCommand(
	batches *[]string, do func(ctx context.Context, shop *backoffice.Shop) error,
) func(*cobra.Command, []string) error {
	return s.command(func(ctx context.Context, args []string) error {
		if slices.ContainsFunc(*batches, func(batch string) bool { return strings.TrimSpace(batch) == "" }) {
			return misused("--batch must not be empty")
		}
		shop, err := s.shop(ctx, args[0])
		if err != nil {
			return err
		}
		return do(ctx, shop)
	})
}

func newVoucherPauseCommand(s *session) *cobra.Command {
	var batches []string
	command := &cobra.Command{
		Use:   "pause SHOP [--batch NAME]...",
		Short: "Stop the redemption of all codes, or of batches, within 15 seconds", Args: exactly("SHOP"),
		Long: fmt.Sprintf(`Stop the redemption of all codes of a shop, or of up to %d batches. The pause takes effect within 15 seconds,
however many vouchers there are, and the vouchers stay as they are. The refusal of a paused code looks like any other
refusal. A retry with the key of an earlier redemption still gets that redemption.

Vouchers that join a paused batch later are paused, too. The command refuses a batch that has no vouchers. To find out,
it may read all of the shop's vouchers.`, voucher.MaxPausedBatches),
		Example: "  shopctl --local voucher pause emberforge\n  shopctl --local voucher pause emberforge --batch " +
			"summer --batch spring",
		RunE: s.batchCommand(&batches, func(ctx context.Context, shop *backoffice.Shop) error {
			if err := shop.RequireVouchers(ctx, batches); err != nil {
				return err
			}
			paused, err := shop.Pause(ctx, batches...)
			if err != nil {
				return err
			}
			return s.showPause(shop, paused)
		}),
	}
	command.Flags().StringArrayVar(&batches, "batch", nil,
		"only the batch `NAME`; give the flag again for more batches")
	return command
}

func newVoucherResumeCommand(s *session) *cobra.Command {
	var batches []string
	command := &cobra.Command{
		Use:   "resume SHOP [--batch NAME]...",
		Short: "Lift the pause of all codes, or of batches, within 15 seconds", Args: exactly("SHOP"),
		Long: `Lift the pause of all codes, or of batches, within 15 seconds. Without --batch, batches that were paused by name
stay paused, and the command prints how to resume them.`,
		Example: "  shopctl --local voucher resume emberforge\n  shopctl --local voucher resume emberforge --batch " +
			"summer",
		RunE: s.batchCommand(&batches, func(ctx context.Context, shop *backoffice.Shop) error {
			before, after, err := shop.Resume(ctx, batches...)
			if err != nil {
				return err
			}
			for _, batch := range batches {
				if !slices.Contains(before.Batches, batch) {
					s.warn(fmt.Sprintf("batch %s was not paused by name; nothing was changed for it", batch))
				}
			}
			if err := s.showPause(shop, after); err != nil {
				return err
			}
			if len(batches) == 0 && len(after.Batches) > 0 {
				s.warn("batches that were paused by name stay paused; to resume them run: " +
					s.resumeCommand(shop.Profile.ID, after.Batches))
			}
			if len(batches) > 0 && after.All {
				s.warn("all codes stay paused; to resume them run: " + s.resumeCommand(shop.Profile.ID, nil))
			}
			return nil
		}),
	}
	command.Flags().StringArrayVar(&batches, "batch", nil,
		"only the batch `NAME`, which was paused by name; give the flag again for more batches")
	return command
}

func (s *session) showPause(shop *backoffice.Shop, paused voucher.Pause) error {
	text := formatPause(paused)
	if text == "" {
		text = "nothing"
	}
	document := shopPauseJSON{string(shop.Profile.ID), representPause(paused)}
	if err := s.line(document, fmt.Sprintf("paused at %s: %s", shop.Profile.ID, text)); err != nil {
		return err
	}
	s.note(takesEffect)
	return nil
}

// resumeCommand returns the command line that resumes batches or, without batches, all codes.
func (s *session) resumeCommand(shop catalog.ShopID, batches []string) string {
	flags := represent(batches, func(batch string) string { return " --batch " + shellWord(batch) })
	return s.commandLine("voucher resume " + string(shop) + strings.Join(flags, ""))
}

// warnPaused warns of a voucher that cannot be redeemed because it is paused.
func (s *session) warnPaused(shop catalog.ShopID, batch string, paused voucher.Pause) {
	if paused.All {
		s.warn("all codes are paused; to resume them run: " + s.resumeCommand(shop, nil))
	}
	if (voucher.Pause{Batches: paused.Batches}).Covers(batch) {
		s.warn(fmt.Sprintf("batch %s is paused; to resume it run: %s", batch,
			s.resumeCommand(shop, []string{batch})))
	}
}
