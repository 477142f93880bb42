package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"shopfront/pkg/operator"
	"shopfront/pkg/voucher"
)

type redemptionJSON struct {
	ID         string     `json:"id"`
	RedeemedAt string     `json:"redeemedAt"`
	Code       string     `json:"code"` // as written at creation
	Nick       string     `json:"nick,omitempty"`
	Reward     rewardJSON `json:"reward"`
	Batch      string     `json:"batch,omitempty"`

	reward string
}

func redemptionHead() []string { return []string{"REDEEMED", "CODE", "NICK", "REWARD", "BATCH", "ID"} }

func (r redemptionJSON) cells() []string {
	return []string{r.RedeemedAt, r.Code, r.Nick, r.reward, r.Batch, r.ID}
}

func representRedemption(r operator.Redemption) redemptionJSON {
	return redemptionJSON{
		ID: r.ID, RedeemedAt: formatTime(r.At), Code: r.Code, Nick: r.Nick,
		Reward: representReward(r.Reward), Batch: r.Batch, reward: formatReward(r.Reward),
	}
}

func newRedemptionCommand(s *session) *cobra.Command {
	return newGroup("redemption", "List redemptions", newRedemptionListCommand(s))
}

func newRedemptionListCommand(s *session) *cobra.Command {
	var code, nick, batch string
	var since, until time.Time
	command := &cobra.Command{
		Use: "list CUSTOMER", Short: "List redemptions, oldest first", Args: exactly("CUSTOMER"),
		Long: "List redemptions, oldest first. Without --code the command reads all of the customer's vouchers and redemptions.",
		Example: `  shopctl --local redemption list emberforge
  shopctl --local redemption list emberforge --nick Heron --since 2026-11-01 --until 2026-12-01 --json`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			if err := checkPeriod(since, until); err != nil {
				return err
			}
			filter := operator.RedemptionFilter{Batch: batch, From: since, Until: until}
			var err error
			if filter.Nick, err = voucher.ParseNick(nick); err != nil {
				return err
			}
			if code != "" {
				if filter.Code, err = voucher.ParseCode(code); err != nil {
					return describeNotFound(err, "--code %q: a code cannot have such characters", code)
				}
			}
			shop, err := s.shop(ctx, args[0])
			if err != nil {
				return err
			}
			redemptions, err := shop.Redemptions(ctx, filter)
			if err != nil {
				return s.describeNoVoucher(err, shop, code)
			}
			return list(&s.output, "redemptions", redemptionHead(), represent(redemptions, representRedemption))
		}),
	}
	flags := command.Flags()
	flags.Var(textFlag(&code), "code", "only redemptions of the voucher `CODE`")
	flags.Var(textFlag(&nick), "nick", "only redemptions by the shopper `NICK`")
	flags.Var(textFlag(&batch), "batch", "only redemptions of vouchers in the batch `NAME`")
	flags.Var(timeFlag(&since), "since", "only redemptions at or after this time; a date means midnight UTC")
	flags.Var(timeFlag(&until), "until", "only redemptions before this time; a date means midnight UTC")
	return command
}
