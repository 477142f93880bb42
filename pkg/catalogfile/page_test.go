package catalogfile_test

import (
	"cmp"
	"testing"

	"shopfront/pkg/catalog"
)

func TestPage_IsReadAndWrittenInItsShortestForm(t *testing.T) {
	const header = "shops:\n  - id: emberforge\n    name: Emberforge\n    currency: EUR\n"
	for _, c := range []struct {
		name, lines string
		want        catalog.Page
		written     string // empty: the same as lines
	}{
		{"left out", "", catalog.Page{}, ""},
		{"off", "    page: off\n", catalog.Page{Off: true}, ""},
		{"off in quotes", "    page: \"off\"\n", catalog.Page{Off: true}, "    page: off\n"},
		{"every field", `    page:
      accent: '#c2410c'
      logo: https://cdn.example/logo.png
      imprint: https://emberforge.example/imprint
      privacy: {url: 'https://emberforge.example/privacy', text: 'Privacy, in short'}
      payment-url: https://pay.emberforge.example/?checkout={checkout}&return={return}
      payment-text: |-
        Transfer the total.
        Name the number {number}.
`, catalog.Page{
			Accent: "#c2410c", Logo: "https://cdn.example/logo.png",
			Imprint:     catalog.Link{URL: "https://emberforge.example/imprint"},
			Privacy:     catalog.Link{URL: "https://emberforge.example/privacy", Text: "Privacy, in short"},
			PaymentURL:  "https://pay.emberforge.example/?checkout={checkout}&return={return}",
			PaymentText: "Transfer the total.\nName the number {number}.",
		}, ""},
		{
			"accent in capitals", "    page: {accent: \"#C2410C\"}\n",
			catalog.Page{Accent: "#c2410c"},
			"    page:\n      accent: '#c2410c'\n",
		},
		{
			"link without a text", "    page: {imprint: {url: https://emberforge.example/}}\n",
			catalog.Page{Imprint: catalog.Link{URL: "https://emberforge.example/"}},
			"    page:\n      imprint: https://emberforge.example/\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			shops := parsed(t, header+c.lines)
			if got := shops[0].Profile.Page; got != c.want {
				t.Errorf("read %+v, want %+v", got, c.want)
			}
			if got, want := written(t, shops...), header+cmp.Or(c.written, c.lines); got != want {
				t.Errorf("written\n%s\nwant\n%s", got, want)
			}
		})
	}
}
