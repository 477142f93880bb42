// Package testshop is a whole Shopfront under test: the built functions behind the Lambda runtime interface and the emulated
// HTTP API, and shopctl. All of them reach DynamoDB Local through a proxy that injects faults into their calls. The package is for
// tests only; nothing that ships may import it.
//
// All tests of a test binary share the tables of one DynamoDB Local. Each test has its own customers.
package testshop

import (
	"errors"
	"fmt"
	"io"
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
	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/operator"
)

// Programs are Shopfront's built programs. Some source files may have been replaced.
type Programs struct{ dir string }

// Build builds main packages, such as functions/redeem-voucher and cmd/shopctl, below the test's own directory. Overlay
// has new texts for source files, by their slash-separated paths in the source tree; it may be nil.
func Build(tb testing.TB, overlay map[string]string, packages ...string) Programs {
	tb.Helper()
	programs, root, flags := Programs{tb.TempDir()}, findRoot(tb), OverlayFlags(tb, overlay)
	for _, pkg := range packages {
		output := programs.Shopctl()
		if function, is := strings.CutPrefix(pkg, "functions/"); is {
			output = localrun.Binary(programs.dir, function)
		}
		if err := gobuild.Build(tb.Context(), root, output, append(flags, "./"+pkg)...); err != nil {
			tb.Fatal(err)
		}
	}
	return programs
}

func findRoot(tb testing.TB) string {
	tb.Helper()
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		tb.Fatal(err)
	}
	return root
}

// Shopctl returns the path of the operator's command. Run it in Shop.Dir with --local.
func (p Programs) Shopctl() string { return filepath.Join(p.dir, "shopctl") }

// Dir returns the directory that localrun.NewRuntime needs to run these functions, for example with the test's own store.
func (p Programs) Dir() string { return p.dir }

// Shop is a running Shopfront.
type Shop struct {
	// API is the shop's HTTP API. Serve it without another handler in front, or call it.
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
	proxy := StartProxy(tb, settings)
	template := LoadTemplate(tb, proxy.URL())
	for _, table := range template.Tables {
		table.Stream = "" // nothing reads it, and in DynamoDB Local it makes writes several times slower
		if err := table.Create(tb.Context(), localtest.Client(tb), table.Name); err != nil {
			tb.Fatal(err)
		}
	}
	functions, err := localrun.NewRuntime(programs.dir, template, log)
	if err != nil {
		tb.Fatal(err)
	}
	closeAfter(tb, functions)
	api, err := localrun.NewGateway(template, functions, time.Now, nil)
	if err != nil {
		tb.Fatal(err)
	}
	hostile := localrun.State{
		BaseURL:          "http://127.0.0.1", // nothing listens there: tests call API
		DynamoDBEndpoint: proxy.URL(), Region: localtest.Region, PID: os.Getpid(),
		Tables: operator.Tables{Catalogue: "CatalogueTable", Vouchers: "VouchersTable", Checkouts: "CheckoutsTable"},
	}
	calm := hostile
	calm.DynamoDBEndpoint = localtest.Endpoint(tb)
	dir := tb.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, samtemplate.File), nil, 0o600), hostile.Write(dir)); err != nil {
		tb.Fatal(err)
	}
	return &Shop{API: api, Proxy: proxy, Dir: dir, Operator: hostile.Deployment(rand.Int64N), Calm: calm.Deployment(rand.Int64N)}
}

// StartProxy starts a proxy in front of DynamoDB Local, until the test ends. It sets Target in the settings.
func StartProxy(tb testing.TB, settings faultproxy.Settings) *faultproxy.Proxy {
	tb.Helper()
	settings.Target = localtest.Endpoint(tb)
	proxy, err := faultproxy.Start(settings)
	if err != nil {
		tb.Fatal(err)
	}
	closeAfter(tb, proxy)
	return proxy
}

// LoadTemplate loads the source tree's template, for functions that reach the store at an endpoint.
func LoadTemplate(tb testing.TB, endpoint string) *samtemplate.Template {
	tb.Helper()
	template, err := localrun.LoadTemplate(findRoot(tb), endpoint)
	if err != nil {
		tb.Fatal(err)
	}
	return template
}

func closeAfter(tb testing.TB, c io.Closer) {
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
}

// Catalogue returns the catalogue file of a customer that sells 500 coins for 4.99 euros. Each setting is a line about the customer, such
// as "refusals: off".
func Catalogue(customer catalog.CustomerID, settings ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, `customers:
  - id: %s
    name: Emberforge
    currency: EUR
    products: [{id: coins, name: Coins, variants: [{id: "500", name: 500 coins, price: 4.99}]}]
`, customer)
	for _, setting := range settings {
		text.WriteString("    " + setting + "\n")
	}
	return text.String()
}

// Open loads the Catalogue of a customer, and returns the customer's shop, like Customer.
func (s *Shop) Open(tb testing.TB, customer catalog.CustomerID, settings ...string) *operator.Shop {
	tb.Helper()
	s.Load(tb, Catalogue(customer, settings...))
	return s.Customer(tb, customer)
}

// Customer returns a customer's shop, for an operator whose calls bypass the proxy and its faults.
func (s *Shop) Customer(tb testing.TB, customer catalog.CustomerID) *operator.Shop {
	tb.Helper()
	shop, err := s.Calm.Shop(tb.Context(), customer)
	if err != nil {
		tb.Fatal(err)
	}
	return shop
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
