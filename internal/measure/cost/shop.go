package cost

import (
	"math/big"

	"shopfront/internal/measure/benchmark"
	"shopfront/internal/measure/cost/pricing"
)

// Shop is a shop whose monthly bill is computed: what is assumed of it.
type Shop struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Requests are how many there are in a month, by operation.
	Requests map[string]int64 `json:"requests"`
	// Preflights are requests that browsers send ahead of those to another origin. The gateway answers them.
	Preflights int64 `json:"preflights"`
	// Codes are how many single-use codes are created in a month.
	Codes int64 `json:"codes"`
	// RequestsPerStart is how many requests an instance answers: one of so many is a cold start.
	RequestsPerStart int64 `json:"requestsPerStart"`
	// Hours are those of a month in which there are requests, and Instances how many of each function there are meanwhile.
	Hours     int64 `json:"hours"`
	Instances int64 `json:"instances"`
	// Months are for how many months vouchers and redemptions have been kept.
	Months int64 `json:"months"`
	// Watched says that the stack has its alarms, with an address, and its dashboard.
	Watched bool `json:"watched"`
}

// Shops are those that are computed.
func Shops() []Shop {
	return []Shop{
		{
			Name: "small",
			Description: "A game community: 70 redemptions and 100 checkouts a day, 12 hours a day. Its requests are so far apart that every " +
				"fifth meets a cold start.",
			Requests: map[string]int64{
				RedeemSingleUse: 1_800, RedeemLimited: 300, ReplaySingleUse: 20, RefuseUnknown: 150, RefuseUsed: 50, CheckSingleUse: 500,
				CheckOutKey: 3_000, ShowArea: 2_000, ShowAreaUnchanged: 4_000, ShowDocument: 50, ShowChangelog: 50,
			},
			Preflights: 3_000, Codes: 2_000, RequestsPerStart: 5, Hours: 365, Instances: 1, Months: 12,
		},
		{
			Name: "busy",
			Description: "An agency's shops together, day and night: a million redemptions, one in seven of a limited code, and one code in ten " +
				"refused. It has its alarms and its dashboard.",
			Requests: map[string]int64{
				RedeemSingleUse: 800_000, RedeemLimited: 150_000, RedeemUnlimited: 50_000, ReplaySingleUse: 10_000, ReplayLimited: 2_000,
				RefuseUnknownKey: 60_000, RefuseUsedKey: 30_000, RefuseFullKey: 20_000, CheckSingleUse: 200_000, CheckLimited: 40_000,
				CheckOutKey: 1_500_000, ReplayCheckout: 15_000, ShowArea: 2_000_000, ShowAreaUnchanged: 3_000_000, ShowDocument: 10_000, ShowChangelog: 10_000,
			},
			Preflights: 1_500_000, Codes: 850_000, RequestsPerStart: 500, Hours: 730, Instances: 3, Months: 12, Watched: true,
		},
		{
			Name: "flash sale",
			Description: "One limited code of 100,000 uses, in a day: two million requests for it, nearly all after it was used up, and the shop's " +
				"checkout area before and after. Nothing in the rest of the month but its alarms and its dashboard.",
			Requests: map[string]int64{
				RedeemLimited: 99_000, RedeemLimitedFirst: 1_000, ReplayLimited: 5_000, RefuseFullKey: 1_900_000, ShowArea: 2_000_000,
				ShowAreaUnchanged: 3_000_000, CheckOutKey: 500_000,
			},
			Preflights: 2_000_000, RequestsPerStart: 1_000, Hours: 24, Instances: 50, Months: 1, Watched: true,
		},
	}
}

const (
	// checkoutDays is how long a checkout is kept: it expires after half an hour, is deleted 7 days later, and DynamoDB takes up to
	// a few days for that.
	checkoutDays = 10
	monthDays    = 30
	// keyRequestsPerHour is how often DynamoDB asks KMS for a table's key over one connection: every five minutes at most
	// (https://aws.amazon.com/blogs/database/understanding-amazon-dynamodb-encryption-by-using-aws-key-management-service-and-analysis-of-api-calls-with-amazon-athena/).
	keyRequestsPerHour = 12
)

// monthly is what a shop uses in a month.
func (s Shop) monthly(lines []Line, code Request, alarmMetrics int64) pricing.Usage {
	u := make(pricing.Usage)
	cold := big.NewRat(1, s.RequestsPerStart)
	var sent []Request
	var redeemed, checkedOut, logged int64
	for _, line := range lines {
		count := s.Requests[line.Operation]
		if count == 0 {
			continue
		}
		sent = append(sent, line.Request)
		u.AddTimes(line.usage(cold), big.NewRat(count, 1))
		redeemed += count * int64(line.grown(benchmark.VouchersTable))
		checkedOut += count * int64(line.grown(benchmark.CheckoutsTable))
		logged += count * line.stored()
	}
	u.AddWhole(pricing.LogByteMonths, logged)
	u.AddWhole(pricing.APIRequests, s.Preflights)

	created := make(pricing.Usage)
	code.addStore(created)
	u.AddTimes(created, big.NewRat(s.Codes, 1))
	kept := big.NewRat((redeemed+s.Codes*int64(code.grown(benchmark.VouchersTable)))*s.Months, 1)
	kept.Add(kept, big.NewRat(checkedOut*checkoutDays, monthDays))
	u.Add(pricing.TableByteMonths, kept)
	u.Add(pricing.BackupByteMonths, kept)

	u.AddWhole(pricing.MetricHours, int64(len(metrics(sent)))*s.Hours)
	u.AddWhole(pricing.KeyRequests, int64(tables(sent))*s.Instances*s.Hours*keyRequestsPerHour)
	if s.Watched {
		u.AddWhole(pricing.AlarmMonths, alarmMetrics)
		u.AddWhole(pricing.DashboardMonths, 1)
		u.AddWhole(pricing.KeyMonths, 1)
	}
	return u
}
