package contract_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/httpapi"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

// documented returns the working document, decoded.
func documented(t *testing.T) any {
	t.Helper()
	text, err := os.ReadFile(root + "/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// at returns the value at a place of a document. The place consists of names and dots.
func at(t *testing.T, document any, place string) any {
	t.Helper()
	for name := range strings.SplitSeq(place, ".") {
		members, _ := document.(map[string]any) // only an object has members
		member, found := members[name]
		if !found {
			t.Fatalf("the document has nothing at %s", place)
		}
		document = member
	}
	return document
}

// The code accepts exactly the strings that match the document's patterns.
func TestDocument_Patterns_MatchWhatTheCodeAccepts(t *testing.T) {
	document := documented(t)
	for place, test := range map[string]struct {
		longest int
		takes   func(string) error
	}{
		"components.schemas.ID.pattern": {
			64, func(text string) error { _, err := catalog.ParseID[catalog.ProductID](text); return err },
		},
		"components.parameters.IdempotencyKey.schema.pattern": {
			255, func(text string) error { _, err := idempotency.ParseKey(text); return err },
		},
		"components.schemas.Payment.properties.provider.pattern": {
			checkout.MaxProviderLength,
			func(text string) error { _, err := checkout.ParsePayment(text, "pi_1"); return err },
		},
		"components.schemas.Payment.properties.reference.pattern": {
			checkout.MaxReferenceLength,
			func(text string) error { _, err := checkout.ParsePayment("stripe", text); return err },
		},
	} {
		t.Run(place, func(t *testing.T) {
			pattern := regexp.MustCompile(at(t, document, place).(string)) //nolint:errcheck // a pattern is a string
			texts := []string{"", "a", strings.Repeat("a", test.longest), strings.Repeat("a", test.longest+1), "é", "a\n"}
			for c := range 256 {
				texts = append(texts, string([]byte{byte(c)}), string([]byte{'a', byte(c), 'b'}))
			}
			for _, text := range texts {
				if err := test.takes(text); pattern.MatchString(text) != (err == nil) {
					t.Errorf("%q: the document's pattern matches: %t, but the code returns %v", text,
						pattern.MatchString(text), err)
				}
			}
		})
	}
}

func TestDocument_Limits_MatchTheCode(t *testing.T) {
	schemas := at(t, documented(t), "components.schemas")
	for _, test := range []struct {
		limit int64
		place string
	}{
		{money.MaxMinor, "Money.properties.minor.maximum"},
		{catalog.MaxAmount, "AmountOfVariant.maximum"},
		{catalog.MaxVariants, "Product.properties.variants.maxItems"},
		{catalog.MaxNameBytes, "Product.properties.name.maxLength"},
		{catalog.MaxNameBytes, "Variant.properties.name.maxLength"},
		{catalog.MaxNameBytes, "CheckoutArea.properties.customer.properties.name.maxLength"},
		{catalog.MaxDescriptionBytes, "Product.properties.description.maxLength"},
		{voucher.MaxWrittenCodeBytes, "VoucherCode.maxLength"},
		{voucher.MaxNickLength, "Nick.maxLength"},
		{checkout.MaxProviderLength, "Order.properties.payment.properties.provider.maxLength"},
		{checkout.MaxReferenceLength, "Order.properties.payment.properties.reference.maxLength"},
		{checkout.MaxReasonBytes, "Order.properties.cancelReason.maxLength"},
		{checkout.MaxReasonBytes, "CancelRequest.properties.reason.maxLength"},
		{checkout.MaxOrdersPerPage, "OrderPage.properties.orders.maxItems"},
		{voucher.MaxBundleItems, "Reward.properties.items.maxItems"},
		{voucher.MaxRedemptionsPerPage, "RedemptionPage.properties.redemptions.maxItems"},
		{voucher.MaxUndoReasonBytes, "StoredRedemption.properties.undoReason.maxLength"},
		{voucher.MaxUndoReasonBytes, "UndoRequest.properties.reason.maxLength"},
	} {
		if got := at(t, schemas, test.place); got != float64(test.limit) {
			t.Errorf("%s is %v, but %d in the code", test.place, got, test.limit)
		}
	}
	percent := at(t, schemas, "Reward.properties.percentOff")
	for _, bound := range []struct {
		name    string
		outside float64
	}{{"minimum", -1}, {"maximum", 1}} {
		limit := at(t, percent, bound.name).(float64) //nolint:errcheck // a bound is a number
		if _, err := voucher.ParseReward(fmt.Sprintf("%v%%", limit), "EUR"); err != nil {
			t.Error(err)
		}
		if reward, err := voucher.ParseReward(fmt.Sprintf("%v%%", limit+bound.outside), "EUR"); err == nil {
			t.Errorf("the code accepts %+v, which is beyond the document's %s", reward, bound.name)
		}
	}
}

// Some limits are only in descriptions, because JSON Schema has no keyword for them.
func TestDocument_LimitsInDescriptions_MatchTheCode(t *testing.T) {
	const checksOut = "paths./shop/{customer}/checkout/{product}/{variant}.get"
	document := documented(t)
	days := func(span time.Duration) string { return fmt.Sprintf("%.0f days after it expired", span.Hours()/24) }
	nick := fmt.Sprintf("%d characters in %d bytes", voucher.MaxNickLength, voucher.MaxNickBytes)
	for _, test := range []struct{ place, words string }{
		{
			"components.schemas.VoucherRequest.properties.code",
			fmt.Sprintf("1 to %d letters and digits", voucher.MaxCodeLength),
		},
		{"components.schemas.VoucherRequest.properties.nick", nick},
		{"components.parameters.Nick", nick},
		{"components.parameters.Data", fmt.Sprintf("%d KiB", checkout.MaxDataBytes>>10)},
		{"components.schemas.UndoRequest.properties.reason", fmt.Sprintf("at most %d bytes", voucher.MaxUndoReasonBytes)},
		{"components.schemas.CancelRequest.properties.reason", fmt.Sprintf("1 to %d bytes", checkout.MaxReasonBytes)},
		{checksOut, fmt.Sprintf("%.0f minutes", checkout.Lifetime.Minutes())},
		{checksOut, fmt.Sprintf("at most %d uses", checkout.MaxHoldsPerSource)},
		{"paths./shop/{customer}/checkouts/{id}.get", days(checkout.Retention)},
		{"paths./shop/{customer}/orders.post", days(checkout.LateOrders)},
	} {
		description, _ := at(t, document, test.place+".description").(string)
		if !strings.Contains(strings.ReplaceAll(description, "\n", " "), test.words) {
			t.Errorf("%s: %q is not in %q", test.place, test.words, description)
		}
	}
}

func TestDocument_ListedValues_MatchTheCode(t *testing.T) {
	schemas := at(t, documented(t), "components.schemas")
	for _, test := range []struct {
		place, folder, kind, prefix string
	}{
		{"Problem.properties.type.x-extensible-enum", "httpapi", "problemType", "urn:problem:shopfront:"},
		{"Reward.properties.kind.x-extensible-enum", "voucher", "RewardKind", ""},
		{"StoredCheckout.properties.status.x-extensible-enum", "checkout", "Status", ""},
		{"Order.properties.status.x-extensible-enum", "checkout", "OrderStatus", ""},
	} {
		var listed []string
		for _, value := range at(t, schemas, test.place).([]any) { //nolint:errcheck // a list
			listed = append(listed, fmt.Sprint(value))
		}
		slices.Sort(listed)
		if want := constants(t, test.folder, test.kind, test.prefix); !slices.Equal(listed, want) {
			t.Errorf("%s lists %q, the code has %q", test.place, listed, want)
		}
	}
}

// constants returns the values of the string constants of a type, each after the prefix. The type named kind is in the
// package pkg/folder.
func constants(t *testing.T, folder, kind, prefix string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "pkg", folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, isValue := node.(*ast.ValueSpec)
			if !isValue {
				return true
			}
			of, isNamed := spec.Type.(*ast.Ident)
			if !isNamed || of.Name != kind || len(spec.Values) != 1 {
				return true
			}
			if literal, isLiteral := spec.Values[0].(*ast.BasicLit); isLiteral {
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, prefix+value)
			}
			return true
		})
	}
	slices.Sort(values)
	return values
}

// The deprecated operation sends the date of the release that deprecated it, and the document's sunset.
func TestDocument_DeprecatedOperation_AgreesWithItsHeaders(t *testing.T) {
	const path = "/shop/{customer}/checkout/{product}/variant/{variant}"
	service := httpapi.Service{
		Now: time.Now, Log: slog.New(slog.DiscardHandler),
		RequestID: func(*http.Request) string { return "r1" },
	}
	recorder := httptest.NewRecorder()
	service.CheckoutVariant(nil).ServeHTTP(recorder,
		httptest.NewRequestWithContext(t.Context(), http.MethodGet,
			"/shop/emberforge/checkout/coins/variant/500?unknown", http.NoBody))
	seconds, err := strconv.ParseInt(strings.TrimPrefix(recorder.Header().Get("Deprecation"), "@"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	sunset, err := http.ParseTime(recorder.Header().Get("Sunset"))
	if err != nil {
		t.Fatal(err)
	}
	if got := at(t, documented(t), "paths."+path+".get.x-sunset"); got != sunset.Format(time.DateOnly) {
		t.Errorf("the sunset is %v in the document, but %v in the header", got, sunset)
	}
	marked := ""
	releases, err := filepath.Glob(root + "/api/releases/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, release := range releases {
		text, err := os.ReadFile(release)
		if err != nil {
			t.Fatal(err)
		}
		var document struct {
			Paths map[string]map[string]struct{ Deprecated bool }
		}
		if err := yaml.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		switch deprecated := document.Paths[path]["get"].Deprecated; {
		case !deprecated:
			marked = ""
		case marked == "":
			marked = strings.TrimSuffix(filepath.Base(release)[len("0000-"):], ".yaml")
		}
	}
	if got := time.Unix(seconds, 0).UTC().Format(time.DateOnly); got != marked {
		t.Errorf("the header says deprecated since %s, but the release that marked it is dated %q", got, marked)
	}
}
