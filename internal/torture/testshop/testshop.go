// Package testshop is a whole Shopfront under test: the built functions behind the Lambda runtime interface and the
// emulated HTTP API, and shopctl. All of them reach a DynamoDB in memory that injects faults into their calls. The
// package is for tests only; nothing that ships may import it.
//
// All tests of a test binary share the tables of one DynamoDB in memory. Each test has its own shops.
package testshop

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shopfront/internal/local/gobuild"
	"shopfront/internal/local/localrun"
	"shopfront/internal/local/samtemplate"
	"shopfront/internal/memdynamo"
	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
)

// Programs is a directory with Shopfront's built programs.
type Programs struct{ dir string }

// Build builds all programs from the source tree. Tests share the result.
func Build(tb testing.TB) Programs {
	tb.Helper()
	dir, err := gobuild.Programs(tb.Context(), findRoot(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return Programs{dir}
}

// BuildChanged returns all programs, but builds some of them from changed sources: main packages such as
// functions/redeem-voucher and cmd/shopctl. Overlay has new texts for source files, by their slash-separated paths in
// the source tree.
func BuildChanged(tb testing.TB, overlay map[string]string, packages ...string) Programs {
	tb.Helper()
	changed := Build(tb).Linked(tb)
	root, flags := findRoot(tb), overlayFlags(tb, overlay)
	for _, pkg := range packages {
		output := changed.Path(path.Base(pkg))
		if err := os.Remove(output); err != nil {
			tb.Fatal(err)
		}
		if err := gobuild.Build(tb.Context(), root, output, append(flags, "./"+pkg)...); err != nil {
			tb.Fatal(err)
		}
	}
	return changed
}

func findRoot(tb testing.TB) string {
	tb.Helper()
	root, err := samtemplate.FindRoot(".")
	if err != nil {
		tb.Fatal(err)
	}
	return root
}

// Linked returns the same programs under other paths, so that a test can tell its processes from those of other tests.
func (p Programs) Linked(tb testing.TB) Programs {
	tb.Helper()
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		tb.Fatal(err)
	}
	linked := Programs{tb.TempDir()}
	for _, entry := range entries {
		if err := os.Symlink(p.Path(entry.Name()), linked.Path(entry.Name())); err != nil {
			tb.Fatal(err)
		}
	}
	return linked
}

// Path returns the path of a program, such as redeem-voucher.
func (p Programs) Path(name string) string { return filepath.Join(p.dir, name) }

// Shopctl returns the path of the operator's command. Run it in Shop.Dir with --local.
func (p Programs) Shopctl() string { return p.Path("shopctl") }

// Dir returns the directory of the programs, for localrun.NewRuntime.
func (p Programs) Dir() string { return p.dir }

// Shop is a running Shopfront.
type Shop struct {
	// API is the shop's HTTP API. Serve it without another handler in front, or call it.
	API http.Handler
	// Store is the shop's way to the database.
	Store *memdynamo.Endpoint
	// Dir is the directory in which shopctl --local finds the shop.
	Dir string
	// Operator reaches the database as the shop does, and Calm reaches it without faults.
	Operator, Calm *backoffice.Deployment
}

// Settings says how a shop reaches the database. The zero value changes nothing.
type Settings struct {
	memdynamo.Dials

	// Front is in front of the shop's way to the database. It may be nil.
	Front func(store http.Handler) http.Handler
	// Log receives the functions' log line by line. It may be nil.
	Log func(function, line string)
}

// Start serves the programs' functions until the test ends.
func Start(tb testing.TB, programs Programs, settings Settings) *Shop {
	tb.Helper()
	dynamotest.InMemory(tb)
	store := dynamotest.Memory().Endpoint(settings.Dials)
	tb.Cleanup(store.Settle)
	front := http.Handler(store)
	if settings.Front != nil {
		front = settings.Front(store)
	}
	url := dynamotest.Serve(tb, front)
	template := LoadTemplate(tb, url)
	for _, table := range template.Tables {
		table.Stream = "" // nothing reads it
		if err := table.Create(tb.Context(), dynamotest.Client(tb), table.Name); err != nil {
			tb.Fatal(err)
		}
	}
	functions := localrun.NewRuntime(programs.dir, template, settings.Log)
	tb.Cleanup(func() { _ = functions.Close() }) // always nil
	api, err := localrun.NewGateway(template, functions, time.Now, nil)
	if err != nil {
		tb.Fatal(err)
	}
	hostile := localrun.State{
		BaseURL:          "http://127.0.0.1", // nothing listens there: tests call API
		DynamoDBEndpoint: url, Region: dynamotest.Region, PID: os.Getpid(),
		Tables: backoffice.Tables{Catalogue: "CatalogueTable", Vouchers: "VouchersTable", Checkouts: "CheckoutsTable"},
	}
	calm := hostile
	calm.DynamoDBEndpoint = dynamotest.Endpoint(tb)
	dir := tb.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, samtemplate.File), nil, 0o600),
		hostile.Write(dir)); err != nil {
		tb.Fatal(err)
	}
	return &Shop{
		API: api, Store: store, Dir: dir, Operator: hostile.Deployment(rand.Int64N),
		Calm: calm.Deployment(rand.Int64N),
	}
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

// Catalogue returns the catalogue file of a shop that sells 500 coins for 4.99 euros. Each setting is a line about
// the shop, such as "refusals: off".
func Catalogue(shop catalog.ShopID, settings ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, `shops:
  - id: %s
    name: Emberforge
    currency: EUR
    products: [{id: coins, name: Coins, variants: [{id: "500", name: 500 coins, price: 4.99}]}]
`, shop)
	for _, setting := range settings {
		text.WriteString("    " + setting + "\n")
	}
	return text.String()
}

// Open loads the Catalogue of a shop, and returns the shop, like BackOffice.
func (s *Shop) Open(tb testing.TB, shop catalog.ShopID, settings ...string) *backoffice.Shop {
	tb.Helper()
	s.Load(tb, Catalogue(shop, settings...))
	return s.BackOffice(tb, shop)
}

// BackOffice returns a shop, for an operator whose calls meet no faults.
func (s *Shop) BackOffice(tb testing.TB, shopID catalog.ShopID) *backoffice.Shop {
	tb.Helper()
	shop, err := s.Calm.Shop(tb.Context(), shopID)
	if err != nil {
		tb.Fatal(err)
	}
	return shop
}

// Load applies a catalogue file, as `shopctl catalog apply` does, but without faults.
func (s *Shop) Load(tb testing.TB, catalogue string) {
	tb.Helper()
	plan, err := s.Calm.PlanCatalogue(tb.Context(),
		[]catalogfile.File{{Name: "catalogue.yaml", Text: []byte(catalogue)}}, false, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	if err := plan.Apply(tb.Context(), func() {}); err != nil {
		tb.Fatal(err)
	}
}
