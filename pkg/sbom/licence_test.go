package sbom

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestLicencesOfAModule(t *testing.T) {
	apache, err := os.ReadFile("../../LICENSE")
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
		"one":                {map[string]string{"LICENSE": string(apache)}, []string{"Apache-2.0"}},
		"two":                {map[string]string{"LICENSE.txt": string(apache), "LICENCE-parser": isc}, []string{"Apache-2.0", "ISC"}},
		"both in one file":   {map[string]string{"COPYING": string(apache) + isc}, []string{"Apache-2.0", "ISC"}},
		"a summary of them":  {map[string]string{"LICENSE": isc, "LICENSE-SUMMARY": "The parser is under ISC."}, []string{"ISC"}},
		"of its own wording": {map[string]string{"LICENSE": "You may sell coins with this, but no T-shirts."}, []string{unknown}},
		"none":               {map[string]string{"README.md": isc, "license.go": "package license"}, nil},
		"nothing":            {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, text := range test.files {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := licencesIn(folder)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %v, %v; want %v", got, err, test.want)
			}
		})
	}
}

func TestWhatAProgramMayNotCarry(t *testing.T) {
	for want, licences := range map[string][]string{
		"":                      {"Apache-2.0", "MIT"},
		"has no licence":        nil,
		"is under UNKNOWN":      {"MIT", unknown},
		"is under GPL-3.0":      {"GPL-3.0"},
		"is under AGPL-3.0":     {"AGPL-3.0", "MIT"},
		"is under MPL-2.0":      {"BSD-3-Clause", "MPL-2.0"},
		"is under CC-BY-NC-4.0": {"CC-BY-NC-4.0"},
	} {
		if got := (Module{Licences: licences}).Objection(); got != want {
			t.Errorf("%v: %q, want %q", licences, got, want)
		}
	}
}
