package dynamolocal_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"shopfront/internal/local/dynamolocal"
)

const mainJar = "DynamoDBLocal-3.1.0.jar"

// copyLibrary is the script of a fake mvn that succeeds. $out is the directory to copy to, and $home is fakeMaven's
// directory.
const copyLibrary = `mkdir -p "$out" && cp "$home"/library/* "$out"`

func TestFetch_IncompleteLibrary_IsReplaced(t *testing.T) {
	for name, damage := range map[string]func(m maven) error{
		"no version": func(m maven) error {
			return os.Remove(filepath.Join(m.libDir, "shopfront-version.txt"))
		},
		"another pom.xml": func(m maven) error {
			return os.WriteFile(filepath.Join(m.pomDir, "pom.xml"), []byte("another version"), 0o600)
		},
		"another launcher": func(m maven) error {
			return os.WriteFile(filepath.Join(m.pomDir, "Launcher.java"), []byte("another version"), 0o600)
		},
		"leftovers of a killed fetch": func(m maven) error {
			return errors.Join(os.RemoveAll(m.libDir), os.Mkdir(m.libDir+".partial", 0o750),
				os.WriteFile(filepath.Join(m.libDir+".partial", "cut.jar"), []byte("PK"), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			maven := fakeMaven(t, copyLibrary)
			for range 2 {
				maven.mustFetch(t)
			}
			maven.wantCalls(t, 1)
			if err := damage(maven); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				maven.mustFetch(t)
			}
			maven.wantCalls(t, 2)
			maven.wantNames(t, "dynamodb-local", "dynamodb-local.lock")
		})
	}
}

func TestFetch_SeveralAtOnce_OneFetches(t *testing.T) {
	maven := fakeMaven(t, "sleep 0.1; "+copyLibrary)
	var fetches sync.WaitGroup
	for range 8 {
		fetches.Go(func() {
			if err := maven.fetch(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	fetches.Wait()
	maven.wantCalls(t, 1)
}

func TestFetch_Failure_LeavesNothingBehind(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"Maven fails": {
			`mkdir -p "$out"; echo junk > "$out/guava.jar"; echo "[ERROR] Could not transfer artifact"; exit 1`,
			"[ERROR] Could not transfer artifact",
		},
		"Maven copies nothing": {`exit 0`, "without copying DynamoDB Local"},
	} {
		t.Run(name, func(t *testing.T) {
			maven := fakeMaven(t, test.script)
			wantError(t, maven.fetch(t.Context()), nil, test.want)
			maven.wantNames(t, "dynamodb-local.lock")
		})
	}
}

func TestFetch_Cancelled_StopsMavenAndItsChildren(t *testing.T) {
	maven := fakeMaven(t, `mkdir -p "$out"; sleep 60 & echo $! > "$home/child"; echo $$ > "$home/parent"; wait`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- maven.fetch(ctx) }()
	parent, child := readPID(t, filepath.Join(maven.home, "parent")), readPID(t, filepath.Join(maven.home, "child"))

	// A fetch that waits for another fetch can be cancelled, too.
	waiting, stopWaiting := context.WithCancel(t.Context())
	stopWaiting()
	wantError(t, maven.fetch(waiting), context.Canceled, "wait to fetch")

	cancel()
	wantError(t, <-result, context.Canceled, "interrupted")
	wantGone(t, parent)
	wantGone(t, child)
	maven.wantNames(t, "dynamodb-local.lock")
}

func TestFetch_NeitherJavaNorMaven_SaysWhatToInstall(t *testing.T) {
	maven := fakeMaven(t, copyLibrary)
	t.Setenv("PATH", "")
	err := maven.fetch(t.Context())
	wantError(t, err, nil, "install Apache Maven")
	wantError(t, err, nil, "install Java 17")
}

// maven is a fake mvn in PATH. Its script decides whether it succeeds, fails or waits.
type maven struct {
	home   string // the directory in which the script finds library/ and counts its calls
	pomDir string
	libDir string
}

// fakeMaven puts two fake commands in PATH: an mvn that runs script, and a java that is new enough.
func fakeMaven(t *testing.T, script string) maven {
	t.Helper()
	home := t.TempDir()
	fakeCommand(t, "java", java17+`touch Launcher.class`)
	fakeCommand(t, "mvn", `home='`+home+`'; echo >> "$home/calls"
for arg; do case "$arg" in -DoutputDirectory=*) out="${arg#*=}" ;; esac; done
`+script)
	library := filepath.Join(home, "library")
	if err := os.Mkdir(library, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"library/" + mainJar, "pom.xml", "Launcher.java"} {
		if err := os.WriteFile(filepath.Join(home, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return maven{home: home, pomDir: home, libDir: filepath.Join(t.TempDir(), "dynamodb-local")}
}

func (m maven) fetch(ctx context.Context) error {
	return dynamolocal.Fetch(ctx, m.pomDir, m.libDir, io.Discard)
}

func (m maven) mustFetch(t *testing.T) {
	t.Helper()
	if err := m.fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// wantCalls checks how often mvn has run.
func (m maven) wantCalls(t *testing.T, want int) {
	t.Helper()
	calls, err := os.ReadFile(filepath.Join(m.home, "calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if len(calls) != want {
		t.Errorf("Maven ran %d times, want %d", len(calls), want)
	}
}

// wantNames checks the names in the directory that contains the library.
func (m maven) wantNames(t *testing.T, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(m.libDir))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if got, want := strings.Join(names, " "), strings.Join(want, " "); got != want {
		t.Errorf("the directory contains %q, want %q", got, want)
	}
}
