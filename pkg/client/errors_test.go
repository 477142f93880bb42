package client_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shopfront/pkg/client"
)

func TestProblems_MatchTheServiceAndTheDocument(t *testing.T) {
	known := client.ProblemTypes()
	names := slices.Sorted(maps.Keys(known))
	if service := serviceProblems(t); !slices.Equal(names, service) {
		t.Errorf("the client knows %q, the service has %q", names, service)
	}
	if documented := documentedProblems(t); !maps.Equal(known, documented) {
		t.Errorf("the client knows %v, documented are %v", known, documented)
	}
}

// serviceProblems returns the constants of type problemType in package httpapi.
func serviceProblems(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../httpapi/problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(node ast.Node) bool {
		constant, is := node.(*ast.ValueSpec)
		if !is {
			return true
		}
		if of, is := constant.Type.(*ast.Ident); !is || of.Name != "problemType" {
			return true
		}
		for _, value := range constant.Values {
			literal, is := value.(*ast.BasicLit)
			if !is {
				t.Fatalf("%v is not a literal", constant.Names)
			}
			name, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		return true
	})
	slices.Sort(names)
	return names
}

// documentedProblems returns the names and statuses in the table under "Problems" in docs/interface.md.
func documentedProblems(t *testing.T) map[string]int {
	t.Helper()
	document, err := os.ReadFile("../../docs/interface.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(document), "\n## Problems\n")
	section, _, _ = strings.Cut(section, "\n## ")
	statuses := make(map[string]int)
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| ([0-9]{3}) \\|").FindAllStringSubmatch(section, -1) {
		if statuses[row[1]], err = strconv.Atoi(row[2]); err != nil {
			t.Fatal(err)
		}
	}
	return statuses
}

func TestProblems_MatchTheirError(t *testing.T) {
	sentinels := map[string]error{
		"malformed-request": client.ErrMalformedRequest, "voucher-not-found": client.ErrVoucherNotFound, "not-found": client.ErrNotFound,
		"method-not-allowed": client.ErrMethodNotAllowed, "gone": client.ErrGone, "content-too-large": client.ErrContentTooLarge,
		"unsupported-media-type": client.ErrUnsupportedMediaType, "invalid": client.ErrInvalid, "idempotency-key-in-use": client.ErrKeyInUse,
		"unauthorized": client.ErrUnauthorized, "too-many-refusals": client.ErrTooManyRefusals,
		"code-refused": client.ErrCodeRefused, "too-many-holds": client.ErrTooManyHolds, "checkout-replaced": client.ErrCheckoutReplaced,
		"redemption-undone": client.ErrRedemptionUndone, "redemption-not-found": client.ErrRedemptionNotFound,
		"redemption-of-order": client.ErrRedemptionOfOrder, "cursor-expired": client.ErrCursorExpired,
		"checkout-expired": client.ErrCheckoutExpired, "payment-mismatch": client.ErrPaymentMismatch, "order-cancelled": client.ErrOrderCancelled,
		"internal": client.ErrInternal, "unavailable": client.ErrUnavailable,
	}
	for name, status := range client.ProblemTypes() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, c := serve(t, problem(name, status))
				_, err := c.Checkout(t.Context(), vipRank(), client.WithKey("till-1047"))
				for other, sentinel := range sentinels {
					if errors.Is(err, sentinel) != (other == name) {
						t.Errorf("%v is %q: %v", err, other, errors.Is(err, sentinel))
					}
				}
				p, is := errors.AsType[*client.ProblemError](err)
				if want := (client.ProblemError{Type: name, Status: status, Title: "A title", Detail: "About Alder.", RequestID: "LdwzhT-lWeWxbXk="}); !is || *p != want {
					t.Errorf("%+v, want %+v", p, want)
				}
				if !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "LdwzhT-lWeWxbXk=") {
					t.Errorf("the error does not name its type: %v", err)
				}
				wantNoSecrets(t, err, "till-1047")
			})
		})
	}
}

func TestProblems_SayWhereARequestIsInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := serve(t, answers(422, `{"type":"urn:problem:shopfront:invalid","title":"Invalid request","status":422,`+
			`"detail":"data /player is required.","parameter":"data","pointer":"/player"}`, "Content-Type", "application/problem+json; charset=utf-8"))
		_, err := c.Checkout(t.Context(), vipRank())
		if p, is := errors.AsType[*client.ProblemError](err); !is || p.Parameter != "data" || p.Pointer != "/player" || p.Detail != "data /player is required." {
			t.Errorf("%+v", p)
		}
		wantNoSecrets(t, err, "till-1047")
	})
}

func TestProblems_SayWhyAVoucherWasRefused(t *testing.T) {
	_, c := serve(t, answers(404, `{"type":"urn:problem:shopfront:voucher-not-found","title":"Voucher not found","status":404,"reason":"used_up"}`,
		"Content-Type", "application/problem+json"))
	_, err := c.Check(t.Context(), "WELCOME-COINS", "Alder")
	if p, is := errors.AsType[*client.ProblemError](err); !is || p.Reason != "used_up" || !errors.Is(err, client.ErrVoucherNotFound) {
		t.Errorf("%+v", err)
	}
}

func TestProblems_SayWhyACodeWasRefused(t *testing.T) {
	_, c := serve(t, answers(409, `{"type":"urn:problem:shopfront:code-refused","title":"Code refused","status":409,"reason":"no_discount"}`,
		"Content-Type", "application/problem+json"))
	_, err := c.Checkout(t.Context(), summerRank())
	if p, is := errors.AsType[*client.ProblemError](err); !is || p.Reason != "no_discount" || !errors.Is(err, client.ErrCodeRefused) {
		t.Errorf("%+v", err)
	}
}

func TestProblems_SayWhenToRetry(t *testing.T) {
	for name, is := range map[string]error{"too-many-refusals": client.ErrTooManyRefusals, "too-many-holds": client.ErrTooManyHolds} {
		s, _ := serve(t, problem(name, 429, "Retry-After", "540"))
		c := newClient(t, "http://shop.example", client.WithHTTPClient(s.http), client.WithAttempts(1))
		_, err := c.Checkout(t.Context(), summerRank())
		p, isProblem := errors.AsType[*client.ProblemError](err)
		if !isProblem || p.RetryAfter != 9*time.Minute || !errors.Is(err, is) || errors.Is(err, client.ErrThrottled) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

func TestProblems_OfTheGateway(t *testing.T) {
	for _, status := range []int{404, 413, 429, 500, 503} {
		synctest.Test(t, func(t *testing.T) {
			_, c := serve(t, message(status))
			_, err := c.Check(t.Context(), "WELCOME-COINS", "")
			p, is := errors.AsType[*client.ProblemError](err)
			if !is || p.Type != "" || p.Status != status || p.RequestID != "evD1rncej6jAXAQ=" || errors.Is(err, client.ErrThrottled) != (status == 429) {
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
