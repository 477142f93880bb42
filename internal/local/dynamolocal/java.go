package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

const (
	minJava = 17
	// javaVersionTimeout bounds asking Java for its version, which takes 50 ms.
	javaVersionTimeout = 20 * time.Second
)

var (
	// ErrJavaMissing says that there is no java in PATH, or none that runs.
	ErrJavaMissing = errors.New("no working java in PATH: install Java 17 or later" +
		" (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install --cask temurin@17)")
	// ErrJavaTooOld says that the first java in PATH is older than 17.
	ErrJavaTooOld = errors.New("java is too old: install Java 17 or later and put it first in PATH" +
		" (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install --cask temurin@17)")
)

// javaVersion finds 17 in `openjdk version "17.0.15" 2025-04-15` and 8 in `java version "1.8.0_391"`.
var javaVersion = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

// findJava returns the path of the java to run. Its errors are ErrJavaMissing and ErrJavaTooOld.
func findJava(ctx context.Context) (string, error) {
	path, err := exec.LookPath("java")
	if err != nil {
		return "", ErrJavaMissing
	}
	ctx, cancel := context.WithTimeout(ctx, javaVersionTimeout)
	defer cancel()
	// macOS has a java of its own that only says that there is none.
	output, err := exec.CommandContext(ctx, path, "-version").CombinedOutput() //nolint:gosec // java, as found in PATH
	if ctx.Err() != nil {
		return "", fmt.Errorf("ask %s for its version: %w", path, context.Cause(ctx))
	}
	match := javaVersion.FindSubmatch(output)
	if err != nil || match == nil {
		return "", fmt.Errorf("%w; %s -version says: %.500s", ErrJavaMissing, path, output)
	}
	version, err := strconv.Atoi(string(match[1]))
	if err != nil || version < minJava {
		return "", fmt.Errorf("%w; %s is Java %s", ErrJavaTooOld, path, match[1])
	}
	return path, nil
}
