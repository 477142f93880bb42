package infra_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The Makefile's rule, which the SAM CLI calls, builds each function from its folder for the processor that ARCH says, and
// by default for the template's default.
func TestBuildRule(t *testing.T) {
	for arch, parameters := range map[string]map[string]string{
		"": nil, "arm64": {"Architecture": "arm64"}, "amd64": {"Architecture": "x86_64"}, "x86_64": {"Architecture": "x86_64"},
	} {
		goarch := map[string]string{"arm64": "arm64", "x86_64": "amd64"}
		for _, f := range load(t, parameters).Functions() {
			cmd := exec.CommandContext(t.Context(), "make", "--dry-run", "build-"+f.LogicalID, "ARTIFACTS_DIR=/artifacts")
			cmd.Dir = root
			cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // not ARCH, nor what a make that runs this test left there
			if arch != "" {
				cmd.Env = append(cmd.Env, "ARCH="+arch)
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", cmd, err, out)
			}
			for _, want := range []string{
				"CGO_ENABLED=0 ", "GOOS=linux ", "GOARCH=" + goarch[f.Architecture] + " ", "-tags lambda.norpc ", "-trimpath ",
				"-buildvcs=false ", `-ldflags "-s -w" `, `-o "/artifacts/` + f.Handler + `" `, " ./" + f.Package + "\n",
			} {
				if !strings.Contains(string(out), want) {
					t.Errorf("ARCH=%s: %s is built without %q:\n%s", arch, f.Name, want, out)
				}
			}
		}
	}
}
