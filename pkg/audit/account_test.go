package audit_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/audit"
	"shopfront/pkg/voucher"
)

func noon() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

func home() audit.Place {
	return audit.Place{Table: "vouchers", Partition: "emberforge#38", Sort: "SUMMER20"}
}

func part(suffix string) audit.Place {
	place := home()
	place.Sort += suffix
	return place
}

func id(n int) string { return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%016d", n)) }

// record returns a redemption without a nick.
func record(n int) voucher.Redemption { return voucher.Redemption{ID: id(n), At: noon()} }

// add adds the voucher SUMMER-20 in the given version, with a limit of 10, two parts and no limit per nick. left is what
// its own item has left.
func add(a *audit.Account, version, left int64, change ...func(*voucher.Voucher)) {
	v := voucher.Voucher{
		Code: "SUMMER20", Written: "SUMMER-20", MaxUses: 10, Parts: 2, Version: version, Created: noon(),
		Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}
	for _, c := range change {
		c(&v)
	}
	a.AddVoucher(v, audit.Item{Left: left}, nil, false)
}

// ended makes the voucher valid until noon. The redemptions of record are at noon, which is too late.
func ended(v *voucher.Voucher) { v.ValidUntil = noon() }

func gives(reward voucher.Reward) func(*voucher.Voucher) {
	return func(v *voucher.Voucher) { v.Reward = reward }
}

// holding returns an item with a number of holds of one use.
func holding(left, used int64, holds int) audit.Item {
	item := audit.Item{Left: left, Used: used, Counted: int64(holds)}
	for n := range holds {
		item.Holds = append(item.Holds, audit.Hold{Holder: id(n), Amount: 1, Until: noon().Add(time.Minute)})
	}
	return item
}

// parts adds two parts with the given uses left and taken.
func parts(a *audit.Account, left0, used0, left1, used1 int64) {
	a.AddPart(part("#p#00"), 0, audit.Item{Left: left0, Used: used0})
	a.AddPart(part("#p#01"), 1, audit.Item{Left: left1, Used: used1})
}

func records(a *audit.Account, count int) {
	for n := range count {
		a.AddRedemption(part("#r#"+id(n)), record(n), "")
	}
}

// glance returns a glance at a voucher whose parts have given out the given uses.
func glance(version int64, used ...int64) audit.Glance {
	g := audit.Glance{Version: version, Items: []audit.Item{{}}}
	for _, n := range used {
		g.Items = append(g.Items, audit.Item{Left: 5 - n, Used: n})
	}
	return g
}

func kindsOf(findings []audit.Finding) string {
	kinds := make([]string, len(findings))
	for i, f := range findings {
		kinds[i] = string(f.Kind)
	}
	return strings.Join(kinds, " ")
}

// Some accounts are read in one moment. Others are read while the shop is in use, with a glance at the voucher before
// and after.
func TestJudge(t *testing.T) {
	tests := []struct {
		name     string
		read     func(a *audit.Account)
		doubtful string // kinds
		motion   audit.MotionKind
	}{
		{name: "a voucher as it was created", read: func(a *audit.Account) {
			add(a, 1, 0)
			parts(a, 5, 0, 5, 0)
		}},
		{name: "items come in any order", read: func(a *audit.Account) {
			records(a, 3)
			parts(a, 4, 1, 3, 2)
			add(a, 1, 0)
		}},
		{name: "a discount is redeemed after its end, perhaps by an order", read: func(a *audit.Account) {
			add(a, 1, 0, ended)
			parts(a, 4, 1, 5, 0)
			records(a, 1)
		}},
		{
			name: "a voucher for goods is redeemed after its end", doubtful: "against_terms",
			read: func(a *audit.Account) {
				add(a, 1, 0, ended, gives(voucher.Reward{
					Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 1,
				}))
				parts(a, 4, 1, 5, 0)
				records(a, 1)
			},
		},
		{name: "one more use than redemptions", doubtful: "allowance_differs", read: func(a *audit.Account) {
			add(a, 1, 0)
			parts(a, 4, 1, 3, 2)
			records(a, 2)
		}},
		{name: "one more redemption than uses", doubtful: "allowance_differs", read: func(a *audit.Account) {
			add(a, 1, 0)
			parts(a, 4, 1, 3, 2)
			records(a, 4)
		}},
		{
			name: "redeemed while it was read", motion: audit.MotionRedemption,
			read: func(a *audit.Account) {
				add(a, 1, 0)
				parts(a, 4, 1, 3, 2)
				records(a, 4)
				a.Between(glance(1, 1, 1), glance(1, 2, 3))
			},
		},
		{
			name: "redeemed and undone while it was read", motion: audit.MotionRedemption,
			read: func(a *audit.Account) {
				add(a, 1, 0)
				parts(a, 4, 1, 3, 2)
				records(a, 4)
				a.Between(glance(1, 1, 2), audit.Glance{Version: 1, Items: []audit.Item{{Used: -1}, {Used: 2}, {Used: 2}}})
			},
		},
		{
			name: "redeemed while it was read, after redemptions were lost", doubtful: "allowance_differs",
			motion: audit.MotionRedemption, read: func(a *audit.Account) {
				add(a, 1, 0)
				parts(a, 4, 1, 2, 3)
				records(a, 1)
				a.Between(glance(1, 1, 2), glance(1, 1, 4))
			},
		},
		{
			name: "uses that add up to more than the limit", doubtful: "allowance_differs",
			read: func(a *audit.Account) {
				add(a, 1, 1)
				parts(a, 5, 0, 5, 0)
			},
		},
		{name: "used beyond a lowered limit", read: func(a *audit.Account) {
			add(a, 3, -2)
			parts(a, 0, 6, 0, 6)
			records(a, 12)
		}},
		{
			name: "used beyond its limit, which was never edited", doubtful: "allowance_differs",
			read: func(a *audit.Account) {
				add(a, 1, -2)
				parts(a, 0, 6, 0, 6)
				records(a, 12)
			},
		},
		{name: "imported with more uses than its limit", read: func(a *audit.Account) {
			v := func(v *voucher.Voucher) { v.Imported = 12 }
			add(a, 1, -14, v)
			parts(a, 12, 0, 0, 12)
		}, motion: audit.MotionEdit},
		{
			name: "used beyond a lowered limit, with uses left in a part", motion: audit.MotionEdit,
			read: func(a *audit.Account) {
				add(a, 3, -3)
				parts(a, 0, 6, 1, 6)
				records(a, 12)
			},
		},
		{
			name: "during an edit, with a redemption lost", doubtful: "allowance_differs", motion: audit.MotionEdit,
			read: func(a *audit.Account) {
				add(a, 3, -3)
				parts(a, 0, 6, 1, 6)
				records(a, 11)
			},
		},
		{name: "edited while it was read", motion: audit.MotionChange, read: func(a *audit.Account) {
			add(a, 1, 0)
			parts(a, 5, 0, 5, 0)
			a.Between(glance(1, 0, 0), glance(3, 0, 0))
		}},
		{name: "created while it was read", motion: audit.MotionChange, read: func(a *audit.Account) {
			a.AddPart(part("#p#00"), 0, audit.Item{Left: 5})
			a.Between(audit.Glance{}, glance(1, 0, 0))
		}},
		{
			name: "no voucher before, during or after the reading", doubtful: "orphaned",
			read: func(a *audit.Account) {
				records(a, 1)
				a.Between(audit.Glance{}, audit.Glance{})
			},
		},
		{
			name: "one ID three times, and another one twice", doubtful: "allowance_differs duplicate_redemption",
			read: func(a *audit.Account) {
				add(a, 1, 0)
				parts(a, 5, 0, 5, 0)
				for range 2 {
					records(a, 2)
				}
				records(a, 1)
			},
		},
		{name: "holds count", read: func(a *audit.Account) {
			add(a, 1, 0)
			a.AddPart(part("#p#00"), 0, holding(2, 1, 2))
			a.AddPart(part("#p#01"), 1, audit.Item{Left: 5})
			records(a, 1)
		}},
		{name: "a part is missing", doubtful: "allowance_differs", read: func(a *audit.Account) {
			add(a, 1, 5)
			a.AddPart(part("#p#00"), 0, audit.Item{Left: 5})
		}},
		{name: "parts are being added", read: func(a *audit.Account) {
			add(a, 1, 0)
			parts(a, 5, 0, 5, 0)
			a.AddPart(part("#p#02"), 2, audit.Item{})
		}},
		{name: "sums are not judged if an item cannot be read", read: func(a *audit.Account) {
			add(a, 1, 0)
			a.Fault(part("#p#00"), audit.KindMalformed, "the attribute left is missing")
			records(a, 2)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			account := audit.NewAccount("SUMMER20", home())
			test.read(account)
			judged := account.Judge("EUR", noon())
			for _, f := range judged.Doubtful {
				if f.Code != "SUMMER20" || f.Place != home() {
					t.Errorf("%+v names another code or place than the voucher's", f)
				}
			}
			if got := kindsOf(judged.Doubtful); got != test.doubtful {
				t.Errorf("found %q, want %q", got, test.doubtful)
			}
			var motion audit.MotionKind
			if judged.Motion != nil {
				motion = judged.Motion.Kind
			}
			if motion != test.motion {
				t.Errorf("motion %q, want %q", motion, test.motion)
			}
		})
	}
}

// reading returns a reading of an account with two parts, of whose uses some are taken.
func reading(version int64, left, used int64, recorded int) (*audit.Account, audit.Judgement) {
	account := audit.NewAccount("SUMMER20", home())
	add(account, version, left)
	parts(account, 10-left-used, used, 0, 0)
	records(account, recorded)
	account.Between(glance(version, used, 0), glance(version, used, 0))
	return account, account.Judge("EUR", noon())
}

func TestRecheck_ReportsOnlyWhatEveryReadingFinds(t *testing.T) {
	type read struct {
		left, used int64
		recorded   int
	}
	settling := read{-1, 2, 2} // a part has 9 left
	tests := []struct {
		name     string
		readings []read
		findings string
		motion   audit.MotionKind
		message  string // of the last reading
	}{
		{name: "clean at the first reading", readings: []read{{0, 2, 2}}},
		{name: "clean at the second reading", readings: []read{{0, 3, 2}, {0, 3, 3}}},
		{
			name: "wrong each time, with different figures", readings: []read{{0, 3, 2}, {0, 4, 2}, {0, 5, 4}},
			findings: "allowance_differs", message: "the code: 5 used, but bookings have taken 4",
		},
		{
			name: "an edit that does not end", readings: []read{settling, settling, settling},
			motion: audit.MotionEdit,
		},
		{name: "an edit that ends", readings: []read{settling, {0, 2, 2}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var recheck audit.Recheck
			for n, r := range test.readings {
				decided := recheck.Add(reading(2, r.left, r.used, r.recorded))
				if decided != (n == len(test.readings)-1) {
					t.Fatalf("after %d readings: decided is %t", n+1, decided)
				}
			}
			findings, motion := recheck.Result()
			if got := kindsOf(findings); got != test.findings {
				t.Errorf("found %q, want %q", got, test.findings)
			}
			if (motion == nil) != (test.motion == "") || motion != nil && motion.Kind != test.motion {
				t.Errorf("motion %+v, want %q", motion, test.motion)
			}
			if test.message != "" && findings[0].Message != test.message {
				t.Errorf("message %q, want %q", findings[0].Message, test.message)
			}
		})
	}
}

func TestReport_MoreThanMaxFindings_AreCountedButNotAllKept(t *testing.T) {
	var report audit.Report
	for n := range audit.MaxFindings + 1 {
		report.Add(audit.Finding{Kind: audit.KindUndone, Place: part(fmt.Sprint(9999 - n))},
			audit.Finding{Kind: audit.KindAllowance, Place: part(fmt.Sprint(9999 - n))})
	}
	report.Sort()
	if report.Found != 2*audit.MaxFindings+2 || len(report.Findings) != audit.MaxFindings {
		t.Errorf("%d found, %d in the report", report.Found, len(report.Findings))
	}
	if first := report.Findings[0]; first.Kind != audit.KindAllowance || first.Place.Sort != "SUMMER209500" {
		t.Errorf("the first finding is %+v, want the one with the lowest sort key", first)
	}
}
