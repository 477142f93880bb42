package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
)

const (
	minJava     = 17
	installJava = ": install Java 17 or later and put it first in PATH" +
		" (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install --cask temurin@17)"
)

// javaVersion matches 17 in `openjdk version "17.0.15" 2025-04-15` and 8 in `java version "1.8.0_391"`.
var javaVersion = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

// findJava returns the path of the java command. Its error says what to install.
func findJava(ctx context.Context) (string, error) {
	path, err := exec.LookPath("java")
	if err != nil {
		return "", errors.New("no java in PATH" + installJava)
	}
	// On macOS, /usr/bin/java may only report that Java is not installed.
	output, err := exec.CommandContext(ctx, path, "-version").CombinedOutput() //nolint:gosec // java, as found in PATH
	if ctx.Err() != nil {
		return "", fmt.Errorf("ask %s for its version: %w", path, context.Cause(ctx))
	}
	match := javaVersion.FindSubmatch(output)
	if err != nil || match == nil {
		return "", fmt.Errorf("%s does not work%s; it says: %.500s", path, installJava, output)
	}
	if version, err := strconv.Atoi(string(match[1])); err != nil || version < minJava {
		return "", fmt.Errorf("%s is Java %s, which is too old%s", path, match[1], installJava)
	}
	return path, nil
}
