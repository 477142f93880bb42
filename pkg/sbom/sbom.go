// Package sbom makes the software bill of materials of a built program, in CycloneDX
// (https://cyclonedx.org/specification/overview/), and tells which of its modules have a licence that an Apache-2.0 program
// may not carry.
//
// It reads what the Go linker recorded in the binary: what is deployed, not what is merely required. It is for cmd/sbom;
// nothing that a function links may import it.
package sbom

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// goLicence is the licence of Go's standard library and runtime (https://go.dev/LICENSE).
const goLicence = "BSD-3-Clause"

// allowed are the licences, by their SPDX identifiers, that ask no more of who passes a program on than to name them: of
// category A for an Apache-2.0 program (https://www.apache.org/legal/resolved.html).
func allowed() []string {
	return []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0"}
}

// Module is a module that a program links.
type Module struct {
	Path, Version string
	// Sum is its checksum as in go.sum.
	Sum string
	// Licences are the SPDX identifiers of the licences in its folder, sorted; UNKNOWN is for the text of another.
	Licences []string
}

// Objection tells why the program may not carry the module. It is empty where it may.
func (m Module) Objection() string {
	if len(m.Licences) == 0 {
		return "has no licence"
	}
	for _, licence := range m.Licences {
		if !slices.Contains(allowed(), licence) {
			return "is under " + licence
		}
	}
	return ""
}

// Program is a built program and what it links.
type Program struct {
	Name string
	// Go is the version of Go that built it, such as 1.26.8.
	Go string
	// SHA256 is the binary's.
	SHA256  [sha256.Size]byte
	Modules []Module // in the order of their paths
}

// Read reads a binary. Folders are those of the modules' sources, by path and version as in "example.org/module@v1.0.0".
func Read(name, binary string, folders map[string]string) (Program, error) {
	content, err := os.ReadFile(binary) //nolint:gosec // what was just built
	if err != nil {
		return Program{}, err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return Program{}, fmt.Errorf("%s: %w", binary, err)
	}
	p := Program{Name: name, Go: strings.TrimPrefix(info.GoVersion, "go"), SHA256: sha256.Sum256(content)}
	for _, linked := range info.Deps {
		if linked.Replace != nil {
			linked = linked.Replace
		}
		folder, known := folders[linked.Path+"@"+linked.Version]
		if !known {
			return Program{}, fmt.Errorf("%s links %s %s, whose sources are not here: build it anew", binary, linked.Path, linked.Version)
		}
		licences, err := licencesIn(folder)
		if err != nil {
			return Program{}, fmt.Errorf("licences of %s: %w", linked.Path, err)
		}
		p.Modules = append(p.Modules, Module{linked.Path, linked.Version, linked.Sum, licences})
	}
	return p, nil
}

// Write writes the bill as CycloneDX 1.6 in JSON. The same program gives the same bytes: it has neither a time nor a serial
// number, both of which the format leaves out if asked to.
func (p Program) Write(w io.Writer) error {
	program := cyclonedx.Component{
		BOMRef: p.Name, Type: cyclonedx.ComponentTypeApplication, Name: p.Name, Licenses: choices([]string{"Apache-2.0"}),
		Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(p.SHA256[:])}},
	}
	components := []cyclonedx.Component{component(Module{Path: "std", Version: p.Go, Licences: []string{goLicence}})}
	for _, module := range p.Modules {
		components = append(components, component(module))
	}
	references := make([]string, len(components))
	for i, c := range components {
		references[i] = c.BOMRef
	}
	bill := cyclonedx.NewBOM()
	bill.Metadata = &cyclonedx.Metadata{Component: &program}
	bill.Components = &components
	bill.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &references}}
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill, cyclonedx.SpecVersion1_6)
}

func component(m Module) cyclonedx.Component {
	// A package URL of Go (https://github.com/package-url/purl-spec/blob/main/types-doc/golang-definition.md). Nothing in a path
	// or a version needs to be percent-encoded but the plus sign of a version such as v2.0.0+incompatible.
	url := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	c := cyclonedx.Component{
		BOMRef: url, PackageURL: url, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, Licenses: choices(m.Licences),
	}
	if m.Sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "shopfront:go.sum", Value: m.Sum}}
	}
	return c
}

func choices(licences []string) *cyclonedx.Licenses {
	var all cyclonedx.Licenses
	for _, id := range licences {
		licence := &cyclonedx.License{ID: id}
		if id == unknown { // which SPDX does not list
			licence = &cyclonedx.License{Name: id}
		}
		all = append(all, cyclonedx.LicenseChoice{License: licence})
	}
	return &all
}
