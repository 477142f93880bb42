// Package testshop is a whole Shopfront under test: the built functions behind the Lambda runtime interface and the emulated
// HTTP API, and shopctl, all of which reach DynamoDB Local through a proxy that injects faults into their calls. It is for
// tests only; nothing that ships may import it.
//
// All tests of a test binary share the tables of one DynamoDB Local. Each test has its own customers.
package testshop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/internal/local/gobuild"
	"shopfront/internal/local/localrun"
	"shopfront/internal/local/samtemplate"
	"shopfront/internal/torture/faultproxy"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/operator"
)

// Programs are Shopfront's built programs. Some source files may have been replaced.
type Programs struct {
	root string // of the source tree
	dir  string // the directory that contains the programs
}

// Build builds main packages, such as functions/redeem-voucher and cmd/shopctl, below the test's own directory. Overlay
// has new texts for source files, by their slash-separated paths in the source tree; it may be nil.
func Build(tb testing.TB, overlay map[string]string, packages ...string) Programs {
	tb.Helper()
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		tb.Fatal(err)
	}
	programs := Programs{root: root, dir: tb.TempDir()}
	flags, err := OverlayFlags(root, programs.dir, overlay)
	if err != nil {
		tb.Fatal(err)
	}
	for _, pkg := range packages {
		if err := programs.build(tb.Context(), pkg, flags); err != nil {
			tb.Fatal(err)
		}
	}
	return programs
}

// Shopctl is the path of the operator's command. Run it in Shop.Dir with --local.
func (p Programs) Shopctl() string { return filepath.Join(p.dir, "shopctl") }

// Dir is the root with which localrun.NewRuntime runs these functions, for example with the test's own store.
func (p Programs) Dir() string { return p.dir }

// OverlayFlags returns the flags with which the go command replaces files of a source tree as in Build. It writes the new texts into a
// directory.
func OverlayFlags(root, dir string, overlay map[string]string) (flags []string, err error) {
	if len(overlay) == 0 {
		return nil, nil
	}
	replacements := make(map[string]string)
	for name, text := range overlay {
		file := filepath.Join(dir, fmt.Sprintf("overlay%d.go", len(replacements)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
		replacements[filepath.Join(root, filepath.FromSlash(name))] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": replacements})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "overlay.json")
	return []string{"-overlay", file}, os.WriteFile(file, list, 0o600)
}

func (p Programs) build(ctx context.Context, pkg string, flags []string) error {
	output := p.Shopctl()
	if function, is := strings.CutPrefix(pkg, "functions/"); is {
		output = localrun.Binary(p.dir, function)
	}
	return gobuild.Build(ctx, p.root, output, append(flags, "./"+pkg)...)
}

// Shop is a running Shopfront.
type Shop struct {
	// API is its HTTP API. Serve it without another handler in front, or call it.
	API http.Handler
	// Proxy is the proxy between the shop and DynamoDB Local.
	Proxy *faultproxy.Proxy
	// Dir is the directory in which shopctl --local finds the shop, through the proxy.
	Dir string
	// Operator reaches the store through the proxy, and Calm reaches it directly.
	Operator, Calm *operator.Deployment
}

// Start serves the programs' functions until the test ends. It sets Target in the settings. Functions that were not built
// respond 500. Log receives the functions' log line by line; it may be nil.
func Start(tb testing.TB, programs Programs, settings faultproxy.Settings, log func(function, line string)) *Shop {
	tb.Helper()
	settings.Target = localtest.Endpoint(tb)
	shop, stop, err := start(tb, programs, settings, log)
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Error(err)
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
	return shop
}

func start(tb testing.TB, programs Programs, settings faultproxy.Settings, log func(function, line string)) (shop *Shop, stop func() error, err error) {
	tb.Helper()
	stop = func() error { return nil }
	proxy, err := faultproxy.Start(settings)
	if err != nil {
		return nil, stop, err
	}
	stop = proxy.Close
	template, err := localrun.LoadTemplate(programs.root, proxy.URL())
	if err != nil {
		return nil, stop, err
	}
	for _, table := range template.Tables {
		table.Stream = "" // nothing reads it, and in DynamoDB Local it makes writes several times slower
		if err := table.Create(tb.Context(), localtest.Client(tb), table.Name); err != nil {
			return nil, stop, err
		}
	}
	functions, err := localrun.NewRuntime(programs.dir, template, log)
	if err != nil {
		return nil, stop, err
	}
	stop = func() error { return errors.Join(functions.Close(), proxy.Close()) }
	api, err := localrun.NewGateway(template, functions, time.Now, nil)
	if err != nil {
		return nil, stop, err
	}
	hostile := localrun.State{
		BaseURL:          "http://127.0.0.1", // nothing listens there: tests call API
		DynamoDBEndpoint: proxy.URL(), Region: localtest.Region, PID: os.Getpid(),
		Tables: operator.Tables{
			Catalogue: "CatalogueTable", Vouchers: "VouchersTable", Checkouts: "CheckoutsTable",
		},
	}
	calm := hostile
	calm.DynamoDBEndpoint = settings.Target
	dir := tb.TempDir()
	return &Shop{
		API: api, Proxy: proxy, Dir: dir,
		Operator: hostile.Deployment(rand.Int64N), Calm: calm.Deployment(rand.Int64N),
	}, stop, errors.Join(os.WriteFile(filepath.Join(dir, samtemplate.File), nil, 0o600), hostile.Write(dir))
}

// Load applies a catalogue file, as `shopctl catalog apply` does, but without faults.
func (s *Shop) Load(tb testing.TB, catalogue string) {
	tb.Helper()
	plan, err := s.Calm.PlanCatalogue(tb.Context(), []catalogfile.File{{Name: "catalogue.yaml", Text: []byte(catalogue)}}, false, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	if err := plan.Apply(tb.Context(), func() {}); err != nil {
		tb.Fatal(err)
	}
}
