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
	"shopfront/pkg/voucher"
)

// The operations whose costs are computed in a special way, or have a target.
const (
	redeemSingleUse    = "redemption, single use"
	redeemLimited      = "redemption, limited"
	redeemLimitedFirst = "redemption, limited, new to the process"
	redeemLimitedNicks = "redemption, limited, any nick"
	checkOutKey        = "checkout, with key"
	placeOrder         = "order"
)

// Names of functions.
const (
	redeemVoucher = "redeem-voucher"
	checkout      = "checkout"
	recordEvents  = "record-events"
	publishEvents = "publish-events"
)

// operation is a kind of request with a cost of its own, and the response that it must get. shops.yaml uses the names,
// too.
type operation struct {
	name     string
	function string
	prepare  preparation
	status   int    // 0: the requests do not come from the gateway, and shows is the whole response
	shows    string // a part of the response's body
}

func (o operation) pkg() string { return "functions/" + o.function }

// preparation sets up what a kind of request needs. It returns a function that builds the next request each time it is
// called. The caller sends each result at most once.
type preparation func(ctx context.Context, s *scene) (requests, error)

type requests func() ([]byte, error)

// operations returns everything that is measured.
func operations() []operation {
	limit, noLimit := voucher.Limit(10_000), voucher.NoLimit // a limit of 10,000 gets the greatest number of parts
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
	ordered := func(name string, terms voucher.Terms) operation {
		return operation{name, "place-order", ofNewHeld(terms, fixture.NewHeldCheckout), http.StatusOK, `"placed"`}
	}
	cancelled := func(name string, terms voucher.Terms) operation {
		return operation{name, "cancel-order", ofNewHeld(terms, fixture.NewHeldOrder), http.StatusOK, `"cancelled"`}
	}
	return append(eventOperations(), []operation{
		redeemed(redeemSingleUse, newCodes(single)),
		redeemed(redeemLimited, oneCode(limited)),
		redeemed(redeemLimitedFirst, newCodes(limited)),
		redeemed(redeemLimitedNicks, oneCode(anyNick)),
		redeemed("redemption, no limit", oneCode(unlimited)),
		redeemed("replay, single use", replays(single)),
		redeemed("replay, limited", replays(limited)),
		refused("refusal, unknown", unknownCodes(noKey)),
		refused("refusal, unknown, with key", unknownCodes(newKey)),
		refused("refusal, single use, used up", usedUp(1, noKey)),
		refused("refusal, single use, used up, with key", usedUp(1, newKey)),
		refused("refusal, limited, used up", usedUp(2, noKey)),
		refused("refusal, limited, used up, with key", usedUp(2, newKey)),
		checked("check, single use", single),
		checked("check, limited", limited),
		{"checkout", checkout, checkouts(noKey), http.StatusOK, `"open"`},
		{checkOutKey, checkout, checkouts(newKey), http.StatusOK, `"open"`},
		{"checkout, with key, again", checkout, repeatedCheckout, http.StatusOK, `"open"`},
		{"checkout, read back", "show-checkout", ofOneOrder, http.StatusOK, `"ordered"`},
		{placeOrder, "place-order", ofNew(fixture.NewCheckout), http.StatusOK, `"placed"`},
		{"order, again", "place-order", ofOneOrder, http.StatusOK, `"placed"`},
		{"order, shown", "show-order", ofOneOrder, http.StatusOK, `"placed"`},
		{"orders, a page of 50", "list-orders", fullPage, http.StatusOK, `"next":"/shop`},
		{"order, fulfilled", "fulfil-order", ofNew(fixture.NewOrder), http.StatusOK, `"fulfilled"`},
		{"order, cancelled", "cancel-order", ofNew(fixture.NewOrder), http.StatusOK, `"cancelled"`},
		held("checkout, single-use code", single, false),
		held("checkout, limited code", limited, false),
		held("checkout, code without limit", unlimited, false),
		held("checkout, single-use code, by the server", single, true),
		{"checkout, code refused", checkout, heldInVain, http.StatusConflict, "code-refused"},
		ordered("order, single-use code", single),
		ordered("order, limited code", limited),
		ordered("order, code without limit", unlimited),
		cancelled("order cancelled, single-use code", single),
		cancelled("order cancelled, limited code", limited),
		{"undo, single use", "undo-redemption", undoes(single), http.StatusOK, `"undone"`},
		{"undo, limited", "undo-redemption", undoes(limited), http.StatusOK, `"undone"`},
		{"redemptions of a code, a page", "list-redemptions", listed, http.StatusOK, `"redeemed"`},
		{"checkout area", "checkout-area", newShops("/checkout", ""), http.StatusOK, `"coins"`},
		{"checkout area, unchanged", "checkout-area", newShops("/checkout", "*"), http.StatusNotModified, ""},
		{"shop's page", "storefront", newShops("", ""), http.StatusOK, ""},
		{"shop's page, unchanged", "storefront", newShops("", "*"), http.StatusNotModified, ""},
		{"shop's page, its script", "storefront", asset("js"), http.StatusOK, ""},
		{"shop's page, its stylesheet", "storefront", asset("css"), http.StatusOK, ""},
		{"api-docs, openapi.json", "api-docs", page("/openapi.json"), http.StatusOK, ""},
		{"api-docs, changelog", "api-docs", page("/changelog"), http.StatusOK, ""},
		{"removed path", "removed-payment", page("/checkout/paybylink/transfer"), http.StatusGone, "gone"},
		// the last redemptions, because the limit stays
		redeemed("redemption, limited, counted", counted(oneCode(limited))),
		redeemed("redemption, no limit, counted", counted(oneCode(unlimited))),
	}...)
}

// check rejects a response other than the expected one, so that a failed request is not measured as if it had worked.
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
	event   fixture.Event    // the function's sample event
	process *runtimeapi.Process
	serial  int // of the last nick
}

// ask sends a request that prepares the measured ones.
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
			return s.event.Redemption(code, s.newNick(), newKey())
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
		err = s.ask(s.event.Redemption(code, "Rowan", newKey()))
		return func() ([]byte, error) { return s.event.Redemption(code, s.newNick(), newKey()) }, err
	}
}

// counted prepares redemptions in a shop that limits them.
func counted(redemptions preparation) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		if err := fixture.LimitRedemptions(ctx, s.client); err != nil {
			return nil, err
		}
		return redemptions(ctx, s)
	}
}

// replays retries a redemption that succeeded.
func replays(terms voucher.Terms) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		code, err := s.create(ctx, terms)
		if err != nil {
			return nil, err
		}
		key := newKey()
		err = s.ask(s.event.Redemption(code, "Rowan", key))
		return func() ([]byte, error) { return s.event.Redemption(code, "Rowan", key) }, err
	}
}

func unknownCodes(key func() string) preparation {
	return func(_ context.Context, s *scene) (requests, error) {
		return func() ([]byte, error) {
			code, err := voucher.GenerateCode(rand.Reader)
			if err != nil {
				return nil, err
			}
			return s.event.Redemption(code, s.newNick(), key())
		}, nil
	}
}

// usedUp tries to redeem a used-up code.
func usedUp(uses voucher.Limit, key func() string) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		code, err := s.create(ctx, voucher.Terms{MaxUses: &uses})
		if err != nil {
			return nil, err
		}
		for range uses {
			if err := s.ask(s.event.Redemption(code, s.newNick(), "")); err != nil {
				return nil, err
			}
		}
		return func() ([]byte, error) { return s.event.Redemption(code, s.newNick(), key()) }, nil
	}
}

func checks(terms voucher.Terms) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		code, err := s.create(ctx, terms)
		check := s.event.With("rawQueryString", "check=true")
		return func() ([]byte, error) { return check.Redemption(code, s.newNick(), "") }, err
	}
}

func checkouts(key func() string) preparation {
	return func(_ context.Context, s *scene) (requests, error) {
		return func() ([]byte, error) { return s.event.WithKey(key()).Encode() }, nil
	}
}

func repeatedCheckout(_ context.Context, s *scene) (requests, error) {
	request, err := s.event.WithKey(newKey()).Encode()
	err = s.ask(request, err)
	return func() ([]byte, error) { return request, nil }, err
}

// ofNew sends the sample event about a new checkout or order each time.
func ofNew(create func(context.Context, *dynamodb.Client) (string, error)) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		event, err := s.event.WithServerKey()
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

// ofOneOrder sends the sample event each time. The event names one order, which these requests leave as it is.
func ofOneOrder(_ context.Context, s *scene) (requests, error) {
	event, err := s.event.WithServerKey()
	return event.Encode, err
}

// fullPage requests a page of 50 orders and stores more orders than fit on it.
func fullPage(ctx context.Context, s *scene) (requests, error) {
	for range 51 {
		if _, err := fixture.NewOrder(ctx, s.client); err != nil {
			return nil, err
		}
	}
	event, err := s.event.With("rawQueryString", "limit=50").WithServerKey()
	return event.Encode, err
}

// newShops requests a path below a new copy of the demo shop each time, because the process caches the shops that it
// has shown. The argument known is the requests' If-None-Match header.
func newShops(path, known string) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		shop, err := s.client.Query(ctx, &dynamodb.QueryInput{
			TableName: aws.String(fixture.CatalogueTable), KeyConditionExpression: aws.String("customer = :customer"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":customer": &types.AttributeValueMemberS{Value: string(fixture.ShopID)}},
		})
		if err != nil {
			return nil, err
		}
		return func() ([]byte, error) {
			id := newShop()
			for _, item := range shop.Items {
				item["customer"] = &types.AttributeValueMemberS{Value: id}
				if _, err := s.client.PutItem(ctx,
					&dynamodb.PutItemInput{TableName: aws.String(fixture.CatalogueTable), Item: item}); err != nil {
					return nil, err
				}
			}
			return getting(s.event, "/shop/"+id+path).WithHeader("if-none-match", known).Encode()
		}, nil
	}
}

// asset requests the file with the given extension that a shop's page refers to.
func asset(extension string) preparation {
	return func(_ context.Context, s *scene) (requests, error) {
		shown, err := s.event.Encode()
		if err != nil {
			return nil, err
		}
		html, _, err := s.process.Invoke(shown)
		if err != nil {
			return nil, err
		}
		path := regexp.MustCompile(`/assets/[\w-]+\.` + extension).Find(html)
		return getting(s.event, string(path)).With("routeKey", "GET /assets/{name}").Encode, nil
	}
}

// page requests a path, as a browser does.
func page(path string) preparation {
	return func(_ context.Context, s *scene) (requests, error) {
		return getting(s.event, path).With("routeKey", http.MethodGet+" "+path).Encode, nil
	}
}

func getting(event fixture.Event, path string) fixture.Event {
	return withHTTP(event, "path", path).With("rawPath", path).WithHeader("accept-encoding", "gzip, br")
}

// withHTTP returns a copy of the event with one member of its requestContext.http replaced.
func withHTTP(event fixture.Event, name, value string) fixture.Event {
	context, _ := event["requestContext"].(map[string]any)
	request, _ := context["http"].(map[string]any)
	return event.With("requestContext", fixture.Event(context).With("http", fixture.Event(request).With(name, value)))
}
