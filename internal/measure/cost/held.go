package cost

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/measure/fixture"
	"shopfront/pkg/voucher"
)

// discount creates a code that takes 20 % off.
func (s *scene) discount(ctx context.Context, terms voucher.Terms) (code string, err error) {
	terms.Reward = voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}
	return s.create(ctx, terms)
}

// withCode returns the sample event of a checkout with a code and a nick, which is also the player of the data.
func (s *scene) withCode(code, nick string) fixture.Event {
	query := url.Values{"amount": {"1"}, "data": {`{"player":"` + nick + `"}`}, "code": {code}, "nick": {nick}}
	return s.event.With("rawQueryString", query.Encode()).WithKey(newKey())
}

// fromElsewhere returns a copy of the event with a random source address.
func fromElsewhere(event fixture.Event) fixture.Event {
	source := fmt.Sprintf("198.%d.%d.%d", 18+rand.IntN(2), rand.IntN(256), rand.IntN(256)) //nolint:gosec // any address will do
	return withHTTP(event, "sourceIp", source)
}

// held returns the operation of a checkout with a code. If a code with these terms has one use, each request has a new
// code. Otherwise all requests have the same code.
func held(name string, terms voucher.Terms, byServer bool) operation {
	prepare := func(ctx context.Context, s *scene) (requests, error) {
		code, err := s.discount(ctx, terms)
		return func() ([]byte, error) {
			if terms.MaxUses == nil {
				if code, err = s.discount(ctx, terms); err != nil {
					return nil, err
				}
			}
			event := fromElsewhere(s.withCode(code, s.newNick()))
			if byServer {
				if event, err = event.WithServerKey(); err != nil {
					return nil, err
				}
			}
			return event.Encode()
		}, err
	}
	return operation{name, checkout, prepare, http.StatusOK, `"open"`}
}

// heldInVain checks out with a code that another checkout already holds.
func heldInVain(ctx context.Context, s *scene) (requests, error) {
	code, err := s.discount(ctx, voucher.Terms{})
	if err == nil {
		err = s.ask(s.withCode(code, "Rowan").Encode())
	}
	return func() ([]byte, error) { return fromElsewhere(s.withCode(code, s.newNick())).WithKey("").Encode() }, err
}

// ofNewHeld works like ofNew, for checkouts or orders that each have a new code.
func ofNewHeld(
	terms voucher.Terms, create func(ctx context.Context, client *dynamodb.Client, code string) (string, error),
) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		withCode := func(ctx context.Context, client *dynamodb.Client) (string, error) {
			code, err := s.discount(ctx, terms)
			if err != nil {
				return "", err
			}
			return create(ctx, client, code)
		}
		return ofNew(withCode)(ctx, s)
	}
}

// undoes sends requests to undo a redemption. Each request is for a new redemption.
func undoes(terms voucher.Terms) preparation {
	return func(ctx context.Context, s *scene) (requests, error) {
		event, err := s.event.WithServerKey()
		return func() ([]byte, error) {
			code, err := s.create(ctx, terms)
			if err != nil {
				return nil, err
			}
			id, err := fixture.Redeem(ctx, s.client, code)
			if err != nil {
				return nil, err
			}
			body, err := json.Marshal(map[string]string{"code": code, "nick": "Alder", "reason": "granted twice"})
			if err != nil {
				return nil, err
			}
			request, err := event.With("body", string(body)).Encode()
			return bytes.ReplaceAll(request, []byte(sampleRedemption), []byte(id)), err
		}, err
	}
}

// sampleRedemption is the ID in the sample event of undo-redemption.
const sampleRedemption = "q7Yw0dPZk3fJr8sVt1uXeA"

// listed lists the redemption of a limited code.
func listed(ctx context.Context, s *scene) (requests, error) {
	limit := voucher.Limit(10_000)
	code, err := s.create(ctx, voucher.Terms{MaxUses: &limit})
	if err != nil {
		return nil, err
	}
	if _, err := fixture.Redeem(ctx, s.client, code); err != nil {
		return nil, err
	}
	event, err := s.event.With("rawQueryString", "code="+code).WithServerKey()
	return event.Encode, err
}
