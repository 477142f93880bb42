package table

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/checkout"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// A partition key value takes 1,000 write units a second. The index takes a unit for each order, and another when it is
// fulfilled. In the table a checkout takes a unit, and an order in a transaction two, as does its payment.
func TestKeys_FourThousandOrdersASecondInOneShop_LeaveRoomOnEachKey(t *testing.T) {
	t.Parallel()
	units := make(map[string]int)
	for i := range 4000 {
		id := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		token := idempotency.Token(base64.RawURLEncoding.EncodeToString(id[:16]))
		units[CheckoutKey("emberforge", token).Partition] += 1 + 2
		units[PaymentKey("emberforge", checkout.Payment{Provider: "stripe", Reference: string(token)}).Partition] += 2
		units["index "+ShelfOf("emberforge", token)]++
	}
	for key, taken := range units {
		if taken > 600 {
			t.Errorf("%s takes %d units a second, want at most 600", key, taken)
		}
	}
	if len(units) != Buckets+Shelves {
		t.Errorf("%d keys are written, want %d", len(units), Buckets+Shelves)
	}
}

// Stored items are found by these keys, so the keys must never change.
func TestKeys_NeverChange(t *testing.T) {
	t.Parallel()
	alder := voucher.Nick{Written: "Alder", Compared: "alder"}
	tests := map[string]struct {
		key             Key
		partition, sort string
	}{
		"customer":      {ProfileKey("emberforge"), "emberforge", "customer"},
		"product":       {ProductKey("emberforge", "coins"), "emberforge", "product#coins"},
		"off sale":      {OffSaleKey("emberforge", "coins"), "emberforge", "offsale#coins"},
		"voucher":       {VoucherKey("emberforge", "SUMMER20"), "emberforge#38", "SUMMER20"},
		"first counter": {CounterKey("emberforge", "SUMMER20", 0), "emberforge#38", "SUMMER20#c#00"},
		"last counter":  {CounterKey("emberforge", "SUMMER20", 63), "emberforge#37", "SUMMER20#c#63"},
		"nick": {
			NickKey("emberforge", "SUMMER20", voucher.NickID("emberforge", "SUMMER20", alder)), "emberforge#55",
			"SUMMER20#n#9uMW-fzcvGk",
		},
		"redemption": {
			RedemptionKey("emberforge", "SUMMER20", "LRLuWYz8-QoWsPfs4csHfg"), "emberforge#13",
			"SUMMER20#r#LRLuWYz8-QoWsPfs4csHfg",
		},
		"refusals of an address": {
			RefusalKey("emberforge", access.Source{Name: "203.0.113.7"}, time.Unix(1795348800, 0)), "emberforge#32",
			"203.0.113.7#1795348800",
		},
		"refusals of a network": {
			RefusalKey("emberforge", access.Source{Name: "2001:db8:5::/48", Subnet: "00a1"}, time.Unix(1795348800, 0)),
			"emberforge#22", "2001:db8:5::/48#1795348800",
		},
		"redemption in the index of nicks": {
			NickIndexKey("emberforge", voucher.Nick{Compared: "alder"}, time.UnixMilli(1795348800000),
				"MTCXgwWFAhhCzmYLdegdjw"),
			"emberforge#47", "n#vy0TwJynl25NcL3wvRbWog#001795348800000#MTCXgwWFAhhCzmYLdegdjw",
		},
		"checkout": {
			CheckoutKey("emberforge", "LRLuWYz8-QoWsPfs4csHfg"), "emberforge#31", "P19XV#LRLuWYz8-QoWsPfs4csHfg",
		},
		"payment": {
			PaymentKey("emberforge", checkout.Payment{Provider: "stripe", Reference: "pi_1047"}), "emberforge#11",
			"pay#stripe#pi_1047",
		},
		"shelf of an order": {Key{ShelfOf("emberforge", "LRLuWYz8-QoWsPfs4csHfg"), ""}, "emberforge#03", ""},
	}
	for name, test := range tests {
		if test.key != (Key{test.partition, test.sort}) {
			t.Errorf("%s: key %q, want partition %q and sort key %q", name, test.key, test.partition, test.sort)
		}
		if code := test.key.Code(); strings.HasPrefix(test.sort, "SUMMER20") && code != "SUMMER20" {
			t.Errorf("%s: the key belongs to the code %q, want SUMMER20", name, code)
		}
	}
}
