//go:build proofs

package infra_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// machine simulates a machine: it returns a folder of commands to use as the PATH. Each command runs a line of shell.
func machine(t *testing.T, commands map[string]string) string {
	t.Helper()
	path := t.TempDir()
	for _, name := range []string{"bash", "dirname", "sed", "grep"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, line := range commands {
		if err := os.WriteFile(filepath.Join(path, name), []byte("#!"+filepath.Join(path, "bash")+"\n"+line+"\n"),
			0o700); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestPrerequisites(t *testing.T) {
	const (
		apt      = `[[ $1 != install ]] || echo "INSTALLED $*"`
		admin    = "echo 0"
		user     = "echo 1000"
		newGo    = `[[ $1 != policy ]] || echo "  Candidate: 2:1.24~2"`
		oldGo    = `[[ $1 != policy ]] || echo "  Candidate: 2:1.19~1"`
		noJava17 = `[[ $1 != show ]]`
	)
	for name, test := range map[string]struct {
		purpose  string
		commands map[string]string
		ok       bool
		want     string
	}{
		"nothing is missing": {
			"run",
			map[string]string{"go": "", "java": "", "mvn": ""},
			true, "",
		},
		"root on Debian installs the packages": {
			"run",
			map[string]string{"go": "", "java": "", "apt-get": apt, "id": admin},
			true,
			"install -y -qq --no-install-recommends maven\n",
		},
		"root installs Go if the package is new enough": {
			"run",
			map[string]string{"java": "", "mvn": "", "apt-get": apt, "apt-cache": newGo, "id": admin},
			true,
			"recommends golang-go\n",
		},
		"root does not install an old Go": {
			"run",
			map[string]string{"java": "", "mvn": "", "apt-get": apt, "apt-cache": oldGo, "id": admin},
			false,
			"https://go.dev/dl/",
		},
		"a release without Java 17 gets its default Java": {
			"run",
			map[string]string{"go": "", "mvn": "", "apt-get": apt, "apt-cache": noJava17, "id": admin},
			true,
			"recommends default-jre-headless\n",
		},
		"another user gets a command": {
			"run",
			map[string]string{"go": "", "java": "", "apt-get": apt, "id": user},
			false,
			"sudo apt-get install -y --no-install-recommends maven\n",
		},
		"brew gets a command": {
			"run",
			map[string]string{"java": "", "brew": ""},
			false,
			"brew install go maven\n",
		},
		"without apt-get or brew, missing packages are named": {
			"run",
			map[string]string{"go": "", "java": "false", "mvn": ""},
			false, "Missing: openjdk-17-jre-headless.",
		},
		"tests need the samples' runtimes": {
			"test",
			map[string]string{"go": "", "mvn": "", "apt-get": apt, "id": admin, "git": "", "ps": ""},
			true,
			"recommends openjdk-17-jdk-headless nodejs php-cli curl openssl\n",
		},
		"proofs need Python": {
			"proofs",
			map[string]string{"go": "", "java": "", "mvn": "", "apt-get": apt, "id": admin},
			true,
			"recommends python3-venv\n",
		},
		"the race detector needs gcc": {
			"ci", map[string]string{
				"go": "", "make": "", "mvn": "", "javac": "", "node": "", "npm": "", "chromium": "", "php": "",
				"curl":    "",
				"openssl": "", "git": "", "ps": "", "python3": "", "apt-get": apt, "id": admin,
			}, true, "recommends gcc libc6-dev\n",
		},
		".ci/run itself needs make": {
			"ci", map[string]string{
				"go": "", "mvn": "", "javac": "", "node": "", "npm": "", "chromium": "", "php": "", "curl": "",
				"openssl": "", "git": "",
				"ps": "", "python3": "", "gcc": "", "apt-get": apt, "id": admin,
			}, true, "recommends make\n",
		},
		"tests in a browser need Chromium and npm": {
			"browser",
			map[string]string{"go": "", "java": "", "mvn": "", "node": "", "apt-get": apt, "id": admin},
			true,
			"recommends npm chromium fonts-liberation\n",
		},
		"Ubuntu has another name for Chromium": {
			"browser",
			map[string]string{
				"go": "", "java": "", "mvn": "", "node": "", "npm": "", "apt-get": apt,
				"apt-cache": `echo "  Candidate: (none)"`, "id": admin,
			},
			true,
			"recommends chromium-browser fonts-liberation\n",
		},
		"apt-cache prints more after the version": {
			"browser",
			map[string]string{
				"go": "", "java": "", "mvn": "", "node": "", "npm": "", "apt-get": apt, "id": admin,
				"apt-cache": `echo "  Candidate: 156.0"; for ((line = 0; line < 50000; line++)); do echo "  more"; done`,
			},
			true,
			"recommends chromium fonts-liberation\n",
		},
		"Chrome replaces Chromium": {
			"browser",
			map[string]string{"go": "", "java": "", "mvn": "", "node": "", "npm": "", "google-chrome": ""},
			true, "",
		},
		"a deployment needs Python and Go": {
			"deploy",
			map[string]string{"brew": ""},
			false,
			"brew install go python\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := machine(t, test.commands)
			cmd := exec.CommandContext(t.Context(), filepath.Join(path, "bash"),
				filepath.Join(root, ".ci", "prerequisites"), test.purpose)
			cmd.Env = []string{"PATH=" + path}
			out, err := cmd.CombinedOutput()
			if (err == nil) != test.ok || !strings.Contains(string(out), test.want) || test.want == "" && len(out) > 0 {
				t.Errorf("error %v, want success: %t, and %q in the output:\n%s", err, test.ok, test.want, out)
			}
		})
	}
}
