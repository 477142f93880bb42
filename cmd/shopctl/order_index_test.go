package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"

	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
)

func TestUndo_IndexDoesNotShowTheOrderYet_NamesTheCommandThatListsOrders(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	withCode := checkout.Request{Code: "W1NTER10", Nick: voucher.Nick{Written: "Heron", Compared: "heron"}}
	s.place(t, s.checkOutWith(t, "emberforge", "coins/500", "1", "", withCode))
	id := fmt.Sprint(objectOf(t, s.must(t, "redemption", "list", "emberforge", "--json"))["id"])
	s.through(t, s.withEmptyIndex(t))
	want := "error: an order made redemption " + id +
		"; nothing was changed: cancel the order, which undoes the redemption: " +
		"shopctl --local order list emberforge shows the order\n"
	if got := s.shopctl(t.Context(), "--local", "redemption", "undo", "emberforge", "WINTER-10",
		id); got != (result{stderr: want, exit: exitRefused}) {
		t.Error(got)
	}
}

// withEmptyIndex returns a proxy to DynamoDB Local that finds nothing in an index.
func (s *shopfront) withEmptyIndex(t *testing.T) http.Handler {
	t.Helper()
	endpoint, err := url.Parse(s.state.DynamoDBEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	database := httputil.NewSingleHostReverseProxy(endpoint)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !bytes.Contains(body, []byte(`"IndexName"`)) {
			database.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.Header().Set("X-Amzn-Requestid", "4KBNVRGD25RG1KEO9UT4V3FQ")
		_, _ = io.WriteString(w, `{"Items":[],"Count":0,"ScannedCount":0}`) // fails only if the client has disconnected
	})
}
