package testshop_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"shopfront/internal/memdynamo"
	"shopfront/internal/torture/testshop"
)

func TestShop_FunctionsAndShopctl_CallItsStore(t *testing.T) {
	programs := testshop.Build(t)
	shop := testshop.Start(t, programs, testshop.Settings{Dials: memdynamo.Dials{
		Seed: 1, Rates: memdynamo.Rates{memdynamo.LostResponse: 0.3}, Delay: 10 * time.Millisecond,
	}})
	shop.Open(t, "minecave")

	create := exec.CommandContext(t.Context(), programs.Shopctl(), "--local", "--json", "voucher", "create", "minecave",
		"LAUNCH-26", "--reward", "coins/500")
	create.Dir = shop.Dir
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("shopctl: %v: %s", err, out)
	}
	recorder := testshop.Redemption("LAUNCH-26", "").Send(t.Context(), shop.API, "minecave")
	var redemption struct{ Status string }
	if err := json.Unmarshal(recorder.Body.Bytes(), &redemption); err != nil || recorder.Code != http.StatusOK ||
		redemption.Status != "redeemed" {
		t.Fatalf("a redemption got %d %s", recorder.Code, recorder.Body)
	}
	if calls := shop.Store.Calls(); calls["PutItem"] == 0 || calls["UpdateItem"] == 0 {
		t.Errorf("the command or the function bypasses the store: %v", calls)
	}
}

func TestBuildChanged_Overlay_ReplacesTheSource(t *testing.T) {
	programs := testshop.BuildChanged(t, map[string]string{
		"cmd/shopctl/main.go": "package main\n\nfunc main() { println(\"replaced\") }\n",
	}, "cmd/shopctl")
	out, err := exec.CommandContext(t.Context(), programs.Shopctl()).CombinedOutput()
	if err != nil || string(out) != "replaced\n" {
		t.Errorf("the built program printed %q, %v; want \"replaced\"", out, err)
	}
}
