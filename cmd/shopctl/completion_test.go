package main

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// completions returns what a shell offers for the last argument.
func (s *shopfront) completions(t *testing.T, args ...string) []string {
	t.Helper()
	got := s.shopctl(t.Context(), append([]string{"__complete"}, args...)...)
	offered, hasDirective := strings.CutSuffix(got.stdout, ":4\n") // :4 tells the shell not to complete file names
	if !hasDirective || got.exit != exitOK ||
		got.stderr != "Completion ended with directive: ShellCompDirectiveNoFileComp\n" {
		t.Errorf("%q: %v", args, got)
	}
	return slices.Collect(strings.SplitSeq(strings.TrimSuffix(offered, "\n"), "\n"))
}

func TestCompletion_Names_AreThoseOfTheTarget(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml", "testdata/sakura-goods.yaml")
	s.must(t, "voucher", "create", "emberforge", "SPRING-5", "--reward", "5%", "--batch", "spring sale")
	s.must(t, "voucher", "create", "emberforge", "ADVENT-5", "--reward", "5%", "--batch", "advent 2026")
	s.must(t, "voucher", "pause", "emberforge", "--batch", "advent 2026", "--batch", "winter")
	s.must(t, "voucher", "delete", "emberforge", "ADVENT-5") // a paused batch is known without its vouchers
	shops := []string{"emberforge\tEmberforge", "sakura-goods\tSakura Goods"}
	batches := []string{"advent 2026", "spring sale", "winter"}
	for line, want := range map[string][]string{
		"voucher list |":                     shops,
		"status |":                           shops,
		"events tail |":                      shops,
		"order cancel s|":                    shops[1:],
		"order cancel emberforge |":          {""},
		"voucher list emberforge --batch |":  batches,
		"voucher list emberforge --batch=s|": batches[1:2],
		"voucher disable emberforge --batch spring\x00sale|":      batches[1:2],
		"voucher pause emberforge --batch winter --batch advent|": batches[:1],
		"voucher generate emberforge --resume |":                  batches,
		"voucher list sakura-goods --batch |":                     {""},
		"voucher list nobody --batch |":                           {""},
		"voucher list --batch |":                                  {""},
		"checkout list emberforge --product |": {
			"coins\tEmber coins", "vip-rank\tVIP rank",
			"winter-cape\tWinter cape",
		},
		"voucher create emberforge JOIN --reward coins|": {
			"coins/500\tEmber coins, 500 coins",
			"coins/1200\tEmber coins, 1200 coins",
		},
		"voucher generate emberforge --reward coins/500+2*vip|":    {"coins/500+2*vip-rank/30-days\tVIP rank, 30 days"},
		"voucher create ../emberforge JOIN --reward |":             {""},
		"voucher create emberforge JOIN --reward 2*winter-cape/x|": {""},
	} {
		words := strings.Fields(strings.Replace(strings.TrimSuffix(line, "|"), " ", " --local ", 1) + "|")
		for i, word := range words {
			words[i] = strings.ReplaceAll(strings.TrimSuffix(word, "|"), "\x00", " ")
		}
		if got := s.completions(t, words...); !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q", line, got, want)
		}
	}
}

// completedNames returns command lines whose last argument names something in the target.
func completedNames() [][]string {
	return [][]string{
		{"voucher", "list", ""},
		{"voucher", "list", "emberforge", "--batch", ""},
		{"checkout", "list", "emberforge", "--product", ""},
		{"voucher", "create", "emberforge", "JOIN", "--reward", ""},
	}
}

func TestCompletion_WithoutTheTarget_OffersNothing(t *testing.T) {
	for name, target := range map[string]struct {
		flags     []string
		variables map[string]string
		lines     [][]string
	}{
		"no target":     {nil, nil, completedNames()},
		"no such stack": {[]string{"--stack", "shopfront-test"}, nil, completedNames()},
		"two targets":   {[]string{"--stack", "shopfront-prod", "--local"}, nil, completedNames()},
		"stack without region": {
			[]string{"--stack", "shopfront-prod"},
			map[string]string{"AWS_REGION": ""},
			completedNames(),
		},
		"unreachable stack": {
			[]string{"--stack", "shopfront-prod"},
			map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
			completedNames()[:1],
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShopfront(t)
			s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
			s.cloud(t)
			for name, value := range target.variables {
				t.Setenv(name, value)
			}
			for _, line := range target.lines {
				if got := s.completions(t, append(target.flags, line...)...); !slices.Equal(got, []string{""}) {
					t.Errorf("%q offers %q, want nothing", line, got)
				}
			}
		})
	}
}

// A shell waits for completions, so a table that does not respond must not hold it up.
func TestCompletion_TableDoesNotRespond_OffersNothing(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.through(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only after this does the server notice that the client disconnects
		<-r.Context().Done()
	}))
	for _, line := range completedNames()[:2] { // only two, because each takes the whole completionTimeout
		if got := s.completions(t, append([]string{"--local"}, line...)...); !slices.Equal(got, []string{""}) {
			t.Errorf("%q offers %q, want nothing", line, got)
		}
	}
}
