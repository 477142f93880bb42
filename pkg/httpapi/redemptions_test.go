package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

const (
	redemptionsPath = "/shop/emberforge/redemptions"
	undoPath        = redemptionsPath + "/cWJxYWRzZmFzZGZhc2RmYQ/undo"
	undoBody        = `{"code":"welcome coins","nick":" Alder ","reason":"granted twice"}`
)

// fakeRedemptions is an httpapi.Redemptions. Every request gets the same result.
type fakeRedemptions struct {
	asked      func(arguments ...any) // if set, receives what a request asks for
	redemption voucher.Redemption
	replayed   bool
	listed     []voucher.Redemption
	next       string
	err        error
}

func (f fakeRedemptions) note(arguments ...any) {
	if f.asked != nil {
		f.asked(arguments...)
	}
}

func (f fakeRedemptions) Undo(_ context.Context, request voucher.UndoRequest) (voucher.Redemption, bool, error) {
	f.note(request)
	return f.redemption, f.replayed, f.err
}

func (f fakeRedemptions) List(
	_ context.Context, shop catalog.ShopID, code voucher.Code, filter voucher.RedemptionFilter,
) ([]voucher.Redemption, string, error) {
	f.note(shop, code, filter)
	return f.listed, f.next, f.err
}

// unusedRedemptions fails the test when a request reaches it.
func unusedRedemptions(t *testing.T) fakeRedemptions {
	return fakeRedemptions{asked: func(...any) { t.Error("the request reached the redemptions") }}
}

// welcome returns a redemption of WELCOME-COINS that was undone an hour later.
func welcome() voucher.Redemption {
	at := now().Truncate(time.Millisecond)
	return voucher.Redemption{
		ID: "cWJxYWRzZmFzZGZhc2RmYQ", Code: "WELCOME-COINS", Nick: "Alder", At: at, Reward: coins(),
		Undone: at.Add(time.Hour), UndoReason: "granted twice",
	}
}

const (
	welcomeBody = `{"id":"cWJxYWRzZmFzZGZhc2RmYQ","status":"undone","code":"WELCOME-COINS","nick":"Alder",` +
		`"redeemedAt":"2026-11-21T12:00:00.123Z",` +
		`"reward":{"kind":"product","product":"coins","variant":"500","amount":2},` +
		`"undoneAt":"2026-11-21T13:00:00.123Z","undoReason":"granted twice"}`
	keptBody = `{"id":"NkdRkXxHh81ipYGrKwPH5g","status":"redeemed","code":"WELCOME-COINS",` +
		`"redeemedAt":"2026-11-21T12:00:00.123Z",` +
		`"reward":{"kind":"product","product":"coins","variant":"500","amount":2}}`
)

func TestUndoRedemption_RespondsWithTheUndoneRedemption(t *testing.T) {
	want := voucher.UndoRequest{
		Shop: "emberforge", Code: "WE1C0MEC01NS", ID: "cWJxYWRzZmFzZGZhc2RmYQ",
		Reason: "granted twice", By: "key:" + serverKeyID, At: now().Truncate(time.Millisecond),
	}
	withCodeOnly := want
	withCodeOnly.Reason = ""
	for body, want := range map[string]voucher.UndoRequest{
		undoBody:                             want,
		`{"code":"WELCOME-COINS"}`:           withCodeOnly,
		`{"code":"WELCOME-COINS","nick":""}`: withCodeOnly,
	} {
		var asked []any
		s := newService(t)
		redemptions := fakeRedemptions{redemption: welcome(), asked: func(arguments ...any) { asked = arguments }}
		a := s.send(s.UndoRedemption(redemptions), post(undoPath, body, "Authorization", serverKey))
		a.want(t, http.StatusOK, welcomeBody)
		a.wantHeader(t, "Content-Type", "application/json")
		a.wantHeader(t, "Cache-Control", "no-store")
		a.wantHeader(t, "Idempotency-Replayed", "")
		if !reflect.DeepEqual(asked, []any{want}) {
			t.Errorf("asked for %+v; want %+v", asked, want)
		}
		if line := s.logged(t); line["outcome"] != "undone" || line["UndoneRedemptions"] != 1.0 ||
			line["keyId"] != serverKeyID {
			t.Errorf("logged %v", line)
		}
	}
}

func TestUndoRedemption_Retry_IsReplayedAndNotCounted(t *testing.T) {
	withoutReason := welcome()
	withoutReason.UndoReason = ""
	s := newService(t)
	a := s.send(s.UndoRedemption(fakeRedemptions{redemption: withoutReason, replayed: true}),
		post(undoPath, undoBody, "Authorization", serverKey))
	a.want(t, http.StatusOK, strings.Replace(welcomeBody, `,"undoReason":"granted twice"`, "", 1))
	a.wantHeader(t, "Idempotency-Replayed", "true")
	if line := s.logged(t); line["outcome"] != "replayed" || line["UndoneRedemptions"] != nil {
		t.Errorf("logged %v", line)
	}
}

func TestRedemptions_MalformedRequests_AreRejectedBeforeAnyLookup(t *testing.T) {
	undo := func(body string) *http.Request { return post(undoPath, body) }
	list := func(query string) *http.Request { return get(redemptionsPath + "?" + query) }
	for _, test := range []rejected{
		{
			"undo, malformed shop", post("/shop/-ember/redemptions/cWJxYWRzZmFzZGZhc2RmYQ/undo", undoBody),
			"redemption-not-found",
		},
		{"undo, short ID", post(redemptionsPath+"/cWJxYWRzZmFzZGZhc2RmY/undo", undoBody), "redemption-not-found"},
		{
			"undo, ID with the store's separator", post(redemptionsPath+"/cWJxYWRzZmFzZGZhc2RmY%23/undo", undoBody),
			"redemption-not-found",
		},
		{"undo, no voucher can have the code", undo(`{"code":"S*MMER"}`), "redemption-not-found"},
		{"undo, another method", request(http.MethodDelete, undoPath, ""), "method-not-allowed"},
		{"undo, query parameter", post(undoPath+"?code=SUMMER20", undoBody), "malformed-request"},
		{"undo, unknown member", undo(`{"code":"SUMMER-20","id":"a"}`), "malformed-request"},
		{"undo, text/plain", post(undoPath, undoBody, "Content-Type", "text/plain"), "unsupported-media-type"},
		{"undo, code missing", undo(`{"reason":"granted twice"}`), "invalid"},
		{"undo, code empty", undo(`{"code":" - "}`), "invalid"},
		{"undo, nick too long", undo(`{"code":"SUMMER-20","nick":"` + strings.Repeat("a", 65) + `"}`), "invalid"},
		{"undo, reason with a line feed", undo(`{"code":"SUMMER-20","reason":"granted\ntwice"}`), "invalid"},

		{"list, malformed shop", get("/shop/-ember/redemptions?code=SUMMER20"), "not-found"},
		{"list, another method", post(redemptionsPath, `{}`), "method-not-allowed"},
		{"list, unknown parameter", list("code=SUMMER20&status=undone"), "malformed-request"},
		{"list, empty cursor", list("code=SUMMER20&cursor="), "malformed-request"},
		{
			"list, cursor with an empty position", list("code=SUMMER20&cursor=" + cursor("emberforge/SUMMER20/")),
			"malformed-request",
		},
		{
			"list, cursor without a position", list("code=SUMMER20&cursor=" + cursor("emberforge/SUMMER20")),
			"malformed-request",
		},
		{
			"list, cursor of another code", list("code=SUMMER20&cursor=" + cursor("emberforge/SUMMER21/07")),
			"malformed-request",
		},
		{
			"list, cursor of another shop", list("code=SUMMER20&cursor=" + cursor("brambleshop/SUMMER20/07")),
			"malformed-request",
		},
		{"list, no code", get(redemptionsPath), "invalid"},
		{"list, no voucher can have the code", list("code=S*MMER"), "invalid"},
		{"list, empty nick", list("code=SUMMER20&nick="), "invalid"},
		{"list, from is a date", list("code=SUMMER20&from=2026-11-21"), "invalid"},
		{"list, limit 0", list("code=SUMMER20&limit=0"), "invalid"},
	} {
		t.Run(test.what, func(t *testing.T) {
			s := newService(t)
			endpoint := s.ListRedemptions(unusedRedemptions(t))
			if strings.HasPrefix(test.what, "undo") {
				endpoint = s.UndoRedemption(unusedRedemptions(t))
			}
			test.request.Header.Set("Authorization", serverKey)
			s.send(endpoint, test.request).wantProblem(t, test.problem)
		})
	}
}

func TestRedemptions_Errors_BecomeProblems(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{
			fmt.Errorf("undo: %w", voucher.ErrRedemptionNotFound),
			`{"type":"urn:problem:shopfront:redemption-not-found","title":"Redemption not found","status":404}`,
		},
		{
			voucher.ErrRedemptionOfOrder, `{"type":"urn:problem:shopfront:redemption-of-order","title":"Redemption ` +
				`of an order","status":409,` +
				`"detail":"An order made this redemption. Cancel the order instead: that undoes it."}`,
		},
		{
			&voucher.RefusalError{Reason: voucher.ReasonUnknown},
			`{"type":"urn:problem:shopfront:internal","title":"Internal error","status":500}`,
		},
	} {
		for what, send := range map[string]func(service) response{
			"undo": func(s service) response {
				return s.send(s.UndoRedemption(fakeRedemptions{err: test.err}),
					post(undoPath, undoBody, "Authorization", serverKey))
			},
			"list": func(s service) response {
				return s.send(s.ListRedemptions(fakeRedemptions{err: test.err}),
					get(redemptionsPath+"?code=SUMMER20", "Authorization", serverKey))
			},
		} {
			s := newService(t)
			a := send(s)
			a.want(t, a.status, test.want)
			if !strings.Contains(test.want, fmt.Sprintf(`"status":%d`, a.status)) {
				t.Errorf("%s: status %d", what, a.status)
			}
			if line := s.logged(t); (line["level"] == "ERROR") != (a.status >= 500) ||
				line["UndoneRedemptions"] != nil {
				t.Errorf("%s: logged %v", what, line)
			}
		}
	}
}

func TestListRedemptions_Query_BecomesAFilter(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for query, want := range map[string]voucher.RedemptionFilter{
		"code=SUMMER-20":          {Limit: 100},
		"code=summer+2O":          {Limit: 100},
		"code=SUMMER20&limit=200": {Limit: 200},
		"code=SUMMER20&nick=%20ALDER": {
			Limit: 100,
			Nick:  voucher.Nick{Written: "ALDER", Compared: "alder"},
		},
		"code=SUMMER20&from=2026-11-21T12:00:00Z": {Limit: 100, From: noon},
		"code=SUMMER20&to=2026-11-21T12:00:00%2B01:00": {
			Limit: 100,
			Until: noon.Add(-time.Hour),
		},
		"code=SUMMER20&cursor=" + cursor("emberforge/SUMMER20/07/emberforge"): {Limit: 100, After: "07/emberforge"},
	} {
		var asked []any
		s := newService(t)
		redemptions := fakeRedemptions{asked: func(arguments ...any) { asked = arguments }}
		s.send(s.ListRedemptions(redemptions), get(redemptionsPath+"?"+query, "Authorization", serverKey)).want(t,
			http.StatusOK, `{"redemptions":[],"next":null}`)
		if len(asked) != 3 {
			t.Fatalf("%s: asked for %v", query, asked)
		}
		filter, _ := asked[2].(voucher.RedemptionFilter)
		filter.From, filter.Until = filter.From.UTC(), filter.Until.UTC()
		if asked[0] != catalog.ShopID("emberforge") || asked[1] != voucher.Code("SUMMER20") || filter != want {
			t.Errorf("%s: asked for %+v; want %+v", query, asked, want)
		}
	}
}

func TestListRedemptions_Page_HoldsRedemptionsAndLeadsToTheNext(t *testing.T) {
	second := voucher.Redemption{
		ID: "NkdRkXxHh81ipYGrKwPH5g", Code: "WELCOME-COINS",
		At: now().Truncate(time.Millisecond), Reward: coins(),
	}
	s := newService(t)
	page := fakeRedemptions{listed: []voucher.Redemption{welcome(), second}, next: "07#r#a/b"}
	a := s.send(s.ListRedemptions(page),
		get(redemptionsPath+"?limit=2&nick=Kestrel+9&code=welcome+coins", "Authorization", serverKey))
	next := "code=welcome+coins&cursor=" + cursor("emberforge/WE1C0MEC01NS/07#r#a/b") + "&limit=2&nick=Kestrel+9"
	a.want(t, http.StatusOK, `{"redemptions":[`+welcomeBody+`,`+keptBody+`],"next":"`+redemptionsPath+`?`+next+`"}`)
	a.wantHeader(t, "Cache-Control", "no-store")
	if line := s.logged(t); line["outcome"] != "listed" {
		t.Errorf("logged %v", line)
	}
	// The link asks for the same redemptions, after the end of the page.
	s = newService(t)
	s.send(s.ListRedemptions(fakeRedemptions{asked: func(arguments ...any) {
		filter, _ := arguments[2].(voucher.RedemptionFilter)
		if arguments[1] != voucher.Code("WE1C0MEC01NS") || filter.Limit != 2 || filter.Nick.Written != "Kestrel 9" ||
			filter.After != page.next {
			t.Errorf("asked for %+v", arguments)
		}
	}}), get(redemptionsPath+"?"+next, "Authorization", serverKey)).want(t, http.StatusOK,
		`{"redemptions":[],"next":null}`)
}

func TestListRedemptions_CursorWhereNoPageEnded_IsMalformed(t *testing.T) {
	s := newService(t)
	misplaced := fakeRedemptions{err: fmt.Errorf("list: %w", &voucher.FieldError{
		Field: "cursor", Err: errors.New("must be the value of next in a page of this code's redemptions"),
	})}
	a := s.send(s.ListRedemptions(misplaced),
		get(redemptionsPath+"?code=SUMMER20&cursor="+cursor("emberforge/SUMMER20/99"), "Authorization", serverKey))
	a.want(t, http.StatusBadRequest, problemFormat+`malformed-request","title":"Malformed request","status":400,`+
		`"detail":"The cursor is malformed, or belongs to another list.","parameter":"cursor"}`)
}

// No log line contains an ID, a code, a nick, a reason or a query, whatever the outcome.
func TestRedemptions_Log_HoldsNothingPersonal(t *testing.T) {
	for _, redemptions := range []fakeRedemptions{
		{redemption: welcome(), listed: []voucher.Redemption{welcome()}, next: "WELCOME"},
		{redemption: welcome(), replayed: true},
		{err: voucher.ErrRedemptionNotFound},
		{err: throttled{}},
		{asked: func(...any) { panic("index out of range") }},
	} {
		for _, r := range []*http.Request{
			post(undoPath, undoBody), post(undoPath+"?code=WELCOME", undoBody),
			post(redemptionsPath+"/cWJxYWRzZmFz/undo", undoBody),
			post(undoPath, `{"code":"WELCOME","reason":"granted twice\n"}`),
			post(undoPath, `{"code":"WELCOME","nick":"Alder`+strings.Repeat("r", 64)+`"}`),
			get(redemptionsPath + "?code=WELCOME&nick=Alder"), get(redemptionsPath + "?code=WELCOME*"),
			get(redemptionsPath + "?Alder=1"),
		} {
			s := newService(t)
			endpoint := s.ListRedemptions(redemptions)
			if r.Method == http.MethodPost {
				endpoint = s.UndoRedemption(redemptions)
			}
			r.Header.Set("Authorization", serverKey)
			s.send(endpoint, r)
			line, err := json.Marshal(s.logged(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"cWJxYWRz", "WELCOME", "Alder", "granted", "code=", "key of the"} {
				if strings.Contains(string(line), secret) {
					t.Errorf("%s: the log holds %q: %s", r.Method, secret, line)
				}
			}
		}
	}
}

func FuzzRedemptionList(f *testing.F) {
	for _, query := range []string{
		"code=SUMMER20&nick=Alder&limit=1", "code=&from=2026-11-21T12:00:00Z",
		"code=a&cursor=" + cursor("emberforge/A/07"), "code=%C2%A0a", "a;b",
	} {
		f.Add(query)
	}
	fuzzPages(f, redemptionsPath, func(_ *testing.T, s service, _ string) (first, next http.Handler) {
		return s.ListRedemptions(fakeRedemptions{next: "07#r#a/b"}), s.ListRedemptions(fakeRedemptions{})
	})
}
