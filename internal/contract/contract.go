package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"shopfront/internal/contract/changelog"
	"shopfront/internal/contract/pages"
)

// Files of the contract, below the folder api.
const (
	workingFile   = "openapi.yaml"
	renderedFile  = "openapi.json"
	changelogFile = "changelog.json"
	releasesDir   = "releases"
	sumsFile      = "SHA256SUMS"
)

// Pages makes the pages that show the interface from the working document in JSON and the changelog.
type Pages func(openAPI []byte, releases []changelog.Release) (pages.Pages, error)

// Contract is what stands in the folder api of a checkout.
type Contract struct {
	dir      string
	pages    Pages
	working  []byte
	releases []released
}

// released is a document that is never edited.
type released struct {
	name string // 0002-2023-09-19
	date string // YYYY-MM-DD, empty: undated
	text []byte
}

// Open reads the contract of the checkout at root. A released document that was edited, added or taken away by hand is an
// error.
func Open(root string, pages Pages) (*Contract, error) {
	c := &Contract{dir: filepath.Join(root, "api"), pages: pages}
	var err error
	if c.working, err = os.ReadFile(filepath.Join(c.dir, workingFile)); err != nil {
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
	files, err := fs.Glob(dir, "*.yaml") // sorted, so oldest first
	if err != nil {
		return nil, err
	}
	var releases []released
	var found bytes.Buffer
	for i, file := range files {
		text, err := fs.ReadFile(dir, file)
		if err != nil {
			return nil, err
		}
		found.WriteString(sumLine(file, text))
		if !bytes.Contains(sums, []byte(sumLine(file, text))) {
			return nil, fmt.Errorf("%s was edited after it was released: %s has another sum for it, or none. Put it back", file, sumsFile)
		}
		release, err := nameRelease(i+1, strings.TrimSuffix(file, ".yaml"))
		if err != nil {
			return nil, err
		}
		release.text = text
		releases = append(releases, release)
	}
	if !bytes.Equal(found.Bytes(), sums) {
		return nil, fmt.Errorf("%s lists a document that is not there: put it back", sumsFile)
	}
	if len(releases) == 0 {
		return nil, errors.New("there is no release")
	}
	return releases, checkDates(releases)
}

// sumLine is the line of a file as sha256sum writes and checks it.
func sumLine(file string, text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]) + "  " + file + "\n"
}

func nameRelease(number int, name string) (released, error) {
	parts := regexp.MustCompile(`^(\d{4})-(?:undated|(\d{4}-\d{2}-\d{2}))$`).FindStringSubmatch(name)
	if parts == nil || parts[1] != fmt.Sprintf("%04d", number) {
		return released{}, fmt.Errorf("%s.yaml should be %04d and a date, or undated: put back what is missing before it", name, number)
	}
	return released{name: name, date: parts[2]}, nil
}

// checkDates wants the dated releases in the order of their dates.
func checkDates(releases []released) error {
	dates := slices.DeleteFunc(slices.Clone(releases), func(r released) bool { return r.date == "" })
	if !slices.IsSortedFunc(dates, func(a, b released) int { return strings.Compare(a.date, b.date) }) {
		return errors.New("the releases are not in the order of their dates")
	}
	return nil
}

func (c *Contract) last() released { return c.releases[len(c.releases)-1] }

// reconstructed is how many releases, the first ones, were made from the record: docs/decisions/0019. It is their place that
// tells, for anybody can write x-reconstructed into a document.
const reconstructed = 6

// Changelog computes what each release changed, oldest first.
func (c *Contract) Changelog() ([]changelog.Release, error) {
	summaries, err := c.readSummaries()
	if err != nil {
		return nil, err
	}
	computed := make([]changelog.Release, len(c.releases))
	for i, release := range c.releases {
		revision, err := parse(release.name, release.text)
		if err != nil {
			return nil, err
		}
		computed[i] = changelog.Release{
			Name: release.name, Date: release.date, Summary: summaries[i+1], Reconstructed: i < reconstructed, Changes: []changelog.Change{},
		}
		if i == 0 {
			continue
		}
		base, err := parse(c.releases[i-1].name, c.releases[i-1].text)
		if err != nil {
			return nil, err
		}
		if computed[i].Changes, err = changes(base, revision); err != nil {
			return nil, err
		}
	}
	return computed, nil
}
