package cost

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/runtimeapi"
	"shopfront/internal/measure/fixture"
	orders "shopfront/pkg/checkout" // this package has a constant of that name
	"shopfront/pkg/voucher"
)

// The operations: kinds of requests that differ in what they cost. shops.yaml uses these names too.
const (
	redeemSingleUse    = "redemption, single use"
	redeemLimited      = "redemption, limited"
	redeemLimitedFirst = "redemption, limited, new to the process"
	redeemLimitedNicks = "redemption, limited, any nick"
	redeemUnlimited    = "redemption, no limit"
	replaySingleUse    = "replay, single use"
	replayLimited      = "replay, limited"
	refuseUnknown      = "refusal, unknown"
	refuseUnknownKey   = "refusal, unknown, with key"
	refuseUsed         = "refusal, single use, used up"
	refuseUsedKey      = "refusal, single use, used up, with key"
	refuseFull         = "refusal, limited, used up"
	refuseFullKey      = "refusal, limited, used up, with key"
	checkSingleUse     = "check, single use"
	checkLimited       = "check, limited"
	checkOut           = "checkout"
	checkOutKey        = "checkout, with key"
	replayCheckout     = "checkout, with key, again"
	readCheckout       = "checkout, read back"
	placeOrder         = "order"
	replayOrder        = "order, again"
	showOrder          = "order, shown"
	listOrders         = "orders, a page of 50"
	fulfilOrder        = "order, fulfilled"
	cancelOrder        = "order, cancelled"
	holdSingleUse      = "checkout, single-use code"
	holdLimited        = "checkout, limited code"
	holdUnlimited      = "checkout, code without limit"
	holdByServer       = "checkout, single-use code, by the server"
	refuseHold         = "checkout, code refused"
	orderSingleUse     = "order, single-use code"
	orderLimited       = "order, limited code"
	orderUnlimited     = "order, code without limit"
	cancelSingleUse    = "order cancelled, single-use code"
	cancelLimited      = "order cancelled, limited code"
	undoSingleUse      = "undo, single use"
	undoLimited        = "undo, limited"
	listRedemptions    = "redemptions of a code, a page"
	showArea           = "checkout area"
	showAreaUnchanged  = "checkout area, unchanged"
	showPage           = "shop's page"
	showPageUnchanged  = "shop's page, unchanged"
	showScript         = "shop's page, its script"
	showStylesheet     = "shop's page, its stylesheet"
	showDocument       = "api-docs, openapi.json"
	showChangelog      = "api-docs, changelog"
	removedPath        = "removed path"
)

// The functions, by their folders.
const (
	redeemVoucher  = "redeem-voucher"
	checkoutArea   = "checkout-area"
	storefront     = "storefront"
	checkout       = "checkout"
	apiDocs        = "api-docs"
	removedPayment = "removed-payment"
	recordEvents   = "record-events"
	listEvents     = "list-events"
	publishEvents  = "publish-events"
)

// operation is one kind of request, and its right response.
type operation struct {
	name     string
	function string
	prepare  preparation
	status   int
	shows    string // what the response's body contains
}

// preparation sets up what a kind of request needs, and returns a function that makes requests. Each request is sent once.
type preparation func(ctx context.Context, s *scene) (requests, error)

type requests func() ([]byte, error)

// operations returns everything that is measured.
func operations() []operation {
	limit, noLimit := voucher.Limit(10_000), voucher.NoLimit // a limit of 10,000 gets the greatest number of counters
	single, limited, unlimited := voucher.Terms{}, voucher.Terms{MaxUses: &limit}, voucher.Terms{MaxUses: &noLimit}
	anyNick := voucher.Terms{MaxUses: &limit, MaxUsesPerNick: &noLimit}
	redeemed := func(name string, prepare preparation) operation {
		return operation{name, redeemVoucher, prepare, http.StatusOK, `"redeemed"`}
	}
	refused := func(name string, prepare preparation) operation {
		return operation{name, redeemVoucher, prepare, http.StatusNotFound, "voucher-not-found"}
	}
	checked := func(name string, terms voucher.Terms) operation {
		return operation{name, redeemVoucher, checks(terms), http.StatusOK, `"redeemable"`}
	}
	return append(eventOperations(), []operation{
		redeemed(redeemSingleUse, newCodes(single)),
		redeemed(redeemLimited, oneCode(limited)),
		redeemed(redeemLimitedFirst, newCodes(limited)),
		redeemed(redeemLimitedNicks, oneCode(anyNick)),
		redeemed(redeemUnlimited, oneCode(unlimited)),
		redeemed(replaySingleUse, replays(single)),
		redeemed(replayLimited, replays(limited)),
		refused(refuseUnknown, unknownCodes(noKey)),
		refused(refuseUnknownKey, unknownCodes(newKey)),
		refused(refuseUsed, usedUp(1, noKey)),
		refused(refuseUsedKey, usedUp(1, newKey)),
		refused(refuseFull, usedUp(2, noKey)),
		refused(refuseFullKey, usedUp(2, newKey)),
		checked(checkSingleUse, single),
		checked(checkLimited, limited),
		{checkOut, checkout, checkouts(noKey), http.StatusOK, `"open"`},
		{checkOutKey, checkout, checkouts(newKey), http.StatusOK, `"open"`},
		{replayCheckout, checkout, repeatedCheckout, http.StatusOK, `"open"`},
		{readCheckout, "show-checkout", ofOneOrder("show-checkout"), http.StatusOK, `"ordered"`},
		{placeOrder, "place-order", ofNew("place-order", fixture.NewCheckout), http.StatusOK, `"placed"`},
		{replayOrder, "place-order", ofOneOrder("place-order"), http.StatusOK, `"placed"`},
		{showOrder, "show-order", ofOneOrder("show-order"), http.StatusOK, `"placed"`},
		{listOrders, "list-orders", fullPage, http.StatusOK, `"next":"/shop`},
		{fulfilOrder, "fulfil-order", ofNew("fulfil-order", fixture.NewOrder), http.StatusOK, `"fulfilled"`},
		{cancelOrder, "cancel-order", ofNew("cancel-order", fixture.NewOrder), http.StatusOK, `"cancelled"`},
		held(holdSingleUse, single, false),
		held(holdLimited, limited, false),
		held(holdUnlimited, unlimited, false),
		held(holdByServer, single, true),
		{refuseHold, checkout, heldInVain, http.StatusConflict, "code-refused"},
		{orderSingleUse, "place-order", ofNewHeld("place-order", single, fixture.NewHeldCheckout), http.StatusOK, `"placed"`},
		{orderLimited, "place-order", ofNewHeld("place-order", limited, fixture.NewHeldCheckout), http.StatusOK, `"placed"`},
		{orderUnlimited, "place-order", ofNewHeld("place-order", unlimited, fixture.NewHeldCheckout), http.StatusOK, `"placed"`},
		{cancelSingleUse, "cancel-order", ofNewHeld("cancel-order", single, fixture.NewHeldOrder), http.StatusOK, `"cancelled"`},
		{cancelLimited, "cancel-order", ofNewHeld("cancel-order", limited, fixture.NewHeldOrder), http.StatusOK, `"cancelled"`},
		{undoSingleUse, "undo-redemption", undoes(single), http.StatusOK, `"undone"`},
		{undoLimited, "undo-redemption", undoes(limited), http.StatusOK, `"undone"`},
		{listRedemptions, "list-redemptions", listed, http.StatusOK, `"redeemed"`},
		{showArea, checkoutArea, newShops(checkoutArea, "/checkout", ""), http.StatusOK, `"coins"`},
		{showAreaUnchanged, checkoutArea, newShops(checkoutArea, "/checkout", "*"), http.StatusNotModified, ""},
		{showPage, storefront, newShops(storefront, "", ""), http.StatusOK, ""},
		{showPageUnchanged, storefront, newShops(storefront, "", "*"), http.StatusNotModified, ""},
		{showScript, storefront, asset("js"), http.StatusOK, ""},
		{showStylesheet, storefront, asset("css"), http.StatusOK, ""},
		{showDocument, apiDocs, page(apiDocs, "/openapi.json"), http.StatusOK, ""},
		{showChangelog, apiDocs, page(apiDocs, "/changelog"), http.StatusOK, ""},
		{removedPath, removedPayment, page(removedPayment, "/checkout/paybylink/transfer"), http.StatusGone, "gone"},
	}...)
}

// check rejects a wrong response, so that only successful requests are measured.
func (o operation) check(text []byte) error {
	if o.status == 0 && string(text) != o.shows {
		return fmt.Errorf("%s: response %.200q; want %s", o.name, text, o.shows)
	}
	got, err := parseResponse(text)
	if err == nil && o.status != 0 && (got.StatusCode != o.status || !strings.Contains(got.Body, o.shows)) {
		err = fmt.Errorf("%s: response %d %.200q; want %d with %q", o.name, got.StatusCode, got.Body, o.status, o.shows)
	}
	return err
}

// scene is a running function and its store.
type scene struct {
	client  *dynamodb.Client // bypasses the meter
	events  map[string]fixture.Event
	process *runtimeapi.Process
	serial  int // of the last nick
}

// ask sends a request that prepares others.
func (s *scene) ask(request []byte, err error) error {
	if err != nil {
		return err
	}
	_, _, err = s.process.Invoke(request)
	return err
}

// newNick returns a nick that is new in this scene.
func (s *scene) newNick() string {
	s.serial++
	return "Alder" + strconv.Itoa(1000+s.serial)
}

// newKey returns an Idempotency-Key as long as a UUID.
func newKey() string { return (rand.Text() + rand.Text())[:36] }

func noKey() string { return "" }

func (s *scene) redemption(code, nick, key string) ([]byte, error) {
	return s.events[redeemVoucher].Redemption(code, nick, key)
}

// create creates a voucher with a new code, as `shopctl voucher generate --batch launch` does.
func (s *scene) create(ctx context.Context, terms voucher.Terms) (code string, err error) {
	if code, err = voucher.GenerateCode(rand.Reader); err != nil {
		return "", err
	}
	terms.Written, terms.Batch = code, "launch"
	return code, fixture.CreateVoucher(ctx, s.client, terms)
}

// newCodes redeems a new code each time.
func newCodes(terms voucher.Terms) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		return func() ([]byte, error) {
			code, err := s.create(ctx, terms)
			if err != nil {
				return nil, err
			}
			return s.redemption(code, s.newNick(), newKey())
		}, nil
	}
}

// oneCode redeems one code, each time for a new nick. The process has seen the code before.
func oneCode(terms voucher.Terms) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		code, err := s.create(ctx, terms)
		if err != nil {
			return nil, err
		}
		err = s.ask(s.redemption(code, "Rowan", newKey()))
		return func() ([]byte, error) { return s.redemption(code, s.newNick(), newKey()) }, err
	}
}

// replays repeats a request that succeeded.
func replays(terms voucher.Terms) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		code, err := s.create(ctx, terms)
		if err != nil {
			return nil, err
		}
		key := newKey()
		err = s.ask(s.redemption(code, "Rowan", key))
		return func() ([]byte, error) { return s.redemption(code, "Rowan", key) }, err
	}
}

func unknownCodes(key func() string) preparation {
	return func(_ context.Context, s *scene) (requests, error) {
		return func() ([]byte, error) {
			code, err := voucher.GenerateCode(rand.Reader)
			if err != nil {
				return nil, err
			}
			return s.redemption(code, s.newNick(), key())
		}, nil
	}
}

// usedUp tries to redeem a used-up code. If the code had more than one use, it is marked as full as well.
func usedUp(uses voucher.Limit, key func() string) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		code, err := s.create(ctx, voucher.Terms{MaxUses: &uses})
		if err != nil {
			return nil, err
		}
		for range uses + 1 { // the last of these requests finds no use left, and marks a code that had more than one
			if err := s.ask(s.redemption(code, s.newNick(), "")); err != nil {
				return nil, err
			}
		}
		return func() ([]byte, error) { return s.redemption(code, s.newNick(), key()) }, nil
	}
}

func checks(terms voucher.Terms) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		code, err := s.create(ctx, terms)
		check := s.events[redeemVoucher].With("rawQueryString", "check=true").With("queryStringParameters", map[string]string{"check": "true"})
		return func() ([]byte, error) { return check.Redemption(code, s.newNick(), "") }, err
	}
}

func checkouts(key func() string) preparation {
	return func(_ context.Context, s *scene) (requests, error) {
		return func() ([]byte, error) { return s.events[checkout].WithKey(key()).Encode() }, nil
	}
}

func repeatedCheckout(_ context.Context, s *scene) (requests, error) {
	request, err := s.events[checkout].WithKey(newKey()).Encode()
	err = s.ask(request, err)
	return func() ([]byte, error) { return request, nil }, err
}

// ofNew sends a function's sample event about a new checkout or order each time.
func ofNew(function string, create func(context.Context, *dynamodb.Client) (orders.ID, error)) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		event, err := s.events[function].WithServerKey()
		return func() ([]byte, error) {
			id, err := create(ctx, s.client)
			if err != nil {
				return nil, err
			}
			request, err := event.Encode()
			return bytes.ReplaceAll(request, []byte(fixture.Order), []byte(id)), err
		}, err
	}
}

// ofOneOrder sends a function's sample event about an order that stays as it is.
func ofOneOrder(function string) preparation {
	return func(_ context.Context, s *scene) (requests, error) {
		event, err := s.events[function].WithServerKey()
		return event.Encode, err
	}
}

// fullPage requests a page of 50 orders and stores more orders than fit on it.
func fullPage(ctx context.Context, s *scene) (requests, error) {
	for range 51 {
		if _, err := fixture.NewOrder(ctx, s.client); err != nil {
			return nil, err
		}
	}
	event, err := s.events["list-orders"].With("rawQueryString", "limit=50").WithServerKey()
	return event.Encode, err
}

// newShops requests a path below a new copy of the demo shop each time, because the process caches the shops that it has shown. known is
// the requests' If-None-Match.
func newShops(function, path, known string) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		shop, err := s.client.Query(ctx, &dynamodb.QueryInput{
			TableName: aws.String(fixture.CatalogueTable), KeyConditionExpression: aws.String("customer = :customer"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":customer": &types.AttributeValueMemberS{Value: string(fixture.Customer)}},
		})
		if err != nil {
			return nil, err
		}
		return func() ([]byte, error) {
			id := rand.Text()[:len(fixture.Customer)]
			for _, item := range shop.Items {
				item["customer"] = &types.AttributeValueMemberS{Value: id}
				if _, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(fixture.CatalogueTable), Item: item}); err != nil {
					return nil, err
				}
			}
			return getting(s.events[function], "/shop/"+id+path).WithHeader("if-none-match", known).Encode()
		}, nil
	}
}

// asset requests the file of a shop's page that has this extension.
func asset(extension string) preparation {
	return func(_ context.Context, s *scene) (requests, error) {
		event := s.events[storefront]
		shown, err := event.Encode()
		if err != nil {
			return nil, err
		}
		html, _, err := s.process.Invoke(shown)
		if err != nil {
			return nil, err
		}
		path := regexp.MustCompile(`/assets/[\w-]+\.` + extension).Find(html)
		return getting(event, string(path)).With("routeKey", "GET /assets/{name}").Encode, nil
	}
}

// page requests a path of a function, as a browser does.
func page(function, path string) preparation {
	return func(_ context.Context, s *scene) (requests, error) {
		return getting(s.events[function], path).With("routeKey", http.MethodGet+" "+path).Encode, nil
	}
}

func getting(event fixture.Event, path string) fixture.Event {
	given, _ := event["requestContext"].(map[string]any)
	request := fixture.Event(given)
	its, _ := request["http"].(map[string]any)
	request = request.With("http", fixture.Event(its).With("path", path))
	return event.With("rawPath", path).With("requestContext", request).WithHeader("accept-encoding", "gzip, br")
}
