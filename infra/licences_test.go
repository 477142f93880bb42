//go:build proofs

package infra_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/licensecheck"
)

// unknown stands for a file that is named like a licence, but whose text does not match a known licence.
const unknown = "UNKNOWN"

// objection returns why an Apache-2.0 program may not link a module with these licences, or "" if it may. It allows the
// licences of category A in https://www.apache.org/legal/resolved.html, which require only attribution.
func objection(licences []string) string {
	allowed := []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0"}
	if len(licences) == 0 {
		return "has no licence"
	}
	for _, licence := range licences {
		if !slices.Contains(allowed, licence) {
			return "is under " + licence
		}
	}
	return ""
}

// licencesIn returns the SPDX identifiers of all licences in a module's folder, sorted.
func licencesIn(t *testing.T, folder string) []string {
	t.Helper()
	isLicence := regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying)(-.*|[.](md|txt))?$`)
	isSummary := regexp.MustCompile(`(?i)-summary`) // only explains which file applies to which part
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		if entry.IsDir() || !isLicence.MatchString(entry.Name()) || isSummary.MatchString(entry.Name()) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		scanned := licensecheck.Scan(content)
		if scanned.Percent < 75 {
			found = append(found, unknown)
			continue
		}
		for _, match := range scanned.Match {
			found = append(found, match.ID)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// `make sbom` runs this test, because cyclonedx-gomod reports at most one licence of a module and misidentifies some.
func TestLicences_LinkedModules_AreCompatible(t *testing.T) {
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "lambda.norpc",
			"-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}={{.Dir}}{{end}}{{end}}", "./functions/...",
			"./cmd/shopctl")
		list.Dir = root
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system)
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		modules := slices.Compact(slices.Sorted(strings.Lines(string(out))))
		if len(modules) < 10 {
			t.Fatalf("only %d modules are linked for %s", len(modules), system)
		}
		for _, line := range modules {
			module, folder, _ := strings.Cut(strings.TrimSpace(line), "=")
			licences := licencesIn(t, folder)
			t.Log(module, licences)
			if why := objection(licences); why != "" {
				t.Errorf("%s %s", module, why)
			}
		}
	}
}
