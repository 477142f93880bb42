package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/csvfile"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

// voucherJSON is a voucher. A limit of null means no limit.
type voucherJSON struct {
	Shop           string      `json:"customer"`
	Code           string      `json:"code"` // as written at creation
	Reward         wire.Reward `json:"reward"`
	MaxUses        *int        `json:"maxUses"`
	MaxUsesPerNick *int        `json:"maxUsesPerNick"`
	ValidFrom      string      `json:"validFrom,omitempty"`
	ValidUntil     string      `json:"validUntil,omitempty"`
	Disabled       bool        `json:"disabled"`
	Nick           string      `json:"nick,omitempty"`
	Batch          string      `json:"batch,omitempty"`
	Note           string      `json:"note,omitempty"`
	CreatedAt      string      `json:"createdAt"`
	Parts          int         `json:"parts,omitempty"`
}

// standingJSON is a voucher with its status and uses.
type standingJSON struct {
	voucherJSON

	Status string `json:"status"`
	Used   int    `json:"used"` // redeemed or held
	// UsesHeld is the part of Used that checkouts hold. It is null for a code without a limit, because its holds are
	// not counted.
	UsesHeld  *int   `json:"usesHeld"`
	HeldUntil string `json:"heldUntil,omitempty"` // when the next hold lapses
	UsesLeft  *int   `json:"usesLeft"`            // null: no limit

	Redemptions *[]redemptionJSON `json:"redemptions,omitempty"`

	reward string
}

func (v standingJSON) cells() []string {
	left := csvfile.None
	if v.UsesLeft != nil {
		left = strconv.Itoa(*v.UsesLeft)
	}
	return []string{v.Code, v.reward, v.Status, strconv.Itoa(v.Used), left, v.Batch, v.Nick, v.ValidUntil}
}

func representVoucher(shop catalog.ShopID, v voucher.Voucher) voucherJSON {
	return voucherJSON{
		Shop: string(shop), Code: v.Written, Reward: wire.OfReward(v.Reward),
		MaxUses: representLimit(v.MaxUses), MaxUsesPerNick: representLimit(v.MaxUsesPerNick),
		ValidFrom: wire.Time(v.ValidFrom), ValidUntil: wire.Time(v.ValidUntil), Disabled: v.Disabled,
		Nick: v.Nick.Written, Batch: v.Batch, Note: v.Note, CreatedAt: wire.Time(v.Created), Parts: v.Parts,
	}
}

func representLimit(limit voucher.Limit) *int {
	if limit == voucher.NoLimit {
		return nil
	}
	return new(int(limit))
}

func representStanding(shop catalog.ShopID, standing voucher.Standing, at time.Time) standingJSON {
	represented := standingJSON{
		voucherJSON: representVoucher(shop, standing.Voucher), Status: string(standing.Status(at)),
		Used: standing.Used, HeldUntil: wire.Time(standing.Lapse),
		reward: formatReward(standing.Reward),
	}
	if standing.MaxUses != voucher.NoLimit {
		represented.UsesHeld, represented.UsesLeft = &standing.UsesHeld, &standing.UsesLeft
	}
	return represented
}

// formatReward formats a reward for people, with its currency.
func formatReward(r voucher.Reward) string {
	switch r.Kind {
	case voucher.RewardAmountOff:
		return r.AmountOff.String() + " off"
	case voucher.RewardPercentOff:
		return r.String() + " off"
	case voucher.RewardProduct, voucher.RewardBundle:
	}
	return r.String()
}

// showVoucher prints a voucher with its uses, and its redemptions unless they are nil.
func (s *session) showVoucher(
	shop *backoffice.Shop, standing voucher.Standing, redemptions []backoffice.Redemption,
) error {
	document := representStanding(shop.Profile.ID, standing, s.now())
	fields := append(voucherFields(standing.Voucher), field{"status", document.Status},
		field{"uses", document.formatUses()})
	if redemptions == nil {
		return s.document(document, fields)
	}
	rows := represent(redemptions, representRedemption)
	document.Redemptions = &rows
	if err := s.document(document, fields); err != nil || s.json || len(rows) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(s.stdout); err != nil {
		return err
	}
	return list(&s.output, "redemptions", redemptionHead(), rows)
}

// formatUses returns a text for people that says how many uses are redeemed, held and left.
func (v standingJSON) formatUses() string {
	if v.UsesLeft == nil {
		return fmt.Sprintf("%d redeemed", v.Used)
	}
	uses := fmt.Sprintf("%d redeemed", v.Used-*v.UsesHeld)
	switch {
	case *v.UsesHeld > 0 && *v.MaxUses == 1:
		return "held until " + v.HeldUntil
	case *v.UsesHeld == 1:
		uses += ", 1 held until " + v.HeldUntil
	case *v.UsesHeld > 1:
		uses += fmt.Sprintf(", %d held, the first until %s", *v.UsesHeld, v.HeldUntil)
	}
	return fmt.Sprintf("%s, %d left", uses, *v.UsesLeft)
}

// asArgument returns the voucher's code as an argument in a shell. If the written code would need quotes, it returns
// the compared code.
func asArgument(v voucher.Voucher) string {
	special := func(r rune) bool {
		return r != '-' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	}
	if strings.HasPrefix(v.Written, "-") || strings.ContainsFunc(v.Written, special) {
		return string(v.Code)
	}
	return v.Written
}

// shellWord quotes a string as one word of a shell command.
func shellWord(text string) string {
	special := func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	if text != "" && !strings.ContainsFunc(text, special) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func voucherFields(v voucher.Voucher) []field {
	fields := []field{
		{"code", v.Written},
		{"reward", formatReward(v.Reward)},
		{"max uses", csvfile.FormatLimit(v.MaxUses)},
		{"max uses per nick", csvfile.FormatLimit(v.MaxUsesPerNick)},
		{"valid from", wire.Time(v.ValidFrom)},
		{"valid until", wire.Time(v.ValidUntil)},
		{"disabled", strconv.FormatBool(v.Disabled)},
		{"nick", v.Nick.Written},
		{"batch", v.Batch},
		{"note", v.Note},
		{"created", wire.Time(v.Created)},
	}
	if v.Parts > 0 {
		fields = append(fields, field{"parts", strconv.Itoa(v.Parts)})
	}
	return fields
}
