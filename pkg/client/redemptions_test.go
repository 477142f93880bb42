package client_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shopfront/pkg/client"
)

const redemptionID = "S90E4paHECWJc7i6kG6dOA"

// recordJSON returns the redemption of redemptionJSON with another status and more members.
func recordJSON(status, members string) string {
	return strings.Replace(redemptionJSON, `"redeemed",`, fmt.Sprintf("%q,", status)+members, 1)
}

func undoneJSON() string {
	return recordJSON("undone", `"undoneAt":"2026-11-23T08:05:11.402Z","undoReason":"granted twice",`)
}

// record returns the redemption of redemptionJSON.
func record() client.RedemptionRecord {
	return client.RedemptionRecord{
		Redemption: client.Redemption{
			ID: redemptionID, Code: "WELCOME-COINS", Nick: "Alder",
			RedeemedAt: time.Date(2026, time.November, 21, 9, 11, 23, 737e6, time.UTC),
			Reward:     client.Reward{Kind: client.RewardProduct, Product: "coins", Variant: "500", Amount: 2},
		},
		Status: client.RedemptionRedeemed,
	}
}

func undone() client.RedemptionRecord {
	r := record()
	r.Status, r.UndoneAt, r.UndoReason = client.RedemptionUndone,
		time.Date(2026, time.November, 23, 8, 5, 11, 402e6, time.UTC), "granted twice"
	return r
}

func TestUndoRedemption_NickAndReasonAreOptional(t *testing.T) {
	s, c := serveTill(t, answers(200, recordJSON("undone", `"undoneAt":"2026-11-23T08:05:11.402Z",`)))
	got, err := c.UndoRedemption(t.Context(), client.Redemption{ID: redemptionID, Code: "welcome coins"}, "")
	if err != nil || got.UndoReason != "" || s.seen()[0].body != `{"code":"welcome coins"}` {
		t.Errorf("%+v, %v, %+v", got, err, s.seen())
	}
}

// redemptionsJSON returns a page of redemptions. next is the path of the next page in quotes, or null.
func redemptionsJSON(next string, redemptions ...string) string {
	return fmt.Sprintf(`{"redemptions":[%s],"next":%s,"since":"2027"}`, strings.Join(redemptions, ","), next)
}

func TestRedemptions_IteratesOverAllPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const first, second = "?code=welcome-coins", "?code=welcome-coins&cursor=Y2"
		s, c := serveTill(t,
			answers(200, redemptionsJSON(`"/shop/emberforge/redemptions`+second+`"`, redemptionJSON, undoneJSON())),
			answers(200, redemptionsJSON("null", recordJSON("disputed", ""))))
		other := record()
		other.Status = "disputed" // the caller must handle unknown states
		want := [][]client.RedemptionRecord{{record(), undone()}, {other}}
		pages, err := collect(t, c.Redemptions(t.Context(), client.RedemptionFilter{Code: "welcome-coins"}))
		if err != nil || !reflect.DeepEqual(pages, want) {
			t.Errorf("%+v, %v, want %+v", pages, err, want)
		}
		for i, query := range []string{first, second} {
			if got := s.seen()[i].uri; got != "/base/shop/emberforge/redemptions"+query {
				t.Errorf("request %d is for %s, want %s", i+1, got, query)
			}
		}
	})
}
