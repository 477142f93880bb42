package dynamo

import (
	"testing"

	"shopfront/pkg/voucher"
)

// Stored items are found by these keys: they never change.
func TestKeysNeverChange(t *testing.T) {
	alder := voucher.Nick{Written: "Alder", Compared: "alder"}
	tests := []struct {
		what            string
		key             primaryKey
		partition, sort string
	}{
		{"customer", customerKey{"emberforge"}.primary(), "emberforge", "customer"},
		{"product", productKey{"emberforge", "coins"}.primary(), "emberforge", "product#coins"},
		{"voucher", voucherKey{"emberforge", "SUMMER20"}.primary(), "emberforge#38", "SUMMER20"},
		{"first counter", counterKey{"emberforge", "SUMMER20", 0}.primary(), "emberforge#38", "SUMMER20#c#00"},
		{"last counter", counterKey{"emberforge", "SUMMER20", 63}.primary(), "emberforge#37", "SUMMER20#c#63"},
		{"nick", nickKey{"emberforge", "SUMMER20", alder}.primary(), "emberforge#37", "SUMMER20#n#vy0TwJynl25NcL3wvRbWog"},
		{"redemption", redemptionKey{"emberforge", "SUMMER20", "LRLuWYz8-QoWsPfs4csHfg"}.primary(), "emberforge#13", "SUMMER20#r#LRLuWYz8-QoWsPfs4csHfg"},
		{"checkout", checkoutKey{"emberforge", "LRLuWYz8-QoWsPfs4csHfg"}.primary(), "emberforge", "LRLuWYz8-QoWsPfs4csHfg"},
	}
	for _, test := range tests {
		if test.key != (primaryKey{test.partition, test.sort}) {
			t.Errorf("%s: %q", test.what, test.key)
		}
		if code := codeOf(test.key); test.partition != "emberforge" && code != "SUMMER20" {
			t.Errorf("%s belongs to the code %q", test.what, code)
		}
	}
}
