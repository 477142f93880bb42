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
	segments := []string{
		"%00", s.id + "%00", "%252F", s.id + "%252F", "%252f" + s.id, "a%252Fb", "%3F", s.id + "%3Fcheck=true", "%253F",
		s.id + "%253Fcheck=true", "%23", s.id + "%2523", "%2525", "%2525zz", "%20", s.id + "%20", "%0a",
		s.id + "%0d%0a", "%7f", "%ff", "%c3%28", "%ed%a0%80", "%EF%BF%BD", "%e2%80%8b",
		"..", ".", "%2e%2e", "%2e", "-", "_x", ".x", "a+b", "a:b", "a@b", "a;b", "a=b", "a&b", "a,b", "a'b", "*", "~",
		"$", "(x)", "[x]", "{customer}", "é", "\xff", "\xc3\x28", "%C3%A9", "\U0001F600", strings.Repeat("a", 65),
		strings.Repeat("a", 5000), strings.Repeat("%41", 65),
	}
	for _, segment := range segments {
		add(http.MethodPost, "/shop/"+segment+"/voucher", 404, "voucher-not-found")
		add(http.MethodGet, "/shop/"+segment+"/checkout", 404, "not-found")
		add(http.MethodGet, "/shop/"+segment+"/checkout/coins/500", 404, "not-found")
		add(http.MethodGet, "/shop/"+s.id+"/checkout/"+segment+"/500", 404, "not-found")
		add(http.MethodGet, "/shop/"+s.id+"/checkout/coins/"+segment, 404, "not-found")
		add(http.MethodGet, "/shop/"+s.id+"/checkout/coins/variant/"+segment, 404, "not-found")
	}
	// An HTTP API cuts off the path at an encoded question mark. The shortened path would check out the default amount,
	// so the function must notice that the path was cut.
	for _, path := range []string{"/checkout/coins/500", "/checkout/coins/variant/500"} {
		for _, query := range []string{"%3F", "%3Famount=5", "%253Famount=5"} {
			add(http.MethodGet, "/shop/"+s.id+path+query, 404, "not-found")
		}
	}
	for _, segment := range []string{"%2F", s.id + "%2F", "%2f" + s.id, "a%2Fb"} {
		add(http.MethodPost, "/shop/"+segment+"/voucher", 404, gatewaysOwn)
		add(http.MethodGet, "/shop/"+segment+"/checkout/coins/500", 404, gatewaysOwn)
	}
	for _, segment := range []string{"%25", "%25zz", s.id + "%25"} {
		add(http.MethodPost, "/shop/"+segment+"/voucher", 400, gatewaysOwn)
		add(http.MethodGet, "/shop/"+s.id+"/checkout/coins/"+segment, 400, gatewaysOwn)
	}
	for _, segment := range []string{"%", "%z", "%zz", "%0", s.id + "%", "a%2", "a%g1"} {
		add(http.MethodPost, "/shop/"+segment+"/voucher", 400, serversOwn)
		add(http.MethodGet, "/shop/"+s.id+"/checkout/coins/"+segment, 400, serversOwn)
	}
	voucher := "/shop/" + s.id + "/voucher"
	for _, target := range []string{
		"/", "//", "/shop", "/shop/", "/shop//voucher", "/shop/" + s.id, "/shop/" + s.id + "/", voucher + "/",
		"/" + voucher, voucher + "//", "/./" + voucher[1:], "/../" + voucher[1:], "/shop/../shop/" + s.id + "/voucher",
		"/shop/" + s.id + "/./voucher", "/shop/" + s.id + "//voucher", "/shop/" + s.id + "/Voucher",
		"/SHOP/" + s.id + "/voucher", "/shop/" + s.id + "/vouchers", "/shop/" + s.id + "/voucher%20",
		"/shop/" + s.id + "/voucher%2F", "/shop/" + s.id + "/voucher;x", "/shop/" + s.id + "/voucher/SINGLE",
	} {
		add(http.MethodPost, target, 404, gatewaysOwn)
	}
	for _, target := range []string{
		"/shop/" + s.id + "/checkout/", "/shop/" + s.id + "//checkout", "/shop/" + s.id + "/checkout/coins",
		"/shop/" + s.id + "/checkout/coins/", "/shop/" + s.id + "/checkout//500",
		"/shop/" + s.id + "/checkout/coins/500/",
		"/shop/" + s.id + "/checkout/coins/variant/", "/shop/" + s.id + "/checkout/coins/variants/500",
		"/shop/" + s.id + "/checkout/coins/variant/500/x", voucher, "/openapi.yaml", "/favicon.ico", "/.env",
		"/checkout", "/checkout/",
	} {
		add(http.MethodGet, target, 404, gatewaysOwn)
	}
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE", "TRACE", "BREW", "post", "PRI"} {
		add(method, voucher, 404, gatewaysOwn)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "get"} {
		add(method, "/shop/"+s.id+"/checkout", 404, gatewaysOwn)
		add(method, "/shop/"+s.id+"/checkout/coins/500", 404, gatewaysOwn)
	}
	add(http.MethodPost, "/shop/"+strings.Repeat("a", 11_000)+"/voucher", 414, gatewaysOwn)
	wantRefusedAll(t, requests)
	s.redeem(t, body("SINGLE", "")).wantRedeemed(t, false)
}

func TestConnection_BrokenHTTP_IsRejected(t *testing.T) {
	s := voucherShop(t)
	line := "POST /shop/" + s.id + "/voucher HTTP/1.1\r\n"
	const host, json, single = "Host: shop.example\r\n", "Content-Type: application/json\r\n", `{"code":"SINGLE"}`
	requests := []badRequest{
		{name: "no host", raw: line + json + "Content-Length: 17\r\n\r\n" + single, status: 400, by: serversOwn},
		{
			name: "two hosts", raw: line + host + host + json + "Content-Length: 17\r\n\r\n" + single, status: 400,
			by: serversOwn,
		},
		{
			name: "a space in the path", raw: "POST /shop/a b/voucher HTTP/1.1\r\n" + host + "\r\n", status: 400,
			by: serversOwn,
		},
		{
			name: "a control character in the path", raw: "POST /shop/a\x01b/voucher HTTP/1.1\r\n" + host + "\r\n",
			status: 400, by: serversOwn,
		},
		{
			name: "a NUL in the path", raw: "POST /shop/a\x00b/voucher HTTP/1.1\r\n" + host + "\r\n", status: 400,
			by: serversOwn,
		},
		{name: "no path", raw: "POST  HTTP/1.1\r\n" + host + "\r\n", status: 400, by: serversOwn},
		{
			name: "another protocol", raw: "POST /shop/a/voucher SHOP/1.1\r\n" + host + "\r\n", status: 400,
			by: serversOwn,
		},
		{name: "HTTP/3.0", raw: "POST /shop/a/voucher HTTP/3.0\r\n" + host + "\r\n", status: 505, by: serversOwn},
		{name: "noise", raw: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", status: 400, by: serversOwn},
		{name: "a header without a name", raw: line + host + ": x\r\n\r\n", status: 400, by: serversOwn},
		{
			name: "a header with a space in its name", raw: line + host + "Content Type: x\r\n\r\n", status: 400,
			by: serversOwn,
		},
		{
			name: "a length that is not a number", raw: line + host + json + "Content-Length: many\r\n\r\n" + single,
			status: 400, by: serversOwn,
		},
		{
			name: "a negative length", raw: line + host + json + "Content-Length: -1\r\n\r\n" + single, status: 400,
			by: serversOwn,
		},
		{
			name: "two lengths", raw: line + host + json + "Content-Length: 17\r\nContent-Length: 18\r\n\r\n" + single,
			status: 400, by: serversOwn,
		},
		{
			name: "an unknown transfer encoding", raw: line + host + json + "Transfer-Encoding: gzip\r\n\r\n" + single,
			status: 501, by: serversOwn,
		},
		{
			name: "a chunk without a length",
			raw:  line + host + json + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + single, status: 400,
			by: gatewaysOwn,
		},
		{
			name:   "a chunk that is too long",
			raw:    line + host + json + "Transfer-Encoding: chunked\r\n\r\n3\r\n" + single + "\r\n0\r\n\r\n",
			status: 400,
			by:     gatewaysOwn,
		},
		{
			name: "an empty body in chunks", raw: line + host + json + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			status: 400, by: "malformed-request",
		},
		{
			name: "a body without a length", raw: line + host + json + "\r\n" + single, status: 400,
			by: "malformed-request",
		},
		{
			name: "a length that is too short",
			raw:  line + host + json + "Content-Length: 16\r\nConnection: close\r\n\r\n" + single, status: 400,
			by: "malformed-request",
		},
		{name: "a compressed body", raw: s.redeemRequest("\x1f\x8b\x08\x00\x00\x00\x00\x00",
			"Content-Encoding: gzip").raw(), status: 400, by: "malformed-request"},
		{
			name: "a large header", raw: s.redeemRequest(single, "X-Large: "+strings.Repeat("x", 11_000)).raw(),
			status: 431, by: gatewaysOwn,
		},
		{
			name: "many headers", raw: s.redeemRequest(single,
				strings.Split(strings.Repeat("X-Many: 12345678901234567890\n", 600)+"X-Last: x", "\n")...).raw(),
			status: 431, by: gatewaysOwn,
		},
		{
			name: "a header of megabytes", raw: s.redeemRequest(single, "X-Large: "+strings.Repeat("x", 2<<20)).raw(),
			status: 431, by: serversOwn,
		},
		{
			name: "a target that is not a path", raw: "GET * HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n",
			method: http.MethodGet, status: 404, by: gatewaysOwn,
		},
		{name: "CONNECT", raw: "CONNECT shop.example:443 HTTP/1.1\r\nHost: shop.example:443\r\nConnection: " +
			"close\r\n\r\n", method: http.MethodPost, status: 404, by: gatewaysOwn},
	}
	wantRefusedAll(t, requests)

	t.Run("a client that hangs up", func(t *testing.T) {
		unchanged(t, func(t *testing.T) {
			for _, raw := range []string{
				line, line + host + json + "Content-Length: 1000\r\n\r\n" + single,
				line + host + json + "Transfer-Encoding: chunked\r\n\r\n11\r\n" + single,
			} {
				hangUp(t, baseURL(t), raw)
			}
		})
	})
	chunked := line + host + json + "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\n" + single[:5] +
		"\r\nc\r\n" + single[5:] + "\r\n0\r\n\r\n"
	exchange(t, baseURL(t), http.MethodPost, chunked).wantRedeemed(t, false)
}
