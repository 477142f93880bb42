package dynamolocal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	// copyGoal is the full name of the Maven goal. With the short name, Maven's message about a missing network is
	// misleading.
	copyGoal = "org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies"
	// markName is the file that marks a complete library directory. It contains the version, and is written last.
	markName = "shopfront-version.txt"
	launcher = "Launcher.java"
	// lockInterval is how often a waiting fetch checks whether the other fetch has finished.
	lockInterval = 100 * time.Millisecond
)

// errMavenMissing means that the library must be fetched, but mvn is not in PATH.
var errMavenMissing = errors.New("no mvn in PATH: install Apache Maven 3.6.3 or later" +
	" (Debian, Ubuntu: apt install maven; macOS: brew install maven)")

// Dirs returns the arguments of Fetch for the source tree at root: the directory of the pom.xml, and the directory of
// the library. Git ignores the library.
func Dirs(root string) (pomDir, libDir string) {
	return filepath.Join(root, "infra", "dynamodb-local"), filepath.Join(root, ".shopfront", "dynamodb-local")
}

// Fetch makes sure that libDir contains the DynamoDB Local that pomDir describes: the dependencies of the pom.xml, and
// the compiled launcher. If libDir is complete, Fetch needs neither Maven nor a network. Otherwise Maven downloads
// about 50 MB, and Fetch writes lines to progress. Fetch may replace libDir and libDir+".partial". If several processes
// call Fetch at the same time, one process fetches and the others wait for its lock, the file libDir+".lock".
//
// If Java or Maven is missing, the error says what to install. If a download fails, the error contains the end of
// Maven's output. After an error, libDir is either unchanged, or incomplete in a way that the next Fetch notices.
func Fetch(ctx context.Context, pomDir, libDir string, progress io.Writer) error {
	pomDir, err := filepath.Abs(pomDir)
	if err != nil {
		return err
	}
	wanted, err := describe(pomDir)
	if err != nil || isComplete(libDir, wanted) {
		return err
	}
	if libDir, err = filepath.Abs(libDir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(libDir), 0o750); err != nil {
		return err
	}
	lock := flock.New(libDir + ".lock")
	defer func() { _ = lock.Unlock() }() // the file stays: if it were removed, two processes could lock different files
	if locked, err := lock.TryLock(); err == nil && !locked {
		say(progress, "waiting for another process that is fetching DynamoDB Local")
	}
	if _, err := lock.TryLockContext(ctx, lockInterval); err != nil {
		return fmt.Errorf("wait to fetch DynamoDB Local: %w", err)
	}
	if isComplete(libDir, wanted) {
		return nil
	}
	partial := libDir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(partial) }() // if this fails, the next fetch removes it
	say(progress, "fetching DynamoDB Local with Maven: about 50 MB, only this once")
	if err := fill(ctx, pomDir, partial); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(partial, markName), []byte(wanted), 0o600); err != nil {
		return err
	}
	if err := os.RemoveAll(libDir); err != nil {
		return err
	}
	return os.Rename(partial, libDir)
}

// say writes a line to progress. It ignores write errors, because they do not affect the fetch.
func say(progress io.Writer, line string) { _, _ = fmt.Fprintln(progress, line) }

// fill copies the library to dir with Maven, and compiles the launcher there.
func fill(ctx context.Context, pomDir, dir string) error {
	java, javaErr := findJava(ctx)
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return errors.Join(errMavenMissing, javaErr)
	}
	if javaErr != nil {
		return javaErr
	}
	// -U retries downloads that failed in an earlier run.
	if err := execute(ctx, pomDir, mvn, "-B", "-q", "-U", "--strict-checksums", "-Dstyle.color=never",
		copyGoal, "-DincludeScope=runtime", "-DoutputDirectory="+dir); err != nil {
		return fmt.Errorf("maven could not fetch DynamoDB Local; check the network and try again: %w", err)
	}
	if jars, err := fs.Glob(os.DirFS(dir), "DynamoDBLocal-*.jar"); err != nil || len(jars) == 0 {
		return errors.New("maven reported success without copying DynamoDB Local")
	}
	// -cp sets Java's class path. The compiler uses the same class path, because it gets none of its own.
	if err := execute(ctx, dir, java, "-cp", "*", "org.eclipse.jdt.internal.compiler.batch.Main",
		"-source", "17", "-target", "17", "-d", ".", filepath.Join(pomDir, launcher)); err != nil {
		return fmt.Errorf("compile the launcher of DynamoDB Local: %w", err)
	}
	return nil
}

func execute(ctx context.Context, dir, path string, args ...string) error {
	printed := newOutput()
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // mvn or java, as found in PATH
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = printed, printed
	ownGroup(cmd)
	err := cmd.Start()
	if err == nil {
		err = wait(cmd)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("%w. The end of its output:\n%s", err, printed)
	}
	return nil
}

// describe returns the version of the library that pomDir describes.
func describe(pomDir string) (string, error) {
	var all []byte
	for _, name := range []string{"pom.xml", launcher} {
		content, err := os.ReadFile(filepath.Join(pomDir, name)) //nolint:gosec // the caller's own path
		if err != nil {
			return "", fmt.Errorf("read which DynamoDB Local to fetch: %w", err)
		}
		all = append(all, content...)
	}
	return fmt.Sprintf("DynamoDB Local as of %x\n", sha256.Sum256(all)), nil
}

// isComplete reports whether dir contains the complete library of the wanted version.
func isComplete(dir, wanted string) bool {
	version, err := os.ReadFile(filepath.Join(dir, markName)) //nolint:gosec // the caller's own path
	return err == nil && string(version) == wanted
}
