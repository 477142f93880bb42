package contract_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/internal/contract/changelog"
)

const root = "../.."

// recorded reads the changes that docs/interface.md records, by date. Undated changes are under "". A row with an empty
// first cell has the date of the row above.
func recorded(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/interface.md")
	if err != nil {
		t.Fatal(err)
	}
	changes := make(map[string][]string)
	date := ""
	for _, row := range regexp.MustCompile("(?m)^\\|([^|`]*)\\| `([A-Z]+ [^`]+)` \\| (added|modified|removed)(, "+
		"breaking)?[^|]* \\|$").FindAllStringSubmatch(string(text), -1) {
		when, operation, kind, breaking := strings.TrimSpace(row[1]), row[2], row[3], row[4]
		if when == "not dated" {
			date = ""
		} else if when != "" {
			parsed, err := time.Parse("2 January 2006", when)
			if err != nil {
				t.Fatal(err)
			}
			date = parsed.Format(time.DateOnly)
		}
		changes[date] = append(changes[date], kind+" "+operation+breaking)
	}
	for _, list := range changes {
		slices.Sort(list)
	}
	return changes
}

// inWords returns a change as text.
func inWords(c changelog.Change) string {
	text := fmt.Sprintf("%s %s %s", c.Kind, c.Method, c.Path)
	if c.Breaking {
		text += ", breaking"
	}
	return text
}

// inWordsWithDetails returns a change and its details as text. An exclamation mark precedes each breaking detail.
func inWordsWithDetails(c changelog.Change) string {
	parts := make([]string, len(c.Details))
	for i, detail := range c.Details {
		parts[i] = detail.Text
		if detail.Breaking {
			parts[i] = "! " + detail.Text
		}
	}
	if len(parts) == 0 {
		return inWords(c)
	}
	return inWords(c) + ": " + strings.Join(parts, "; ")
}

func TestChangelog_ReconstructedReleases_MatchTheRecord(t *testing.T) {
	releases, err := open(t, root).Changelog()
	if err != nil {
		t.Fatal(err)
	}
	computed := make(map[string][]string)
	for _, release := range releases {
		if release.Reconstructed {
			for _, change := range release.Changes {
				computed[release.Date] = append(computed[release.Date], inWords(change))
			}
		}
	}
	want := recorded(t)
	if len(want) != 3 || len(computed) != 3 {
		t.Fatalf("recorded %v, computed %v", want, computed)
	}
	for date, changes := range computed {
		slices.Sort(changes)
		if !slices.Equal(changes, want[date]) {
			t.Errorf("release of %q: computed %q, want %q as recorded", date, changes, want[date])
		}
	}
	for i, want := range []string{
		"0001-undated: 0 structure changes",
		"0002-2023-09-19: 6 structure changes: 5 breaking, 1 addition, 5 removals",
		"0003-undated: 1 structure change: 1 modification",
		"0004-undated: 1 structure change: 1 breaking, 1 modification",
		"0005-2024-01-05: 3 structure changes: 1 breaking, 1 addition, 1 modification, 1 removal",
		"0006-undated: 2 structure changes: 1 breaking, 1 addition, 1 removal",
	} {
		if got := releases[i].Name + ": " + releases[i].Counts().String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestChangelog_ReconstructedReleases_NameTheirDetails(t *testing.T) {
	releases, err := open(t, root).Changelog()
	if err != nil {
		t.Fatal(err)
	}
	details := make(map[string]string)
	for _, release := range releases {
		for _, change := range release.Changes {
			for _, detail := range change.Details {
				details[release.Name] += detail.Text + "\n"
			}
		}
	}
	for name, want := range map[string][]string{
		"0003-undated":    {"added the non-success response with the status `404`"},
		"0004-undated":    {"`query` request parameter `amount`", "`query` request parameter `data`"},
		"0005-2024-01-05": {"added the new optional request property `nick`"},
	} {
		for _, text := range want {
			if !strings.Contains(details[name], text) {
				t.Errorf("%s: %q is not in %q", name, text, details[name])
			}
		}
	}
}

func TestChangelog_StructureChanges(t *testing.T) {
	const deprecated = get + "      deprecated: true\n"
	sunset := func(date string) string { return edited(t, get, deprecated+"      x-sunset: \""+date+"\"\n") }
	const (
		requestID = "            Request-Id: {schema: {type: string}}\n"
		answer    = "              schema: {$ref: \"#/components/schemas/Redemption\"}\n"
		either    = "              schema: {oneOf: [{$ref: \"#/components/schemas/Redemption\"}, {type: object, " +
			"title: Preview, required: [status]}]}\n"
		nameless = "              schema: {oneOf: [{$ref: \"#/components/schemas/Redemption\"}, {type: object, " +
			"required: [], properties: {status: {}, tags: {allOf: [{type: object}, {type: object, properties: " +
			"{rank: {}}}]}}}]}\n"
		condition = "      if: {properties: {note: {const: coins}}}\n      then: {required: [reward, note]}\n"
	)
	tests := map[string]struct {
		base, revision string
		want           []string // changes, and their details after a colon
	}{
		"nothing changed":             {shop, shop, nil},
		"a path parameter is renamed": {shop, edited(t, "{customer}", "{shop}", "name: customer", "name: shop"), nil},
		"a schema is shared": {
			shop, edited(t, "code: {type: string}", `code: {$ref: "#/components/schemas/Code"}`, "schemas:\n",
				"schemas:\n    Code: {type: string}\n"), nil,
		},
		"words, examples, tags, info and servers": {
			shop,
			edited(t, "summary: Redeem a voucher",
				"summary: Redeem\n      description: At most once.\n      externalDocs: {url: https://shop.example}",
				"The shopper's handle", "Who redeems", "note: {type: string}",
				"note: {type: string, title: A note, examples: [thanks], $comment: free text}",
				"tags: [Vouchers]", "tags: [Codes, Vouchers]", "title: Shop,", "title: Storefront,", "url: /",
				"url: https://shop.example", "description: Redeemed", "description: It is redeemed",
			), nil,
		},
		"two details of an operation": {
			shop, edited(t, "nick: {type: string,",
				"gift: {type: boolean}\n                nick: {type: string, maxLength: 64,"),
			[]string{"modified POST /shop/{customer}/voucher, breaking: ! the `nick` request property's maxLength " +
				"was set to `64`; added the new optional request property `gift`"},
		},
		"an operation is added": {edited(t, area, ""), shop, []string{"added GET /shop/{customer}/checkout"}},
		"an operation is removed": {
			shop, edited(t, area, ""),
			[]string{"removed GET /shop/{customer}/checkout, breaking"},
		},
		"a deprecated operation is removed": {
			edited(t, get, deprecated), edited(t, area, ""),
			[]string{"removed GET /shop/{customer}/checkout: it was deprecated before"},
		},
		"an operation is removed before its sunset": {
			sunset("2999-01-01"), edited(t, area, ""),
			[]string{"removed GET /shop/{customer}/checkout: it was deprecated before"},
		},
		"an operation is removed after its sunset": {
			sunset("2001-01-01"), edited(t, area, ""),
			[]string{"removed GET /shop/{customer}/checkout: it was deprecated before"},
		},
		"an operation is deprecated": {
			shop, sunset("2001-01-01"), []string{"modified GET /shop/{customer}/checkout: endpoint deprecated; it " +
				"may be removed from 2001-01-01 on"},
		},
		"a deprecated operation is added": {
			edited(t, area, ""), sunset("2999-01-01"),
			[]string{"added GET /shop/{customer}/checkout: it is deprecated; it may be removed from 2999-01-01 on"},
		},
		"a sunset is postponed": {
			sunset("2027-01-01"), sunset("2028-01-01"),
			[]string{"modified GET /shop/{customer}/checkout: it may be removed from 2028-01-01 on"},
		},
		"a parameter's sunset is postponed": {
			marked(t, channel, "2027-01-01"), marked(t, channel, "2028-01-01"),
			[]string{"modified POST /shop/{customer}/voucher: parameter channel in query: it may be removed from " +
				"2028-01-01 on"},
		},
		"a request field's sunset is postponed": {
			marked(t, nick, "2027-01-01"), marked(t, nick, "2028-01-01"),
			[]string{"modified POST /shop/{customer}/voucher: request body, application/json, field nick: it may " +
				"be removed from 2028-01-01 on"},
		},
		"a response field's sunset is postponed": {
			marked(t, note, "2027-01-01"), marked(t, note, "2028-01-01"),
			[]string{"modified POST /shop/{customer}/voucher: response 200, application/json, field note: it may " +
				"be removed from 2028-01-01 on"},
		},
		"a header's sunset is postponed": {
			marked(t, requestID, "2027-01-01"), marked(t, requestID, "2028-01-01"),
			[]string{"modified POST /shop/{customer}/voucher: response 200, header Request-Id: it may be removed " +
				"from 2028-01-01 on"},
		},
		"a field's sunset is withdrawn": {
			marked(t, note, "2027-01-01"),
			strings.Replace(marked(t, note, "2027-01-01"), `, x-sunset: "2027-01-01"`, "", 1),
			[]string{"modified POST /shop/{customer}/voucher: response 200, application/json, field note: it has " +
				"no sunset any more"},
		},
		"a parameter is deprecated": {
			shop, marked(t, channel, "2027-01-01"),
			[]string{"modified POST /shop/{customer}/voucher: `query` request parameter `channel` was deprecated; " +
				"parameter channel in query: it may be removed from 2027-01-01 on"},
		},
		"a field is deprecated": {
			shop, marked(t, note, "2027-01-01"),
			[]string{"modified POST /shop/{customer}/voucher: response property `note` deprecated; response 200, " +
				"application/json, field note: it may be removed from 2027-01-01 on"},
		},
		"a header is deprecated": {
			shop, marked(t, requestID, "2027-01-01"),
			[]string{"modified POST /shop/{customer}/voucher: response 200, header Request-Id: it is deprecated; " +
				"response 200, header Request-Id: it may be removed from 2027-01-01 on"},
		},
		"a header is deprecated without a sunset": {
			shop, edited(t, "Request-Id: {", "Request-Id: {deprecated: true, "),
			[]string{"modified POST /shop/{customer}/voucher: response 200, header Request-Id: it is deprecated"},
		},
		"a deprecated field is added": {
			edited(t, note, ""), marked(t, note, "2027-01-01"),
			[]string{"modified POST /shop/{customer}/voucher: added the optional property `note` to the response " +
				"with the `200` status; response 200, application/json, field note: it may be removed from " +
				"2027-01-01 on"},
		},
		"a sunset in an unused schema": {
			shop,
			edited(t, last, last+"    Till: {type: object, properties: {no: {type: string, deprecated: true, "+
				"x-sunset: \"2027-01-01\"}}}\n"), nil,
		},
		"a new value in a list that may grow": {
			edited(t, coins, "kind: {type: string, x-extensible-enum: [coins]}"),
			edited(t, coins, "kind: {type: string, x-extensible-enum: [coins, rank]}"),
			[]string{`modified POST /shop/{customer}/voucher: response 200, application/json, field reward, field ` +
				`kind: may also be "rank"`},
		},
		"an optional key": {
			shop, edited(t, "operationId: redeem\n", "operationId: redeem\n      security: [{}, {key: []}]\n",
				"components:\n", "components:\n  securitySchemes: {key: {type: http, scheme: bearer}}\n"),
			[]string{"modified POST /shop/{customer}/voucher: credentials of the security scheme `key` are accepted"},
		},
		"a relaxed condition": {
			edited(t, last, last+condition),
			edited(t, last, last+strings.Replace(condition, "reward, note", "reward", 1)),
			[]string{`modified POST /shop/{customer}/voucher: response 200, application/json, then, field note: is ` +
				`optional now`},
		},
		"a type where any was allowed": {
			edited(t, "schema: {type: string, default: web}", "schema: {default: web}"), shop,
			[]string{"modified POST /shop/{customer}/voucher: for the `query` request parameter `channel`, the " +
				"`type` was changed from `any` to `string`"},
		},
		"a wider type": {
			edited(t, nick, "                nick: {type: integer}\n"),
			edited(t, nick, "                nick: {type: [integer, string]}\n"),
			[]string{"modified POST /shop/{customer}/voucher: the `nick` request property `type` was widened from " +
				"`integer` to `integer, string`"},
		},
		"a field of one of two schemas": {
			edited(t, answer, either), edited(t, answer, either, note, ""),
			[]string{"modified POST /shop/{customer}/voucher: removed the optional property `note` of `Redemption` " +
				"from the response with the `200` status"},
		},
		"a nested field of one of two schemas": {
			edited(t, answer, either), edited(t, answer, either, coins, coins+", rank: {type: string}"),
			[]string{"modified POST /shop/{customer}/voucher: added the optional property `reward/rank` of " +
				"`Redemption` to the response with the `200` status"},
		},
		"fields of a part and of an unnamed alternative": {
			edited(t, answer, nameless), edited(t, answer,
				strings.NewReplacer("{}", "{type: string}", "[]", "[tags]").Replace(nameless)),
			[]string{"modified POST /shop/{customer}/voucher: the response property `tags` of alternative 2 became " +
				"required for the status `200`; " +
				"the `status` of alternative 2 response's property `type` was narrowed from `any` to `string` for " +
				"status `200`; " +
				"the `rank` of part 2 of `tags` of alternative 2 response's property `type` was narrowed from " +
				"`any` to `string` for status `200`"},
		},
		"whole numbers and fractions": {
			shop, edited(t, "{type: string, default: web}", "{type: string, default: 1, maximum: 0.125}"),
			[]string{"modified POST /shop/{customer}/voucher, breaking: ! for the `query` request parameter " +
				"`channel`, the max was set to `0.125`; " +
				"for the `query` request parameter `channel`, default value was changed from `web` to `1`"},
		},
		"an operation ID is renamed": {
			edited(t, get, get+"      operationId: showCheckout\n"),
			edited(t, get, get+"      operationId: showCheckoutArea\n"),
			[]string{"modified GET /shop/{customer}/checkout: api operation id `showCheckout` removed and replaced " +
				"with `showCheckoutArea`"},
		},
		"an operation ID and a status": {
			shop, edited(t, get, get+"      operationId: showCheckout\n", `"200": {description: What is on sale}`,
				`"200": {description: What is on sale}`+"\n        \"404\": {description: Shop not found}"),
			[]string{"modified GET /shop/{customer}/checkout: added the non-success response with the status `404`"},
		},
		"a change that the library misses": {
			shop, edited(t, "name: channel, in: query,", "name: channel, in: query, allowReserved: true,"),
			[]string{"modified POST /shop/{customer}/voucher: parameter channel in query: allowReserved was not " +
				"there and is true"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := keep(t, test.revision, [2]string{"0001-undated", test.base},
				[2]string{"0002-undated", test.revision})
			releases, err := open(t, root).Changelog()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, change := range releases[1].Changes {
				got = append(got, inWordsWithDetails(change))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
