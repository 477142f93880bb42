package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shopfront/pkg/client"
)

const feedID = "Zk3p0c8Q"

// eventJSON returns an event of emberforge's feed.
func eventJSON(sequence int, kind, data string) string {
	return fmt.Sprintf(`{"id":"MTCXgwWFAhhCzmYLdeg-%d","type":%q,"timestamp":"2026-11-22T01:35:52.130Z","sequence":%d,`+
		`"customer":"emberforge","data":%s,"since":"2027"}`, sequence, kind, sequence, data)
}

func redeemedEvent(sequence int) string {
	return eventJSON(sequence, "redemption.created", redemptionJSON)
}

// eventsJSON returns a page of the feed. after is the sequence of its last event.
func eventsJSON(after int, pollAfter int, events ...string) string {
	return fmt.Sprintf(`{"feed":%q,"events":[%s],"next":"/shop/emberforge/events?after=%d&feed=%s",`+
		`"pollAfterSeconds":%d}`,
		feedID, strings.Join(events, ","), after, feedID, pollAfter)
}

// feeds serves the events from earliest+1 to newest, at most perPage on a page. The events up to earliest have expired.
func feeds(earliest, newest, perPage int) step {
	return func(s *service, w http.ResponseWriter, r *http.Request) {
		query, err := url.ParseQuery(r.URL.RawQuery)
		after, malformed := strconv.Atoi(query.Get("after"))
		if !query.Has("after") {
			after, malformed = earliest, nil
		}
		expired := fmt.Sprintf(`{"type":"urn:problem:shopfront:cursor-expired","title":"Cursor expired",`+
			`"status":410,"earliest":%d,"feed":%q}`, earliest, feedID)
		switch {
		case err != nil || malformed != nil:
			problem("malformed-request", 400)(s, w, r)
		case after < earliest || query.Has("feed") && query.Get("feed") != feedID:
			answers(410, expired, "Content-Type", "application/problem+json")(s, w, r)
		case after > newest:
			problem("invalid", 422)(s, w, r)
		default:
			var events []string
			for len(events) < perPage && after < newest {
				after++
				events = append(events, redeemedEvent(after))
			}
			pollAfter := 15
			if after < newest {
				pollAfter = 0
			}
			answers(200, eventsJSON(after, pollAfter, events...))(s, w, r)
		}
	}
}

// sequences returns the sequences of the first n events after a cursor. It returns earlier if an error ends the events.
func sequences(ctx context.Context, c *client.Client, after client.EventCursor, n int) (got []int64, err error) {
	for event, err := range c.Events(ctx, after) {
		if err != nil {
			return got, err
		}
		if got = append(got, event.Sequence); len(got) == n {
			break
		}
	}
	return got, nil
}

func TestEvents_HaveTheirDataAndCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gift := eventJSON(6, "gift.sent", `{"to":"Heron"}`)
		_, c := serveTill(t, answers(200, eventsJSON(6, 5,
			redeemedEvent(1), eventJSON(2, "redemption.undone", undoneJSON()), eventJSON(3, "order.created", orderJSON),
			eventJSON(4, "order.fulfilled", fulfilledJSON()), eventJSON(5, "order.cancelled", cancelledJSON()), gift)))
		redeemed, undone, placed := record(), undone(), placed()
		page, err := c.EventPage(t.Context(), client.EventCursor{})
		if err != nil || len(page.Events) != 6 {
			t.Fatalf("%+v, %v", page, err)
		}
		for i, want := range []struct {
			redemption *client.RedemptionRecord
			order      client.OrderStatus
		}{
			{redemption: &redeemed},
			{redemption: &undone},
			{order: client.OrderPlaced},
			{order: client.OrderFulfilled},
			{order: client.OrderCancelled},
			{},
		} {
			event := page.Events[i]
			if !reflect.DeepEqual(event.Redemption, want.redemption) || (event.Order != nil) != (want.order != "") ||
				event.Order != nil && (event.Order.Status != want.order || event.Order.ID != placed.ID) {
				t.Errorf("%s has %+v, %+v", event.Type, event.Redemption, event.Order)
			}
			if want := (client.EventCursor{After: int64(i + 1), Feed: feedID}); event.Cursor() != want {
				t.Errorf("the cursor is %+v, want %+v", event.Cursor(), want)
			}
		}
		unknown := page.Events[5]
		if string(unknown.Raw) != gift || string(unknown.Data) != `{"to":"Heron"}` || unknown.Type != "gift.sent" ||
			unknown.Shop != "emberforge" ||
			!unknown.Timestamp.Equal(time.Date(2026, time.November, 22, 1, 35, 52, 130e6, time.UTC)) {
			t.Errorf("%+v", unknown)
		}
		if want := (client.EventCursor{After: 6, Feed: feedID}); page.Next != want || page.PollAfter != 5*time.Second {
			t.Errorf("next %+v after %v", page.Next, page.PollAfter)
		}
	})
}

// A consumer that stores the cursor of each event misses no event, whatever fails between two events.
func TestEvents_OutagesAndRestarts_NoEventIsMissed(t *testing.T) {
	const events = 7
	feed := feeds(0, events, 2)
	for name, failures := range map[string][]step{
		"nothing fails":                   nil,
		"the response is lost":            {loses(feed)},
		"the response is cut short":       {cutsShort(feed)},
		"no response comes":               {silent},
		"the gateway throttles":           {message(429)},
		"a function died":                 {message(500), page(502)},
		"unavailable":                     {problem("unavailable", 503, "Retry-After", "1")},
		"unavailable for an hour":         slices.Repeat([]step{problem("unavailable", 503)}, 500),
		"unavailable for longer than 30s": {problem("unavailable", 503, "Retry-After", "40")},
		"unreachable for a while":         slices.Repeat([]step{hangsUp}, 20),
	} {
		inBubble(t, name, func(t *testing.T) {
			steps := slices.Concat([]step{feed}, failures, []step{feed}, failures, []step{feed}, failures, []step{feed})
			_, c := serveTill(t, steps...)
			var got []int64
			for len(got) < events { // in each round, the consumer starts again
				stored := client.EventCursor{After: int64(len(got)), Feed: feedID}
				if len(got) == 0 {
					stored = client.EventCursor{}
				}
				more, err := sequences(t.Context(), c, stored, min(3, events-len(got)))
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, more...)
			}
			if want := []int64{1, 2, 3, 4, 5, 6, 7}; !slices.Equal(got, want) {
				t.Errorf("got %d, want %d", got, want)
			}
		})
	}
}

func TestEvents_RequestsHaveTheCursorOfTheLastEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := serveTill(t, feeds(0, 5, 2))
		if got, err := sequences(t.Context(), c, client.EventCursor{}, 5); err != nil || len(got) != 5 {
			t.Fatal(got, err)
		}
		if got, err := sequences(t.Context(), c, client.EventCursor{After: 4}, 1); err != nil ||
			!slices.Equal(got, []int64{5}) {
			t.Fatal(got, err)
		}
		var uris []string
		for _, r := range s.seen() {
			uris = append(uris, strings.TrimPrefix(r.uri, "/base/shop/emberforge/events"))
			if r.method != "GET" || r.header.Get("Authorization") != "Bearer "+serverKey {
				t.Errorf("request %+v", r)
			}
		}
		if want := []string{"", "?after=2&feed=" + feedID, "?after=4&feed=" + feedID, "?after=4"}; !slices.Equal(uris,
			want) {
			t.Errorf("requests %q, want %q", uris, want)
		}
	})
}

func TestEvents_WaitAsLongAsTheServiceAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := serveTill(t,
			answers(200, `{"feed":"","events":[],"next":"/shop/emberforge/events?after=0","pollAfterSeconds":15}`),
			answers(200, eventsJSON(1, 0, redeemedEvent(1))),
			answers(200, eventsJSON(2, 5, redeemedEvent(2))),
			answers(200, eventsJSON(2, 15)),
			answers(200, eventsJSON(3, 15, redeemedEvent(3))))
		if got, err := sequences(t.Context(), c, client.EventCursor{}, 3); err != nil || len(got) != 3 {
			t.Fatal(got, err)
		}
		requests, began := s.seen(), time.Time{}
		for i, want := range []time.Duration{0, 15 * time.Second, 0, 5 * time.Second, 15 * time.Second} {
			if i > 0 && requests[i].at.Sub(began) != want {
				t.Errorf("request %d came after %v, want %v", i+1, requests[i].at.Sub(began), want)
			}
			began = requests[i].at
		}
	})
}

func TestEvents_LongestPoll_ShortensTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := serve(t, answers(200, eventsJSON(2, 15)), answers(200, eventsJSON(3, 0, redeemedEvent(3))),
			feeds(0, 4, 1))
		c := newClient(t, "http://shop.example/base", client.WithHTTPClient(s.http), client.WithServerKey(serverKey),
			client.WithLongestPoll(time.Second))
		began := time.Now()
		got, err := sequences(t.Context(), c, client.EventCursor{After: 2}, 2)
		if took := time.Since(began); err != nil || !slices.Equal(got, []int64{3, 4}) || took != time.Second {
			t.Errorf("%d, %v after %v", got, err, took)
		}
	})
}

func TestEvents_Outage_IsReportedWhenItBeginsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outage := slices.Repeat([]step{problem("unavailable", 503)}, 20)
		s, _ := serve(t, slices.Concat([]step{feeds(0, 1, 1), message(503), feeds(0, 2, 1)}, outage,
			[]step{feeds(0, 3, 1), silent})...)
		var reports []error
		report := client.WithOutageReport(func(cause error) { reports = append(reports, cause) })
		c := newClient(t, "http://shop.example/base", client.WithHTTPClient(s.http), client.WithServerKey(serverKey),
			report)
		if got, err := sequences(t.Context(), c, client.EventCursor{}, 3); err != nil || len(got) != 3 {
			t.Fatal(got, err)
		}
		if len(reports) != 2 || !errors.Is(reports[0], client.ErrUnavailable) || reports[1] != nil {
			t.Errorf("reports %v", reports)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := sequences(ctx, c, client.EventCursor{}, 1); err == nil || len(reports) != 2 {
			t.Errorf("%v, reports %v: the end of the context was reported as an outage", err, reports)
		}
	})
}

func TestEvents_EndWithTheContext(t *testing.T) {
	for name, answer := range map[string]step{
		"between polls": feeds(0, 1, 100), "during a request": silent,
		"during an outage": message(503),
	} {
		inBubble(t, name, func(t *testing.T) {
			_, c := serveTill(t, answer)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Minute+time.Second, cancel)
			began := time.Now()
			_, err := sequences(ctx, c, client.EventCursor{}, 2)
			if !errors.Is(err, context.Canceled) || time.Since(began) != time.Minute+time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	}
}

func TestEvents_PermanentError_EndsTheIteration(t *testing.T) {
	cursor := client.EventCursor{After: 4, Feed: feedID}
	empty := eventsJSON(4, 15)
	changed := func(page, old, replacement string) step {
		return answers(200, strings.Replace(page, old, replacement, 1))
	}
	one, gift := eventsJSON(5, 15, redeemedEvent(5)), eventsJSON(5, 15, eventJSON(5, "gift.sent", "1"))
	for name, test := range map[string]struct {
		step step
		is   error // nil: a *ResponseError
	}{
		"unauthorized":                    {problem("unauthorized", 401), client.ErrUnauthorized},
		"the cursor has expired":          {feeds(10, 20, 100), client.ErrCursorExpired},
		"the cursor is beyond the newest": {feeds(0, 3, 100), client.ErrInvalid},
		"events are off":                  {message(404), client.ErrWrongBaseURL},

		"the query was dropped":            {answers(200, eventsJSON(2, 15, redeemedEvent(1), redeemedEvent(2))), nil},
		"the first event is missing":       {answers(200, eventsJSON(6, 15, redeemedEvent(6))), nil},
		"a later event is missing":         {answers(200, eventsJSON(7, 15, redeemedEvent(5), redeemedEvent(7))), nil},
		"an event comes twice":             {answers(200, eventsJSON(6, 15, redeemedEvent(5), redeemedEvent(5))), nil},
		"the next page skips events":       {answers(200, eventsJSON(7, 15, redeemedEvent(5))), nil},
		"the next page is of another feed": {changed(one, "&feed="+feedID, "&feed=p0c8QZk3"), nil},
		"no next page":                     {answers(200, `{"feed":"","events":[],"next":null}`), nil},
		"no events":                        {changed(empty, `"events":[],`, ""), nil},
		"another feed":                     {answers(200, strings.ReplaceAll(one, feedID, "p0c8QZk3")), nil},
		"another shop's event":             {changed(one, `"emberforge"`, `"sakura-goods"`), nil},
		"an incomplete redemption":         {changed(one, redemptionJSON, "{}"), nil},
		"an incomplete order":              {changed(one, "redemption.created", "order.created"), nil},
		"an event without an ID":           {changed(one, `"id":"MTCX`, `"was":"MTCX`), nil},
		"an event without data":            {changed(gift, `"data"`, `"was"`), nil},
		"no pause after the feed":          {changed(empty, "15", "0"), nil},
		"a negative pause":                 {changed(empty, "15", "-1"), nil},
		"a pause of 95 years":              {changed(empty, "15", "3000000000"), nil},
	} {
		inBubble(t, name, func(t *testing.T) {
			s, c := serveTill(t, test.step)
			got, err := sequences(t.Context(), c, cursor, 1)
			_, isAnswer := errors.AsType[*client.ResponseError](err)
			if len(got) > 0 || err == nil || test.is != nil && !errors.Is(err, test.is) ||
				isAnswer != (test.is == nil) || len(s.seen()) != 1 {
				t.Errorf("%d, %v after %d requests, want %v", got, err, len(s.seen()), test.is)
			}
			wantNoSecrets(t, err)
		})
	}
}

func TestEvents_ExpiredCursor_ErrorHasTheEarliestCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := serveTill(t, feeds(10, 12, 100))
		_, err := sequences(t.Context(), c, client.EventCursor{After: 4, Feed: feedID}, 1)
		expired, is := errors.AsType[*client.ProblemError](err)
		if !is || !errors.Is(err, client.ErrCursorExpired) {
			t.Fatal(err)
		}
		got, err := sequences(t.Context(), c, client.EventCursor{After: expired.Earliest, Feed: expired.Feed}, 2)
		if err != nil || !slices.Equal(got, []int64{11, 12}) {
			t.Errorf("%d, %v", got, err)
		}
	})
}

func TestNewestEvent_IsFoundWithoutReadingTheWholeFeed(t *testing.T) {
	for _, test := range []struct{ earliest, newest, requests int }{
		{0, 1, 1}, {0, 100, 1}, {0, 101, 20}, {0, 1123, 20}, {0, 1125, 20}, {700, 1_000_000, 40}, {12, 4_194_307, 50},
	} {
		inBubble(t, strconv.Itoa(test.newest), func(t *testing.T) {
			s, c := serveTill(t, feeds(test.earliest, test.newest, 100))
			got, err := c.NewestEvent(t.Context())
			if want := (client.EventCursor{After: int64(test.newest), Feed: feedID}); err != nil || got != want ||
				len(s.seen()) > test.requests {
				t.Errorf("%+v, %v after %d requests, want %+v after %d", got, err, len(s.seen()), want, test.requests)
			}
		})
	}
}

// No event after NewestEvent is missed, even if it is the very first event.
func TestNewestEvent_EmptyFeed_IsTheZeroCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		empty := answers(200, `{"feed":"","events":[],"next":"/shop/emberforge/events?after=0","pollAfterSeconds":15}`)
		_, c := serveTill(t, empty, feeds(0, 1, 100))
		newest, err := c.NewestEvent(t.Context())
		if err != nil || newest != (client.EventCursor{}) {
			t.Fatal(newest, err)
		}
		if got, err := sequences(t.Context(), c, newest, 1); err != nil || !slices.Equal(got, []int64{1}) {
			t.Errorf("%d, %v", got, err)
		}
	})
}

func TestNewestEvent_FailureDuringTheSearch_IsReturned(t *testing.T) {
	_, c := serveTill(t, feeds(0, 5000, 100), problem("unauthorized", 401))
	if got, err := c.NewestEvent(t.Context()); !errors.Is(err, client.ErrUnauthorized) ||
		got != (client.EventCursor{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestEventCursor_SurvivesStorage(t *testing.T) {
	want := client.EventCursor{After: 1047, Feed: feedID}
	text, err := json.Marshal(want)
	var got client.EventCursor
	if err != nil || json.Unmarshal(text, &got) != nil || got != want ||
		string(text) != `{"after":1047,"feed":"Zk3p0c8Q"}` {
		t.Errorf("%s, %v", text, err)
	}
}
