package dynamolocal

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// manifestName is the marker in a library directory. It names the version, then each file and its size in bytes, and
// is written last: a directory is complete if it has one and agrees with it.
const manifestName = "shopfront-manifest.txt"

// artifact is the name of DynamoDB Local's own file in a library, without version and extension.
const artifact = "DynamoDBLocal"

// seal checks the library that Maven copied to dir, and marks it as complete.
func seal(dir, version string) error {
	if _, err := os.Stat(filepath.Join(dir, artifact+"-"+version+".jar")); err != nil {
		return fmt.Errorf("maven reported success without copying DynamoDB Local: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var manifest strings.Builder
	fmt.Fprintln(&manifest, artifact, version)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if err := checkJar(dir, info); err != nil {
			return err
		}
		fmt.Fprintln(&manifest, info.Size(), info.Name())
	}
	return os.WriteFile(filepath.Join(dir, manifestName), []byte(manifest.String()), 0o600)
}

// checkJar finds a jar that was cut: its directory is at its end. Maven checks what it downloads, but not what it has.
func checkJar(dir string, info fs.FileInfo) error {
	if filepath.Ext(info.Name()) != ".jar" {
		return nil
	}
	jar, err := zip.OpenReader(filepath.Join(dir, info.Name()))
	if err != nil {
		return fmt.Errorf("%s is broken in Maven's local repository (usually ~/.m2/repository): remove it there and try again: %w",
			info.Name(), err)
	}
	return jar.Close()
}

// checkComplete returns nil if dir holds the whole library in that version, or in any if version is empty.
func checkComplete(dir, version string) error {
	content, err := os.ReadFile(filepath.Join(dir, manifestName)) //nolint:gosec // the caller's own path
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	if version != "" && lines[0] != artifact+" "+version {
		return fmt.Errorf("holds %s, not version %s", lines[0], version)
	}
	if len(lines) < 2 {
		return errors.New("the manifest lists no files")
	}
	for _, line := range lines[1:] {
		size, name, _ := strings.Cut(line, " ")
		info, err := fs.Stat(os.DirFS(dir), name)
		if err != nil {
			return err
		}
		if fmt.Sprint(info.Size()) != size {
			return fmt.Errorf("%s has %d bytes, not %s", name, info.Size(), size)
		}
	}
	return nil
}
