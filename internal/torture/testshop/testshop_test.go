package testshop_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"shopfront/internal/torture/faultproxy"
	"shopfront/internal/torture/testshop"
)

const catalogue = `
customers:
  - id: minecave
    name: Minecave
    currency: EUR
    products:
      - id: coins
        name: Coins
        variants:
          - id: "500"
            name: 500 coins
            price: 4.99
`

func TestShop_FunctionsAndShopctl_CallTheStoreThroughTheProxy(t *testing.T) {
	programs := testshop.Build(t, nil, "functions/redeem-voucher", "cmd/shopctl")
	shop := testshop.Start(t, programs, faultproxy.Settings{
		Seed: 1, Rates: map[faultproxy.Fault]float64{faultproxy.LostAnswer: 0.3}, Delay: 10 * time.Millisecond,
	}, nil)
	shop.Load(t, catalogue)

	create := exec.CommandContext(t.Context(), programs.Shopctl(), "--local", "--json", "voucher", "create", "minecave", "LAUNCH-26", "--reward", "coins/500")
	create.Dir = shop.Dir
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/shop/minecave/voucher", strings.NewReader(`{"code":"LAUNCH-26"}`))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	shop.API.ServeHTTP(recorder, request)
	var redemption struct{ Status string }
	if err := json.Unmarshal(recorder.Body.Bytes(), &redemption); err != nil || recorder.Code != http.StatusOK || redemption.Status != "redeemed" {
		t.Fatalf("%d %s", recorder.Code, recorder.Body)
	}
	if calls := shop.Proxy.Calls(); calls["PutItem"] == 0 || calls["UpdateItem"] == 0 {
		t.Errorf("the command or the function bypasses the proxy: %v", calls)
	}
}

func TestBuild_Overlay_ReplacesTheSource(t *testing.T) {
	programs := testshop.Build(t, map[string]string{
		"cmd/shopctl/main.go": "package main\n\nfunc main() { println(\"replaced\") }\n",
	}, "cmd/shopctl")
	out, err := exec.CommandContext(t.Context(), programs.Shopctl()).CombinedOutput()
	if err != nil || string(out) != "replaced\n" {
		t.Errorf("%v: %s", err, out)
	}
}
