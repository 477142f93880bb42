package gobuild_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"shopfront/internal/local/gobuild"
)

// The SAM CLI builds deployed functions with the Makefile's rule. Tests and measurements must run the same programs.
func TestFlags_MatchTheMakefile(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	rule := regexp.MustCompile(`CGO_ENABLED=0 GOOS=linux GOARCH=\S+ go build (.*) \\\n`).FindSubmatch(makefile)
	if rule == nil {
		t.Fatal("the Makefile has no rule that builds a function")
	}
	got, want := strings.Join(gobuild.Flags(), " "), strings.ReplaceAll(string(rule[1]), `"`, "")
	if got != want {
		t.Errorf("functions are built with %q; the Makefile uses %q", got, want)
	}
}
