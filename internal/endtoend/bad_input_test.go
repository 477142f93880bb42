package endtoend_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// These constants say who must reject a bad request before a function sees it.
const (
	gatewaysOwn = "gateway" // the gateway
	serversOwn  = "server"  // the gateway's HTTP server: the request is not readable HTTP or has an enormous header
)

type badRequest struct {
	name   string
	raw    string
	method string // POST if empty
	status int
	by     string // gatewaysOwn, serversOwn, or the name of the problem with which a function must respond
}

// wantRefusedAll sends the requests. Each must get its documented error within patience. The requests must not store
// anything, nor end a function's process.
func wantRefusedAll(t *testing.T, requests []badRequest) {
	t.Helper()
	address := baseURL(t)
	unchanged(t, func(t *testing.T) {
		for _, r := range requests {
			t.Run(r.name, func(t *testing.T) {
				method := r.method
				if method == "" {
					method = http.MethodPost
				}
				a := exchange(t, address, method, r.raw)
				switch r.by {
				case serversOwn:
					if a.status != r.status {
						t.Errorf("status %d, want %d: %s", a.status, r.status, a.body)
					}
					wantNothingInternal(t, a.body)
				case gatewaysOwn:
					a.wantMessage(t, r.status)
				default:
					a.wantProblem(t, r.status, r.by)
				}
			})
		}
	})
}

// voucherShop returns a shop with the voucher SINGLE. A bad request would redeem it if a function accepted the request.
func voucherShop(t *testing.T) shop {
	t.Helper()
	s := newShop(t)
	s.create(t, "SINGLE", nil)
	s.redeem(t, body("UNKNOWN", "")).wantRefused(t) // starts a process of the function
	return s
}

// Of each kind of bad input, these requests have what the gateway changes, or what it responds to itself. The tests of
// pkg/httpapi have the rest.
func TestRedeem_BadInput_IsRejected(t *testing.T) {
	s := voucherShop(t)
	var requests []badRequest
	bad := func(status int, by, name string, r request) {
		requests = append(requests, badRequest{
			name: fmt.Sprintf("%d %.60q", status, name), raw: r.raw(), method: r.methodOrGet(), status: status, by: by,
		})
	}
	for _, body := range []string{
		"", "null", `{"code":"SINGLE"}x`, `{"code":"UNKNOWN","code":"SINGLE"}`, "{\"code\":\"SINGLE\xff\"}",
		"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", "{\x00\"\x00c\x00o\x00d\x00e\x00\"\x00", // UTF-16
	} {
		bad(400, "malformed-request", body, s.redeemRequest(body))
	}
	bad(422, "invalid", "no code", s.redeemRequest(`{"nick":"Alder"}`))
	bad(404, "voucher-not-found", "a control character", s.redeemRequest(`{"code":"SINGLE\u0000"}`))
	bad(413, "content-too-large", "2 MiB", s.redeemRequest(strings.Repeat("x", 2<<20)))
	// These bodies exceed Lambda's limit for an event or the gateway's limit for a body.
	for _, body := range []string{
		strings.Repeat("x", 7<<20), strings.Repeat("\x01", 2<<20), strings.Repeat("x", 10<<20+1),
	} {
		bad(413, gatewaysOwn, body, s.redeemRequest(body))
	}
	for _, header := range [][]string{
		nil,
		{"Content-Type:"},
		{"Content-Type: application/json", "Content-Type: application/json"},
		{"Content-Type: application/json; charset=latin1"},
		{"Content-Type: \xff"},
	} {
		r := s.redeemRequest(body("SINGLE", ""))
		r.header = header
		bad(415, "unsupported-media-type", fmt.Sprint(header), r)
	}
	for _, header := range [][]string{
		{key("")},
		{key("a,b")},
		{key("\xff")},
		{key(strings.Repeat("k", 9000))},
		{key("a"), key("a")},
		{"idempotency-key: a", "IDEMPOTENCY-KEY: b"},
	} {
		bad(400, "malformed-request", fmt.Sprint(header), s.redeemRequest(body("SINGLE", ""), header...))
		bad(400, "malformed-request", fmt.Sprint("check out ", header),
			request{target: "/shop/" + s.id + "/checkout/coins/500", header: header})
	}
	for _, control := range []string{"a\x7fb", "a\x00b", "a\x01b", "a\rb"} {
		bad(400, serversOwn, control, s.redeemRequest(body("SINGLE", ""), key(control)))
	}
	for _, query := range []string{
		"check", "check=TRUE", "check=true&check=true", "check=true;x=1", "check=%zz", "%", "=", "check=\xff",
		"check=true#x", "?check=true", "a=" + strings.Repeat("x", 8000),
	} {
		r := s.redeemRequest(body("SINGLE", ""))
		r.target += "?" + query
		bad(400, "malformed-request", query, r)
	}
	bad(414, gatewaysOwn, "a request line that is too long",
		request{target: "/shop/" + s.id + "/checkout?cursor=" + strings.Repeat("A", 11_000)})
	wantRefusedAll(t, requests)
	longest := key(strings.Repeat("~", 255))
	first := s.redeem(t, body("SINGLE", ""), longest).wantRedeemed(t, false)
	if again := s.redeem(t, body("SINGLE", ""), longest).wantRedeemed(t, true); again.ID != first.ID {
		t.Errorf("redemption %s, want %s", again.ID, first.ID)
	}
}

func TestPath_UnknownPaths_AreNotFound(t *testing.T) {
	s := voucherShop(t)
	s.get(t, "/checkout").wantStatus(t, http.StatusOK)
	s.get(t, "/checkout/coins/none").wantStatus(t, http.StatusNotFound)
	s.get(t, "/checkout/coins/variant/none").wantStatus(t, http.StatusNotFound)
	var requests []badRequest
	add := func(method, target string, status int, by string) {
		r := s.redeemRequest(body("SINGLE", ""))
		r.method, r.target = method, target
		if method != http.MethodPost {
			r.header, r.body = nil, ""
		}
		requests = append(requests, badRequest{
			name: fmt.Sprintf("%s %.60q", method, target), raw: r.raw(),
			method: method, status: status, by: by,
		})
	}
	for _, segment := range []string{
		"%00", "%252F", "%3F", s.id + "%253Fcheck=true", "%2525zz", s.id + "%20", "%0a", "%ff", "%ed%a0%80", "..", "%2e%2e",
		"a+b", "*", "{customer}", "\xff", "%C3%A9", strings.Repeat("a", 65), strings.Repeat("a", 5000),
	} {
		add(http.MethodPost, "/shop/"+segment+"/voucher", 404, "voucher-not-found")
		add(http.MethodGet, "/shop/"+segment+"/checkout", 404, "not-found")
		add(http.MethodGet, "/shop/"+s.id+"/checkout/"+segment+"/500", 404, "not-found")
		add(http.MethodGet, "/shop/"+s.id+"/checkout/coins/variant/"+segment, 404, "not-found")
	}
	// An HTTP API cuts off the path at an encoded question mark. The shortened path would check out the default amount,
	// so the function must notice that the path was cut.
	for _, path := range []string{"/checkout/coins/500", "/checkout/coins/variant/500"} {
		for _, query := range []string{"%3F", "%3Famount=5", "%253Famount=5"} {
			add(http.MethodGet, "/shop/"+s.id+path+query, 404, "not-found")
		}
	}
	for segment, status := range map[string]int{"%2F": 404, "a%2Fb": 404, "%25": 400, s.id + "%25": 400} {
		add(http.MethodPost, "/shop/"+segment+"/voucher", status, gatewaysOwn)
		add(http.MethodGet, "/shop/"+s.id+"/checkout/coins/"+segment, status, gatewaysOwn)
	}
	add(http.MethodPost, "/shop/"+s.id+"%zz/voucher", 400, serversOwn)
	voucher := "/shop/" + s.id + "/voucher"
	for _, target := range []string{"/", "/shop//voucher", voucher + "/", "/" + voucher, "/./" + voucher[1:], "/SHOP/" + s.id + "/voucher"} {
		add(http.MethodPost, target, 404, gatewaysOwn)
	}
	for _, target := range []string{"/shop/" + s.id + "/checkout/coins/", voucher, "/openapi.yaml", "/favicon.ico"} {
		add(http.MethodGet, target, 404, gatewaysOwn)
	}
	for _, method := range []string{"GET", "DELETE", "BREW", "post"} {
		add(method, voucher, 404, gatewaysOwn)
	}
	add(http.MethodPost, "/shop/"+strings.Repeat("a", 11_000)+"/voucher", 414, gatewaysOwn)
	wantRefusedAll(t, requests)
	s.redeem(t, body("SINGLE", "")).wantRedeemed(t, false)
}
