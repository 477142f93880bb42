package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/event"
	"shopfront/pkg/httpapi"
)

func now() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC) }

// service is an httpapi.Service with a log that tests can read.
type service struct {
	httpapi.Service
	log *bytes.Buffer
}

func newService(t testing.TB) service {
	t.Helper()
	log := new(bytes.Buffer)
	return service{log: log, Service: httpapi.Service{
		Now: now, Log: slog.New(slog.NewJSONHandler(log, nil)), Stack: "shopfront-dev",
		RequestID: func(*http.Request) string { return "request-1" },
		Guard:     guard{access.DefaultSettings()},
		// The default settings have no limit, so the store of counts is not used.
		SourceAddress: func(*http.Request) string { return "203.0.113.7" }, Refusals: access.NewRefusals(nil),
	}}
}

// guard admits strangers, and the shop's server with serverKey.
type guard struct{ settings access.Settings }

const (
	serverKeyID = "dladqenqfd"
	serverKey   = "Bearer key of the shop's server"

	revokedKeyID = "k3Jx09QmZa"
	revokedKey   = "Bearer revoked key"
)

func (g guard) Admit(
	_ context.Context, _ catalog.ShopID, authorization []string, _ time.Time,
) (access.Caller, access.Settings, error) {
	switch {
	case len(authorization) == 0:
		return access.Caller{}, g.settings, nil
	case slices.Equal(authorization, []string{serverKey}):
		return access.Caller{Key: serverKeyID}, g.settings, nil
	case slices.Equal(authorization, []string{revokedKey}):
		return access.Caller{}, access.Settings{}, &access.RejectedKeyError{Key: revokedKeyID}
	default:
		return access.Caller{}, access.Settings{}, access.ErrUnauthorized
	}
}

// logged returns the log line of the request. There must be exactly one.
func (s service) logged(t testing.TB) map[string]any {
	t.Helper()
	var line map[string]any
	if err := json.Unmarshal(s.log.Bytes(), &line); err != nil {
		t.Fatalf("not one line of JSON: %v\n%s", err, s.log)
	}
	return line
}

type response struct {
	status int
	header http.Header
	body   string
}

func (service) send(endpoint http.Handler, r *http.Request) response {
	recorder := httptest.NewRecorder()
	endpoint.ServeHTTP(recorder, r)
	return response{status: recorder.Code, header: recorder.Header(), body: recorder.Body.String()}
}

// rejected is a request that an endpoint must reject with a problem, before it looks anything up.
type rejected struct {
	what    string
	request *http.Request
	problem string
}

func wantRejected(t *testing.T, tests []rejected, endpoint func(service) http.Handler) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			s := newService(t)
			s.send(endpoint(s), test.request).wantProblem(t, test.problem)
		})
	}
}

// wantProblem fails the test if a response to a malformed request is another problem, or can be stored.
func (a response) wantProblem(t *testing.T, problem string) {
	t.Helper()
	status := map[string]int{
		"malformed-request": 400, "not-found": 404, "redemption-not-found": 404, "method-not-allowed": 405,
		"content-too-large": 413, "unsupported-media-type": 415, "invalid": 422,
	}[problem]
	if a.status != status || !strings.HasPrefix(a.body, problemFormat+problem+`"`) {
		t.Errorf("%d %s; want %d %s", a.status, a.body, status, problem)
	}
	a.wantHeader(t, "Content-Type", "application/problem+json")
	a.wantHeader(t, "Cache-Control", "no-store")
	a.wantHeader(t, "ETag", "")
	a.wantHeader(t, "Request-Id", "request-1")
}

// fuzzPages sends queries to a list of the server's own. If a query is accepted, the link to the next page must be
// accepted, too. The parameter endpoints returns what responds with the first page, and with the next one.
func fuzzPages(f *testing.F, path string,
	endpoints func(t *testing.T, s service, query string) (first, next http.Handler),
) {
	f.Helper()
	f.Fuzz(func(t *testing.T, query string) {
		s := newService(t)
		first, following := endpoints(t, s, query)
		r := get(path, "Authorization", serverKey)
		r.URL.RawQuery = query
		a := s.send(first, r)
		if a.status == http.StatusBadRequest || a.status == http.StatusUnprocessableEntity {
			return
		}
		var page struct{ Next string }
		if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != http.StatusOK {
			t.Fatalf("%q: got %d %s, want a page", query, a.status, a.body)
		}
		next, err := url.Parse(page.Next)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.RawQuery = next.RawQuery
		if a := s.send(following, r); a.status != http.StatusOK {
			t.Errorf("%q leads to %q: %d %s", query, page.Next, a.status, a.body)
		}
	})
}

func (a response) want(t testing.TB, status int, body string) {
	t.Helper()
	if a.status != status || a.body != body {
		t.Errorf("%d %s\nwant %d %s", a.status, a.body, status, body)
	}
}

func (a response) wantHeader(t testing.TB, name, want string) {
	t.Helper()
	if got := strings.Join(a.header.Values(name), "\n"); got != want {
		t.Errorf("header %s: %q; want %q", name, got, want)
	}
}

// request makes a request with headers, given as name, value, name, value. An empty content type removes the header.
func request(method, target, body string, headers ...string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), method, target, strings.NewReader(body))
	for header := range slices.Chunk(headers, 2) {
		r.Header.Add(header[0], header[1])
	}
	if types := r.Header.Values("Content-Type"); len(types) == 1 && types[0] == "" {
		r.Header.Del("Content-Type")
	}
	return r
}

// post makes a POST of JSON, unless the headers have a content type.
func post(target, body string, headers ...string) *http.Request {
	if !strings.Contains(strings.Join(headers, "\n"), "Content-Type") {
		headers = append(headers, "Content-Type", "application/json")
	}
	return request(http.MethodPost, target, body, headers...)
}

func TestHEAD_RespondsLikeGETWithoutABody(t *testing.T) {
	events, _ := happened(t)
	for target, endpoint := range map[string]func(service) http.Handler{
		areaPath: func(s service) http.Handler { return s.CheckoutArea(emberforge(capes(3)...)) },
		rankCheckoutPath: func(s service) http.Handler {
			return s.ShowCheckout(
				fakeOrders{order: rankCheckout()},
			)
		},
		ordersPath: func(s service) http.Handler { return s.ListOrders(fakeOrders{}) },
		rankPath: func(s service) http.Handler {
			return s.ShowOrder(
				fakeOrders{order: rankOrder()},
			)
		},
		redemptionsPath + "?code=SUMMER20": func(s service) http.Handler { return s.ListRedemptions(fakeRedemptions{}) },
		eventsPath: func(s service) http.Handler {
			return s.ListEvents(fakeFeed{page: event.Page{Feed: feedID, Events: events, Next: 5}})
		},
		eventsPath + "?after=x": func(s service) http.Handler { return s.ListEvents(fakeFeed{}) },
	} {
		s := newService(t)
		want := s.send(endpoint(s), get(target, "Authorization", serverKey))
		got := s.send(endpoint(s), request(http.MethodHead, target, "", "Authorization", serverKey))
		got.want(t, want.status, "")
		if !reflect.DeepEqual(got.header, want.header) {
			t.Errorf("%s: HEAD has the headers %v, GET has %v", target, got.header, want.header)
		}
	}
}
