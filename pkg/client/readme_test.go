package client_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What README.md shows in Go is a part of the examples of this package, which are run.
func TestTheReadmeShowsWhatIsRun(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(shown) == 0 {
		t.Error("README.md shows no Go")
	}
	for _, block := range shown {
		if !strings.Contains(string(examples), block[1]) {
			t.Errorf("not in the examples:\n%s", block[1])
		}
	}
}
