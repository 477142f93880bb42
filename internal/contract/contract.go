// Package contract keeps the promises that the interface makes to its clients. Its files are in api/:
//
//	openapi.yaml    the working document: the interface as this commit serves it
//	releases/       released documents, which are never edited, and their checksums in SHA256SUMS
//	summaries.yaml  for some releases, one sentence that a person wrote
//	openapi.json    rendered: the working document as a function serves it
//	changelog.json  rendered: what each release changed, computed from the released documents
//	pages/          rendered: the pages that show both, and their Content-Security-Policy
//
// Changes are counted by the rules of docs/interface.md, Versioning. The libraries that compare documents are large, so
// only cmd/contract and tests import this package. Functions embed the rendered files from package api.
package contract

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"shopfront/internal/contract/changelog"
)

// Files and folders below api.
const (
	workingFile = "openapi.yaml"
	releasesDir = "releases"
	sumsFile    = "SHA256SUMS"
)

// Pages renders the pages that show the interface, and returns them by their file names. An example is pages.Render.
type Pages func(openAPI []byte, releases []changelog.Release) (map[string][]byte, error)

// Contract is the content of the folder api.
type Contract struct {
	dir      string
	pages    Pages
	working  document
	releases []released
}

// released is a document that is never edited.
type released struct {
	document

	date string // YYYY-MM-DD; empty if unknown
}

// Open reads the contract of the source tree at root. A released document that was edited, added or removed by hand is
// an error.
func Open(root string, pages Pages) (*Contract, error) {
	c := &Contract{dir: filepath.Join(root, "api"), pages: pages}
	text, err := os.ReadFile(filepath.Join(c.dir, workingFile))
	if err != nil {
		return nil, err
	}
	if c.working, err = parse(workingFile, text); err != nil {
		return nil, err
	}
	if c.releases, err = readReleases(os.DirFS(filepath.Join(c.dir, releasesDir))); err != nil {
		return nil, fmt.Errorf("api/%s: %w", releasesDir, err)
	}
	return c, nil
}

func readReleases(dir fs.FS) ([]released, error) {
	sums, err := fs.ReadFile(dir, sumsFile)
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(dir, "*.yaml") // sorted, so the oldest is the first
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("there is no release: restore the released documents from git")
	}
	var releases []released
	found, latest := "", ""
	for i, file := range files {
		text, err := fs.ReadFile(dir, file)
		if err != nil {
			return nil, err
		}
		line := sumLine(file, text)
		if found += line; !strings.Contains(string(sums), line) {
			return nil, fmt.Errorf("%s was edited after its release: its checksum is not in %s. Restore the file "+
				"from git", file, sumsFile)
		}
		name := strings.TrimSuffix(file, ".yaml")
		parts := regexp.MustCompile(`^(\d{4})-(?:undated|(\d{4}-\d{2}-\d{2}))$`).FindStringSubmatch(name)
		if parts == nil || parts[1] != fmt.Sprintf("%04d", i+1) {
			return nil, fmt.Errorf("%s should be %04[2]d-YYYY-MM-DD or %04[2]d-undated: restore the release before "+
				"it from git", file, i+1)
		}
		release := released{date: parts[2]}
		if release.document, err = parse(name, text); err != nil {
			return nil, err
		}
		if release.date != "" && release.date < latest {
			return nil, fmt.Errorf("%s has an earlier date than the release before it: the releases must be in the "+
				"order of their dates", file)
		}
		latest = max(latest, release.date)
		releases = append(releases, release)
	}
	if found != string(sums) {
		return nil, fmt.Errorf("%s lists a document that does not exist: restore it from git", sumsFile)
	}
	return releases, nil
}

// sumLine is the line of a file as sha256sum writes and checks it.
func sumLine(file string, text []byte) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256(text), file)
}

func (c *Contract) last() released { return c.releases[len(c.releases)-1] }

// reconstructed is how many releases this project made from the record (docs/interface.md, The record). They are the
// first releases. This package recognises them by their position, because anybody can write x-reconstructed into a
// document.
const reconstructed = 6

// Changelog computes what each release changed, oldest first.
func (c *Contract) Changelog() ([]changelog.Release, error) {
	summaries, err := c.readSummaries()
	if err != nil {
		return nil, err
	}
	computed := make([]changelog.Release, len(c.releases))
	for i, release := range c.releases {
		computed[i] = changelog.Release{
			Name: release.name, Date: release.date, Summary: summaries[i+1], Reconstructed: i < reconstructed,
			Changes: []changelog.Change{},
		}
		if i == 0 {
			continue
		}
		if computed[i].Changes, err = changes(c.releases[i-1].document, release.document); err != nil {
			return nil, err
		}
	}
	return computed, nil
}
