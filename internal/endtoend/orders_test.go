package endtoend_test

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/dynamolocal"
	"shopfront/pkg/catalog"
	checkouts "shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
)

// order is an order in a response.
type order struct {
	checkout

	Payment      *payment  `json:"payment"`
	OrderedAt    time.Time `json:"orderedAt"`
	FulfilledAt  time.Time `json:"fulfilledAt"`
	CancelledAt  time.Time `json:"cancelledAt"`
	CancelReason string    `json:"cancelReason"`
}

type payment struct {
	Provider  string `json:"provider"`
	Reference string `json:"reference"`
}

type orderPage struct {
	Orders []order `json:"orders"`
	Next   *string `json:"next"`
}

// till is one test's shop, with a key for the shop's server.
type till struct {
	shop

	authorization string // the header line with the key
}

func newTill(t *testing.T) till {
	t.Helper()
	return withKey(t, newShop(t))
}

func withKey(t *testing.T, s shop) till {
	t.Helper()
	key, _, err := s.CreateKey(t.Context(), "till", time.Time{}, rand.Reader, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return till{shop: s, authorization: "Authorization: Bearer " + key.Secret()}
}

// request returns a request of the shop's server for a path below /shop/{customer}. A body must be JSON.
func (s till) request(method, path, body string) request {
	r := request{method: method, target: "/shop/" + s.id + path, header: []string{s.authorization}, body: body}
	if body != "" {
		r.header = append(r.header, "Content-Type: application/json")
	}
	return r
}

func (s till) send(t *testing.T, method, path, body string) answer {
	t.Helper()
	return send(t, baseURL(t), s.request(method, path, body))
}

// checkOut checks out a VIP rank for Alder and returns the checkout's ID.
func (s till) checkOut(t *testing.T) string {
	t.Helper()
	a := s.get(t, "/checkout/vip-rank/30-days?data="+url.QueryEscape(`{"player":"Alder"}`))
	a.wantStatus(t, http.StatusOK)
	return decode[checkout](t, a).ID
}

// placement returns the body of a request that orders a checkout.
func placement(id, reference string) string {
	return fmt.Sprintf(`{"checkout":%q,"payment":{"provider":"stripe","reference":%q}}`, id, reference)
}

func (s till) place(t *testing.T, id, reference string) answer {
	t.Helper()
	return s.send(t, http.MethodPost, "/orders", placement(id, reference))
}

// wantOrder checks that the response is an order with this status, and whether the response is a replay.
func (a answer) wantOrder(t *testing.T, status string, replayed bool) order {
	t.Helper()
	a.wantStatus(t, http.StatusOK)
	if got := a.header.Get("Idempotency-Replayed"); (got == "true") != replayed {
		t.Errorf("Idempotency-Replayed %q, want %t", got, replayed)
	}
	o := decode[order](t, a)
	if o.Status != status {
		t.Errorf("status %q, want %q: %s", o.Status, status, a.body)
	}
	return o
}

func TestOrder_FromCheckoutToChargeback_RetriesAreReplayed(t *testing.T) {
	s := newTill(t)
	id := s.checkOut(t)

	stranger, server := s.get(t, "/checkouts/"+id), s.send(t, http.MethodGet, "/checkouts/"+id, "")
	if c := decode[checkout](t, stranger); c.Status != "open" || c.Data != nil ||
		c.Total != (price{799, "EUR", "7.99 EUR"}) {
		t.Errorf("a client without the key reads %s, want an open checkout for 7.99 EUR without data", stranger.body)
	}
	if c := decode[checkout](t, server); c.Status != "open" || string(c.Data) != `{"player":"Alder"}` {
		t.Errorf("the shop's server reads %s, want an open checkout with its data", server.body)
	}

	first := s.place(t, id, "pi_1")
	placed := first.wantOrder(t, "placed", false)
	isPriced := placed.Total.Minor == 799 && *placed.Payment == payment{"stripe", "pi_1"}
	if placed.ID != id || !isPriced || string(placed.Data) != `{"player":"Alder"}` {
		t.Errorf("the order is %s, want the checkout's ID, data and total, and the payment pi_1", first.body)
	}
	if again := s.place(t, id, "pi_1"); again.wantOrder(t, "placed", true).ID != id || again.body != first.body {
		t.Errorf("the retry got %s, want %s", again.body, first.body)
	}
	s.place(t, id, "pi_2").wantProblem(t, http.StatusConflict, "payment-mismatch")
	if c := decode[checkout](t, s.get(t, "/checkouts/"+id)); c.Status != "ordered" || c.Data != nil {
		t.Errorf("a client without the key reads %+v after the order, want an ordered checkout without data", c)
	}

	delivered := s.send(t, http.MethodPost, "/orders/"+id+"/fulfil", "")
	fulfilled := delivered.wantOrder(t, "fulfilled", false)
	again := s.send(t, http.MethodPost, "/orders/"+id+"/fulfil", "")
	again.wantOrder(t, "fulfilled", true)
	if again.body != delivered.body {
		t.Errorf("the retry got %s, want %s", again.body, delivered.body)
	}
	s.place(t, id, "pi_1").wantOrder(t, "fulfilled", true) // a late retry gets the order's current status

	chargeback := s.send(t, http.MethodPost, "/orders/"+id+"/cancel", `{"reason":"chargeback"}`)
	last := chargeback.wantOrder(t, "cancelled", false)
	if last.CancelReason != "chargeback" || !last.FulfilledAt.Equal(fulfilled.FulfilledAt) ||
		last.CancelledAt.Before(last.FulfilledAt) {
		t.Errorf("the order is %s, want the reason chargeback, and a cancellation after the fulfilment",
			chargeback.body)
	}
	again = s.send(t, http.MethodPost, "/orders/"+id+"/cancel", `{"reason":"fraud"}`)
	again.wantOrder(t, "cancelled", true)
	if again.body != chargeback.body {
		t.Errorf("the retry got %s, want %s", again.body, chargeback.body)
	}
	s.send(t, http.MethodPost, "/orders/"+id+"/fulfil", "").wantProblem(t, http.StatusConflict, "order-cancelled")
	s.place(t, id, "pi_1").wantProblem(t, http.StatusConflict, "order-cancelled")
	if shown := s.send(t, http.MethodGet, "/orders/"+id, ""); shown.body != chargeback.body {
		t.Errorf("the order is %s, want %s", shown.body, chargeback.body)
	}
	head := s.send(t, http.MethodHead, "/orders/"+id, "")
	head.wantStatus(t, http.StatusOK)
	if head.body != "" {
		t.Errorf("HEAD has a body: %s", head.body)
	}
}

// age sets the time at which a stored checkout expires.
func (s till) age(t *testing.T, id string, expires time.Time) {
	t.Helper()
	run := localRun(t)
	_, err := dynamolocal.NewClient(run.State.DynamoDBEndpoint).UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:           aws.String(run.State.Tables.Checkouts),
		Key:                 table.CheckoutKey(catalog.ShopID(s.id), checkouts.ID(id).Token()).Attributes(),
		UpdateExpression:    aws.String("SET expires = :expires"),
		ConditionExpression: aws.String("attribute_exists(expires)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":expires": &types.AttributeValueMemberN{Value: strconv.FormatInt(expires.UnixMilli(), 10)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPlaceOrder_LatePayment_IsAcceptedForSevenDays(t *testing.T) {
	s := newTill(t)
	late, tooLate := s.checkOut(t), s.checkOut(t)
	s.age(t, late, time.Now().Add(-checkouts.LateOrders+time.Minute))
	s.age(t, tooLate, time.Now().Add(-checkouts.LateOrders-time.Minute))
	if c := decode[checkout](t, s.get(t, "/checkouts/"+late)); c.Status != "expired" {
		t.Errorf("the checkout is %+v, want it expired", c)
	}
	s.place(t, late, "pi_1").wantOrder(t, "placed", false)
	s.place(t, tooLate, "pi_2").wantProblem(t, http.StatusConflict, "checkout-expired")
}

func TestCheckout_KeyOfAnOrderedCheckout_StaysInUse(t *testing.T) {
	s := newTill(t)
	made := s.get(t, "/checkout/coins/500", key("till-1"))
	first := decode[checkout](t, made).ID
	s.age(t, first, time.Now().Add(-time.Minute))
	second := decode[checkout](t, s.get(t, "/checkout/coins/500", key("till-1"))).ID
	if second == first {
		t.Fatal("an expired checkout was replayed")
	}
	s.get(t, "/checkouts/"+first).wantProblem(t, http.StatusNotFound, "not-found")
	// the second checkout has replaced it under the same key
	s.place(t, first, "pi_1").wantProblem(t, http.StatusConflict, "checkout-expired")
	s.place(t, second, "pi_1").wantOrder(t, "placed", false)
	s.age(t, second, time.Now().Add(-time.Minute)) // the key stays in use after the checkout would have expired
	unchanged(t, func(t *testing.T) {
		s.get(t, "/checkout/coins/500", key("till-1")).wantProblem(t, http.StatusUnprocessableEntity,
			"idempotency-key-in-use")
	})
}

// The requests are well-formed. Without a live key of the shop, each gets a 401, whether or not the order exists.
func TestOrders_WithoutTheShopsKey_AreUnauthorized(t *testing.T) {
	s, other := newTill(t), newTill(t)
	id, open := s.checkOut(t), other.checkOut(t)
	s.place(t, id, "pi_1").wantOrder(t, "placed", false)
	unknown := "A" + strings.Repeat("b", len(id)-1)
	unchanged(t, func(t *testing.T) {
		for _, authorization := range []string{"", other.authorization, "Authorization: Basic YWxkZXI6YWxkZXI="} {
			for _, id := range []string{id, unknown} {
				for _, r := range []request{
					s.request(http.MethodPost, "/orders", placement(id, "pi_2")),
					s.request(http.MethodGet, "/orders", ""),
					s.request(http.MethodGet, "/orders/"+id, ""),
					s.request(http.MethodPost, "/orders/"+id+"/fulfil", ""),
					s.request(http.MethodPost, "/orders/"+id+"/cancel", `{"reason":"fraud"}`),
				} {
					r.header = slices.Replace(r.header, 0, 1, authorization)
					if authorization == "" {
						r.header = r.header[1:]
					}
					send(t, baseURL(t), r).wantProblem(t, http.StatusUnauthorized, "unauthorized")
				}
			}
		}
		// If the other shop's server uses its own shop's path, the order is not found.
		for _, r := range []request{
			other.request(http.MethodGet, "/checkouts/"+id, ""),
			other.request(http.MethodPost, "/orders", placement(id, "pi_1")),
			other.request(http.MethodGet, "/orders/"+id, ""),
			other.request(http.MethodPost, "/orders/"+id+"/fulfil", ""),
			other.request(http.MethodPost, "/orders/"+id+"/cancel", `{"reason":"fraud"}`),
		} {
			send(t, baseURL(t), r).wantProblem(t, http.StatusNotFound, "not-found")
		}
		// A checkout that was not ordered cannot be read or changed as an order.
		for _, r := range []request{
			other.request(http.MethodGet, "/orders/"+open, ""),
			other.request(http.MethodPost, "/orders/"+open+"/fulfil", ""),
			other.request(http.MethodPost, "/orders/"+open+"/cancel", `{"reason":"fraud"}`),
		} {
			send(t, baseURL(t), r).wantProblem(t, http.StatusNotFound, "not-found")
		}
	})
}

// list returns the orders on all pages of a list. The index may lag behind, so list reads the pages again until they
// have the wanted number of orders.
func (s till) list(t *testing.T, query string, want int) []order {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		var listed []order
		for next := "/shop/" + s.id + "/orders" + query; next != ""; {
			a := send(t, baseURL(t), request{target: next, header: []string{s.authorization}})
			a.wantStatus(t, http.StatusOK)
			page := decode[orderPage](t, a)
			listed = append(listed, page.Orders...)
			next = ""
			if page.Next != nil {
				next = *page.Next
			}
		}
		if len(listed) == want {
			return listed
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d orders with %q, want %d", len(listed), query, want)
		}
	}
}

// Each of 20 checkouts is ordered four times at once, twice with each of two payments. One payment wins, and both of
// its requests get the same order.
func TestPlaceOrder_Races_OrderEachCheckoutOnce(t *testing.T) {
	s := newTill(t)
	const orders, atOnce, racers = 20, 10, 4
	winners := make(map[string]string) // the payment that won, by order
	mismatches := make(map[string]int) // the number of requests with the other payment, by order
	for range orders / atOnce {
		ids := make([]string, atOnce)
		for i := range ids {
			ids[i] = s.checkOut(t)
		}
		reference := func(i int) string { return fmt.Sprintf("pi_%d", i/atOnce%2) }
		answers := race(t, atOnce*racers, func(i int) request {
			return s.request(http.MethodPost, "/orders", placement(ids[i%atOnce], reference(i)))
		})
		for i, answer := range answers {
			id := ids[i%atOnce]
			if answer.status == http.StatusConflict {
				answer.wantProblem(t, http.StatusConflict, "payment-mismatch")
				mismatches[id]++
				continue
			}
			answer.wantStatus(t, http.StatusOK)
			o := decode[order](t, answer)
			winners[id] = cmp.Or(winners[id], o.Payment.Reference)
			if o.ID != id || o.Payment.Reference != reference(i) || winners[id] != reference(i) {
				t.Errorf("a request with payment %s got %s; the payment of order %s is %s", reference(i), answer.body,
					id, winners[id])
			}
		}
	}
	for _, o := range s.list(t, "", orders) {
		if o.Status != "placed" || winners[o.ID] != o.Payment.Reference || mismatches[o.ID] != racers/2 {
			t.Errorf("order %+v, want payment %s; %d requests were refused, want %d", o, winners[o.ID],
				mismatches[o.ID], racers/2)
		}
	}
	if len(winners) != orders {
		t.Errorf("%d orders, want %d", len(winners), orders)
	}
}

// Each of 10 orders is cancelled by two requests at once. Both requests get the same time and reason.
func TestCancelOrder_Races_KeepTheFirstReason(t *testing.T) {
	s := newTill(t)
	const orders = 10
	ids := make([]string, orders)
	for i := range ids {
		ids[i] = s.checkOut(t)
		s.place(t, ids[i], "pi_cart").wantOrder(t, "placed", false)
	}
	reasons := [2]string{"chargeback", "fraud"}
	answers := race(t, 2*orders, func(i int) request {
		return s.request(http.MethodPost, "/orders/"+ids[i/2]+"/cancel", fmt.Sprintf(`{"reason":%q}`, reasons[i%2]))
	})
	stored := make(map[string]order)
	for _, o := range s.list(t, "?status=cancelled", orders) {
		stored[o.ID] = o
	}
	for i, id := range ids {
		answers[2*i].wantStatus(t, http.StatusOK)
		o := decode[order](t, answers[2*i])
		if answers[2*i].body != answers[2*i+1].body {
			t.Errorf("one request got %s, the other %s; want the same", answers[2*i].body, answers[2*i+1].body)
		}
		isStored := stored[id].CancelReason == o.CancelReason && stored[id].CancelledAt.Equal(o.CancelledAt)
		if o.ID != id || !isStored || !slices.Contains(reasons[:], o.CancelReason) {
			t.Errorf("a request got the order %+v, but %+v is stored", o, stored[id])
		}
	}
}
