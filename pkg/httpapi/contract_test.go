package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shopfront/api"
	"shopfront/pkg/checkout"
	"shopfront/pkg/event"
	"shopfront/pkg/storefront"
	"shopfront/pkg/voucher"
)

// documented is the part of the interface's document that these tests compare with the code.
type documented struct {
	Paths map[string]struct {
		Get struct {
			Description string
			Parameters  []struct {
				Name        string
				Description string
				Schema      struct {
					Minimum, Maximum, Default int
					Enum                      []checkout.OrderStatus
				}
			}
		}
		Post struct {
			RequestBody struct{ Description string }
		}
	}
	Components struct {
		Schemas map[string]struct {
			Properties map[string]struct {
				MaxItems    int
				KnownValues []event.Type `json:"x-extensible-enum"`
			}
		}
	}
}

func document(t *testing.T) documented {
	t.Helper()
	var d documented
	if err := json.Unmarshal([]byte(api.OpenAPI()), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDocument_PageLimits_MatchTheCode(t *testing.T) {
	d := document(t)
	found := false
	for _, parameter := range d.Paths["/shop/{customer}/checkout"].Get.Parameters {
		if parameter.Name != "limit" {
			continue
		}
		found = true
		limits := parameter.Schema
		shop := emberforge(capes(limits.Maximum + 1)...)
		if p, _ := shop.show(t, areaPath); len(p.Products) != limits.Default {
			t.Errorf("by default a page has %d products, but the document says %d", len(p.Products), limits.Default)
		}
		for _, limit := range []int{limits.Minimum, limits.Maximum} {
			if p, _ := shop.show(t, fmt.Sprintf("%s?limit=%d", areaPath, limit)); len(p.Products) != limit {
				t.Errorf("a page has %d products, want %d", len(p.Products), limit)
			}
		}
		for _, limit := range []int{limits.Minimum - 1, limits.Maximum + 1} {
			s := newService(t)
			if a := s.send(s.CheckoutArea(shop),
				get(fmt.Sprintf("%s?limit=%d", areaPath, limit))); a.status != http.StatusUnprocessableEntity {
				t.Errorf("limit %d: %d %.100s, want 422", limit, a.status, a.body)
			}
		}
		if most := d.Components.Schemas["CheckoutArea"].Properties["products"].MaxItems; most != limits.Maximum {
			t.Errorf("the document allows %d products on a page, but the parameter limit goes up to %d", most,
				limits.Maximum)
		}
	}
	if !found {
		t.Error("the limit of a page is not documented")
	}
}

func TestDocument_ShopPage_MatchesTheCode(t *testing.T) {
	operation := document(t).Paths["/shop/{customer}"].Get
	said := regexp.MustCompile(`at most (\d+) products`).FindStringSubmatch(operation.Description)
	if said == nil {
		t.Fatal("the size of a page is not documented")
	}
	most, err := strconv.Atoi(said[1])
	if err != nil {
		t.Fatal(err)
	}
	if shown := shownProducts(visit(emberforge(capes(most+1)...), newService(t),
		get(shopPath)).body); len(shown) != most {
		t.Errorf("a page has %d products, but the document says %d", len(shown), most)
	}
	for _, parameter := range operation.Parameters {
		if parameter.Name != "lang" {
			continue
		}
		var listed []string
		for _, quoted := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(parameter.Description, -1) {
			listed = append(listed, quoted[1])
		}
		if want := storefront.Languages(); !slices.Equal(listed, want) {
			t.Errorf("the document lists the languages %q, the code has %q", listed, want)
		}
		return
	}
	t.Error("the language of a page is not documented")
}

func TestDocument_OrderFilters_MatchTheCode(t *testing.T) {
	found := 0
	for _, parameter := range document(t).Paths[strings.Replace(ordersPath, "emberforge", "{customer}",
		1)].Get.Parameters {
		switch schema := parameter.Schema; parameter.Name {
		case "limit":
			found++
			if schema.Minimum != 1 || schema.Maximum != checkout.MaxOrdersPerPage {
				t.Errorf("the document allows %d to %d orders on a page, the code 1 to %d", schema.Minimum,
					schema.Maximum, checkout.MaxOrdersPerPage)
			}
			s := newService(t)
			listing().asServer(s, fakeOrders{asked: func(arguments ...any) {
				if filter, _ := arguments[1].(checkout.OrderFilter); filter.Limit != schema.Default {
					t.Errorf("by default a page has %d orders, but the document says %d", filter.Limit, schema.Default)
				}
			}})
		case "status":
			found++
			if want := checkout.OrderStatuses(); !slices.Equal(schema.Enum, want) {
				t.Errorf("the document lists the statuses %v, the code has %v", schema.Enum, want)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d filters are documented, want 2", found)
	}
}

func TestDocument_RedemptionLimit_MatchesTheCode(t *testing.T) {
	found := false
	for _, parameter := range document(t).Paths[strings.Replace(redemptionsPath, "emberforge", "{customer}",
		1)].Get.Parameters {
		if parameter.Name != "limit" {
			continue
		}
		found = true
		schema := parameter.Schema
		if schema.Minimum != 1 || schema.Maximum != voucher.MaxRedemptionsPerPage {
			t.Errorf("the document allows %d to %d redemptions on a page, the code 1 to %d", schema.Minimum,
				schema.Maximum, voucher.MaxRedemptionsPerPage)
		}
		s := newService(t)
		s.send(s.ListRedemptions(fakeRedemptions{asked: func(arguments ...any) {
			if filter, _ := arguments[2].(voucher.RedemptionFilter); filter.Limit != schema.Default {
				t.Errorf("by default a page has %d redemptions, but the document says %d", filter.Limit, schema.Default)
			}
		}}), get(redemptionsPath+"?code=SUMMER20", "Authorization", serverKey))
	}
	if !found {
		t.Error("the limit of a page is not documented")
	}
}

func TestDocument_Events_MatchTheCode(t *testing.T) {
	d := document(t)
	found := false
	for _, parameter := range d.Paths[strings.Replace(eventsPath, "emberforge", "{customer}", 1)].Get.Parameters {
		if parameter.Name != "limit" {
			continue
		}
		found = true
		if schema := parameter.Schema; schema.Minimum != 1 || schema.Maximum != event.MaxPerPage ||
			schema.Default != event.MaxPerPage {
			t.Errorf("the document allows %d to %d events on a page, by default %d; the code 1 to %d", schema.Minimum,
				schema.Maximum, schema.Default, event.MaxPerPage)
		}
	}
	if !found {
		t.Error("the limit of a page is not documented")
	}
	if most := d.Components.Schemas["EventPage"].Properties["events"].MaxItems; most != event.MaxPerPage {
		t.Errorf("the document allows %d events on a page, the code %d", most, event.MaxPerPage)
	}
	if types := d.Components.Schemas["Event"].Properties["type"].KnownValues; !slices.Equal(types, event.Types()) {
		t.Errorf("the document lists the event types %v, the code has %v", types, event.Types())
	}
}

func TestDocument_BodySize_MatchesTheCode(t *testing.T) {
	const path = "/shop/{customer}/voucher"
	said := regexp.MustCompile(`^At most (\d+) KiB\.$`).FindStringSubmatch(
		document(t).Paths[path].Post.RequestBody.Description,
	)
	if said == nil {
		t.Fatal("the size of a body is not documented")
	}
	kib, err := strconv.Atoi(said[1])
	if err != nil {
		t.Fatal(err)
	}
	const code = `{"code":"SUMMER-20"}`
	for _, test := range []struct{ size, status int }{
		{kib << 10, http.StatusNotFound},
		{kib<<10 + 1, http.StatusRequestEntityTooLarge},
	} {
		s := newService(t)
		refusing := fakeRedeemer{redeem: func(voucher.Request) (voucher.Redemption, bool, error) {
			return voucher.Redemption{}, false, &voucher.RefusalError{Reason: voucher.ReasonUnknown}
		}}
		a := s.send(s.RedeemVoucher(refusing),
			post("/shop/emberforge/voucher", code+strings.Repeat(" ", test.size-len(code))))
		if a.status != test.status {
			t.Errorf("%d bytes: %d %s, want %d", test.size, a.status, a.body, test.status)
		}
	}
}
