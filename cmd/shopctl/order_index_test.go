package main

import (
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// noOrdersIndex is the error that order list prints if it cannot read the index.
const noOrdersIndex = "error: the index orders of the checkouts table is missing or being built: see docs/operations.md\n"

func TestOrdersIndex_Missing_IsReported(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.state.Tables.Checkouts = localtest.TableWithStream(t, "VouchersTable") // has the keys of a checkouts table, but no index
	if err := s.state.Write(s.dir); err != nil {
		t.Fatal(err)
	}
	got := s.shopctl(t.Context(), "--local", "status")
	warning := "warning: the index orders of the checkouts table is missing; orders can be listed when it is active: see docs/operations.md\n"
	if got.exit != exitOK || !strings.Contains(got.stdout, "index     orders  missing\n") || got.stderr != warning {
		t.Error(got)
	}
	if got := s.shopctl(t.Context(), "--local", "order", "list", "emberforge"); got != (result{stderr: noOrdersIndex, exit: exitFailed}) {
		t.Error(got)
	}
}

func TestUndo_OrdersIndexMissing_NamesTheCommandThatListsOrders(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.state.Tables.Checkouts = localtest.TableWithStream(t, "VouchersTable") // has the keys of a checkouts table, but no index
	if err := s.state.Write(s.dir); err != nil {
		t.Fatal(err)
	}
	s.checkouts.Store = dynamo.NewCheckouts(s.client, s.state.Tables.Checkouts)
	s.checkouts.Holds = dynamo.NewHeldCheckouts(s.client, s.tables(), mathrand.Int64N)
	withCode := checkout.Request{Code: "W1NTER10", Nick: voucher.Nick{Written: "Heron", Compared: "heron"}}
	s.place(t, s.checkOutWith(t, "emberforge", "coins/500", "1", "", withCode))
	id := fmt.Sprint(objectOf(t, s.must(t, "redemption", "list", "emberforge", "--json"))["id"])
	want := "error: an order made redemption " + id + "; nothing was changed: cancel the order, which undoes the redemption: " +
		"shopctl --local order list emberforge shows the order\n"
	if got := s.shopctl(t.Context(), "--local", "redemption", "undo", "emberforge", "WINTER-10", id); got != (result{stderr: want, exit: exitRefused}) {
		t.Error(got)
	}
}

// DynamoDB Local builds an index at once, so proxies respond as DynamoDB does while it builds an index.
func TestOrdersIndex_BeingBuilt_IsReported(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	restore := s.through(t, s.except(t, "Query", http.StatusBadRequest,
		`{"__type":"com.amazon.coral.validate#ValidationException","message":"Cannot read from backfilling global secondary index: orders"}`))
	if got := s.shopctl(t.Context(), "--local", "order", "list", "emberforge"); got != (result{stderr: noOrdersIndex, exit: exitFailed}) {
		t.Error(got)
	}
	restore()
	s.through(t, s.except(t, "DescribeTable", http.StatusOK,
		`{"Table":{"TableStatus":"UPDATING","GlobalSecondaryIndexes":[{"IndexName":"orders","IndexStatus":"CREATING","Backfilling":true}]}}`))
	got := s.shopctl(t.Context(), "--local", "status", "--json")
	if !strings.Contains(got.stdout, `"ordersIndex":"CREATING"`) || !strings.Contains(got.stderr, "table is creating; ") {
		t.Error(got)
	}
}

// except returns a proxy to DynamoDB Local that responds to one operation itself.
func (s *shopfront) except(t *testing.T, operation string, status int, answer string) http.Handler {
	t.Helper()
	endpoint, err := url.Parse(s.state.DynamoDBEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	database := httputil.NewSingleHostReverseProxy(endpoint)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+operation) {
			database.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.Header().Set("X-Amzn-Requestid", "4KBNVRGD25RG1KEO9UT4V3FQ")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer) // fails only if the client has disconnected
	})
}
