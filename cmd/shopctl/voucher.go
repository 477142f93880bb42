package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/csvfile"
	"shopfront/pkg/voucher"
)

const rewardHelp = `REWARD is what a redemption gives:
  coins/500     a free product: one of variant 500 of the product coins
  2*coins/500   two of them
  20%           a percentage off the price
  5.00          an amount off the price, in the shop's currency, with its decimals

For several goods at once give --reward up to 10 times, or join the goods: coins/500+2*rank/vip.`

func newVoucherCommand(s *session) *cobra.Command {
	return newGroup("voucher", "Create, import, list, edit, pause and delete vouchers",
		newVoucherCreateCommand(s), newVoucherGenerateCommand(s), newVoucherImportCommand(s),
		newVoucherListCommand(s), newVoucherShowCommand(s), newVoucherExportCommand(s), newVoucherEditCommand(s),
		newVoucherPauseCommand(s), newVoucherResumeCommand(s), newVoucherSwitchCommand(s, true),
		newVoucherSwitchCommand(s, false),
		newVoucherDeleteCommand(s))
}

// editFlags are the fields of a voucher that can be edited.
type editFlags struct {
	maxUses, maxUsesPerNick *voucher.Limit
	validFrom, validUntil   moment
	disabled                bool
	nick, batch, note       string
	parts                   int
}

func (f *editFlags) add(flags *pflag.FlagSet) {
	flags.Var(limitFlag(&f.maxUses), "max-uses", "how often the code can be redeemed")
	flags.Var(limitFlag(&f.maxUsesPerNick), "max-uses-per-nick",
		"how often one nick can redeem it, 1 to 10; with a limit every request needs a nick")
	flags.Var(timeOrNoneFlag(&f.validFrom, voucher.ParseTime), "valid-from", "the first moment of validity, or its first day")
	flags.Var(timeOrNoneFlag(&f.validUntil, voucher.ParseEnd), "valid-until",
		"the first moment after validity, or its last day")
	flags.BoolVar(&f.disabled, "disabled", false, "refuse all redemptions")
	flags.StringVar(&f.nick, "nick", "", "only the shopper `NICK` can redeem it")
	flags.StringVar(&f.batch, "batch", "", "the batch `NAME` that the voucher belongs to, at most 64 bytes")
	flags.StringVar(&f.note, "note", "", "a note (`TEXT`) for yourself, at most 128 bytes")
	flags.Var(numberFlag(&f.parts, 0), "parts", "over how many parts a busy code's limit is spread, 0 to 98")
}

// edit returns the changes that the flags ask for, or an error if no flag was given. The zone is that of dates. reward
// is the new reward, or nil.
func (f *editFlags) edit(flags *pflag.FlagSet, zone *time.Location, reward *voucher.Reward) (voucher.Edit, error) {
	edit := voucher.Edit{
		Reward:  reward,
		MaxUses: f.maxUses, MaxUsesPerNick: f.maxUsesPerNick,
		ValidFrom: f.validFrom.pointer(zone), ValidUntil: f.validUntil.pointer(zone),
		Disabled: given(flags, "disabled", &f.disabled),
		Nick:     given(flags, "nick", &f.nick), Batch: given(flags, "batch", &f.batch),
		Note: given(flags, "note", &f.note), Parts: given(flags, "parts", &f.parts),
	}
	if edit == (voucher.Edit{}) {
		return voucher.Edit{}, misused("nothing to change: give a flag, such as --max-uses 200 or --valid-until " +
			"2026-12-24")
	}
	return edit, nil
}

func given[T any](flags *pflag.FlagSet, name string, value *T) *T {
	if flags.Changed(name) {
		return value
	}
	return nil
}

// createFlags are the fields of a new voucher, except its code.
type createFlags struct {
	editFlags
	rewards []string // goods, or one reward
	flags   *pflag.FlagSet
}

func (f *createFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.rewards, "reward", nil,
		"the `REWARD`: coins/500, 2*coins/500, 20% or 5.00 (required); repeat the flag for several goods")
	f.editFlags.add(flags)
	// unlike an edit, reject empty texts
	flags.Lookup("nick").Value, flags.Lookup("batch").Value = textFlag(&f.nick), textFlag(&f.batch)
	flags.Lookup("max-uses").Usage += " (default 1)"
	flags.Lookup("max-uses-per-nick").Usage += " (default 1, or none if --max-uses is 1)"
	flags.Lookup("parts").Usage += " (default 0, or 1 per 100 uses of a limit above 500)"
	f.flags = flags
}

// reward reads the flags --reward for a shop. It warns about a reward that is off sale.
func (s *session) reward(ctx context.Context, shop *backoffice.Shop, rewards []string) (voucher.Reward, error) {
	written := strings.Join(rewards, "+")
	if written == "" {
		return voucher.Reward{}, misused("--reward: a reward is empty")
	}
	reward, offSale, err := shop.Reward(ctx, written)
	if err != nil {
		return voucher.Reward{}, describeNotFound(err, "--reward: %s: see %s", err,
			s.commandLine("catalog show "+string(shop.Profile.ID)))
	}
	if offSale && reward.Kind == voucher.RewardBundle {
		written = "part of " + written
	}
	if offSale {
		s.warn(written + " is off sale; the voucher still gives it")
	}
	return reward, nil
}

// terms reads the flags for a shop. It warns about a reward that is off sale, a pause that covers the voucher, and
// an end of validity that is over.
func (s *session) terms(ctx context.Context, shop *backoffice.Shop, f *createFlags) (voucher.Terms, error) {
	if len(f.rewards) == 0 {
		return voucher.Terms{}, misused("--reward is missing: give product/variant, 2*product/variant, 20%% or an " +
			"amount such as 5.00")
	}
	reward, err := s.reward(ctx, shop, f.rewards)
	if err != nil {
		return voucher.Terms{}, err
	}
	settings, err := shop.Settings(ctx)
	if err != nil {
		return voucher.Terms{}, err
	}
	s.warnPaused(shop.Profile.ID, f.batch, settings.Paused)
	validUntil := f.validUntil.in(shop.Zone)
	if !validUntil.IsZero() && !validUntil.After(s.now()) {
		s.warn("--valid-until is in the past: nobody can redeem the code")
	}
	return voucher.Terms{
		Reward: reward, MaxUses: f.maxUses, MaxUsesPerNick: f.maxUsesPerNick,
		ValidFrom: f.validFrom.in(shop.Zone), ValidUntil: validUntil, Disabled: f.disabled,
		Nick: f.nick, Batch: f.batch, Note: f.note, Parts: given(f.flags, "parts", &f.parts),
	}, nil
}

func newVoucherCreateCommand(s *session) *cobra.Command {
	var flags createFlags
	command := &cobra.Command{
		Use: "create SHOP CODE --reward REWARD", Short: "Create a voucher with a code of your choice",
		Args: exactly("SHOP", "CODE"),
		Long: `Create a voucher with a code of your choice. Case, spaces and dashes make no difference between codes, nor do O
and 0, or I, L and 1. If the code exists already, the command refuses; it never overwrites a voucher.

` + rewardHelp,
		Example: `  shopctl --local voucher create emberforge WELCOME-2026 --reward coins/500
  shopctl --local voucher create emberforge AUTUMN-20 --reward 20% --max-uses 100 --valid-until 2027-11-30
  shopctl --local voucher create emberforge NEWCOMERS --reward coins/1200 --reward '2*crate-key/single'
  shopctl --local voucher create sakura-goods ARIGATO --reward 500 --max-uses none`,
		RunE: s.shopCommand(func(ctx context.Context, shop *backoffice.Shop, args []string) error {
			terms, err := s.terms(ctx, shop, &flags)
			if err != nil {
				return err
			}
			terms.Written = args[1]
			v, err := shop.CreateVoucher(ctx, terms, s.now())
			if err != nil {
				return err
			}
			return s.showVoucher(shop, voucher.Standing{Voucher: v, UsesLeft: int(v.MaxUses)}, nil)
		}),
	}
	flags.add(command.Flags())
	return command
}

func newVoucherShowCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show SHOP CODE", Short: "Show a voucher, its uses left and its redemptions",
		Args: exactly("SHOP", "CODE"),
		Long: `Show a voucher, its uses left and its redemptions. A use is redeemed, held by a checkout that is not paid yet,
or left. A hold lapses 10 to 20 seconds after its checkout expires; then the use is left again. For a code with
--max-uses none, holds are not counted.`,
		Example: "  shopctl --local voucher show emberforge SUMMER-20",
		RunE: s.command(func(ctx context.Context, args []string) error {
			shop, code, err := s.shopAndCode(ctx, args)
			if err != nil {
				return err
			}
			standing, redemptions, err := look(ctx, shop, code, s.now())
			if err != nil {
				return s.describeNoVoucher(err, shop, args[1])
			}
			settings, err := shop.Settings(ctx)
			if err != nil {
				return err
			}
			s.warnPaused(shop.Profile.ID, standing.Batch, settings.Paused)
			return s.showVoucher(shop, standing, redemptions)
		}),
	}
}

// look reads a voucher with its uses and redemptions.
func look(
	ctx context.Context, shop *backoffice.Shop, code voucher.Code, at time.Time,
) (voucher.Standing, []backoffice.Redemption, error) {
	standing, err := shop.Voucher(ctx, code, at)
	if err != nil {
		return voucher.Standing{}, nil, err
	}
	redemptions, err := backoffice.Collect(shop.Redemptions(ctx, backoffice.RedemptionFilter{Code: code}))
	slices.SortStableFunc(redemptions, func(a, b backoffice.Redemption) int { return a.At.Compare(b.At) })
	if standing.MaxUses == voucher.NoLimit { // a code without a limit does not count its uses
		standing.Used = standing.Imported
		for _, redemption := range redemptions {
			if redemption.Undone.IsZero() {
				standing.Used++
			}
		}
	}
	return standing, redemptions, err
}

func newVoucherEditCommand(s *session) *cobra.Command {
	var flags editFlags
	var rewards []string
	command := &cobra.Command{
		Use: "edit SHOP CODE", Short: "Change a voucher", Args: exactly("SHOP", "CODE"),
		Long: `Change a voucher. The change applies to every request that begins after the command returned.

The code never changes. Another reward is for the future: redemptions keep what they gave, and open checkouts their
price. A limit cannot change from a number to none or back, and --max-uses cannot change from or to 1. A limit below the
uses taken means that the code is used up. Remove a field with --nick "", --batch "", --note "", --valid-from none or
--valid-until none. --parts adds parts to a busy code; it cannot remove any. To complete an interrupted edit, run it
again.`,
		Example: `  shopctl --local voucher edit emberforge SUMMER-20 --max-uses 600
  shopctl --local voucher edit emberforge SUMMER-20 --valid-until 2027-09-30 --note "extended"`,
	}
	command.RunE = s.command(func(ctx context.Context, args []string) error {
		return s.editVoucher(ctx, args, func(shop *backoffice.Shop) (voucher.Edit, error) {
			if !command.Flags().Changed("reward") {
				return flags.edit(command.Flags(), shop.Zone, nil)
			}
			reward, err := s.reward(ctx, shop, rewards)
			if err != nil {
				return voucher.Edit{}, err
			}
			return flags.edit(command.Flags(), shop.Zone, &reward)
		})
	})
	flags.add(command.Flags())
	command.Flags().StringArrayVar(&rewards, "reward", nil, "the `REWARD` from now on; repeat the flag for several goods")
	return command
}

func (s *session) editVoucher(
	ctx context.Context, args []string, wanted func(shop *backoffice.Shop) (voucher.Edit, error),
) error {
	shop, code, err := s.shopAndCode(ctx, args)
	if err != nil {
		return err
	}
	edit, err := wanted(shop)
	if err != nil {
		return err
	}
	if _, err := shop.EditVoucher(ctx, code, edit); err != nil {
		return s.describeNoVoucher(err, shop, args[1])
	}
	if err := s.awaitRules(ctx); err != nil {
		return err
	}
	standing, err := shop.Voucher(ctx, code, s.now())
	if err == nil && standing.MaxUses == voucher.NoLimit { // it does not count its uses
		standing, _, err = look(ctx, shop, code, s.now())
	}
	if err != nil {
		return err
	}
	return s.showVoucher(shop, standing, nil)
}

// awaitRules waits until every request that begins follows an edit.
func (s *session) awaitRules(ctx context.Context) error {
	s.note(fmt.Sprintf("changed; waiting %s until no function remembers the voucher as it was", backoffice.RulesAge))
	return s.sleep(ctx, backoffice.RulesAge)
}

// newVoucherSwitchCommand makes the commands disable and enable.
func newVoucherSwitchCommand(s *session, disabled bool) *cobra.Command {
	verb, short := "enable", "Enable a voucher, or all vouchers of a batch"
	if disabled {
		verb, short = "disable", "Disable a voucher, or all vouchers of a batch"
	}
	var batch string
	command := &cobra.Command{
		Use: verb + " SHOP {CODE | --batch NAME}", Short: short,
		Long: short + `. The change applies to every request that begins after the command
returned. With --batch the command writes every voucher of the batch, even those that already have the wanted state.
So a write of an interrupted command that is still in flight cannot undo the change.`,
		Example: fmt.Sprintf("  shopctl --local voucher %s emberforge SUMMER-20\n  shopctl --local voucher %s "+
			"emberforge --batch summer", verb, verb),
		Args: codeOrBatch,
		RunE: s.command(func(ctx context.Context, args []string) error {
			if batch == "" {
				return s.editVoucher(ctx, args, func(*backoffice.Shop) (voucher.Edit, error) {
					return voucher.Edit{Disabled: &disabled}, nil
				})
			}
			return s.switchBatch(ctx, args[0], batch, disabled)
		}),
	}
	command.Flags().Var(textFlag(&batch), "batch", "all vouchers of the batch `NAME`")
	return command
}

// codeOrBatch requires the arguments SHOP and CODE, or only SHOP if --batch is given.
func codeOrBatch(command *cobra.Command, args []string) error {
	if command.Flags().Changed("batch") {
		if len(args) == 2 {
			return errors.New("give CODE or --batch, not both")
		}
		return exactly("SHOP")(command, args)
	}
	return exactly("SHOP", "CODE (or --batch NAME)")(command, args)
}

type batchSwitchJSON struct {
	Shop     string `json:"customer"`
	Batch    string `json:"batch"`
	Disabled bool   `json:"disabled"`
	Vouchers int    `json:"vouchers"` // in the batch
	Switched int    `json:"switched"` // by this command; the others already were
}

func (s *session) switchBatch(ctx context.Context, shopID, batch string, disabled bool) error {
	verb := map[bool]string{true: "disabled", false: "enabled"}[disabled]
	shop, err := s.shop(ctx, shopID)
	if err != nil {
		return err
	}
	bar := new(progress)
	result, err := shop.SwitchBatch(ctx, batch, disabled, s.bulk(verb, bar))
	bar.end()
	if err != nil {
		if result.Vouchers > 0 {
			s.note(fmt.Sprintf("%s %d of %d vouchers in batch %s, then stopped", verb, result.Switched, result.Vouchers,
				batch))
		}
		return err
	}
	text := fmt.Sprintf("%s %d of %d vouchers in batch %s", verb, result.Switched, result.Vouchers, batch)
	if already := result.Vouchers - result.Switched; already > 0 {
		text += fmt.Sprintf("; %d already were", already)
	}
	if err := s.awaitRules(ctx); err != nil {
		return err
	}
	document := batchSwitchJSON{string(shop.Profile.ID), batch, disabled, result.Vouchers, result.Switched}
	return s.line(document, text)
}

// voucherFilter has the flags that pick vouchers.
type voucherFilter struct {
	*session

	filter backoffice.VoucherFilter
	nick   string
}

func (f *voucherFilter) add(command *cobra.Command) {
	flags := command.Flags()
	flags.Var(textFlag(&f.filter.Batch), "batch", "only vouchers of the batch `NAME`")
	flags.Var(textFlag(&f.nick), "nick", "only vouchers for the shopper `NICK`")
	addChoice(command, &f.filter.Status, "status", "only vouchers with the `STATUS` "+alternatives(voucher.Statuses()),
		voucher.Statuses()...)
}

func (f *voucherFilter) open(
	ctx context.Context, shopID string, at time.Time,
) (iter.Seq2[voucher.Standing, error], error) {
	var err error
	if f.filter.Nick, err = voucher.ParseNick(f.nick); err != nil {
		return nil, err
	}
	shop, err := f.shop(ctx, shopID)
	if err != nil {
		return nil, err
	}
	return shop.Vouchers(ctx, f.filter, at), nil
}

func newVoucherListCommand(s *session) *cobra.Command {
	filter := voucherFilter{session: s}
	command := &cobra.Command{
		Use: "list SHOP", Short: "List vouchers, sorted by code", Args: exactly("SHOP"),
		Long: `List vouchers in the order of their codes. The command reads all of the shop's vouchers and ` +
			`redemptions.`,
		Example: `  shopctl --local voucher list emberforge
  shopctl --local voucher list emberforge --batch summer --status redeemable --json`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			at := s.now()
			vouchers, err := filter.open(ctx, args[0], at)
			if err != nil {
				return err
			}
			return stream(&s.output, "vouchers",
				[]string{"CODE", "REWARD", "STATUS", "USED", "LEFT", "BATCH", "NICK", "VALID UNTIL"}, vouchers,
				func(v voucher.Standing) standingJSON { return representStanding(catalog.ShopID(args[0]), v, at) })
		}),
	}
	filter.add(command)
	return command
}

func newVoucherExportCommand(s *session) *cobra.Command {
	command := newExportCommand(s, "voucher", &voucherFilter{session: s},
		func(file io.Writer, at time.Time) (csvfile.Writer, func(voucher.Standing) error) {
			rows := csvfile.NewVoucherWriter(file)
			return rows.Writer, func(v voucher.Standing) error { return rows.Write(v, at) }
		})
	command.Long = `Write vouchers with their uses to a CSV file, in the order of their codes. shopctl voucher import reads such a file:
used codes stay used. The file contains codes and nicks, so keep it like money. The shop can stay live.

docs/reference/files.md describes the columns. If the command fails, stdout may have a part of the file, but --output FILE
stays as it was. The command reads all of the shop's vouchers and redemptions.`
	command.Example = `  shopctl --local voucher export emberforge --output emberforge.csv
  shopctl --local voucher export emberforge --batch summer --status used_up`
	return command
}

// shopAndCode reads the arguments SHOP and CODE.
func (s *session) shopAndCode(ctx context.Context, args []string) (*backoffice.Shop, voucher.Code, error) {
	shop, err := s.shop(ctx, args[0])
	if err != nil {
		return nil, "", err
	}
	code, err := voucher.ParseCode(args[1])
	return shop, code, s.describeNoVoucher(err, shop, args[1])
}

func (s *session) describeNoVoucher(err error, shop *backoffice.Shop, code string) error {
	return describeNotFound(err, "shop %s has no voucher %s: see %s", shop.Profile.ID,
		strconv.QuoteToGraphic(code),
		s.commandLine("voucher list "+string(shop.Profile.ID)))
}
