package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
)

var update = flag.Bool("update", false, "update the scripts in testdata with their commands' current output") //nolint:gochecknoglobals // a flag of the test

// TestScripts runs each script in testdata against its own Shopfront and compares the output. In a script, a comment
// begins with #, and a command with $. Below each command is its output: lines of stdout, lines of stderr after a !,
// and the exit code unless it is 0. The commands are
//
//	shopctl ARGUMENT...                   as an operator types it; may end in "| sort", which sorts the output
//	redeem SHOP CODE [NICK]           a shopper redeems a code
//	checkout SHOP VARIANT [AMOUNT [DATA [CODE [NICK [REPLACED-ID]]]]]
//	wait DURATION                         time passes
//	export NAME=VALUE                     sets an environment variable
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("%s: the output differs (go test ./cmd/shopctl -run Scripts -update updates it)\n%s", file,
					firstDifference(string(text), got))
			}
		})
	}
}

// runScript runs a script and returns it with the actual output of its commands.
func runScript(t *testing.T, script string) string {
	t.Helper()
	shop := newShopfront(t)
	var got strings.Builder
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
			if got.Len() > 0 {
				got.WriteString("\n")
			}
			fmt.Fprintln(&got, line)
		case strings.HasPrefix(line, "$ "):
			fmt.Fprintln(&got, line)
			got.WriteString(shop.runLine(t, line[2:]))
		}
	}
	return shop.withoutRandomNames(got.String())
}

func (s *shopfront) withoutRandomNames(text string) string {
	tables := s.state.Tables
	return strings.NewReplacer(
		s.dir, "/home/operator/shopfront", s.state.DynamoDBEndpoint, "http://127.0.0.1:8000",
		tables.Catalogue, "CatalogueTable", tables.Vouchers, "VouchersTable", tables.Checkouts, "CheckoutsTable",
		tables.Events, "EventsTable",
	).Replace(text)
}

func (s *shopfront) runLine(t *testing.T, line string) string {
	t.Helper()
	line, sorted := strings.CutSuffix(line, " | sort")
	words := splitWords(t, line)
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	s.clock = s.clock.Add(time.Second)
	switch words[0] {
	case "shopctl":
		got := s.shopctl(t.Context(), words[1:]...)
		if sorted {
			lines := slices.Sorted(strings.Lines(got.stdout))
			got.stdout = strings.Join(lines, "")
		}
		return got.String()
	case "redeem":
		return s.redeem(t, arg(1), arg(2), arg(3)) + "\n"
	case "checkout":
		request := checkout.Request{Replaces: checkout.ID(arg(7))}
		var err error
		if request.Nick, err = voucher.ParseNick(arg(6)); err != nil {
			t.Fatal(err)
		}
		if arg(5) != "" {
			if request.Code, err = voucher.ParseCode(arg(5)); err != nil {
				t.Fatal(err)
			}
		}
		return s.checkOutWith(t, arg(1), arg(2), max(arg(3), "1"), arg(4), request) + "\n"
	case "wait":
		duration, err := time.ParseDuration(arg(1))
		if err != nil {
			t.Fatal(err)
		}
		s.clock = s.clock.Add(duration)
	case "export":
		name, value, _ := strings.Cut(arg(1), "=")
		s.variables[name] = value
	default:
		t.Fatalf("unknown command in a script: %s", line)
	}
	return ""
}

// String formats a result as in a script.
func (r result) String() string {
	text := r.stdout
	for line := range strings.Lines(r.stderr) {
		text += "! " + line
	}
	if r.exit != exitOK {
		text += fmt.Sprintf("[exit %d]\n", r.exit)
	}
	return text
}

// splitWords splits a line as a shell does, with 'single' quotes only.
func splitWords(t *testing.T, line string) []string {
	t.Helper()
	parts := strings.Split(line, "'")
	if len(parts)%2 == 0 {
		t.Fatalf("unclosed quote: %s", line)
	}
	var words []string
	inWord := false
	for i, part := range parts {
		if i%2 == 1 {
			if !inWord {
				words = append(words, "")
			}
			words[len(words)-1] += part
			inWord = true
			continue
		}
		for j, word := range strings.Split(part, " ") {
			if j > 0 {
				inWord = false
			}
			if word == "" {
				continue
			}
			if !inWord {
				words = append(words, "")
				inWord = true
			}
			words[len(words)-1] += word
		}
	}
	return words
}

func firstDifference(want, got string) string {
	wantLines, gotLines := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range wantLines {
		if i >= len(gotLines) || wantLines[i] != gotLines[i] {
			return fmt.Sprintf("line %d: want\n%s\ngot\n%s", i+1,
				strings.Join(wantLines[i:min(i+4, len(wantLines))], "\n"),
				strings.Join(gotLines[min(i, len(gotLines)):min(i+4, len(gotLines))], "\n"))
		}
	}
	return "more lines: " + strings.Join(gotLines[len(wantLines):], "\n")
}
