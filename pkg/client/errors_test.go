package client_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shopfront/pkg/client"
)

func TestProblemTypes_MatchTheDocumentation(t *testing.T) {
	known := client.ProblemTypes()
	if documented := documentedProblems(t); !maps.Equal(known, documented) {
		t.Errorf("the client knows %v, the OpenAPI document has %v", known, documented)
	}
}

// documentedProblems returns the names and statuses of the problems in the OpenAPI document. Two problems occur in none
// of its operations, so only the description of the type has their statuses.
func documentedProblems(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("../../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	type schema struct {
		Properties map[string]struct {
			Description string
			Const       any
			Enum        []string `json:"x-extensible-enum"`
		}
		AllOf []schema
	}
	var document struct {
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	const urn = "urn:problem:shopfront:"
	statuses := make(map[string]int)
	for _, described := range document.Components.Schemas {
		for _, part := range described.AllOf {
			name, isProblem := part.Properties["type"].Const.(string)
			if status, is := part.Properties["status"].Const.(float64); isProblem && is {
				statuses[strings.TrimPrefix(name, urn)] = int(status)
			}
		}
	}
	types := document.Components.Schemas["Problem"].Properties["type"]
	for _, other := range regexp.MustCompile("`([a-z-]+)` \\(([0-9]{3})\\)").FindAllStringSubmatch(types.Description,
		-1) {
		if statuses[other[1]], err = strconv.Atoi(other[2]); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range types.Enum {
		if statuses[strings.TrimPrefix(name, urn)] == 0 {
			t.Errorf("the OpenAPI document has no status for %s", name)
		}
	}
	if len(types.Enum) != len(statuses) {
		t.Errorf("the OpenAPI document has %d problems with a status, and lists %d", len(statuses), len(types.Enum))
	}
	return statuses
}

func TestProblems_MatchTheirError(t *testing.T) {
	sentinels := map[string]error{
		"checkout-expired":       client.ErrCheckoutExpired,
		"checkout-replaced":      client.ErrCheckoutReplaced,
		"checkout-released":      client.ErrCheckoutReleased,
		"checkout-ordered":       client.ErrCheckoutOrdered,
		"code-refused":           client.ErrCodeRefused,
		"content-too-large":      client.ErrContentTooLarge,
		"cursor-expired":         client.ErrCursorExpired,
		"gone":                   client.ErrGone,
		"idempotency-key-in-use": client.ErrKeyInUse,
		"internal":               client.ErrInternal,
		"invalid":                client.ErrInvalid,
		"malformed-request":      client.ErrMalformedRequest,
		"method-not-allowed":     client.ErrMethodNotAllowed,
		"not-found":              client.ErrNotFound,
		"order-cancelled":        client.ErrOrderCancelled,
		"payment-mismatch":       client.ErrPaymentMismatch,
		"redemption-not-found":   client.ErrRedemptionNotFound,
		"redemption-of-order":    client.ErrRedemptionOfOrder,
		"redemption-undone":      client.ErrRedemptionUndone,
		"too-many-holds":         client.ErrTooManyHolds,
		"too-many-redemptions":   client.ErrTooManyRedemptions,
		"too-many-refusals":      client.ErrTooManyRefusals,
		"unauthorized":           client.ErrUnauthorized,
		"cross-site-request":     client.ErrCrossSite,
		"unavailable":            client.ErrUnavailable,
		"unsupported-media-type": client.ErrUnsupportedMediaType,
		"voucher-not-found":      client.ErrVoucherNotFound,
		"of the gateway":         client.ErrThrottled,
	}
	for name, status := range client.ProblemTypes() {
		inBubble(t, name, func(t *testing.T) {
			_, c := serve(t, problem(name, status, "Retry-After", "540"))
			_, err := c.Checkout(t.Context(), vipRank(), client.WithKey("till-1047"))
			for other, sentinel := range sentinels {
				if errors.Is(err, sentinel) != (other == name) {
					t.Errorf("%v: it matches the error of %s: %t, want %t", err, other, errors.Is(err, sentinel),
						other == name)
				}
			}
			p, is := errors.AsType[*client.ProblemError](err)
			if want := (client.ProblemError{
				Type: name, Status: status, Title: "A title", Detail: "About Alder.", RetryAfter: 9 * time.Minute,
				RequestID: "LdwzhT-lWeWxbXk=",
			}); !is || *p != want {
				t.Errorf("%+v, want %+v", p, want)
			}
			if !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "LdwzhT-lWeWxbXk=") {
				t.Errorf("the error does not name its type and request ID: %v", err)
			}
			wantNoSecrets(t, err)
		})
	}
}

func TestProblems_HaveTheDetailsOfTheService(t *testing.T) {
	for document, want := range map[string]client.ProblemError{
		`{"type":"urn:problem:shopfront:invalid","status":422,"detail":"data /player is required.",` +
			`"parameter":"data","pointer":"/player"}`: {
			Type: "invalid", Status: 422, Detail: "data /player is required.", Parameter: "data", Pointer: "/player",
		},
		`{"type":"urn:problem:shopfront:voucher-not-found","status":404,"reason":"used_up"}`: {
			Type: "voucher-not-found", Status: 404, Reason: "used_up",
		},
		`{"type":"urn:problem:shopfront:code-refused","status":409,"reason":"no_discount"}`: {
			Type: "code-refused", Status: 409, Reason: "no_discount",
		},
	} {
		_, c := serve(t, answers(want.Status, document, "Content-Type", "application/problem+json; charset=utf-8"))
		_, err := c.Checkout(t.Context(), summerRank())
		want.RequestID = "LdwzhT-lWeWxbXk="
		if p, is := errors.AsType[*client.ProblemError](err); !is || *p != want {
			t.Errorf("%+v, want %+v", err, want)
		}
		wantNoSecrets(t, err)
	}
}

func TestProblems_OfTheGateway_NameTheGateway(t *testing.T) {
	for status, want := range map[int]string{
		404: `the gateway: no such path, check the base URL: status 404, request "evD1rncej6jAXAQ="`,
		429: `the gateway: status 429, request "evD1rncej6jAXAQ="`,
		503: `the gateway: status 503, request "evD1rncej6jAXAQ="`,
	} {
		synctest.Test(t, func(t *testing.T) {
			_, c := serve(t, message(status))
			_, err := c.Check(t.Context(), "WELCOME-COINS", "")
			p, is := errors.AsType[*client.ProblemError](err)
			if !is || p.Type != "" || p.Status != status || p.RequestID != "evD1rncej6jAXAQ=" ||
				errors.Is(err, client.ErrThrottled) != (status == 429) || p.Error() != want {
				t.Errorf("%+v, want %s", err, want)
			}
		})
	}
}
