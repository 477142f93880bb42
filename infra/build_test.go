//go:build proofs

package infra_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shopfront/internal/local/gobuild"
)

// dryRun returns the commands that make would run. It clears the environment, because the test may itself run under
// make.
func dryRun(t *testing.T, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"--dry-run"}, arguments...)...)
	cmd.Dir = root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// The SAM CLI calls the Makefile's build rule. ARCH selects the architecture.
func TestBuildRule_EachFunction_IsBuiltFromItsFolder(t *testing.T) {
	flags := strings.Replace(strings.Join(gobuild.Flags(), " "), "-s -w", `"-s -w"`, 1)
	functions := load(t, nil).Functions
	for arch, goarch := range map[string]string{"arm64": "arm64", "amd64": "amd64", "x86_64": "amd64"} {
		arguments := []string{"ARTIFACTS_DIR=/artifacts", "ARCH=" + arch}
		for _, f := range functions {
			arguments = append(arguments, "build-"+f.LogicalID)
		}
		out := strings.ReplaceAll(dryRun(t, arguments...), "\\\n", "")
		for _, f := range functions {
			want := "CGO_ENABLED=0 GOOS=linux GOARCH=" + goarch + " go build " + flags + " \t-o \"/artifacts/" +
				f.Handler + `" ./` + f.Package + "\n"
			if !strings.Contains(out, want) {
				t.Errorf("ARCH=%s: %s is not built by %q:\n%s", arch, f.Name, want, out)
			}
		}
	}
}

// `make build` builds for the architecture in the environment's parameters, into the folder that `sam deploy` reads.
// Builds for this machine have another folder, so they can never be deployed.
func TestBuild_ArchitectureFollowsTheEnvironment(t *testing.T) {
	for _, environment := range []string{"dev", "staging", "prod"} {
		architecture := text(source(t, "infra/parameters/"+environment+".yaml"), "Architecture")
		out := dryRun(t, "build", "ENV="+environment, "VERSION=1.2.3")
		if want := "built .aws-sam/build " + architecture + " 1.2.3\n"; architecture == "" ||
			!strings.Contains(out, want) {
			t.Errorf("make build ENV=%s does not run deployment.py %q:\n%s", environment, want, out)
		}
	}
	if out := dryRun(t, "-o", "docker", "-o", "tables", "invoke-checkout"); strings.Contains(out, ".aws-sam/build") ||
		!strings.Contains(out, "--build-dir .aws-sam/local") ||
		!strings.Contains(out, "--template .aws-sam/local/template.yaml") {
		t.Errorf("a local target uses the folder of `sam deploy`:\n%s", out)
	}
}

func TestPreflight(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	profile := "[default]\nregion = eu-central-1\n[profile till]\nsso_session = shop\n"
	if err := os.WriteFile(config, []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	const region, credentials = "a region:", "credentials:"
	for name, test := range map[string]struct{ environment, missing []string }{
		"nothing is set":     {nil, []string{region, credentials}},
		"AWS_REGION":         {[]string{"AWS_REGION=eu-central-1"}, []string{credentials}},
		"AWS_DEFAULT_REGION": {[]string{"AWS_DEFAULT_REGION=eu-central-1"}, []string{credentials}},
		"keys":               {[]string{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"}, []string{region}},
		"keys and region": {[]string{
			"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b",
			"AWS_REGION=eu-central-1",
		}, nil},
		"a profile's region":      {[]string{"AWS_CONFIG_FILE=" + config}, []string{credentials}},
		"a profile's credentials": {[]string{"AWS_CONFIG_FILE=" + config, "AWS_PROFILE=till"}, []string{region}},
		"a missing profile": {
			[]string{"AWS_CONFIG_FILE=" + config, "AWS_PROFILE=none"},
			[]string{region, credentials},
		},
		"a web identity": {[]string{"AWS_WEB_IDENTITY_TOKEN_FILE=token", "AWS_REGION=eu-central-1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			// -S hides installed libraries, because the preflight runs before any is installed.
			cmd := exec.CommandContext(t.Context(), "python3", "-S", filepath.Join(root, "infra", "deployment.py"),
				"preflight")
			home := t.TempDir()
			cmd.Env = append(test.environment, "PATH="+os.Getenv("PATH"), "HOME="+home,
				"AWS_EC2_METADATA_DISABLED=true")
			out, err := cmd.CombinedOutput()
			if (err == nil) != (test.missing == nil) {
				t.Errorf("%v\n%s", err, out)
			}
			for _, item := range []string{region, credentials} {
				want := false
				for _, missing := range test.missing {
					want = want || missing == item
				}
				if got := strings.Contains(string(out), item); got != want {
					t.Errorf("%s is reported missing: %t, want %t\n%s", item, got, want, out)
				}
			}
		})
	}
}

func TestUnlock_TablesMayLeaveTheStack_ButNotBeReplaced(t *testing.T) {
	const script = `
import sys, unittest.mock
sys.modules["boto3"] = boto3 = unittest.mock.MagicMock()
import deployment
deployment.describe = lambda *_: {"StackStatus": "UPDATE_COMPLETE"}
deployment.unlock("staging")
print(boto3.client().set_stack_policy.call_args.kwargs["StackPolicyBody"])
`
	cmd := exec.CommandContext(t.Context(), "python3", "-B", "-c", script)
	cmd.Dir = filepath.Join(root, "infra")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var policy struct {
		Statement []struct {
			Effect string
			Action any
		}
	}
	if err := json.Unmarshal(out, &policy); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var denied []any
	for _, statement := range policy.Statement {
		if statement.Effect == "Deny" {
			actions, _ := statement.Action.([]any)
			denied = append(denied, actions...)
		}
	}
	if !slices.Equal(denied, []any{"Update:Replace"}) {
		t.Errorf("it denies %v, want only Update:Replace\n%s", denied, out)
	}
}
