package dynamolocal

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

const (
	// copyGoal is spelt out, since Maven reports a missing network badly when it looks for a plugin by its short name.
	copyGoal = "org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies"
	// progressInterval is how often a fetch that goes on says so.
	progressInterval = 5 * time.Second
	// mavenGrace is how long Maven may take to stop after SIGTERM.
	mavenGrace = 3 * time.Second
	// lockInterval is how often a fetch that waits for another one checks whether that has finished.
	lockInterval = 100 * time.Millisecond
)

// ErrMavenMissing says that the library has to be fetched and there is no mvn in PATH.
var ErrMavenMissing = errors.New("no mvn in PATH: install Apache Maven 3.6.3 or later" +
	" (Debian, Ubuntu: apt install maven; macOS: brew install maven)")

// Dirs returns where a checkout of this repository at root has the pom.xml and keeps the library: the arguments of
// Fetch. Git ignores the latter.
func Dirs(root string) (pomDir, libDir string) {
	return filepath.Join(root, "infra", "dynamodb-local"), filepath.Join(root, ".shopfront", "dynamodb-local")
}

// Fetch makes sure that libDir holds DynamoDB Local, complete and in the version of the pom.xml in pomDir. If it does
// already, Fetch needs neither Maven nor a network. Otherwise it has Maven resolve about 50 MB, and reports that to
// progress (nil for nowhere), a line at a time. libDir, libDir+".partial" and libDir+".lock" are Fetch's own: it
// replaces what is there. Of several processes one fetches and the others wait for it.
//
// Errors: ErrMavenMissing, ErrJavaMissing and ErrJavaTooOld, joined where several are true; the context's; and a
// download that failed, with the end of Maven's output. After an error libDir is as it was, or incomplete and known to be.
func Fetch(ctx context.Context, pomDir, libDir string, progress io.Writer) error {
	if progress == nil {
		progress = io.Discard
	}
	version, err := pinnedVersion(pomDir)
	if err != nil {
		return err
	}
	if checkComplete(libDir, version) == nil {
		return nil
	}
	libDir, err = filepath.Abs(libDir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(libDir), 0o750); err != nil {
		return err
	}
	lock := flock.New(libDir + ".lock")
	if locked, err := lock.TryLock(); err == nil && !locked {
		say(progress, "waiting for another process that is fetching DynamoDB Local")
	}
	if _, err := lock.TryLockContext(ctx, lockInterval); err != nil {
		return fmt.Errorf("wait to fetch DynamoDB Local: %w", err)
	}
	defer func() { _ = lock.Unlock() }() // the end of the process releases it too; the file stays
	if checkComplete(libDir, version) == nil {
		return nil
	}
	return replace(ctx, pomDir, libDir, version, progress)
}

// replace fetches into a directory beside libDir and puts it in libDir's place once it is complete.
func replace(ctx context.Context, pomDir, libDir, version string, progress io.Writer) error {
	partial := libDir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(partial) }() // what stays is removed by the next fetch
	started := time.Now()
	say(progress, "fetching DynamoDB Local %s with Maven: about 50 MB, only this once", version)
	if err := copyDependencies(ctx, pomDir, partial, progress); err != nil {
		return err
	}
	if err := seal(partial, version); err != nil {
		return fmt.Errorf("fetch DynamoDB Local: %w", err)
	}
	if err := os.RemoveAll(libDir); err != nil {
		return err
	}
	if err := os.Rename(partial, libDir); err != nil {
		return err
	}
	say(progress, "fetched DynamoDB Local %s in %s", version, time.Since(started).Round(time.Second))
	return nil
}

// copyDependencies has Maven put the library of the pom.xml in pomDir into dir.
func copyDependencies(ctx context.Context, pomDir, dir string, progress io.Writer) error {
	_, javaErr := findJava(ctx)
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return errors.Join(ErrMavenMissing, javaErr)
	}
	if javaErr != nil {
		return javaErr
	}
	group, err := newGroup(ctx, dir)
	if err != nil {
		return err
	}
	defer group.end()
	// -U tries again what an earlier run did not find.
	//nolint:gosec // mvn, as found in PATH
	cmd := exec.CommandContext(ctx, mvn, "-B", "-q", "-U", "--strict-checksums", "-Dstyle.color=never",
		copyGoal, "-DincludeScope=runtime", "-DoutputDirectory="+dir)
	group.adopt(cmd)
	cmd.Dir = pomDir
	cmd.Cancel = func() error { return group.signal(syscall.SIGTERM) }
	cmd.WaitDelay = mavenGrace
	output := &tail{}
	cmd.Stdout, cmd.Stderr = output, output

	err = reportWhile(progress, cmd.Run)
	if ctx.Err() != nil {
		return fmt.Errorf("fetching DynamoDB Local was interrupted: %w", context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("maven could not fetch DynamoDB Local (%w); check the network and try again. The end of its output:\n%s", err, output)
	}
	return nil
}

// reportWhile tells progress now and then that run has not returned yet.
func reportWhile(progress io.Writer, run func() error) error {
	started := time.Now()
	result := make(chan error, 1)
	go func() { result <- run() }()
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case err := <-result:
			return err
		case <-ticker.C:
			say(progress, "still fetching, %s so far", time.Since(started).Round(time.Second))
		}
	}
}

// say writes a line to progress. A fetch goes on where nobody reads about it.
func say(progress io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(progress, format+"\n", args...)
}

// pinnedVersion reads DynamoDB Local's version from the pom.xml in pomDir.
func pinnedVersion(pomDir string) (string, error) {
	path := filepath.Join(pomDir, "pom.xml")
	content, err := os.ReadFile(path) //nolint:gosec // the caller's own path
	if err != nil {
		return "", fmt.Errorf("read the version of DynamoDB Local: %w", err)
	}
	var pom struct {
		Dependencies []struct {
			ArtifactID string `xml:"artifactId"`
			Version    string `xml:"version"`
		} `xml:"dependencies>dependency"`
	}
	if err := xml.Unmarshal(content, &pom); err != nil {
		return "", fmt.Errorf("read the version of DynamoDB Local from %s: %w", path, err)
	}
	for _, dependency := range pom.Dependencies {
		if dependency.ArtifactID == artifact && dependency.Version != "" {
			return dependency.Version, nil
		}
	}
	return "", fmt.Errorf("%s names no version of %s", path, artifact)
}
