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

	"shopfront/pkg/access"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// fakeRedeemer is an httpapi.VoucherRedeemer.
type fakeRedeemer struct {
	redeem func(voucher.Request) (voucher.Redemption, bool, error)
	check  func(voucher.Request) (voucher.Voucher, error)
}

func (d fakeRedeemer) Redeem(_ context.Context, r voucher.Request) (voucher.Redemption, bool, error) {
	return d.redeem(r)
}

func (d fakeRedeemer) Check(_ context.Context, r voucher.Request) (voucher.Voucher, error) {
	return d.check(r)
}

// unusedRedeemer fails the test when a request reaches it.
func unusedRedeemer(t *testing.T) fakeRedeemer {
	return fakeRedeemer{
		redeem: func(voucher.Request) (voucher.Redemption, bool, error) {
			t.Error("the request reached the redeemer")
			return voucher.Redemption{}, false, nil
		},
		check: func(voucher.Request) (voucher.Voucher, error) {
			t.Error("the request reached the redeemer")
			return voucher.Voucher{}, nil
		},
	}
}

func coins() voucher.Reward {
	return voucher.Reward{Kind: voucher.RewardProduct, Product: "coins", Variant: "500", Amount: 2}
}

// starter returns a reward of two goods. starterJSON is its representation.
func starter() voucher.Reward {
	reward := voucher.Reward{Kind: voucher.RewardBundle}
	reward.Items[0] = voucher.Good{Product: "coins", Variant: "1000", Amount: 1}
	reward.Items[1] = voucher.Good{Product: "rank", Variant: "vip", Amount: 2}
	return reward
}

const starterJSON = `{"kind":"bundle","items":[{"product":"coins","variant":"1000","amount":1},{"product":"rank",` +
	`"variant":"vip","amount":2}]}`

const problemFormat = `{"type":"urn:problem:shopfront:`

func TestRedeemVoucher_RespondsWithTheRedemption(t *testing.T) {
	var got voucher.Request
	answers := fakeRedeemer{redeem: func(r voucher.Request) (voucher.Redemption, bool, error) {
		got = r
		return voucher.Redemption{
			ID: "cWJxYWRzZmFzZGZhc2RmYQ", Code: "WELCOME-COINS", Nick: "Alder", At: r.At,
			Reward: coins(),
		}, false, nil
	}}
	s := newService(t)
	a := s.send(s.RedeemVoucher(answers),
		post("/shop/emberforge/voucher", `{"code":"welcome coins","nick":" Alder "}`, "Idempotency-Key", "order-1047"))
	a.want(t, http.StatusOK, `{"id":"cWJxYWRzZmFzZGZhc2RmYQ","status":"redeemed","code":"WELCOME-COINS","nick":"Alder",`+
		`"redeemedAt":"2026-11-21T12:00:00.123Z","reward":{"kind":"product","product":"coins","variant":"500",`+
		`"amount":2}}`)
	a.wantHeader(t, "Content-Type", "application/json")
	a.wantHeader(t, "Cache-Control", "no-store")
	a.wantHeader(t, "Request-Id", "request-1")
	a.wantHeader(t, "Idempotency-Replayed", "")
	want := voucher.Request{
		Shop: "emberforge", Code: "WE1C0MEC01NS", Nick: voucher.Nick{Written: "Alder", Compared: "alder"},
		Key: "order-1047",
		At:  now().Truncate(time.Millisecond),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("asked for %+v; want %+v", got, want)
	}
}

func TestRedeemVoucher_SameKey_IsReplayed(t *testing.T) {
	answers := fakeRedeemer{redeem: func(r voucher.Request) (voucher.Redemption, bool, error) {
		return voucher.Redemption{
			ID: "a", Code: "SUMMER-20", At: r.At,
			Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
		}, true, nil
	}}
	s := newService(t)
	a := s.send(s.RedeemVoucher(answers),
		post("/shop/emberforge/voucher", `{"code":"SUMMER-20"}`, "Idempotency-Key", "order-1047"))
	a.want(t, http.StatusOK, `{"id":"a","status":"redeemed","code":"SUMMER-20","redeemedAt":"2026-11-21T12:00:00.123Z",`+
		`"reward":{"kind":"percent_off","percentOff":20}}`)
	a.wantHeader(t, "Idempotency-Replayed", "true")
	if line := s.logged(t); line["outcome"] != "replayed" || line["Replayed"] != 1.0 {
		t.Errorf("logged %v", line)
	}
}

func TestRedeemVoucher_Bundle_ListsItsGoodsInTheirOrder(t *testing.T) {
	answers := fakeRedeemer{
		redeem: func(r voucher.Request) (voucher.Redemption, bool, error) {
			return voucher.Redemption{ID: "a", Code: "STARTER-PACK", At: r.At, Reward: starter()}, false, nil
		},
		check: func(voucher.Request) (voucher.Voucher, error) {
			return voucher.Voucher{Written: "STARTER-PACK", Reward: starter()}, nil
		},
	}
	s := newService(t)
	a := s.send(s.RedeemVoucher(answers), post("/shop/emberforge/voucher", `{"code":"starter pack"}`))
	a.want(t, http.StatusOK, `{"id":"a","status":"redeemed","code":"STARTER-PACK",`+
		`"redeemedAt":"2026-11-21T12:00:00.123Z","reward":`+starterJSON+`}`)
	a = s.send(s.RedeemVoucher(answers), post("/shop/emberforge/voucher?check=true", `{"code":"starter pack"}`))
	a.want(t, http.StatusOK, `{"status":"redeemable","code":"STARTER-PACK","reward":`+starterJSON+`}`)
}

// A storefront grants the reward on status 200. The key of an undone redemption must not get that status.
func TestRedeemVoucher_KeyOfAnUndoneRedemption_Is409(t *testing.T) {
	for _, headers := range [][]string{nil, {"Authorization", serverKey}} {
		undone := fakeRedeemer{redeem: func(voucher.Request) (voucher.Redemption, bool, error) {
			return voucher.Redemption{}, false, fmt.Errorf("redeem: %w", voucher.ErrUndone)
		}}
		s, store := limited(t)
		a := s.send(s.RedeemVoucher(undone),
			post("/shop/emberforge/voucher", `{"code":"SUMMER-20","nick":"Alder"}`,
				append(headers, "Idempotency-Key", "order-1047")...))
		a.want(t, http.StatusConflict,
			`{"type":"urn:problem:shopfront:redemption-undone","title":"Redemption undone","status":409,`+
				`"detail":"This request was applied, and its redemption was undone for good. Grant nothing. To redeem `+
				`again, send a new key."}`)
		a.wantHeader(t, "Idempotency-Replayed", "")
		if line := s.logged(t); line["outcome"] != "redemption-undone" || line["Refused"] != nil ||
			line["level"] != "INFO" || store.total() != 0 {
			t.Errorf("%d refusals are counted; logged %v", store.total(), line)
		}
	}
}

func TestRedeemVoucher_Check_IsRedeemable(t *testing.T) {
	answers := unusedRedeemer(t)
	answers.check = func(voucher.Request) (voucher.Voucher, error) {
		off := money.Money{Minor: 499, Currency: "EUR"}
		return voucher.Voucher{Written: "FIVER", Reward: voucher.Reward{Kind: voucher.RewardAmountOff, AmountOff: off}},
			nil
	}
	s := newService(t)
	a := s.send(s.RedeemVoucher(answers),
		post("/shop/emberforge/voucher?check=true", `{"code":"fiver","nick":"Alder"}`, "Idempotency-Key", "order-1047"))
	a.want(t, http.StatusOK, `{"status":"redeemable","code":"FIVER","nick":"Alder",`+
		`"reward":{"kind":"amount_off","amountOff":{"minor":499,"currency":"EUR","display":"4.99 EUR"}}}`)
}

// A stranger must not be able to tell refusals apart.
func TestRedeemVoucher_Refusals_LookTheSame(t *testing.T) {
	for _, reason := range []voucher.Reason{
		voucher.ReasonUnknown, voucher.ReasonDisabled, voucher.ReasonNotStarted, voucher.ReasonExpired,
		voucher.ReasonNickMissing,
		voucher.ReasonOtherNick, voucher.ReasonUsedUp, voucher.ReasonNickLimit,
	} {
		refused := fakeRedeemer{
			redeem: func(voucher.Request) (voucher.Redemption, bool, error) {
				return voucher.Redemption{}, false, &voucher.RefusalError{Reason: reason}
			},
			check: func(voucher.Request) (voucher.Voucher, error) {
				return voucher.Voucher{}, &voucher.RefusalError{Reason: reason}
			},
		}
		for _, target := range []string{"/shop/emberforge/voucher", "/shop/emberforge/voucher?check=true"} {
			s := newService(t)
			a := s.send(s.RedeemVoucher(refused), post(target, `{"code":"SUMMER-20","nick":"Alder"}`))
			a.wantVoucherNotFound(t)
			line := s.logged(t)
			if line["outcome"] != "refused" || line["Reason"] != string(reason) || line["Refused"] != 1.0 ||
				line["customer"] != "emberforge" {
				t.Errorf("logged %v", line)
			}
		}
	}
	for what, r := range map[string]*http.Request{
		"malformed shop":       post("/shop/-ember/voucher", `{"code":"SUMMER-20"}`),
		"shop too long":        post("/shop/"+strings.Repeat("e", 65)+"/voucher", `{"code":"SUMMER-20"}`),
		"shop with a slash":    post("/shop/ember%2Fforge/voucher", `{"code":"SUMMER-20"}`),
		"forbidden characters": post("/shop/emberforge/voucher", `{"code":"SÜMMER#20"}`),
	} {
		t.Run(what, func(t *testing.T) {
			s := newService(t)
			s.send(s.RedeemVoucher(unusedRedeemer(t)), r).wantVoucherNotFound(t)
		})
	}
}

func (a response) wantVoucherNotFound(t *testing.T) {
	t.Helper()
	a.want(t, http.StatusNotFound,
		`{"type":"urn:problem:shopfront:voucher-not-found","title":"Voucher not found","status":404}`)
	names := make([]string, 0, len(a.header))
	for name := range a.header {
		names = append(names, name)
	}
	if len(names) != 3 || a.header.Get("Content-Type") != "application/problem+json" ||
		a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", a.header)
	}
}

func TestRedeemVoucher_MalformedRequests_AreRejectedBeforeAnyLookup(t *testing.T) {
	const path = "/shop/emberforge/voucher"
	long := strings.Repeat("S", 65)
	tests := []rejected{
		{"no body", post(path, ""), "malformed-request"},
		{"not JSON", post(path, "code=SUMMER-20"), "malformed-request"},
		{"cut off", post(path, `{"code":"SUMMER-20"`), "malformed-request"},
		{"array", post(path, `["SUMMER-20"]`), "malformed-request"},
		{"code null", post(path, `{"code":null}`), "malformed-request"},
		{"code a number", post(path, `{"code":20}`), "malformed-request"},
		{"duplicate name", post(path, `{"code":"SUMMER-20","code":"SUMMER-21"}`), "malformed-request"},
		{"unknown name", post(path, `{"code":"SUMMER-20","nickname":"Alder"}`), "malformed-request"},
		{"trailing data", post(path, `{"code":"SUMMER-20"} {}`), "malformed-request"},
		{"byte order mark", post(path, "\ufeff"+`{"code":"SUMMER-20"}`), "malformed-request"},
		{"invalid UTF-8", post(path, "{\"code\":\"SUMMER\xff20\"}"), "malformed-request"},
		{"U+FFFD", post(path, "{\"code\":\"SUMMER\ufffd20\"}"), "malformed-request"},
		{"lone surrogate", post(path, `{"code":"SUMMER\ud800"}`), "malformed-request"},
		{"missing code", post(path, `{"nick":"Alder"}`), "invalid"},
		{"empty code", post(path, `{"code":""}`), "invalid"},
		{"code too long", post(path, `{"code":"`+long+`"}`), "invalid"},
		{"nick too long", post(path, `{"code":"SUMMER-20","nick":"`+long+`"}`), "invalid"},
		{"4 KiB and a byte", post(path, `{"code":"`+strings.Repeat("-", 4096-11+1)+`"}`), "content-too-large"},
		{"4 KiB", post(path, `{"code":"`+strings.Repeat("-", 4096-11)+`"}`), "invalid"},
		{
			"form", post(path, `{"code":"SUMMER-20"}`, "Content-Type", "application/x-www-form-urlencoded"),
			"unsupported-media-type",
		},
		{"no content type", post(path, `{"code":"SUMMER-20"}`, "Content-Type", ""), "unsupported-media-type"},
		{"two content types", post(path, `{"code":"SUMMER-20"}`, "Content-Type", "application/json", "Content-Type",
			"application/json"), "unsupported-media-type"},
		{
			"another charset", post(path, `{"code":"SUMMER-20"}`, "Content-Type", "application/json; charset=latin1"),
			"unsupported-media-type",
		},
		{
			"another parameter", post(path, `{"code":"SUMMER-20"}`, "Content-Type", "application/json; version=1"),
			"unsupported-media-type",
		},
		{"key with a space", post(path, `{"code":"SUMMER-20"}`, "Idempotency-Key", "order 1047"), "malformed-request"},
		{
			"two keys", post(path, `{"code":"SUMMER-20"}`, "Idempotency-Key", "a", "Idempotency-Key", "a"),
			"malformed-request",
		},
		{"check without a value", post(path+"?check", `{"code":"SUMMER-20"}`), "malformed-request"},
		{"check is TRUE", post(path+"?check=TRUE", `{"code":"SUMMER-20"}`), "malformed-request"},
		{"misspelt check", post(path+"?chek=true", `{"code":"SUMMER-20"}`), "malformed-request"},
		{
			"another method", request(http.MethodPut, path, `{"code":"SUMMER-20"}`, "Content-Type", "application/json"),
			"method-not-allowed",
		},
	}
	wantRejected(t, tests, func(s service) http.Handler { return s.RedeemVoucher(unusedRedeemer(t)) })
}

func TestRedeemVoucher_MalformedRequests_NameTheFault(t *testing.T) {
	s := newService(t)
	a := s.send(s.RedeemVoucher(unusedRedeemer(t)), post("/shop/emberforge/voucher", `{}`))
	a.want(t, 422, problemFormat+`invalid","title":"Invalid request","status":422,"detail":"code: must have a `+
		`letter or digit.","pointer":"/code"}`)
	a = s.send(s.RedeemVoucher(unusedRedeemer(t)), post("/shop/emberforge/voucher?check=yes", `{}`))
	a.want(t, 400, problemFormat+`malformed-request","title":"Malformed request","status":400,"detail":"The `+
		`parameter must be true or false.","parameter":"check"}`)
	for contentType, detail := range map[string]string{
		"text/json": "The body must be application/json.",
		"application/json; charset=latin1": "The body must be application/json in UTF-8, without other " +
			"parameters.",
		"application/json; charset=utf-8; version=1": "The body must be application/json in UTF-8, without other " +
			"parameters.",
	} {
		a = s.send(s.RedeemVoucher(unusedRedeemer(t)),
			post("/shop/emberforge/voucher", `{}`, "Content-Type", contentType))
		a.want(t, 415, problemFormat+`unsupported-media-type","title":"Unsupported media type","status":415,"detail":"`+
			detail+`"}`)
	}
	a = s.send(s.RedeemVoucher(unusedRedeemer(t)), request(http.MethodGet, "/shop/emberforge/voucher", ""))
	a.wantHeader(t, "Allow", "POST")
}

func TestRedeemVoucher_AcceptedForms_AreRedeemed(t *testing.T) {
	for what, r := range map[string]*http.Request{
		"charset": post("/shop/emberforge/voucher", `{"code":"SUMMER-20"}`, "Content-Type",
			"application/json; charset=utf-8"),
		"charset in capitals": post("/shop/emberforge/voucher", `{"code":"SUMMER-20"}`, "Content-Type",
			`Application/JSON;charset="UTF-8"`),
		"check=false":  post("/shop/emberforge/voucher?check=false", `{"code":"SUMMER-20"}`),
		"escaped name": post("/shop/emberforge/voucher", `{"\u0063ode":"SUMMER-20"}`),
		"white space":  post("/shop/emberforge/voucher", " \n{ \"code\" : \"SUMMER-20\" }\r\n"),
		"empty nick":   post("/shop/emberforge/voucher", `{"code":"SUMMER-20","nick":""}`),
	} {
		t.Run(what, func(t *testing.T) {
			s := newService(t)
			ok := fakeRedeemer{redeem: func(r voucher.Request) (voucher.Redemption, bool, error) {
				if r.Code != "SUMMER20" || r.Nick != (voucher.Nick{}) {
					t.Errorf("asked for %+v", r)
				}
				return voucher.Redemption{Reward: coins()}, false, nil
			}}
			if a := s.send(s.RedeemVoucher(ok), r); a.status != http.StatusOK {
				t.Errorf("got %d %s, want 200", a.status, a.body)
			}
		})
	}
}

type throttled struct{}

func (throttled) Error() string     { return "SECRET-DETAIL throttled" }
func (throttled) Unavailable() bool { return true }

func TestRedeemVoucher_Failures_BecomeProblems(t *testing.T) {
	tests := []struct {
		what    string
		fail    func() error
		status  int
		problem string
		metric  string
	}{
		{"store unavailable", func() error { return throttled{} }, 503, "unavailable", "StoreErrors"},
		{
			"unknown error", func() error { return errors.New("SECRET-DETAIL table not found") }, 500, "internal",
			"Errors",
		},
		{"panic", func() error { panic("SECRET-DETAIL index out of range") }, 500, "internal", "Errors"},
	}
	for _, test := range tests {
		t.Run(test.what, func(t *testing.T) {
			s := newService(t)
			broken := fakeRedeemer{redeem: func(voucher.Request) (voucher.Redemption, bool, error) {
				return voucher.Redemption{}, false, test.fail()
			}}
			a := s.send(s.RedeemVoucher(broken),
				post("/shop/emberforge/voucher", `{"code":"SUMMER-20","nick":"Alder"}`))
			if a.status != test.status || !strings.HasPrefix(a.body, problemFormat+test.problem+`"`) ||
				strings.Contains(a.body, "SECRET") {
				t.Errorf("%d %s; want %d %s", a.status, a.body, test.status, test.problem)
			}
			if retry := a.header.Get("Retry-After"); (retry == "1") != (test.status == 503) {
				t.Errorf("Retry-After %q", retry)
			}
			line := s.logged(t)
			text, _ := line["error"].(string)
			if line["level"] != "ERROR" || !strings.Contains(text, "SECRET-DETAIL") || line[test.metric] != 1.0 {
				t.Errorf("logged %v", line)
			}
		})
	}
}

// No log line contains a code, nick, key or query, whatever the outcome of the request.
func TestRedeemVoucher_Log_HoldsNothingPersonal(t *testing.T) {
	redeemed := voucher.Redemption{ID: "c_VK6k6FHqeh_KIi_9cR5w", Code: "SUMMER-20", Nick: "Alder", Reward: coins()}
	outcomes := map[string]func() (voucher.Redemption, bool, error){
		"redeemed": func() (voucher.Redemption, bool, error) { return redeemed, false, nil },
		"replayed": func() (voucher.Redemption, bool, error) { return redeemed, true, nil },
		"refused": func() (voucher.Redemption, bool, error) {
			return redeemed, false, &voucher.RefusalError{Reason: voucher.ReasonExpired}
		},
		"unavailable": func() (voucher.Redemption, bool, error) { return redeemed, false, throttled{} },
		"failed": func() (voucher.Redemption, bool, error) {
			return redeemed, false,
				errors.New("table not found")
		},
		"panicked": func() (voucher.Redemption, bool, error) { panic("index out of range") },
	}
	for outcome, redeem := range outcomes {
		d := fakeRedeemer{
			redeem: func(voucher.Request) (voucher.Redemption, bool, error) { return redeem() },
			check: func(voucher.Request) (voucher.Voucher, error) {
				_, _, err := redeem()
				return voucher.Voucher{Written: "SUMMER-20", Reward: coins()}, err
			},
		}
		for _, r := range []*http.Request{
			post("/shop/emberforge/voucher?check=false", `{"code":"SUMMER-20","nick":"Alder"}`, "Idempotency-Key",
				"order-1047"),
			post("/shop/emberforge/voucher?check=true", `{"code":"SUMMER-20","nick":"Alder"}`, "Idempotency-Key",
				"order-1047"),
			post("/shop/emberforge/voucher?secret=SUMMER-20", `{"code":"SUMMER-20","nick":"Alder"}`, "Idempotency-Key",
				"order-1047"),
			post("/shop/emberforge/voucher", `{"code":"SUMMER-20","nick":"Alder`+strings.Repeat("r", 64)+`"}`,
				"Idempotency-Key", "order-1047"),
			post("/shop/emberforge/voucher", `{"code":"SUMMER-20","Alder":1}`, "Idempotency-Key",
				"order-1047,order-1048"),
		} {
			s := newService(t)
			s.send(s.RedeemVoucher(d), r)
			line, err := json.Marshal(s.logged(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"SUMMER", "Alder", "order", "secret", "check="} {
				if strings.Contains(string(line), secret) {
					t.Errorf("%s: the log holds %q: %s", outcome, secret, line)
				}
			}
		}
	}
}

func TestRedeemVoucher_Metrics_AreInTheLogLine(t *testing.T) {
	s := newService(t)
	ok := fakeRedeemer{redeem: func(voucher.Request) (voucher.Redemption, bool, error) {
		return voucher.Redemption{Reward: coins()}, false, nil
	}}
	s.send(s.RedeemVoucher(ok), post("/shop/emberforge/voucher", `{"code":"SUMMER-20"}`))
	line := s.logged(t)
	metadata, err := json.Marshal(line["_aws"])
	want := `{"CloudWatchMetrics":[{"Dimensions":[["Stack"]],"Metrics":[{"Name":"Redeemed","Unit":"Count"}],` +
		`"Namespace":"Shopfront"}],"Timestamp":1795262400123}`
	if err != nil || string(metadata) != want {
		t.Errorf("_aws %s, %v; want %s", metadata, err, want)
	}
	if line["Redeemed"] != 1.0 || line["Stack"] != "shopfront-dev" || line["requestId"] != "request-1" ||
		line["status"] != 200.0 {
		t.Errorf("logged %v", line)
	}
}

func TestRedeemVoucher_Refusals_AreCountedByReason(t *testing.T) {
	s := newService(t)
	refuse := fakeRedeemer{redeem: func(voucher.Request) (voucher.Redemption, bool, error) {
		return voucher.Redemption{}, false, &voucher.RefusalError{Reason: voucher.ReasonExpired}
	}}
	s.send(s.RedeemVoucher(refuse), post("/shop/emberforge/voucher", `{"code":"SUMMER-20"}`))
	metadata, err := json.Marshal(s.logged(t)["_aws"])
	if err != nil || !strings.Contains(string(metadata),
		`"Dimensions":[["Stack"],["Stack","Reason"]],"Metrics":[{"Name":"Refused","Unit":"Count"}]`) {
		t.Errorf("_aws %s, %v", metadata, err)
	}
}

func FuzzVoucherBody(f *testing.F) {
	for _, seed := range []string{
		`{"code":"SUMMER-20","nick":"Alder"}`, `{}`, `{"code":"\ud800"}`,
		"{\"code\":\"\xff\"}", `[`, `{"code":1e999}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := newService(t)
		var asked *voucher.Request
		ok := fakeRedeemer{redeem: func(r voucher.Request) (voucher.Redemption, bool, error) {
			asked = &r
			return voucher.Redemption{Reward: starter()}, false, nil
		}}
		a := s.send(s.RedeemVoucher(ok), post("/shop/emberforge/voucher", body))
		switch {
		case a.status == http.StatusOK && asked != nil && asked.Code != "":
		case a.status/100 == 4 && asked == nil:
		default:
			t.Errorf("%q: got %d %s; only an accepted body may reach the redeemer", body, a.status, a.body)
		}
	})
}

func FuzzVoucherQuery(f *testing.F) {
	for _, seed := range []string{"check=true", "check=%74rue", "check=true&check=true", "a;b", "%", "check=true#"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		s := newService(t)
		ok := fakeRedeemer{
			redeem: func(voucher.Request) (voucher.Redemption, bool, error) {
				return voucher.Redemption{Reward: coins()}, false, nil
			},
			check: func(voucher.Request) (voucher.Voucher, error) { return voucher.Voucher{Reward: coins()}, nil },
		}
		r := post("/shop/emberforge/voucher", `{"code":"SUMMER-20"}`)
		r.URL.RawQuery = query
		if a := s.send(s.RedeemVoucher(ok), r); a.status != http.StatusOK && a.status != http.StatusBadRequest {
			t.Errorf("%q: got %d %s, want 200 or 400", query, a.status, a.body)
		}
	})
}

// Only strangers have a quota of redemptions, and only a shop with the setting.
func TestRedeemVoucher_LimitOfRedemptions_IsOfAStrangersAddress(t *testing.T) {
	settings := access.DefaultSettings()
	settings.Redemptions = access.SourceLimit{Limit: 20, Per: time.Hour}
	noon := now().Truncate(time.Hour)
	quota := voucher.Quota{Source: "203.0.113.7", Limit: 20, Network: 320, Start: noon, End: noon.Add(time.Hour)}
	subnet := quota
	subnet.Source, subnet.Subnet = "2001:db8:1::/48", "0002"
	for what, c := range map[string]struct {
		settings access.Settings
		request  *http.Request
		want     voucher.Quota
	}{
		"a stranger": {settings, from("203.0.113.7", post("/shop/emberforge/voucher", `{"code":"SUMMER-20","nick":"Alder"}`)), quota},
		"IPv6":       {settings, from("2001:db8:1:2::7", post("/shop/emberforge/voucher", `{"code":"SUMMER-20"}`)), subnet},
		"the server": {
			settings, post("/shop/emberforge/voucher", `{"code":"SUMMER-20","nick":"Alder"}`, "Authorization", serverKey),
			voucher.Quota{},
		},
		"no limit": {access.DefaultSettings(), post("/shop/emberforge/voucher", `{"code":"SUMMER-20"}`), voucher.Quota{}},
	} {
		s, _ := limited(t)
		s.Guard = guard{c.settings}
		var got voucher.Quota
		a := s.send(s.RedeemVoucher(fakeRedeemer{redeem: func(r voucher.Request) (voucher.Redemption, bool, error) {
			got = r.Quota
			return voucher.Redemption{}, false, &voucher.TooManyRedemptionsError{Until: noon.Add(time.Hour)}
		}}), c.request)
		if got != c.want {
			t.Errorf("%s: the quota is %+v, want %+v", what, got, c.want)
		}
		a.want(t, http.StatusTooManyRequests, `{"type":"urn:problem:shopfront:too-many-redemptions",`+
			`"title":"Too many redemptions","status":429}`)
		a.wantHeader(t, "Retry-After", "3600") // the window ends in 3,599.877 seconds
		if line := s.logged(t); line["outcome"] != "too-many-redemptions" || line["Refused"] != nil {
			t.Errorf("logged %v", line)
		}
	}
}
