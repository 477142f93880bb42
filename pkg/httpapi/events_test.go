package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/event"
	"shopfront/pkg/wire"
)

const (
	eventsPath = "/shop/emberforge/events"
	feedID     = "Zk3p0c8QmX1a"
)

// fakeFeed is an httpapi.EventReader. Every request gets the same result.
type fakeFeed struct {
	asked func(shop catalog.ShopID, cursor event.Cursor, limit int) // if set, receives what a request asks for
	page  event.Page
	err   error
}

func (f fakeFeed) Read(
	_ context.Context, shop catalog.ShopID, cursor event.Cursor, limit int,
) (event.Page, error) {
	if f.asked != nil {
		f.asked(shop, cursor, limit)
	}
	return f.page, f.err
}

// unusedFeed fails the test when a request reaches it.
func unusedFeed(t *testing.T) fakeFeed {
	return fakeFeed{asked: func(catalog.ShopID, event.Cursor, int) { t.Error("the request reached the feed") }}
}

// happened returns an event of each type, as the recorder stores them, and how the feed shows their data.
func happened(t *testing.T) (events []event.Event, data []string) {
	t.Helper()
	facts := append(event.OfRedemption("emberforge", welcome()),
		event.OfOrder("emberforge", cancelled(fulfilled(rankOrder())))...)
	for i, fact := range facts {
		e, err := fact.Event()
		if err != nil {
			t.Fatal(err)
		}
		e.Sequence = int64(i + 1)
		events = append(events, e)
	}
	redeemed, _, _ := strings.Cut(strings.Replace(welcomeBody, "undone", "redeemed", 1), `,"undoneAt"`)
	both := rankOrdered + `,"fulfilledAt":"2026-11-21T12:03:01.123Z","cancelledAt":"2026-11-21T13:03:00.123Z",` +
		`"cancelReason":"chargeback"`
	return events, []string{
		redeemed + "}", welcomeBody, placedBody(), fulfilledBody(),
		fmt.Sprintf(rankBody, "cancelled", rankData, both),
	}
}

func (s service) listEvents(feed fakeFeed, query string, headers ...string) response {
	return s.send(s.ListEvents(feed), get(eventsPath+query, append(headers, "Authorization", serverKey)...))
}

func TestListEvents_EachType_ShowsTheStateWhenItHappened(t *testing.T) {
	events, data := happened(t)
	want := make([]string, len(events))
	for i, shown := range []struct{ kind, at string }{
		{"redemption.created", "2026-11-21T12:00:00.123Z"},
		{"redemption.undone", "2026-11-21T13:00:00.123Z"},
		{"order.created", "2026-11-21T12:03:00.123Z"},
		{"order.fulfilled", "2026-11-21T12:03:01.123Z"},
		{"order.cancelled", "2026-11-21T13:03:00.123Z"},
	} {
		want[i] = fmt.Sprintf(
			`{"id":%q,"type":%q,"timestamp":%q,"sequence":%d,"customer":"emberforge","data":%s}`, events[i].ID,
			shown.kind, shown.at, i+1, data[i],
		)
		encoded, err := wire.Encode(events[i])
		if err != nil || string(encoded) != want[i] {
			t.Errorf("encoded as %s, %v\nwant %s", encoded, err, want[i])
		}
	}
	s := newService(t)
	a := s.listEvents(fakeFeed{page: event.Page{Feed: feedID, Events: events, Next: 5}}, "?after=0")
	a.want(t, http.StatusOK, `{"feed":"Zk3p0c8QmX1a","events":[`+strings.Join(want, ",")+
		`],"next":"/shop/emberforge/events?after=5&feed=Zk3p0c8QmX1a","pollAfterSeconds":15}`)
	a.wantHeader(t, "Content-Type", "application/json")
	a.wantHeader(t, "Cache-Control", "no-cache")
	a.wantHeader(t, "Request-Id", "request-1")
	if line := s.logged(t); line["outcome"] != "listed" || line["customer"] != "emberforge" ||
		line["keyId"] != serverKeyID {
		t.Errorf("logged %v", line)
	}
}

// A shopper's text must reach the shop's server as it was sent, both as an event's data and in the encoded event.
func TestEvent_Markup_IsNotEscaped(t *testing.T) {
	redemption := welcome()
	redemption.Nick = "<Alder & Söhne>"
	e, err := event.OfRedemption("emberforge", redemption)[0].Event()
	if err != nil || !strings.Contains(string(e.Data), `"nick":"<Alder & Söhne>"`) {
		t.Fatalf("Event = %s, %v; want the nick unescaped", e.Data, err)
	}
	encoded, err := wire.Encode(e)
	if err != nil || !strings.Contains(string(encoded), string(e.Data)) {
		t.Errorf("Encode = %s, %v; want the data unescaped", encoded, err)
	}
}

func TestListEvents_NextAndPollAfterSeconds_SayHowToContinue(t *testing.T) {
	at := now().Truncate(time.Millisecond)
	events := []event.Event{{Sequence: 41, At: at, Data: []byte("{}")}, {Sequence: 42, At: at, Data: []byte("{}")}}
	recorded := func(age time.Duration, events ...event.Event) event.Page {
		return event.Page{Feed: feedID, Events: events, Next: 42, Extended: at.Add(-age)}
	}
	more := recorded(0, events...)
	more.More = true
	for _, test := range []struct {
		what, query string
		page        event.Page
		next        string
		poll        int
	}{
		{"no event was ever recorded", "", event.Page{}, "after=0", 15},
		{"no event was ever recorded, after 0", "?after=0", event.Page{}, "after=0", 15},
		{"nothing new", "?after=42&feed=" + feedID, event.Page{Feed: feedID, Next: 42}, "after=42&feed=" + feedID, 15},
		{"feed not sent", "?after=42", event.Page{Feed: feedID, Next: 42}, "after=42&feed=" + feedID, 15},
		{"more is ready", "?limit=2", more, "after=42&feed=" + feedID + "&limit=2", 0},
		{"just recorded", "", recorded(0, events...), "after=42&feed=" + feedID, 5},
		{"less than a minute ago", "", recorded(time.Minute-time.Millisecond, events...), "after=42&feed=" + feedID, 5},
		{"less than a minute ago, nothing new", "?after=42", recorded(time.Second), "after=42&feed=" + feedID, 5},
		{"a minute ago", "", recorded(time.Minute, events...), "after=42&feed=" + feedID, 15},
		{"in the future, by a fast clock", "", recorded(-time.Second), "after=42&feed=" + feedID, 5},
	} {
		t.Run(test.what, func(t *testing.T) {
			s := newService(t)
			a := s.listEvents(fakeFeed{page: test.page}, test.query)
			var page struct {
				Feed             string
				Events           []struct{ Sequence int64 }
				Next             string
				PollAfterSeconds int
			}
			if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != http.StatusOK {
				t.Fatalf("got %d %s, want a page", a.status, a.body)
			}
			if page.Events == nil || len(page.Events) != len(test.page.Events) || page.Feed != test.page.Feed {
				t.Errorf("the page has feed %q and the events %v", page.Feed, page.Events)
			}
			if page.Next != eventsPath+"?"+test.next || page.PollAfterSeconds != test.poll {
				t.Errorf("next %s after %d s; want %s after %d s", page.Next, page.PollAfterSeconds, test.next,
					test.poll)
			}
		})
	}
}

func TestListEvents_Query_BecomesACursor(t *testing.T) {
	for query, want := range map[string]struct {
		cursor event.Cursor
		limit  int
	}{
		"":                           {event.Cursor{After: event.FromOldest}, 100},
		"?limit=7":                   {event.Cursor{After: event.FromOldest}, 7},
		"?after=0":                   {event.Cursor{}, 100},
		"?after=41&limit=1":          {event.Cursor{After: 41}, 1},
		"?limit=100&feed=a&after=41": {event.Cursor{After: 41, Feed: "a"}, 100},
		"?after=9223372036854775807": {event.Cursor{After: 9223372036854775807}, 100},
		"?after=%34%31&feed=a%2Fb+c": {event.Cursor{After: 41, Feed: "a/b c"}, 100},
	} {
		var asked []any
		s := newService(t)
		s.listEvents(fakeFeed{asked: func(shop catalog.ShopID, cursor event.Cursor, limit int) {
			asked = []any{shop, cursor, limit}
		}}, query)
		if !reflect.DeepEqual(asked, []any{catalog.ShopID("emberforge"), want.cursor, want.limit}) {
			t.Errorf("%s: asked for %+v; want %+v", query, asked, want)
		}
	}
}

func TestListEvents_MatchingETag_Is304(t *testing.T) {
	events, _ := happened(t)
	feed := fakeFeed{page: event.Page{Feed: feedID, Events: events, Next: 5}}
	first := newService(t).listEvents(feed, "?after=0")
	etag := first.header.Get("ETag")
	if !strings.HasPrefix(etag, `"`) {
		t.Fatalf("ETag %s is not strong", etag)
	}
	s := newService(t)
	a := s.listEvents(feed, "?after=0", "If-None-Match", etag)
	a.want(t, http.StatusNotModified, "")
	a.wantHeader(t, "ETag", etag)
	a.wantHeader(t, "Cache-Control", "no-cache")
	a.wantHeader(t, "Content-Type", "")
	if line := s.logged(t); line["outcome"] != "listed" || line["status"] != float64(http.StatusNotModified) {
		t.Errorf("logged %v", line)
	}
	for what, other := range map[string]event.Page{
		"a new event":  {Feed: feedID, Events: append(events, event.Event{Sequence: 6, Data: []byte("{}")}), Next: 6},
		"another feed": {Feed: "another", Events: events, Next: 5},
		"more events":  {Feed: feedID, Events: events, Next: 5, More: true},
	} {
		if a := newService(t).listEvents(fakeFeed{page: other}, "?after=0", "If-None-Match",
			etag); a.status != http.StatusOK {
			t.Errorf("%s: status %d", what, a.status)
		}
	}
}

// guardOf admits the shop's server to one shop only.
type guardOf struct {
	guard

	shop catalog.ShopID
}

func (g guardOf) Admit(
	ctx context.Context, shop catalog.ShopID, authorization []string, at time.Time,
) (access.Caller, access.Settings, error) {
	if shop != g.shop {
		authorization = []string{"Bearer key of another shop"}
	}
	return g.guard.Admit(ctx, shop, authorization, at)
}

// The key of one shop must neither give access to another shop's feed nor reveal whether that shop exists.
func TestListEvents_Key_ReadsOnlyTheFeedOfItsOwnShop(t *testing.T) {
	shops := []catalog.ShopID{"emberforge", "brambleshop", "Emberforge"}
	for _, owner := range shops {
		for _, shop := range shops {
			var read, want []catalog.ShopID
			s := newService(t)
			s.Guard = guardOf{guard{access.DefaultSettings()}, owner}
			feed := fakeFeed{asked: func(shop catalog.ShopID, _ event.Cursor,
				_ int,
			) {
				read = append(read, shop)
			}}
			a := s.send(s.ListEvents(feed), get("/shop/"+string(shop)+"/events", "Authorization", serverKey))
			if shop == owner {
				want = append(want, owner)
				a.want(t, http.StatusOK, `{"feed":"","events":[],"next":"/shop/`+string(owner)+
					`/events?after=0","pollAfterSeconds":15}`)
			} else {
				a.want(t, http.StatusUnauthorized, serverOnly)
			}
			if !slices.Equal(read, want) {
				t.Errorf("the key of %s has read %v, want %v", owner, read, want)
			}
		}
	}
}

func TestListEvents_MalformedRequests_AreRejectedBeforeAnyLookup(t *testing.T) {
	list := func(query string) *http.Request { return get(eventsPath + "?" + query) }
	for _, test := range []struct {
		what    string
		request *http.Request
		problem string
		about   string
	}{
		{"customer", get("/shop/-ember/events"), "not-found", ""},
		{"longer path", get(eventsPath + "/1"), "not-found", ""},
		{"another method", post(eventsPath, `{}`), "method-not-allowed", ""},
		{"unknown parameter", list("After=1"), "malformed-request", ""},
		{"after twice", list("after=1&after=2"), "malformed-request", "after"},
		{"after empty", list("after="), "invalid", "after"},
		{"after -1", list("after=-1"), "invalid", "after"},
		{"after 01", list("after=01"), "invalid", "after"},
		{"after too large", list("after=9223372036854775808"), "invalid", "after"},
		{"limit 101", list("limit=101"), "invalid", "limit"},
		{"feed empty", list("after=1&feed="), "invalid", "feed"},
		{"feed without after", list("feed=" + feedID), "invalid", "feed"},
	} {
		t.Run(test.what, func(t *testing.T) {
			s := newService(t)
			test.request.Header.Set("Authorization", serverKey)
			a := s.send(s.ListEvents(unusedFeed(t)), test.request)
			a.wantProblem(t, test.problem)
			var problem struct{ Parameter string }
			if err := json.Unmarshal([]byte(a.body), &problem); err != nil || problem.Parameter != test.about {
				t.Errorf("%s names the parameter %q, %v; want %q", a.body, problem.Parameter, err, test.about)
			}
		})
	}
}

func TestListEvents_Errors_BecomeProblems(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{
			fmt.Errorf("read: %w", &event.ExpiredError{Earliest: 1200, Feed: feedID}),
			problemFormat + `cursor-expired","title":"Cursor expired","status":410,"detail":"The next event is no ` +
				`longer kept, or the feed was lost. ` +
				`Compare your records with the shop's lists, then continue after 1200 with this feed.",` +
				`"earliest":1200,"feed":"Zk3p0c8QmX1a"}`,
		},
		{
			&event.ExpiredError{}, // the feed was lost, and no event was recorded since
			problemFormat + `cursor-expired","title":"Cursor expired","status":410,"detail":"The next event is no ` +
				`longer kept, or the feed was lost. ` +
				`Compare your records with the shop's lists, then continue after 0 without a feed.","earliest":0,` +
				`"feed":""}`,
		},
		{
			fmt.Errorf("read: %w", event.ErrBeyond),
			problemFormat + `invalid","title":"Invalid request","status":422,"detail":"The feed has no event with ` +
				`this sequence number yet.","parameter":"after"}`,
		},
	} {
		s := newService(t)
		a := s.listEvents(fakeFeed{err: test.err}, "?after=41", "If-None-Match", "*")
		a.want(t, a.status, test.want)
		if !strings.Contains(test.want, fmt.Sprintf(`"status":%d`, a.status)) {
			t.Errorf("%v: status %d", test.err, a.status)
		}
		a.wantHeader(t, "Cache-Control", "no-store")
	}
}

// The client's developer and the operator must find out which event is damaged.
func TestListEvents_DamagedFeed_Is500ThatNamesTheEventOrThePage(t *testing.T) {
	for _, test := range []struct {
		damaged event.DamagedError
		detail  string
	}{
		{
			event.DamagedError{Shop: "emberforge", Sequence: 17, ID: "MTCXgwWFAhhCzmYLdegdZw"},
			"In the store, the event 17 (MTCXgwWFAhhCzmYLdegdZw) of the feed of emberforge is damaged. " +
				"Have the operator restore it, or continue after 17 without it.",
		},
		{
			event.DamagedError{Shop: "emberforge", Page: "p#000000000002"},
			"In the store, the page p#000000000002 of the feed of emberforge is damaged. Have the operator restore it.",
		},
	} {
		s := newService(t)
		s.listEvents(fakeFeed{err: &test.damaged}, "").want(t, http.StatusInternalServerError,
			problemFormat+`internal","title":"Internal error","status":500,"detail":"`+test.detail+`"}`)
		if line := s.logged(t); line["level"] != "ERROR" || line["error"] != test.damaged.Error() {
			t.Errorf("logged %v; want the error %v", line, &test.damaged)
		}
	}
}

// No log line contains a code, a nick, data, an ID or the query, whatever the outcome.
func TestListEvents_Log_HoldsNothingOfTheEvents(t *testing.T) {
	events, _ := happened(t)
	for _, feed := range []fakeFeed{
		{page: event.Page{Feed: feedID, Events: events, Next: 5}},
		{err: &event.ExpiredError{Earliest: 7, Feed: feedID}},
		{err: event.ErrBeyond},
		{err: throttled{}},
		{asked: func(catalog.ShopID, event.Cursor, int) { panic("index out of range") }},
	} {
		for _, query := range []string{
			"", "?after=313373133731337&feed=" + feedID, "?after=313373133731337&nick=Alder",
			"?feed=" + feedID,
		} {
			s := newService(t)
			s.listEvents(feed, query)
			line, err := json.Marshal(s.logged(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{
				"WELCOME", "Alder", "stripe", "pi_3QNa7c2e", "granted", "chargeback",
				"cWJxYWRz", "ySBDAj", string(events[0].ID), "313373133731337", feedID, "feed=", "key of the",
			} {
				if strings.Contains(string(line), secret) {
					t.Errorf("%s: the log holds %q: %s", query, secret, line)
				}
			}
		}
	}
}

func FuzzEventList(f *testing.F) {
	for _, query := range []string{
		"after=41&feed=" + feedID + "&limit=1", "after=0", "limit=100", "feed=a",
		"after=%30", "a;b",
	} {
		f.Add(query)
	}
	fuzzPages(f, eventsPath, func(t *testing.T, s service, query string) (first, next http.Handler) {
		return s.ListEvents(fakeFeed{page: event.Page{Feed: feedID, Next: 41}}),
			s.ListEvents(fakeFeed{asked: func(_ catalog.ShopID, cursor event.Cursor, _ int) {
				if cursor != (event.Cursor{After: 41, Feed: feedID}) {
					t.Errorf("%q leads to %+v", query, cursor)
				}
			}})
	})
}
