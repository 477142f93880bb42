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

func TestLicences_InAFolder_AreIdentified(t *testing.T) {
	apache, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	const isc = `Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby
granted, provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED
WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR
CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT,
NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.
`
	for name, test := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"one licence": {map[string]string{"LICENSE": string(apache)}, []string{"Apache-2.0"}},
		"two licences": {
			map[string]string{"LICENSE.txt": string(apache), "LICENCE-parser": isc},
			[]string{"Apache-2.0", "ISC"},
		},
		"two in one file": {map[string]string{"COPYING": string(apache) + isc}, []string{"Apache-2.0", "ISC"}},
		"a licence's summary": {
			map[string]string{"LICENSE": isc, "LICENSE-SUMMARY": "The parser is under ISC."},
			[]string{"ISC"},
		},
		"an unknown licence": {
			map[string]string{"LICENSE": "You may sell coins with this, but no T-shirts."},
			[]string{unknown},
		},
		"no licence": {map[string]string{"README.md": isc, "license.go": "package license"}, nil},
		"no file":    {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, text := range test.files {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := licencesIn(t, folder); !slices.Equal(got, test.want) {
				t.Errorf("got %v; want %v", got, test.want)
			}
		})
	}
}

func TestLicences_NotAllowed_AreReported(t *testing.T) {
	for want, licences := range map[string][]string{
		"":                      {"Apache-2.0", "MIT"},
		"has no licence":        nil,
		"is under UNKNOWN":      {"MIT", unknown},
		"is under GPL-3.0":      {"GPL-3.0"},
		"is under AGPL-3.0":     {"AGPL-3.0", "MIT"},
		"is under MPL-2.0":      {"BSD-3-Clause", "MPL-2.0"},
		"is under CC-BY-NC-4.0": {"CC-BY-NC-4.0"},
	} {
		if got := objection(licences); got != want {
			t.Errorf("%v: %q, want %q", licences, got, want)
		}
	}
}
