package pages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"shopfront/internal/contract/changelog"
)

// changelogView is what the changelog page shows.
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

// showReleases prepares the releases, newest first.
func showReleases(releases []changelog.Release) ([]releaseView, error) {
	views := make([]releaseView, len(releases))
	for i, release := range releases {
		number, _, _ := strings.Cut(release.Name, "-")
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("release %q: it should begin with its number", release.Name)
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

// When is the release's date in words.
func (r releaseView) When() string {
	if r.at.IsZero() {
		return "undated"
	}
	return r.at.Format("2 January 2006")
}

// Total counts the changes.
func (r releaseView) Total() string {
	if r.First {
		return "the first document, with nothing to compare it with"
	}
	return r.Counts().String()
}

// categories are the kinds of changes that the release has.
func (r releaseView) categories() []string {
	counts := r.Counts()
	var categories []string
	for _, category := range []struct {
		name  string
		count int
	}{
		{"breaking", counts.Breaking}, {"addition", counts.Additions}, {"modification", counts.Modifications}, {"removal", counts.Removals},
	} {
		if category.count > 0 {
			categories = append(categories, category.name)
		}
	}
	return categories
}
