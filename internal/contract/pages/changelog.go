package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"shopfront/internal/contract/changelog"
)

// changelogView is the data of the changelog page.
type changelogView struct {
	frame
	Releases []releaseView
}

type releaseView struct {
	changelog.Release
	Number int
	First  bool
	at     time.Time // zero: undated
}

// showReleases returns the releases for the pages, newest first.
func showReleases(releases []changelog.Release) ([]releaseView, error) {
	views := make([]releaseView, len(releases))
	for i, release := range releases {
		number, _, _ := strings.Cut(release.Name, "-")
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("release %q: the name must start with the number", release.Name)
		}
		views[i] = releaseView{Release: release, Number: n, First: i == 0}
		if release.Date != "" {
			if views[i].at, err = time.Parse(time.DateOnly, release.Date); err != nil {
				return nil, fmt.Errorf("release %s: %w", release.Name, err)
			}
		}
	}
	slices.Reverse(views)
	return views, nil
}

// When returns the date in words.
func (r releaseView) When() string {
	if r.at.IsZero() {
		return "undated"
	}
	return r.at.Format("2 January 2006")
}

// Total returns the counts of the changes in words.
func (r releaseView) Total() string {
	if r.First {
		return "the first document, with nothing to compare it with"
	}
	return r.Counts().String()
}

// PubDate returns the date in the format of RSS, or "" without a date.
func (r releaseView) PubDate() string {
	if r.at.IsZero() {
		return ""
	}
	return r.at.Format(http.TimeFormat)
}
