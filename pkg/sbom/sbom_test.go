package sbom_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"

	"shopfront/pkg/sbom"
)

// build builds the command that makes bills, which is a program like any other.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "sbom")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "../../cmd/sbom").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return binary
}

func TestTheBillOfAProgram(t *testing.T) {
	listed, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Path}}@{{.Version}}={{.Dir}}", "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := make(map[string]string)
	for line := range strings.Lines(string(listed)) {
		module, folder, _ := strings.Cut(strings.TrimSpace(line), "=")
		folders[module] = folder
	}
	program, err := sbom.Read("sbom", build(t), folders)
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := program.Write(&first); err != nil {
		t.Fatal(err)
	}
	if err := program.Write(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("two bills of one program differ, %v", err)
	}
	var bill cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(&first, cyclonedx.BOMFileFormatJSON).Decode(&bill); err != nil {
		t.Fatal(err)
	}
	if name := bill.Metadata.Component.Name; name != "sbom" {
		t.Errorf("it is the bill of %s", name)
	}
	if len(*(*bill.Dependencies)[0].Dependencies) != len(*bill.Components) {
		t.Error("not all components are dependencies")
	}
	licences := make(map[string]string)
	for _, c := range *bill.Components {
		licences[c.Name] = (*c.Licenses)[0].License.ID
		if !strings.HasPrefix(c.PackageURL, "pkg:golang/"+c.Name+"@") {
			t.Errorf("%s has the URL %s", c.Name, c.PackageURL)
		}
	}
	for name, want := range map[string]string{
		"std": "BSD-3-Clause", "github.com/CycloneDX/cyclonedx-go": "Apache-2.0", "github.com/google/licensecheck": "BSD-3-Clause",
	} {
		if licences[name] != want {
			t.Errorf("%s is under %q, want %s; the bill has %v", name, licences[name], want, licences)
		}
	}
	if licences["github.com/aws/aws-sdk-go-v2"] != "" {
		t.Error("the bill has a module that go.mod requires and the program does not link")
	}
}

func TestAProgramOfOtherSourcesIsRefused(t *testing.T) {
	if _, err := sbom.Read("sbom", build(t), nil); err == nil || !strings.Contains(err.Error(), "build it anew") {
		t.Errorf("got %v", err)
	}
	if _, err := sbom.Read("sbom", "sbom_test.go", nil); err == nil {
		t.Error("a text is no program")
	}
}
