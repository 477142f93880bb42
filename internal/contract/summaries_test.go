package contract_test

import (
	"strings"
	"testing"
)

func TestChangelog_Summaries(t *testing.T) {
	const oneSentence = "write the summary of release 2 as one sentence"
	// want: part of the error; empty: the summary is shown
	for name, test := range map[string]struct{ file, want string }{
		"a sentence for a release":      {"2: \"Codes of a shop, as in `Kestrel_9`, are redeemed.\"\n", ""},
		"a release that does not exist": {"3: It is not out yet.\n", "release 3 does not exist"},
		"release zero":                  {"0: It never was.\n", "release 0 does not exist"},
		"two sentences":                 {"2: Codes are redeemed. Twice.\n", oneSentence},
		"two lines":                     {"2: |-\n  Codes\n  are redeemed.\n", oneSentence},
		"no full stop":                  {"2: Codes are redeemed\n", oneSentence},
		"an empty sentence":             {"2:\n", oneSentence},
		"a sentence that is too long":   {"2: " + strings.Repeat("a", 300) + ".\n", oneSentence},
		"an unpaired backquote":         {"2: A `code is redeemed.\n", oneSentence},
		"a name instead of a number":    {"next: Codes are redeemed.\n", "summaries.yaml"},
		"two sentences for one release": {"2: Codes are redeemed.\n2: So are ranks.\n", "already defined"},
		"a list instead of a sentence":  {"2: [Codes, ranks]\n", "summaries.yaml"},
		"text instead of a mapping":     {"Codes are redeemed.\n", "summaries.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			root := keep(t, shop, [2]string{"0001-undated", shop}, [2]string{"0002-2026-11-21", shop})
			write(t, root, "api/summaries.yaml", test.file)
			c := open(t, root)
			releases, err := c.Changelog()
			if test.want != "" {
				problems, checkErr := c.Check(t.Context(), routes(), today)
				if err == nil || !strings.Contains(err.Error(), test.want) || checkErr != nil ||
					!strings.Contains(strings.Join(problems, "\n"), test.want) {
					t.Errorf("the error is %v, and the gate says %q, %v; want %q in both", err, problems, checkErr,
						test.want)
				}
				return
			}
			if err != nil || releases[0].Summary != "" || !strings.Contains(releases[1].Summary, "Kestrel_9") {
				t.Errorf("the releases are %+v, %v, want the summary in the second one only", releases, err)
			}
		})
	}
}
