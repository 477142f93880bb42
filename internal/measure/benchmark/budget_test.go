package benchmark

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shopfront/internal/measure/fixture"
)

// budget limits what a function may link and how large its binary may be.
type budget struct {
	function string
	// links are the packages that the function may link in addition to those of the reference. Each includes the
	// packages below it.
	links [][]string
	// sdk says that the function may link the AWS SDK.
	sdk bool
	// growth is the maximum size of the function's binary, as a multiple of the reference's.
	growth float64
}

func budgets() []budget {
	shared := []string{
		"shopfront/pkg/access", "shopfront/pkg/catalog", "shopfront/pkg/checkout", "shopfront/pkg/event",
		"shopfront/pkg/lambdahttp", "shopfront/pkg/httpapi",
		"shopfront/pkg/idempotency", "shopfront/pkg/money", "shopfront/pkg/voucher", "shopfront/pkg/wire",
		"github.com/awslabs/aws-lambda-go-api-proxy", "github.com/go-json-experiment/json", "golang.org/x/text",
		// the HTTP layer imports them, but the linker drops them from functions without pages
		"shopfront/pkg/storefront", "embed",
	}
	stored := []string{"shopfront/pkg/dynamo"}
	validated := []string{"shopfront/pkg/dataschema", "github.com/santhosh-tekuri/jsonschema/v6", "hash/maphash"}
	bus := []string{"github.com/aws/aws-sdk-go-v2/service/eventbridge", "github.com/aws/aws-sdk-go-v2/internal/v4a"}
	return []budget{
		{redeemVoucher, [][]string{shared, stored}, true, 1.2},
		{"checkout-area", [][]string{shared, stored}, true, 1.2},
		{"storefront", [][]string{shared, stored}, true, 1.2},
		{"checkout", [][]string{shared, stored, validated}, true, 1.3},
		{"checkout-variant", [][]string{shared, stored, validated}, true, 1.3},
		{"show-checkout", [][]string{shared, stored}, true, 1.2},
		{"place-order", [][]string{shared, stored}, true, 1.2},
		{"list-orders", [][]string{shared, stored}, true, 1.2},
		{"show-order", [][]string{shared, stored}, true, 1.2},
		{"fulfil-order", [][]string{shared, stored}, true, 1.2},
		{"cancel-order", [][]string{shared, stored}, true, 1.2},
		{"list-redemptions", [][]string{shared, stored}, true, 1.2},
		{"undo-redemption", [][]string{shared, stored}, true, 1.2},
		{"list-events", [][]string{shared, stored}, true, 1.2},
		{"record-events", [][]string{shared, stored}, true, 1.2},
		{"publish-events", [][]string{shared, stored, bus}, true, 1.3},
		{"api-docs", [][]string{shared, {"shopfront/api"}}, false, 1},
		{"removed-payment", [][]string{shared}, false, 1},
	}
}

func TestBudget_EveryFunction_HasABudget(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(root, "functions", "*", "main.go"))
	if err != nil || len(folders) == 0 {
		t.Fatal("no functions were found", err)
	}
	for _, folder := range folders {
		name := filepath.Base(filepath.Dir(folder))
		if !slices.ContainsFunc(budgets(), func(b budget) bool { return b.function == name }) {
			t.Errorf("%s has no budget", name)
		}
	}
}

// A function may link only packages that the reference links or that its budget names.
func TestBudget_Function_LinksOnlyWhatItNeeds(t *testing.T) {
	const backoffice = "shopfront/pkg/backoffice" // the operator's side of the store
	imports := allImports(t)
	reference := linked(imports, "shopfront/"+referencesPackages+"redeem")
	for _, b := range budgets() {
		program := "shopfront/functions/" + b.function
		links := linked(imports, program)
		if len(links) < 50 {
			t.Errorf("%s links only %d packages: %v", b.function, len(links), links)
		}
		for pkg := range links {
			allowed := reference[pkg] || pkg == program ||
				slices.ContainsFunc(slices.Concat(b.links...),
					func(prefix string) bool { return pkg == prefix || strings.HasPrefix(pkg, prefix+"/") })
			if !allowed || pkg == backoffice {
				t.Errorf("%s links %s, which its budget does not allow", b.function, pkg)
			}
			if !b.sdk && strings.HasPrefix(pkg, "github.com/aws/aws-sdk-go-v2/") {
				t.Errorf("%s links %s, although it has no table", b.function, pkg)
			}
		}
	}
}

// allImports returns the direct imports of each package that a function or the reference links.
func allImports(t *testing.T) map[string][]string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports", "-tags",
		"lambda.norpc", "./functions/...", "./"+referencesPackages+"redeem")
	command.Dir = root
	command.Stderr = t.Output()
	list, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	imports := make(map[string][]string)
	for packages := json.NewDecoder(strings.NewReader(string(list))); ; {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := packages.Decode(&pkg); errors.Is(err, io.EOF) {
			return imports
		} else if err != nil {
			t.Fatal(err)
		}
		imports[pkg.ImportPath] = pkg.Imports
	}
}

// linked returns the packages that a main package links, itself included.
func linked(imports map[string][]string, program string) map[string]bool {
	links := make(map[string]bool)
	for next := []string{program}; len(next) > 0; next = next[1:] {
		if !links[next[0]] {
			links[next[0]] = true
			next = append(next, imports[next[0]]...)
		}
	}
	return links
}

func checkSizes(t *testing.T, built fixture.Setup) {
	t.Helper()
	size := func(pkg string) float64 {
		binary, err := os.Stat(built.Binary(pkg))
		if err != nil {
			t.Fatal(err)
		}
		return float64(binary.Size())
	}
	reference := size(referencesPackages + "redeem")
	for _, b := range budgets() {
		growth := size("functions/"+b.function) / reference
		t.Logf("%s is %.2f times the reference", b.function, growth)
		if growth > b.growth {
			t.Errorf("%s is %.2f times the reference, which has %.0f bytes; want at most %g times", b.function, growth,
				reference, b.growth)
		}
	}
}
