package client_test

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
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
		"malformed-request": client.ErrMalformedRequest, "voucher-not-found": client.ErrVoucherNotFound,
		"not-found":          client.ErrNotFound,
		"method-not-allowed": client.ErrMethodNotAllowed, "gone": client.ErrGone,
		"content-too-large":      client.ErrContentTooLarge,
		"unsupported-media-type": client.ErrUnsupportedMediaType, "invalid": client.ErrInvalid,
		"idempotency-key-in-use": client.ErrKeyInUse,
		"unauthorized":           client.ErrUnauthorized, "too-many-refusals": client.ErrTooManyRefusals,
		"code-refused": client.ErrCodeRefused, "too-many-holds": client.ErrTooManyHolds,
		"checkout-replaced": client.ErrCheckoutReplaced,
		"redemption-undone": client.ErrRedemptionUndone, "redemption-not-found": client.ErrRedemptionNotFound,
		"redemption-of-order": client.ErrRedemptionOfOrder, "cursor-expired": client.ErrCursorExpired,
		"checkout-expired": client.ErrCheckoutExpired, "payment-mismatch": client.ErrPaymentMismatch,
		"order-cancelled": client.ErrOrderCancelled,
		"internal":        client.ErrInternal, "unavailable": client.ErrUnavailable,
	}
	for name, status := range client.ProblemTypes() {
		inBubble(t, name, func(t *testing.T) {
			_, c := serve(t, problem(name, status))
			_, err := c.Checkout(t.Context(), vipRank(), client.WithKey("till-1047"))
			for other, sentinel := range sentinels {
				if errors.Is(err, sentinel) != (other == name) {
					t.Errorf("%v: it matches the error of %s: %t, want %t", err, other, errors.Is(err, sentinel),
						other == name)
				}
			}
			p, is := errors.AsType[*client.ProblemError](err)
			if want := (client.ProblemError{
				Type: name, Status: status, Title: "A title", Detail: "About Alder.",
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

func TestProblems_SayWhenToRetry(t *testing.T) {
	for name, is := range map[string]error{
		"too-many-refusals": client.ErrTooManyRefusals,
		"too-many-holds":    client.ErrTooManyHolds,
	} {
		s, _ := serve(t, problem(name, 429, "Retry-After", "540"))
		c := newClient(t, "http://shop.example", client.WithHTTPClient(s.http), client.WithAttempts(1))
		_, err := c.Checkout(t.Context(), summerRank())
		p, isProblem := errors.AsType[*client.ProblemError](err)
		if !isProblem || p.RetryAfter != 9*time.Minute || !errors.Is(err, is) || errors.Is(err, client.ErrThrottled) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

func TestProblems_OfTheGateway_NameTheGateway(t *testing.T) {
	for _, status := range []int{404, 413, 429, 500, 503} {
		synctest.Test(t, func(t *testing.T) {
			_, c := serve(t, message(status))
			_, err := c.Check(t.Context(), "WELCOME-COINS", "")
			p, is := errors.AsType[*client.ProblemError](err)
			if !is || p.Type != "" || p.Status != status || p.RequestID != "evD1rncej6jAXAQ=" ||
				errors.Is(err, client.ErrThrottled) != (status == 429) {
				t.Errorf("%+v", err)
			}
			if !strings.Contains(err.Error(), "gateway") {
				t.Errorf("the error does not name the gateway: %v", err)
			}
		})
	}
}

func TestPackage_ImportsTheStandardLibraryOnly(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	imports := 0
	for _, entry := range files {
		if name := entry.Name(); !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range file.Imports {
			imports++
			first, _, _ := strings.Cut(strings.Trim(imported.Path.Value, `"`), "/")
			if strings.Contains(first, ".") || first == "shopfront" {
				t.Errorf("%s imports %s", entry.Name(), imported.Path.Value)
			}
		}
	}
	if imports == 0 {
		t.Error("no imports were found")
	}
}
