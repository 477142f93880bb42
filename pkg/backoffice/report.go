package backoffice

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"shopfront/pkg/voucher"
)

// ReportGrouping is the property by which a report groups its counts.
type ReportGrouping string

// The groupings of reports.
const (
	ReportByDay    ReportGrouping = "day" // in the shop's time zone
	ReportByBatch  ReportGrouping = "batch"
	ReportByReward ReportGrouping = "reward"
	ReportByNick   ReportGrouping = "nick"
)

// ReportGroupings returns all groupings.
func ReportGroupings() []ReportGrouping {
	return []ReportGrouping{ReportByDay, ReportByBatch, ReportByReward, ReportByNick}
}

// ReportQuery says what a report counts.
type ReportQuery struct {
	Batch     string         // empty: all batches
	From      time.Time      // inclusive
	Until     time.Time      // exclusive; zero: no end
	By        ReportGrouping // empty: only the total
	MaxGroups int
	Read      func(vouchers int) // called with the number of vouchers read since its last call
}

// ReportCounts counts vouchers and their uses. Created, Redeemed and Undone count what happened in the period. Redeemed
// includes redemptions that were undone later. Held and Left are as of now.
type ReportCounts struct {
	Created, Redeemed, Undone int
	Held                      int
	Left                      int // uses left of codes that have a limit and are neither disabled nor expired
	Unlimited                 int // codes without a limit that are neither disabled nor expired
}

// ReportGroup has the counts of a day, a batch, a reward or a nick.
type ReportGroup struct {
	Name string // empty: no batch or no nick; a nick is in the spelling that was read first
	ReportCounts
}

// ErrTooManyGroups means that a report has more groups than the query allows.
var ErrTooManyGroups = errors.New("the report has too many groups")

// CountsNow reports whether a report with this grouping has Held and Left. They do not belong to a day or a nick.
func (g ReportGrouping) CountsNow() bool { return g != ReportByDay && g != ReportByNick }

// Report counts the vouchers of the shop and their uses. For a code with many uses, imported uses count as redeemed
// at the time when the code was created. Report returns the total, and the groups. Days are in order. In other
// groupings, the groups with the most redemptions come first. Report reads all of the shop's vouchers, while the
// shop stays live, and holds only the groups in memory. Errors are ErrTooManyGroups, and voucher.ErrBatchUnknown if the
// batch has no vouchers.
func (s *Shop) Report(
	ctx context.Context, query ReportQuery, now time.Time,
) (groups []ReportGroup, total ReportCounts, err error) {
	r := reporting{query, now, s.Zone, make(map[string]*ReportGroup)}
	var last *tally
	for entry, err := range s.stored(ctx, "", query.Batch) {
		if err != nil {
			return nil, ReportCounts{}, err
		}
		if entry.voucher != nil {
			query.Read(1)
		}
		if query.Batch != "" && entry.of.Batch != query.Batch {
			continue
		}
		if last == nil || last.voucher.Code != entry.code {
			r.addVoucher(last)
			last = &tally{at: now}
		}
		last.add(entry)
		for _, redemption := range entry.redemptions {
			r.addRedemption(entry.of, redemption)
		}
		if len(r.groups) > query.MaxGroups {
			break
		}
	}
	r.addVoucher(last)
	if len(r.groups) > query.MaxGroups {
		return nil, ReportCounts{}, ErrTooManyGroups
	}
	groups, total = r.sum()
	return groups, total, nil
}

// reporting is a report that is being counted.
type reporting struct {
	ReportQuery

	now    time.Time
	zone   *time.Location
	groups map[string]*ReportGroup
}

// group returns the group for a batch, a reward, a time and a nick.
func (r reporting) group(batch string, reward voucher.Reward, at time.Time, nick voucher.Nick) *ReportGroup {
	var key, name string
	switch r.By {
	case ReportByDay:
		name = at.In(r.zone).Format(time.DateOnly)
	case ReportByBatch:
		name = batch
	case ReportByReward:
		name = reward.String()
	case ReportByNick:
		key, name = nick.Compared, nick.Written
	}
	if key == "" {
		key = name
	}
	if r.groups[key] == nil {
		r.groups[key] = &ReportGroup{Name: name}
	}
	return r.groups[key]
}

func (r reporting) covers(at time.Time) bool {
	return !at.IsZero() && !at.Before(r.From) && (r.Until.IsZero() || at.Before(r.Until))
}

func (r reporting) addRedemption(v voucher.Voucher, redemption voucher.Redemption) {
	nick, err := voucher.ParseNick(redemption.Nick)
	if err != nil { // Shopfront does not store such a nick
		nick = voucher.Nick{Written: redemption.Nick, Compared: redemption.Nick}
	}
	if r.covers(redemption.At) {
		r.group(v.Batch, redemption.Reward, redemption.At, nick).Redeemed++
	}
	if r.covers(redemption.Undone) {
		r.group(v.Batch, redemption.Reward, redemption.Undone, nick).Undone++
	}
}

// addVoucher adds the counts of a voucher, except those of its redemptions. It must be called after all entries of the
// voucher were read.
func (r reporting) addVoucher(read *tally) {
	if read == nil {
		return
	}
	standing := read.standing()
	v := standing.Voucher
	if r.covers(v.Created) {
		r.group(v.Batch, v.Reward, v.Created, v.Nick).Created++
		if !v.SingleUse() && v.Imported > 0 {
			r.group(v.Batch, v.Reward, v.Created, voucher.Nick{}).Redeemed += v.Imported
		}
	}
	left, unlimited := standing.UsesLeft, 0
	if v.MaxUses == voucher.NoLimit {
		unlimited = 1
	}
	if status := standing.Status(r.now); status == voucher.StatusDisabled || status == voucher.StatusExpired {
		left, unlimited = 0, 0
	}
	if r.By.CountsNow() && standing.UsesHeld+left+unlimited > 0 {
		group := r.group(v.Batch, v.Reward, time.Time{}, voucher.Nick{})
		group.Held += standing.UsesHeld
		group.Left += left
		group.Unlimited += unlimited
	}
}

// sum returns the groups in order, and their total.
func (r reporting) sum() (groups []ReportGroup, total ReportCounts) {
	for _, group := range r.groups {
		groups = append(groups, *group)
		total.Created += group.Created
		total.Redeemed += group.Redeemed
		total.Undone += group.Undone
		total.Held += group.Held
		total.Left += group.Left
		total.Unlimited += group.Unlimited
	}
	slices.SortFunc(groups, func(a, b ReportGroup) int {
		byRedeemed := cmp.Compare(b.Redeemed, a.Redeemed)
		if r.By == ReportByDay {
			byRedeemed = 0
		}
		return cmp.Or(byRedeemed, cmp.Compare(a.Name, b.Name))
	})
	if r.By == "" {
		groups = nil
	}
	return groups, total
}
