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
	// links are the packages that the function may link in addition to those of the reference and the shared ones. Each
	// includes the packages below it.
	links []string
	// sdk says that the function may link the AWS SDK.
	sdk bool
	// growth is the maximum size of the function's binary, as a multiple of the reference's.
	growth float64
}

// budgets returns the budget of each function.
func budgets(t *testing.T) map[string]budget {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(root, "functions", "*", "main.go"))
	if err != nil || len(folders) == 0 {
		t.Fatal("no functions were found", err)
	}
	all := make(map[string]budget)
	for _, folder := range folders {
		all[filepath.Base(filepath.Dir(folder))] = budget{[]string{"shopfront/pkg/dynamo"}, true, 1.2}
	}
	validates := budget{[]string{"shopfront/pkg/dynamo", "shopfront/pkg/dataschema"}, true, 1.2}
	all["checkout"], all["checkout-variant"] = validates, validates
	all["publish-events"] = budget{[]string{
		"shopfront/pkg/dynamo", "github.com/aws/aws-sdk-go-v2/service/eventbridge",
		"github.com/aws/aws-sdk-go-v2/internal/v4a",
	}, true, 1.3}
	all["api-docs"], all["removed-payment"] = budget{[]string{"shopfront/api"}, false, 1}, budget{nil, false, 1}
	return all
}

// shared returns the packages that every function may link.
func shared() []string {
	return []string{
		"shopfront/pkg/access", "shopfront/pkg/catalog", "shopfront/pkg/checkout", "shopfront/pkg/event",
		"shopfront/pkg/lambdahttp", "shopfront/pkg/httpapi", "shopfront/pkg/idempotency", "shopfront/pkg/money",
		"shopfront/pkg/voucher", "shopfront/pkg/wire",
		"github.com/awslabs/aws-lambda-go-api-proxy", "github.com/go-json-experiment/json", "golang.org/x/text",
		// the HTTP layer imports them, but the linker drops them from functions without pages
		"shopfront/pkg/storefront", "embed",
	}
}

// A function may link only packages that the reference links or that its budget names.
func TestBudget_Function_LinksOnlyWhatItNeeds(t *testing.T) {
	const backoffice = "shopfront/pkg/backoffice" // the operator's side of the store
	imports := allImports(t)
	reference := linked(imports, "shopfront/"+referencesPackages+"redeem")
	for function, b := range budgets(t) {
		program := "shopfront/functions/" + function
		links := linked(imports, program)
		if len(links) < 50 {
			t.Errorf("%s links only %d packages: %v", function, len(links), links)
		}
		for pkg := range links {
			allowed := reference[pkg] || pkg == program ||
				slices.ContainsFunc(slices.Concat(shared(), b.links),
					func(prefix string) bool { return pkg == prefix || strings.HasPrefix(pkg, prefix+"/") })
			if !allowed || pkg == backoffice {
				t.Errorf("%s links %s, which its budget does not allow", function, pkg)
			}
			if !b.sdk && strings.HasPrefix(pkg, "github.com/aws/aws-sdk-go-v2/") {
				t.Errorf("%s links %s, although it has no table", function, pkg)
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
	for function, b := range budgets(t) {
		growth := size("functions/"+function) / reference
		t.Logf("%s is %.2f times the reference", function, growth)
		if growth > b.growth {
			t.Errorf("%s is %.2f times the reference, which has %.0f bytes; want at most %g times", function, growth,
				reference, b.growth)
		}
	}
}
