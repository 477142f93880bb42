package table

import (
	"testing"

	"shopfront/pkg/voucher"
)

// Stored items are found by these keys, so the keys must never change.
func TestKeys_NeverChange(t *testing.T) {
	t.Parallel()
	alder := HashNick(voucher.Nick{Written: "Alder", Compared: "alder"})
	tests := map[string]struct {
		key             Key
		partition, sort string
	}{
		"customer":      {ProfileKey("emberforge"), "emberforge", "customer"},
		"product":       {ProductKey("emberforge", "coins"), "emberforge", "product#coins"},
		"voucher":       {VoucherKey("emberforge", "SUMMER20"), "emberforge#38", "SUMMER20"},
		"first counter": {CounterKey("emberforge", "SUMMER20", 0), "emberforge#38", "SUMMER20#c#00"},
		"last counter":  {CounterKey("emberforge", "SUMMER20", 63), "emberforge#37", "SUMMER20#c#63"},
		"nick":          {NickKey("emberforge", "SUMMER20", alder), "emberforge#37", "SUMMER20#n#vy0TwJynl25NcL3wvRbWog"},
		"redemption": {
			RedemptionKey("emberforge", "SUMMER20", "LRLuWYz8-QoWsPfs4csHfg"), "emberforge#13", "SUMMER20#r#LRLuWYz8-QoWsPfs4csHfg",
		},
		"checkout": {CheckoutKey("emberforge", "LRLuWYz8-QoWsPfs4csHfg"), "emberforge", "LRLuWYz8-QoWsPfs4csHfg"},
	}
	for what, test := range tests {
		if test.key != (Key{test.partition, test.sort}) {
			t.Errorf("%s: %q", what, test.key)
		}
		if code := test.key.Code(); test.partition != "emberforge" && code != "SUMMER20" {
			t.Errorf("%s belongs to the code %q", what, code)
		}
	}
}
