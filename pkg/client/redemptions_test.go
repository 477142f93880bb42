package client_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
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

func undo(ctx context.Context, c *client.Client) (client.RedemptionRecord, error) {
	return c.UndoRedemption(ctx, record().Redemption, "granted twice")
}

func TestUndoRedemption_LostResponse_IsReplayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := serveTill(t, loses(keeps(undoneJSON())), message(429), keeps(undoneJSON()))
		want := undone()
		want.Replayed = true
		if got, err := undo(t.Context(), c); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		for _, r := range s.seen() {
			if r.method != "POST" || r.uri != "/base/shop/emberforge/redemptions/"+redemptionID+"/undo" ||
				r.body != `{"code":"WELCOME-COINS","nick":"Alder","reason":"granted twice"}` ||
				r.header.Get("Content-Type") != "application/json" ||
				r.header["Idempotency-Key"] != nil || r.header.Get("Authorization") != "Bearer "+serverKey {
				t.Errorf("request %+v", r)
			}
		}
		if len(s.seen()) != 3 {
			t.Errorf("%d requests, want 3", len(s.seen()))
		}
	})
}

func TestUndoRedemption_NickAndReasonAreOptional(t *testing.T) {
	s, c := serveTill(t, answers(200, recordJSON("undone", `"undoneAt":"2026-11-23T08:05:11.402Z",`)))
	got, err := c.UndoRedemption(t.Context(), client.Redemption{ID: redemptionID, Code: "welcome coins"}, "")
	if err != nil || got.UndoReason != "" || s.seen()[0].body != `{"code":"welcome coins"}` {
		t.Errorf("%+v, %v, %+v", got, err, s.seen())
	}
}

// An earlier call may have undone the redemption. So an error settles the outcome only if the service itself rejected
// the request. 401 does not count, because the service sends it before it looks for the redemption. ErrWrongBaseURL
// settles the outcome, too: the caller must correct the URL first.
func TestUndoRedemption_Fails_OutcomeIsUnknownUnlessTheServiceRejectedIt(t *testing.T) {
	for name, test := range map[string]struct {
		steps    []step
		is       error // nil: any error
		unknown  bool
		requests int
	}{
		"not found": {
			[]step{problem("redemption-not-found", 404)},
			client.ErrRedemptionNotFound,
			false, 1,
		},
		"not found after a lost attempt": {
			[]step{hangsUp, problem("redemption-not-found", 404)},
			client.ErrRedemptionNotFound, false, 3,
		},
		"of an order": {
			[]step{problem("redemption-of-order", 409)},
			client.ErrRedemptionOfOrder,
			false, 1,
		},
		"of an order after a lost attempt": {
			[]step{hangsUp, problem("redemption-of-order", 409)},
			client.ErrRedemptionOfOrder, false, 2,
		},
		"invalid":                          {[]step{problem("invalid", 422)}, client.ErrInvalid, false, 1},
		"unauthorized":                     {[]step{problem("unauthorized", 401)}, client.ErrUnauthorized, true, 1},
		"unavailable each time":            {[]step{problem("unavailable", 503)}, client.ErrUnavailable, true, 4},
		"no route":                         {[]step{message(404)}, client.ErrWrongBaseURL, false, 1},
		"every response is lost":           {[]step{loses(keeps(undoneJSON()))}, nil, true, 4},
		"a redemption that was not undone": {[]step{answers(200, redemptionJSON)}, nil, true, 1},
		"another redemption": {
			[]step{answers(200, strings.Replace(undoneJSON(), "S90E", "S90F", 1))},
			nil, true, 1,
		},
		"undone, without a time": {[]step{answers(200, recordJSON("undone", ""))}, nil, true, 1},
		"a redemption without a code": {
			[]step{answers(200, strings.Replace(undoneJSON(), `"code"`, `"word"`, 1))},
			nil, true, 1,
		},
		"a reward that is not understood": {[]step{answers(200,
			strings.Replace(undoneJSON(), `"amount":2`, `"amount":0`, 1))}, nil, true, 1},
		"another server's page":            {[]step{page(200)}, nil, true, 1},
		"refused with an unknown problem":  {[]step{problem("disputed", 409)}, nil, true, 1},
		"no response, then another server": {[]step{hangsUp, page(200)}, nil, true, 2},
	} {
		inBubble(t, name, func(t *testing.T) {
			s, c := serveTill(t, test.steps...)
			got, err := undo(t.Context(), c)
			if !reflect.DeepEqual(got, client.RedemptionRecord{}) || test.is != nil && !errors.Is(err, test.is) ||
				len(s.seen()) != test.requests {
				t.Fatalf("%+v, %v after %d requests, want %v after %d", got, err, len(s.seen()), test.is, test.requests)
			}
			wantNoSecrets(t, err)
			if unknown := wantFailure(t, err, ""); unknown != test.unknown {
				t.Errorf("%v: outcome unknown %t, want %t", err, unknown, test.unknown)
			}
		})
	}
}

func TestRedemptions_MalformedArgumentsAreNotSent(t *testing.T) {
	s, till := serveTill(t, answers(200, undoneJSON()))
	stranger := newClient(t, "http://shop.example/base", client.WithHTTPClient(s.http))
	for _, id := range []string{"", "..", "a/b", redemptionID + "?", strings.Repeat("a", 65)} {
		if _, err := till.UndoRedemption(t.Context(), client.Redemption{ID: id, Code: "WELCOME-COINS"},
			""); !errors.Is(err, client.ErrMalformedID) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := undo(t.Context(), stranger); !errors.Is(err, client.ErrNoServerKey) {
		t.Errorf("undo without a key: %v", err)
	}
	if _, err := collect(t, stranger.Redemptions(t.Context(),
		client.RedemptionFilter{Code: "WELCOME-COINS"})); !errors.Is(err, client.ErrNoServerKey) {
		t.Errorf("list without a key: %v", err)
	}
	if len(s.seen()) > 0 {
		t.Errorf("requests %+v", s.seen())
	}
}

// redemptionsJSON returns a page of redemptions. next is the path of the next page in quotes, or null.
func redemptionsJSON(next string, redemptions ...string) string {
	return fmt.Sprintf(`{"redemptions":[%s],"next":%s,"since":"2027"}`, strings.Join(redemptions, ","), next)
}

func TestRedemptions_IteratesOverAllPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := func(cursor string) string {
			return `"/shop/emberforge/redemptions?code=welcome-coins&cursor=` + cursor + `&nick=Alder"`
		}
		s, c := serveTill(t,
			answers(200, redemptionsJSON(next("Y2"), redemptionJSON, undoneJSON())), hangsUp,
			answers(200, redemptionsJSON(next("Y3"))),
			problem("unavailable", 503), answers(200, redemptionsJSON("null", recordJSON("disputed", ""))))
		other := record()
		other.Status = "disputed" // the caller must handle unknown states
		want := [][]client.RedemptionRecord{{record(), undone()}, {}, {other}}
		pages, err := collect(t, c.Redemptions(t.Context(),
			client.RedemptionFilter{Code: "welcome-coins", Nick: "Alder"}))
		if err != nil || !reflect.DeepEqual(pages, want) {
			t.Errorf("%+v, %v, want %+v", pages, err, want)
		}
		var got []string
		for _, r := range s.seen() {
			got = append(got, strings.TrimPrefix(r.uri, "/base/shop/emberforge/redemptions?"))
			if r.method != "GET" || r.body != "" || r.header.Get("Authorization") != "Bearer "+serverKey {
				t.Errorf("request %+v", r)
			}
		}
		const second, third = "code=welcome-coins&cursor=Y2&nick=Alder", "code=welcome-coins&cursor=Y3&nick=Alder"
		if want := []string{"code=welcome-coins&nick=Alder", second, second, third, third}; !slices.Equal(got, want) {
			t.Errorf("requests %q, want %q", got, want)
		}
	})
}

func TestRedemptions_FiltersBecomeQueries(t *testing.T) {
	noon := time.Date(2026, time.November, 21, 13, 0, 0, 5e6, time.FixedZone("CET", 3600))
	for query, filter := range map[string]client.RedemptionFilter{
		"": {}, // for the service to refuse
		"?code=SUMMER-20&from=2026-11-21T12%3A00%3A00.005Z&limit=200": {Code: "SUMMER-20", From: noon, PageSize: 200},
		"?code=SUMMER-20&nick=Alder&to=2026-11-21T12%3A00%3A00Z": {
			Code: "SUMMER-20", Nick: "Alder",
			Until: noon.Truncate(time.Second),
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, c := serveTill(t, problem("invalid", 422))
			pages, err := collect(t, c.Redemptions(t.Context(), filter))
			if !errors.Is(err, client.ErrInvalid) || len(pages) != 0 ||
				s.seen()[0].uri != "/base/shop/emberforge/redemptions"+query {
				t.Errorf("%+v: %v, %+v", filter, err, s.seen())
			}
		})
	}
}

func TestRedemptions_MalformedPage_IsRejected(t *testing.T) {
	const next = `"/shop/emberforge/redemptions?code=SUMMER-20&cursor=Y2"`
	for name, test := range map[string]struct {
		steps []step
		pages int
	}{
		"an incomplete redemption": {[]step{answers(200, redemptionsJSON("null", recordJSON("undone", "")))}, 0},
		"a redemption without nick": {[]step{answers(200,
			redemptionsJSON("null", strings.Replace(redemptionJSON, `"nick":"Alder",`, "", 1)))}, 0},
		"page two leads to itself": {[]step{answers(200, redemptionsJSON(next))}, 1},
		"redemptions are missing":  {[]step{answers(200, `{"next":null}`)}, 0},
		"next is missing":          {[]step{answers(200, `{"redemptions":[]}`)}, 0},
		"another customer's next page": {[]step{answers(200,
			redemptionsJSON(strings.Replace(next, "emberforge", "sakura-goods", 1)))}, 0},
		"another server's page": {[]step{page(200)}, 0},
	} {
		inBubble(t, name, func(t *testing.T) {
			_, c := serveTill(t, test.steps...)
			list := c.Redemptions(t.Context(), client.RedemptionFilter{Code: "SUMMER-20", Nick: "Alder"})
			wantPages(t, list, test.pages, false, nil)
		})
	}
}
