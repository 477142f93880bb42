package benchmark_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"shopfront/internal/measure/benchmark"
)

const root = "../../.."

// What a function may link beside what a bare function does: of other modules what is named here, and of the standard
// library nothing that is not.
var (
	shared = []string{ //nolint:gochecknoglobals // a constant
		"shopfront/pkg/catalog", "shopfront/pkg/checkout", "shopfront/pkg/lambdahttp", "shopfront/pkg/httpapi", "shopfront/pkg/idempotency",
		"shopfront/pkg/money", "shopfront/pkg/voucher",
		"github.com/awslabs/aws-lambda-go-api-proxy", "github.com/go-json-experiment/json", "golang.org/x/text",
	}
	stored    = []string{"shopfront/pkg/dynamo"}                                                                          //nolint:gochecknoglobals // a constant
	validated = []string{"shopfront/pkg/dataschema", "github.com/santhosh-tekuri/jsonschema/v6", "embed", "hash/maphash"} //nolint:gochecknoglobals // a constant
)

// backoffice is the operator's side of the store.
const backoffice = "shopfront/pkg/dynamo/backoffice"

// function is what a function may be and link.
type function struct {
	name  string
	links [][]string
	sdk   bool
	// growth is how large its binary may be, as a multiple of bare's.
	growth float64
}

func functions() []function {
	return []function{
		{"redeem-voucher", [][]string{shared, stored}, true, 1.2},
		{"checkout-area", [][]string{shared, stored}, true, 1.2},
		{"checkout", [][]string{shared, stored, validated}, true, 1.3},
		{"checkout-variant", [][]string{shared, stored, validated}, true, 1.3},
		{"api-docs", [][]string{shared, {"shopfront/api", "embed"}}, false, 1},
		{"removed-payment", [][]string{shared}, false, 1},
	}
}

func TestEveryFunctionHasABudget(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(root, "functions", "*", "main.go"))
	if err != nil || len(folders) == 0 {
		t.Fatal("no functions", err)
	}
	for _, folder := range folders {
		name := filepath.Base(filepath.Dir(folder))
		if !slices.ContainsFunc(functions(), func(f function) bool { return f.name == name }) {
			t.Errorf("%s has none", name)
		}
	}
}

func TestFunctionsLinkOnlyWhatTheyNeed(t *testing.T) {
	bare := linked(t, "internal/measure/reference/redeem")
	for _, f := range functions() {
		links := linked(t, "functions/"+f.name)
		for _, pkg := range links {
			allowed := slices.Contains(bare, pkg) || pkg == "shopfront/functions/"+f.name ||
				slices.ContainsFunc(slices.Concat(f.links...), func(prefix string) bool { return pkg == prefix || strings.HasPrefix(pkg, prefix+"/") })
			if !allowed || pkg == backoffice {
				t.Errorf("%s links %s", f.name, pkg)
			}
			if !f.sdk && strings.HasPrefix(pkg, "github.com/aws/aws-sdk-go-v2/") {
				t.Errorf("%s links %s, and has no table", f.name, pkg)
			}
		}
	}
}

// linked are the packages that a main package links.
func linked(t *testing.T, pkg string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "lambda.norpc", "./"+pkg)
	command.Dir = root
	command.Stderr = t.Output()
	list, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(list))
}

func TestBinariesAreHardlyLargerThanBareOnes(t *testing.T) {
	dir := t.TempDir()
	sizes := make([]int64, len(functions())+1)
	turns := make(chan struct{}, runtime.NumCPU())
	var building sync.WaitGroup
	for i, f := range append(functions(), function{name: "bare"}) {
		building.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			pkg := "functions/" + f.name
			if f.name == "bare" {
				pkg = "internal/measure/reference/redeem"
			}
			binary, err := benchmark.Build(t.Context(), root, dir, pkg)
			if err != nil {
				t.Error(err)
				return
			}
			info, err := os.Stat(binary)
			if err != nil {
				t.Error(err)
				return
			}
			sizes[i] = info.Size()
		})
	}
	building.Wait()
	if t.Failed() {
		return
	}
	bare := sizes[len(sizes)-1]
	for i, f := range functions() {
		growth := float64(sizes[i]) / float64(bare)
		t.Logf("%s: %.1f MB, %.2f times bare's", f.name, float64(sizes[i])/1e6, growth)
		if growth > f.growth {
			t.Errorf("%s has %d bytes, %.2f times bare's; at most %g times is wanted", f.name, sizes[i], growth, f.growth)
		}
	}
}
