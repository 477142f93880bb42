package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"shopfront/pkg/access"
	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
)

const unauthorized = `{"type":"urn:problem:shopfront:unauthorized","title":"Unauthorized","status":401,` +
	`"detail":"Send Authorization: Bearer KEY with a live key of the shop, or no Authorization where the shop ` +
	`admits strangers."}`

// endpointsUnderShop returns well-formed requests for the endpoints under /shop. The requests must not get past the
// guard.
func endpointsUnderShop(t *testing.T, s service) map[*http.Request]http.Handler {
	t.Helper()
	return map[*http.Request]http.Handler{
		post("/shop/emberforge/voucher", `{"code":"WELCOME-COINS"}`):            s.RedeemVoucher(unusedRedeemer(t)),
		post("/shop/emberforge/voucher?check=true", `{"code":"WELCOME-COINS"}`): s.RedeemVoucher(unusedRedeemer(t)),
		post("/shop/emberforge/voucher", `{"code":"no code has a *"}`):          s.RedeemVoucher(unusedRedeemer(t)),
		get("/shop/emberforge/checkout/coins/500"):                              s.Checkout(unusedOpener(t)),
		get("/shop/emberforge/checkout/coins/500?code=WELCOME-COINS"):           s.Checkout(unusedOpener(t)),
		get("/shop/emberforge/checkout/coins/500?code=%2A"):                     s.Checkout(unusedOpener(t)),
		get("/shop/emberforge/checkout/coins/variant/500"):                      s.CheckoutVariant(unusedOpener(t)),
	}
}

func TestAdmit_InvalidCredentials_Are401OnEveryRoute(t *testing.T) {
	for _, credentials := range []string{
		"", "Basic YWxkZXI6YWxkZXI=", "Bearer", serverKey + "x",
		serverKey + "," + serverKey,
	} {
		s := newService(t)
		requests := endpointsUnderShop(t, s)
		requests[get("/shop/emberforge/checkout")] = s.CheckoutArea(emberforge())
		requests[get(rankCheckoutPath)] = s.ShowCheckout(unusedOrders(t))
		requests[post(rankCheckoutPath+"/release", "")] = s.ReleaseCheckout(unusedOrders(t))
		for r, endpoint := range requests {
			r.Header.Set("Authorization", credentials)
			a := s.send(endpoint, r)
			a.want(t, http.StatusUnauthorized, unauthorized)
			a.wantHeader(t, "WWW-Authenticate", "Bearer")
		}
		if log := s.log.String(); strings.Contains(log, "YWxkZXI6") || strings.Contains(log, "key of the") {
			t.Errorf("credentials in the log: %s", log)
		}
	}
}

// serverEndpoints returns well-formed requests for the endpoints that are for the shop's server only. The requests must
// not get past the guard.
func serverEndpoints(t *testing.T, s service) map[*http.Request]http.Handler {
	t.Helper()
	orders, redemptions := unusedOrders(t), unusedRedemptions(t)
	return map[*http.Request]http.Handler{
		post(ordersPath, placeBody):  s.PlaceOrder(orders),
		get(ordersPath):              s.ListOrders(orders),
		get(numberPath):              s.ShowCheckout(orders),
		get(rankPath):                s.ShowOrder(orders),
		post(rankPath+"/fulfil", ""): s.FulfilOrder(orders),
		post(rankPath+"/cancel", `{"reason":"chargeback"}`): s.CancelOrder(orders),
		post(undoPath, undoBody):                            s.UndoRedemption(redemptions),
		get(redemptionsPath + "?code=SUMMER20"):             s.ListRedemptions(redemptions),
		get(eventsPath + "?after=41&feed=" + feedID):        s.ListEvents(unusedFeed(t)),
	}
}

const serverOnly = `{"type":"urn:problem:shopfront:unauthorized","title":"Unauthorized","status":401,` +
	`"detail":"This is for the shop's server. Send Authorization: Bearer KEY with a live key of the shop."}`

// A caller without a live key must learn nothing about orders, redemptions and events, whatever the shop's policies
// are. Without any credentials, a caller must not even make the functions read settings.
func TestAdmit_WithoutALiveKey_ServerEndpointsAre401BeforeAnyLookup(t *testing.T) {
	for _, settings := range []access.Settings{
		access.DefaultSettings(),
		{Redeem: access.ServerOnly, CheckOut: access.ServerOnly},
	} {
		for _, credentials := range [][]string{
			nil, {"Bearer key of another shop"}, {revokedKey}, {"Basic YWxkZXI6YWxkZXI="}, {""}, {serverKey, serverKey},
		} {
			s := newService(t)
			s.Guard = guard{settings}
			if credentials == nil {
				s.Guard = nil // calling it would panic
			}
			for r, endpoint := range serverEndpoints(t, s) {
				r.Header["Authorization"] = credentials
				a := s.send(endpoint, r)
				a.want(t, http.StatusUnauthorized, serverOnly)
				a.wantHeader(t, "WWW-Authenticate", "Bearer")
				a.wantHeader(t, "Cache-Control", "no-store")
				a.wantHeader(t, "ETag", "")
			}
		}
	}
}

// A malformed request without a key, or with a wrong one, must not tell a caller that the key is all that is missing.
func TestAdmit_MalformedRequestOfTheServersOwn_Is401WithoutALiveKey(t *testing.T) {
	s := newService(t)
	s.Guard = guard{access.DefaultSettings()}
	for r, endpoint := range serverEndpoints(t, s) {
		r.URL.RawQuery = "unknown=1"
		r.Header.Set("Content-Type", "text/plain")
		for _, credentials := range [][]string{nil, {revokedKey}} {
			r.Header["Authorization"] = credentials
			s.send(endpoint, r).want(t, http.StatusUnauthorized, serverOnly)
		}
		r.Header["Authorization"] = []string{serverKey}
		if a := s.send(endpoint, r); a.status != http.StatusBadRequest {
			t.Errorf("%s %s with a key: got %d %s, want 400", r.Method, r.URL, a.status, a.body)
		}
	}
}

// With the key's ID from the log, an operator can find the program that still sends the key.
func TestAdmit_KeyThatIsNotLive_IsNamedInTheLog(t *testing.T) {
	s := newService(t)
	a := s.send(s.Checkout(unusedOpener(t)), get("/shop/emberforge/checkout/coins/500", "Authorization", revokedKey))
	a.want(t, http.StatusUnauthorized, unauthorized)
	if line := s.logged(t); line["keyId"] != revokedKeyID || line["outcome"] != "unauthorized" {
		t.Errorf("the log line has keyId %v, outcome %v", line["keyId"], line["outcome"])
	}
}

func TestAdmit_PolicyOfServer_KeepsStrangersOutBeforeAnyLookup(t *testing.T) {
	s := newService(t)
	s.Guard = guard{access.Settings{Redeem: access.ServerOnly, CheckOut: access.ServerOnly}}
	for r, endpoint := range endpointsUnderShop(t, s) {
		for _, query := range []string{r.URL.RawQuery, "unknown=1"} { // a malformed request, too
			r.URL.RawQuery = query
			a := s.send(endpoint, r)
			a.want(t, http.StatusUnauthorized, unauthorized)
			a.wantHeader(t, "WWW-Authenticate", "Bearer")
		}
	}
	if a := s.send(s.CheckoutArea(emberforge()), get("/shop/emberforge/checkout")); a.status != http.StatusOK {
		t.Errorf("the checkout area, for a stranger: got %d %s, want 200", a.status, a.body)
	}
}

// A policy guards its own endpoints only.
func TestAdmit_Policies_AreSeparate(t *testing.T) {
	redeems := fakeRedeemer{redeem: func(r voucher.Request) (voucher.Redemption, bool, error) {
		return voucher.Redemption{ID: "a", Code: "WELCOME-COINS", At: r.At, Reward: coins()}, false, nil
	}}
	s := newService(t)
	s.Guard = guard{access.Settings{Redeem: access.Anyone, CheckOut: access.ServerOnly}}
	if a := s.send(s.RedeemVoucher(redeems),
		post("/shop/emberforge/voucher", `{"code":"WELCOME-COINS"}`)); a.status != http.StatusOK {
		t.Errorf("redeem: got %d %s, want 200", a.status, a.body)
	}
	s.Guard = guard{access.Settings{Redeem: access.ServerOnly, CheckOut: access.Anyone}}
	if a := s.send(s.Checkout(selling()), get("/shop/emberforge/checkout/coins/500")); a.status != http.StatusOK {
		t.Errorf("check out: got %d %s, want 200", a.status, a.body)
	}
}

func TestRedeemVoucher_Server_LearnsTheReason(t *testing.T) {
	refuses := fakeRedeemer{redeem: func(voucher.Request) (voucher.Redemption, bool, error) {
		return voucher.Redemption{}, false, &voucher.RefusalError{Reason: voucher.ReasonPaused}
	}}
	s := newService(t)
	a := s.send(s.RedeemVoucher(refuses),
		post("/shop/emberforge/voucher", `{"code":"WELCOME-COINS"}`, "Authorization", serverKey))
	a.want(t, http.StatusNotFound,
		`{"type":"urn:problem:shopfront:voucher-not-found","title":"Voucher not found","status":404,"reason":"paused"}`)
	if line := s.logged(t); line["keyId"] != serverKeyID {
		t.Errorf("the log line has keyId %v", line["keyId"])
	}
}

func TestRedeemVoucher_Pause_ReachesTheRules(t *testing.T) {
	var got voucher.Pause
	redeems := fakeRedeemer{redeem: func(r voucher.Request) (voucher.Redemption, bool, error) {
		got = r.Paused
		return voucher.Redemption{}, false, &voucher.RefusalError{Reason: voucher.ReasonPaused}
	}}
	s := newService(t)
	s.Guard = guard{access.Settings{Redeem: access.Anyone, Paused: voucher.Pause{Batches: []string{"summer"}}}}
	s.send(s.RedeemVoucher(redeems),
		post("/shop/emberforge/voucher", `{"code":"WELCOME-COINS"}`)).wantVoucherNotFound(t)
	if !got.Covers("summer") {
		t.Errorf("paused %+v", got)
	}
}

func TestCheckout_RequestOfTheServer_IsMarkedByServer(t *testing.T) {
	var byServer []bool
	opener := selling()
	open := opener.open
	opener.open = func(r checkout.Request) (checkout.Checkout, bool, error) {
		byServer = append(byServer, r.ByServer)
		return open(r)
	}
	s := newService(t)
	for _, headers := range [][]string{nil, {"Authorization", serverKey}} {
		if a := s.send(s.Checkout(opener),
			get("/shop/emberforge/checkout/coins/500", headers...)); a.status != http.StatusOK {
			t.Fatalf("got %d %s, want 200", a.status, a.body)
		}
	}
	if byServer[0] || !byServer[1] {
		t.Errorf("by the server: %v", byServer)
	}
}
