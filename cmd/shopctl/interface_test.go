package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/httpapi"
	"shopfront/pkg/voucher"
)

// A script can read shopctl's --json output and the HTTP interface with the same code.
func TestJSON_RewardsAndCheckouts_MatchTheHTTPInterface(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "../../examples/demo.yaml")
	service := s.service()
	for code, reward := range map[string]string{"FOR-COINS": "2*coins/500", "FOR-A-SHARE": "20%", "FOR-MONEY": "5.00"} {
		s.must(t, "voucher", "create", "emberforge", code, "--reward", reward)
		body := strings.NewReader(fmt.Sprintf(`{"code":%q,"nick":"Alder"}`, code))
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/shop/emberforge/voucher", body)
		request.Header.Set("Content-Type", "application/json")
		response := answerOf(t, service.RedeemVoucher(s.vouchers), request)
		listed := objectOf(t, s.must(t, "redemption", "list", "emberforge", "--code", code, "--json"))
		if !reflect.DeepEqual(listed, response) {
			t.Errorf("list     %v\nresponse %v", listed, response)
		}
	}
	path := "/shop/emberforge/checkout/vip-rank/30-days?data=%7B%22player%22%3A%22Alder%22%7D"
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	response := answerOf(t, service.Checkout(s.checkouts), request)
	shown := objectOf(t, s.must(t, "checkout", "show", "emberforge", fmt.Sprint(response["id"]), "--json"))
	if !reflect.DeepEqual(shown, response) {
		t.Errorf("show     %v\nresponse %v", shown, response)
	}
}

func TestJSON_Orders_MatchTheHTTPInterface(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "../../examples/demo.yaml")
	key := strings.TrimSpace(s.must(t, "key", "create", "emberforge", "--name", "till"))
	withCode := checkout.Request{Code: "SUMMER20", Nick: voucher.Nick{Written: "Alder", Compared: "alder"}}
	id := s.checkOutWith(t, "emberforge", "vip-rank/30-days", "1", `{"player":"Alder"}`, withCode)
	s.place(t, id)
	orders := checkout.Orders{Store: dynamo.NewOrders(s.client, s.state.Tables.Checkouts, s.state.Tables.Vouchers, mathrand.Int64N)}
	show := s.service().ShowOrder(orders)
	for _, change := range [][]string{{"show", id}, {"fulfil", id}, {"cancel", id, "--reason", "asked for a refund"}} {
		printed := objectOf(t, s.must(t, slices.Concat([]string{"order", change[0], "emberforge"}, change[1:], []string{"--json"})...))
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/shop/emberforge/orders/"+id, http.NoBody)
		request.Header.Set("Authorization", "Bearer "+key)
		if response := answerOf(t, show, request); !reflect.DeepEqual(printed, response) {
			t.Errorf("%s\nprinted  %v\nresponse %v", change[0], printed, response)
		}
		if listed := objectOf(t, s.must(t, "order", "list", "emberforge", "--json")); !reflect.DeepEqual(listed, printed) {
			t.Errorf("%s\nprinted %v\nlisted  %v", change[0], printed, listed)
		}
	}
}

func TestJSON_UndoneRedemptions_MatchTheHTTPInterface(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "../../examples/demo.yaml")
	key := strings.TrimSpace(s.must(t, "key", "create", "emberforge", "--name", "till"))
	undo := s.service().UndoRedemption(voucher.Undoer{Store: dynamo.NewRedemptionRecords(s.client, s.tables(), mathrand.Int64N)})
	id := s.redeem(t, "emberforge", "TWO-EACH", "Alder")
	printed := objectOf(t, s.must(t, "redemption", "undo", "emberforge", "TWO-EACH", id, "--reason", "granted twice", "--json"))
	for _, command := range [][]string{{"show", "emberforge", "TWO-EACH", id}, {"list", "emberforge"}} {
		if shown := objectOf(t, s.must(t, slices.Concat([]string{"redemption"}, command, []string{"--json"})...)); !reflect.DeepEqual(shown, printed) {
			t.Errorf("%v\nundone %v\nshown  %v", command, printed, shown)
		}
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/shop/emberforge/redemptions/"+id+"/undo",
		strings.NewReader(`{"code":"TWO-EACH","reason":"asked for a refund"}`))
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	if by := printed["undoneBy"]; by != "operator" {
		t.Errorf("undone by %v", by)
	}
	delete(printed, "undoneBy") // the HTTP interface does not have it
	if response := answerOf(t, undo, request); !reflect.DeepEqual(printed, response) {
		t.Errorf("printed  %v\nresponse %v", printed, response)
	}
}

// service returns the HTTP interface of the Shopfront.
func (s *shopfront) service() httpapi.Service {
	return httpapi.Service{
		Now: func() time.Time { return s.clock }, Log: slog.New(slog.DiscardHandler), Stack: "local",
		RequestID: func(*http.Request) string { return "LdwzhT-lWeWxbXk=" }, Guard: s.guard,
		SourceAddress: func(*http.Request) string { return "203.0.113.7" }, Refusals: access.NewRefusals(nil), // no code is refused
	}
}

func answerOf(t *testing.T, endpoint http.Handler, request *http.Request) map[string]any {
	t.Helper()
	answer := httptest.NewRecorder()
	endpoint.ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", request.URL, answer.Code, answer.Body)
	}
	return objectOf(t, answer.Body.String())
}

func objectOf(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return object
}
