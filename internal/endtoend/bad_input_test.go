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

func TestRedeem_BadBodies_AreRejected(t *testing.T) {
	s := voucherShop(t)
	var requests []badRequest
	bad := func(status int, by string, bodies ...string) {
		for _, body := range bodies {
			requests = append(requests, badRequest{
				name: fmt.Sprintf("%d %.40q", status, body), raw: s.redeemRequest(body).raw(), status: status, by: by,
			})
		}
	}
	bad(400, "malformed-request",
		"", " ", "null", "[]", `["SINGLE"]`, `"SINGLE"`, "1", "true", "SINGLE", "code=SINGLE", "<code>SINGLE</code>",
		"\x00", "\xff\xfe",
		"{", "}", `{"code"`, `{"code":`, `{"code":"SINGLE`, `{"code":"SINGLE"`, `{"code":"SINGLE",}`, `{,}`,
		`{"code" "SINGLE"}`, `{"code"="SINGLE"}`,
		`{'code':'SINGLE'}`, `{code:"SINGLE"}`, `{"code":"SINGLE"/* yes */}`, "{\"code\":\"SIN\nGLE\"}",
		"{\"code\":\"SIN\x00GLE\"}", `{"code":"\x53INGLE"}`,
		`{"code":"SINGLE"}x`, `{"code":"SINGLE"}{}`, `{"code":"SINGLE"} {"code":"SINGLE"}`, `{"code":"SINGLE"}]`,
		`{"code":"SINGLE"},`, `[{"code":"SINGLE"}]`, "\xef\xbb\xbf"+`{"code":"SINGLE"}`,
		`{"code":null}`, `{"code":1}`, `{"code":1e999999}`, `{"code":-}`, `{"code":true}`, `{"code":["SINGLE"]}`,
		`{"code":{}}`, `{"code":"SINGLE","nick":null}`, `{"code":"SINGLE","nick":7}`,
		`{"code":"SINGLE","nick":["Alder"]}`,
		`{"code":"SINGLE","code":"SINGLE"}`, `{"code":"UNKNOWN","code":"SINGLE"}`,
		`{"code":"SINGLE","nick":"a","nick":"b"}`, `{"code":"SINGLE","c\u006fde":"SINGLE"}`,
		`{"Code":"SINGLE"}`, `{"CODE":"SINGLE"}`, `{"code":"SINGLE","Nick":"Alder"}`, `{"code":"SINGLE","nik":"Alder"}`,
		`{"code":"SINGLE","":""}`, `{"code":"SINGLE","__proto__":{}}`,
		`{"code":"SINGLE\ud800"}`, `{"code":"\udc00SINGLE"}`, `{"code":"\ud800\ud800"}`,
		`{"code":"SINGLE","nick":"\ud83d"}`, `{"code":"SINGLE","\ud800":""}`,
		"{\"code\":\"SINGLE\xff\"}", "{\"code\":\"SINGLE\",\"nick\":\"\xc3\x28\"}", "{\"code\":\"\xed\xa0\x80SINGLE\"}",
		"{\"code\":\"SINGLE\xf5\x80\x80\x80\"}", "{\"c\xffode\":\"SINGLE\"}",
		`{"code":"SINGLE`+"\uFFFD"+`"}`, `{"code":"SINGLE\ufffd"}`, `{"code":"SINGLE","nick":"\uFFFD"}`,
		strings.Repeat("[", 4000), strings.Repeat(`{"code":`, 500),
		`{"code":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+"}",
		"{\x00\"\x00c\x00o\x00d\x00e\x00\"\x00", // UTF-16
		"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff",
	)
	bad(413, "content-too-large",
		body("SINGLE", strings.Repeat("A", 4096)), `{"code":"SINGLE"}`+strings.Repeat(" ", 4096),
		strings.Repeat("[", 5000), strings.Repeat("x", 100_000), strings.Repeat("x", 2<<20),
	)
	bad(422, "invalid",
		"{}", ` { } `, `{"nick":"Alder"}`, `{"code":""}`, `{"code":" "}`, `{"code":"---"}`,
		`{"code":"\u00ad\u200b\u2212"}`, body(strings.Repeat("A", 65), ""), body(strings.Repeat("A", 4000), ""),
		body("SINGLE", strings.Repeat("A", 65)), body("SINGLE", strings.Repeat("\U0001F600", 33)),
		body("SINGLE", strings.Repeat("A", 4000)),
	)
	bad(404, "voucher-not-found",
		body("SÜMMER", ""), body("\U0001F600", ""), body("<script>", ""), body("SINGLE#c#00", ""),
		body("SINGLE'--", ""), body("SINGLE%20", ""), body("$(SINGLE)", ""), body("../SINGLE", ""),
		`{"code":"SINGLE\u0000"}`, `{"code":"\u0001"}`, body("СINGLE", ""), `{"code":"UNKNOWN","nick":"\u0000"}`,
		body("customer", ""), body("*", ""),
	)
	// These bodies exceed Lambda's limit for an event or the gateway's limit for a body.
	bad(413, gatewaysOwn, strings.Repeat("x", 7<<20), strings.Repeat("\x01", 2<<20), strings.Repeat("x", 10<<20+1))
	wantRefusedAll(t, requests)
	s.redeem(t, body("SINGLE", "")).wantRedeemed(t, false)
}

func TestRedeem_BadContentTypes_AreRejected(t *testing.T) {
	s := voucherShop(t)
	var requests []badRequest
	for _, header := range [][]string{
		nil,
		{"Content-Type:"},
		{"Content-Type: text/plain"},
		{"Content-Type: application/x-www-form-urlencoded"},
		{"Content-Type: multipart/form-data; boundary=x"},
		{"Content-Type: application/json, application/json"},
		{"Content-Type: application/json", "Content-Type: application/json"},
		{"Content-Type: application/json", "Content-Type: text/plain"},
		{"Content-Type: text/plain", "Content-Type: application/json"},
		{"Content-Type: application/json; charset=latin1"},
		{"Content-Type: application/json; charset=utf-16"},
		{"Content-Type: application/json; charset=utf-8; charset=utf-16"},
		{"Content-Type: application/json; version=2"},
		{"Content-Type: application/jsonp"},
		{"Content-Type: application/problem+json"},
		{"Content-Type: application/json application/json"},
		{"Content-Type: json"},
		{"Content-Type: */*"},
		{"Content-Type: \xff"},
		{"Content-Type: application/octet-stream"},
		{"X-Content-Type: application/json"},
	} {
		r := s.redeemRequest(body("SINGLE", ""))
		r.header = header
		requests = append(requests, badRequest{
			name: fmt.Sprintf("%q", header), raw: r.raw(), status: 415,
			by: "unsupported-media-type",
		})
	}
	wantRefusedAll(t, requests)
	for _, contentType := range []string{
		"application/json; charset=utf-8", "APPLICATION/JSON;charset=UTF-8",
		`application/json; charset="utf-8"`, "application/json",
	} {
		r := s.redeemRequest(body("UNKNOWN", ""))
		r.header = []string{"Content-Type: " + contentType}
		send(t, baseURL(t), r).wantRefused(t)
	}
}

func TestIdempotencyKey_BadValues_AreRejected(t *testing.T) {
	s := voucherShop(t)
	var requests []badRequest
	for _, header := range [][]string{
		{key("")},
		{key("a,b")},
		{key(",")},
		{key("a,")},
		{key(",a")},
		{key("a b")},
		{key("a\tb")},
		{key("clé")},
		{key("\xff")},
		{key(strings.Repeat("k", 256))},
		{key(strings.Repeat("k", 9000))},
		{key("a"), key("b")},
		{key("a"), key("a")},
		{key(""), key("")},
		{"idempotency-key: a", "IDEMPOTENCY-KEY: b"},
	} {
		name := fmt.Sprintf("%.40q", header)
		requests = append(requests, badRequest{
			name: name, raw: s.redeemRequest(body("SINGLE", ""), header...).raw(),
			status: 400, by: "malformed-request",
		})
		for _, path := range []string{"/checkout/coins/500", "/checkout/coins/variant/500"} {
			r := request{target: "/shop/" + s.id + path, header: header}
			requests = append(requests, badRequest{
				name: name + path, raw: r.raw(), method: http.MethodGet, status: 400,
				by: "malformed-request",
			})
		}
	}
	for _, control := range []string{"a\x7fb", "a\x00b", "a\x01b", "a\rb"} {
		requests = append(requests, badRequest{
			name: fmt.Sprintf("%q", control),
			raw:  s.redeemRequest(body("SINGLE", ""), key(control)).raw(), status: 400, by: serversOwn,
		})
	}
	wantRefusedAll(t, requests)
	longest := key(strings.Repeat("~", 255))
	first := s.redeem(t, body("SINGLE", ""), longest).wantRedeemed(t, false)
	if again := s.redeem(t, body("SINGLE", ""), longest).wantRedeemed(t, true); again.ID != first.ID {
		t.Errorf("redemption %s, want %s", again.ID, first.ID)
	}
}

func TestQuery_BadParameters_AreRejected(t *testing.T) {
	s := voucherShop(t)
	var requests []badRequest
	for _, query := range []string{
		"check", "check=", "check=1", "check=yes", "check=TRUE", "check=True", "check=true%20", "check=%20true",
		"check=true%00", "check=true&check=true", "check=false&check=true", "check=true,true",
		"Check=true", "chek=true", "check=true&x", "check=true&dry=1", "check%00=true", "check=true;x=1", "check=true;",
		";", "check=%zz", "check=tru%", "%zz", "%", "check=true%2", "=", "=true", "check[]=true",
		"check=\xff", "\xff=true", "check=true#x", "check=true?", "?check=true", "check=tru%65%", "customer=emberforge",
		"code=SINGLE", "a=" + strings.Repeat("x", 8000),
	} {
		r := s.redeemRequest(body("SINGLE", ""))
		r.target += "?" + query
		requests = append(requests, badRequest{
			name: fmt.Sprintf("%.40q", query), raw: r.raw(), status: 400,
			by: "malformed-request",
		})
	}
	get := func(path string, status int, by string, queries ...string) {
		for _, query := range queries {
			r := request{target: "/shop/" + s.id + path + "?" + query}
			requests = append(requests, badRequest{
				name: fmt.Sprintf("%s?%.40q", path, query), raw: r.raw(), method: http.MethodGet, status: status,
				by: by,
			})
		}
	}
	get("/checkout", 400, "malformed-request",
		"limit=1&limit=2", "limit=1;x", "limit=1&page=2", "Limit=1", "limit=%zz", "%", "cursor=", "cursor=x",
		"cursor=%00", "cursor=../..", "cursor=ZW1iZXJmb3JnZS9jb2lucw", "cursor=ZW1iZXJmb3JnZS9jb2lucw==",
		"cursor="+strings.Repeat("A", 5000), "cursor=a&cursor=a", "amount=1", "after=coins")
	get("/checkout", 422, "invalid", "limit=", "limit=0", "limit=-1", "limit=201", "limit=01", "limit=%2B1",
		"limit=1.0", "limit=one", "limit=99999999999999999999", "limit=%D9%A3", "limit=1%00", "limit=1,2")
	for _, path := range []string{"/checkout/coins/500", "/checkout/coins/variant/500"} {
		get(path, 400, "malformed-request",
			"amount=1&amount=1", "amount=1&amount=2", "data=a&data=b", "amount=1;data=x", "amount=1%zz", "amount=1%",
			"%zz=1", "Amount=1", "amont=1", "amount=1&quantity=2", "amount=1&=", "data=%", "data=%zz", "data=a;b",
			"redemption=x", "=1", "amount[]=1")
	}
	requests = append(requests, badRequest{
		name: "a request line that is too long", status: 414, by: gatewaysOwn, method: http.MethodGet,
		raw: request{target: "/shop/" + s.id + "/checkout?cursor=" + strings.Repeat("A", 11_000)}.raw(),
	})
	wantRefusedAll(t, requests)
	s.redeem(t, body("SINGLE", "")).wantRedeemed(t, false)
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
