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

// kept returns the stored voucher SUMMER-20 in the given version, with 10 uses on two counters and no limit per nick.
func kept(version int64, change ...func(*voucher.Standing)) voucher.Standing {
	v := voucher.Standing{Voucher: voucher.Voucher{
		Code: "SUMMER20", Written: "SUMMER-20", MaxUses: 10, Counters: 2, Version: version, Created: noon(),
		Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
	}}
	for _, c := range change {
		c(&v)
	}
	return v
}

func editing(v *voucher.Standing) { v.Editing = 14 }

func full(v *voucher.Standing) { v.FullUntil = noon().Add(time.Hour) }

func over(n int) func(*voucher.Standing) { return func(v *voucher.Standing) { v.Over = n } }

func returns(n int64) func(*voucher.Standing) {
	return func(v *voucher.Standing) { v.Returns = n }
}

// ended makes the voucher valid until noon. The redemptions of record are at noon, which is too late.
func ended(v *voucher.Standing) { v.ValidUntil = noon() }

func gives(reward voucher.Reward) func(*voucher.Standing) {
	return func(v *voucher.Standing) { v.Reward = reward }
}

// heldCounters adds two counters whose holds lapse at noon or later. All uses were taken from the first counter.
func heldCounters(a *audit.Account, used int) {
	a.AddCounter(part("#c#00"), audit.Counter{Number: 0, Left: 5 - used, Used: used, Lapse: noon()})
	a.AddCounter(part("#c#01"), audit.Counter{Number: 1, Left: 5, Lapse: noon()})
}

// holds adds holds that lapse the given number of minutes after noon. Their IDs differ from those of the redemptions
// that records adds.
func holds(a *audit.Account, minutes int, numbers ...int) {
	for _, n := range numbers {
		a.AddHold(part("#h#"), voucher.Hold{ID: id(100 + n), Until: noon().Add(time.Duration(minutes) * time.Minute)},
			"")
	}
}

func second(read func(a *audit.Account)) *audit.Account {
	account := audit.NewAccount("SUMMER20", home())
	read(account)
	return account
}

func returned(returns int64, used int) audit.Glance {
	return audit.Glance{Found: true, Version: 1, Returns: returns, Used: used}
}

// counters adds two counters with the given uses left and taken. The parameter edits has the edits that the counters
// name; missing: 0.
func counters(a *audit.Account, left0, used0, left1, used1 int, edits ...int64) {
	edits = append(edits, 0, 0)
	a.AddCounter(part("#c#00"), audit.Counter{Number: 0, Left: left0, Used: used0, Edit: edits[0]})
	a.AddCounter(part("#c#01"), audit.Counter{Number: 1, Left: left1, Used: used1, Edit: edits[1]})
}

func records(a *audit.Account, count int) {
	for n := range count {
		a.AddRedemption(part("#r#"+id(n)), record(n), "")
	}
}

func glance(version int64, used int) audit.Glance {
	return audit.Glance{Found: true, Version: version, Used: used}
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
			a.AddVoucher(kept(1))
			counters(a, 5, 0, 5, 0)
		}},
		{name: "items come in any order", read: func(a *audit.Account) {
			records(a, 3)
			counters(a, 4, 1, 3, 2)
			a.AddVoucher(kept(1))
		}},
		{name: "a discount is redeemed after its end, perhaps by an order", read: func(a *audit.Account) {
			a.AddVoucher(kept(1, ended))
			counters(a, 4, 1, 5, 0)
			records(a, 1)
		}},
		{
			name: "a voucher for one good is redeemed after its end", doubtful: "against_terms",
			read: func(a *audit.Account) {
				a.AddVoucher(kept(1, ended, gives(voucher.Reward{
					Kind: voucher.RewardProduct, Product: "coins",
					Variant: "500", Amount: 1,
				})))
				counters(a, 4, 1, 5, 0)
				records(a, 1)
			},
		},
		{
			name: "a voucher for several goods is redeemed after its end", doubtful: "against_terms",
			read: func(a *audit.Account) {
				a.AddVoucher(kept(1, ended, gives(voucher.Reward{
					Kind: voucher.RewardBundle,
					Items: [voucher.MaxBundleItems]voucher.Good{
						{Product: "coins", Variant: "500", Amount: 1}, {Product: "rank", Variant: "vip", Amount: 1},
					},
				})))
				counters(a, 4, 1, 5, 0)
				records(a, 1)
			},
		},
		{name: "one more use than redemptions", doubtful: "uses_differ", read: func(a *audit.Account) {
			a.AddVoucher(kept(1))
			counters(a, 4, 1, 3, 2)
			records(a, 2)
		}},
		{name: "one more redemption than uses", doubtful: "uses_differ", read: func(a *audit.Account) {
			a.AddVoucher(kept(1))
			counters(a, 4, 1, 3, 2)
			records(a, 4)
		}},
		{
			name: "redeemed while it was read", motion: audit.MotionRedemption,
			read: func(a *audit.Account) {
				a.AddVoucher(kept(1))
				counters(a, 4, 1, 3, 2)
				records(a, 4)
				a.Between(glance(1, 2), glance(1, 5))
			},
		},
		{
			name: "redeemed while it was read, after one redemption was lost", doubtful: "uses_differ",
			motion: audit.MotionRedemption, read: func(a *audit.Account) {
				a.AddVoucher(kept(1))
				counters(a, 4, 1, 3, 2)
				records(a, 2)
				a.Between(glance(1, 3), glance(1, 5))
			},
		},
		{
			name: "redeemed while it was read, after one was recorded without a use", doubtful: "uses_differ",
			motion: audit.MotionRedemption, read: func(a *audit.Account) {
				a.AddVoucher(kept(1))
				counters(a, 4, 1, 3, 2)
				records(a, 6)
				a.Between(glance(1, 3), glance(1, 5))
			},
		},
		{
			name: "uses that add up to more than the limit", doubtful: "limit_differs",
			read: func(a *audit.Account) {
				a.AddVoucher(kept(1))
				counters(a, 6, 0, 5, 0)
			},
		},
		{name: "used beyond a lowered limit", read: func(a *audit.Account) {
			a.AddVoucher(kept(3, over(2)))
			counters(a, 0, 6, 0, 6, 2, 2)
			records(a, 12)
		}},
		{
			name: "used beyond a lowered limit, with a wrong number of uses over it", doubtful: "limit_differs",
			read: func(a *audit.Account) {
				a.AddVoucher(kept(3, over(1)))
				counters(a, 0, 6, 0, 6, 2, 2)
				records(a, 12)
			},
		},
		{
			name: "used beyond a lowered limit, but no uses over it are stored", doubtful: "limit_differs",
			read: func(a *audit.Account) {
				a.AddVoucher(kept(3))
				counters(a, 0, 6, 0, 6, 2, 2)
				records(a, 12)
			},
		},
		{
			name: "used beyond its limit, which was never edited", doubtful: "limit_differs",
			read: func(a *audit.Account) {
				a.AddVoucher(kept(1))
				counters(a, 0, 6, 0, 6)
				records(a, 12)
			},
		},
		{
			name: "used beyond a lowered limit, with uses left", doubtful: "limit_differs",
			read: func(a *audit.Account) {
				a.AddVoucher(kept(3, over(3)))
				counters(a, 0, 6, 1, 6, 2, 2)
				records(a, 12)
			},
		},
		{name: "during an edit", motion: audit.MotionEdit, read: func(a *audit.Account) {
			a.AddVoucher(kept(4, editing, full))
			counters(a, 7, 0, 5, 0, 4, 2)
			a.Between(glance(4, 0), glance(4, 0))
		}},
		{
			name: "during an edit, with a redemption lost", doubtful: "uses_differ", motion: audit.MotionEdit,
			read: func(a *audit.Account) {
				a.AddVoucher(kept(4, editing))
				counters(a, 6, 1, 5, 0, 4, 2)
			},
		},
		{
			name: "during an edit, with a counter that names a later edit", doubtful: "edits_differ",
			motion: audit.MotionEdit, read: func(a *audit.Account) {
				a.AddVoucher(kept(4, editing))
				counters(a, 5, 0, 5, 0, 5, 2)
			},
		},
		{name: "edited while it was read", motion: audit.MotionChange, read: func(a *audit.Account) {
			a.AddVoucher(kept(1))
			counters(a, 7, 0, 7, 0, 2, 2)
			a.Between(glance(1, 0), glance(3, 0))
		}},
		{
			name: "edited between the first glance and the reading", motion: audit.MotionChange,
			read: func(a *audit.Account) {
				a.AddVoucher(kept(3))
				counters(a, 6, 0, 5, 0, 2, 2)
				a.Between(glance(1, 0), glance(3, 0))
			},
		},
		{
			name: "counters name different edits, and no edit is running", doubtful: "edits_differ",
			read: func(a *audit.Account) {
				a.AddVoucher(kept(5))
				counters(a, 5, 0, 5, 0, 4, 2)
			},
		},
		{
			name: "a counter names the voucher's own version, and no edit is running", doubtful: "edits_differ",
			read: func(a *audit.Account) {
				a.AddVoucher(kept(3))
				counters(a, 5, 0, 5, 0, 3, 3)
			},
		},
		{name: "marked as full and used up", read: func(a *audit.Account) {
			a.AddVoucher(kept(1, full))
			counters(a, 0, 5, 0, 5)
			records(a, 10)
		}},
		{name: "marked as full with uses left", doubtful: "full_with_uses_left", read: func(a *audit.Account) {
			a.AddVoucher(kept(1, full))
			counters(a, 1, 4, 0, 5)
			records(a, 9)
		}},
		{name: "created while it was read", motion: audit.MotionChange, read: func(a *audit.Account) {
			a.AddCounter(part("#c#00"), audit.Counter{Left: 5})
			a.Between(audit.Glance{}, glance(1, 0))
		}},
		{
			name: "no voucher before, during or after the reading", doubtful: "orphaned",
			read: func(a *audit.Account) {
				records(a, 1)
				a.Between(audit.Glance{}, audit.Glance{})
			},
		},
		{
			name: "one ID three times, and another one twice", doubtful: "uses_differ duplicate_redemption",
			read: func(a *audit.Account) {
				a.AddVoucher(kept(1))
				counters(a, 5, 0, 5, 0)
				for range 2 {
					records(a, 2)
				}
				records(a, 1)
			},
		},
		{name: "holds count as uses", read: func(a *audit.Account) {
			a.AddVoucher(kept(1))
			heldCounters(a, 3)
			records(a, 1)
			holds(a, 2, 1, 2)
		}},
		{name: "a hold is lost", doubtful: "uses_differ", read: func(a *audit.Account) {
			a.AddVoucher(kept(1))
			heldCounters(a, 3)
			records(a, 1)
			holds(a, 2, 1)
		}},
		{
			name: "undone while it was read", motion: audit.MotionRedemption,
			read: func(a *audit.Account) {
				a.AddVoucher(kept(1, returns(1)))
				heldCounters(a, 2)
				records(a, 3)
				a.Between(returned(0, 3), returned(1, 2))
			},
		},
		{
			name: "undone while it was read, after two redemptions were lost", doubtful: "uses_differ",
			motion: audit.MotionRedemption, read: func(a *audit.Account) {
				a.AddVoucher(kept(1, returns(1)))
				heldCounters(a, 2)
				records(a, 1)
				a.Between(returned(0, 3), returned(1, 2))
			},
		},
		{
			name:   "another checkout took a hold over while it was read, so both holds were seen",
			motion: audit.MotionRedemption, read: func(a *audit.Account) {
				a.AddVoucher(kept(1))
				heldCounters(a, 2)
				holds(a, 1, 1, 2)
				records(a, 1)
				a.Again(second(func(a *audit.Account) { records(a, 1); holds(a, 1, 1) }))
				a.Between(glance(1, 2), glance(1, 2))
			},
		},
		{
			name:   "a hold became a redemption while it was read, so neither was seen",
			motion: audit.MotionRedemption, read: func(a *audit.Account) {
				a.AddVoucher(kept(1))
				heldCounters(a, 2)
				holds(a, 1, 1)
				a.Again(second(func(a *audit.Account) { records(a, 1); holds(a, 1, 1) }))
				a.Between(glance(1, 2), glance(1, 2))
			},
		},
		{name: "a hold is lost, and nothing moved", doubtful: "uses_differ", read: func(a *audit.Account) {
			a.AddVoucher(kept(1))
			heldCounters(a, 2)
			holds(a, 1, 1)
			a.Again(second(func(a *audit.Account) { holds(a, 1, 1) }))
			a.Between(glance(1, 2), glance(1, 2))
		}},
		{
			name: "a hold that lapses earlier than its counter says", doubtful: "holds_differ",
			read: func(a *audit.Account) {
				a.AddVoucher(kept(1))
				heldCounters(a, 1)
				holds(a, -1, 1)
			},
		},
		{name: "sums are not judged if an item cannot be read", read: func(a *audit.Account) {
			a.AddVoucher(kept(1))
			a.Fault(part("#c#00"), audit.KindMalformed, "the attribute left is missing")
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

func TestJudge_Messages_NameTheFigures(t *testing.T) {
	account := audit.NewAccount("SUMMER20", home())
	account.AddVoucher(kept(1))
	counters(account, 4, 1, 3, 2)
	records(account, 1)
	judged := account.Judge("EUR", noon())
	if len(judged.Doubtful) != 1 ||
		judged.Doubtful[0].Message != "the counters count 3 uses, but the records show 1 redemption and 0 holds" {
		t.Errorf("judged as %+v, want one doubtful finding that names 3 uses and 1 redemption", judged)
	}
}

func reading(version int64, used, recorded int, change ...func(*voucher.Standing)) (*audit.Account, audit.Judgement) {
	account := audit.NewAccount("SUMMER20", home())
	account.AddVoucher(kept(version, change...))
	counters(account, 10-used, used, 0, 0)
	records(account, recorded)
	account.Between(glance(version, used), glance(version, used))
	return account, account.Judge("EUR", noon())
}

func TestRecheck_ReportsOnlyWhatEveryReadingFinds(t *testing.T) {
	type read struct {
		used, recorded int
		change         func(*voucher.Standing)
	}
	none := func(*voucher.Standing) {}
	tests := []struct {
		name     string
		readings []read
		findings string
		motion   audit.MotionKind
		message  string // of the last reading
	}{
		{name: "clean at the first reading", readings: []read{{2, 2, none}}},
		{name: "clean at the second reading", readings: []read{{3, 2, none}, {3, 3, none}}},
		{
			name: "wrong each time, with different figures", readings: []read{{3, 2, none}, {4, 2, none}, {5, 4, none}},
			findings: "uses_differ",
			message:  "the counters count 5 uses, but the records show 4 redemptions and 0 holds",
		},
		{
			name: "a different fault each time", readings: []read{{3, 2, none}, {2, 2, full}, {3, 2, none}},
			motion: audit.MotionChange,
		},
		{
			name: "an edit that does not end", readings: []read{{2, 2, editing}, {2, 2, editing}, {2, 2, editing}},
			motion: audit.MotionEdit,
		},
		{name: "an edit that ends", readings: []read{{2, 2, editing}, {2, 2, none}}},
		{
			name:     "an edit that does not end, with a redemption lost",
			readings: []read{{2, 1, editing}, {2, 1, editing}, {2, 1, editing}}, findings: "uses_differ",
			motion: audit.MotionEdit,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var recheck audit.Recheck
			for n, r := range test.readings {
				decided := recheck.Add(reading(1, r.used, r.recorded, r.change))
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
		report.Add(audit.Finding{Kind: audit.KindUses, Place: part(fmt.Sprint(9999 - n))},
			audit.Finding{Kind: audit.KindEdits, Place: part(fmt.Sprint(9999 - n))})
	}
	report.Sort()
	if report.Found != 2*audit.MaxFindings+2 || len(report.Findings) != audit.MaxFindings {
		t.Errorf("%d found, %d in the report", report.Found, len(report.Findings))
	}
	if first := report.Findings[0]; first.Kind != audit.KindEdits || first.Place.Sort != "SUMMER209500" {
		t.Errorf("the first finding is %+v, want the one with the lowest sort key", first)
	}
}
