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

func TestChangelog_StructureChanges(t *testing.T) {
	const (
		gone   = "removed GET /shop/{customer}/checkout: it was deprecated before"
		shown  = "modified GET /shop/{customer}/checkout: "
		redeem = "modified POST /shop/{customer}/voucher: "
		answer = "              schema: {$ref: \"#/components/schemas/Redemption\"}\n"
		either = "              schema: {oneOf: [{$ref: \"#/components/schemas/Redemption\"}, {type: object, " +
			"title: Preview, required: [status]}]}\n"
		nameless = "              schema: {oneOf: [{$ref: \"#/components/schemas/Redemption\"}, {type: object, " +
			"required: [], properties: {status: {}, tags: {allOf: [{type: object}, {type: object, properties: " +
			"{rank: {}}}]}}}]}\n"
		till = "    Till: {type: object, properties: {no: {type: string, deprecated: true, x-sunset: \"2027-01-01\"}}}\n"
	)
	withoutArea, retired := []string{area, ""}, []string{get, get + "      deprecated: true\n"}
	for name, test := range map[string]struct {
		base, revision []string // edits of the shop
		want           []string // changes, and their details after a colon
	}{
		"nothing changed":             {nil, nil, nil},
		"a path parameter is renamed": {nil, []string{"{customer}", "{shop}", "name: customer", "name: shop"}, nil},
		"a schema is shared":          {nil, sharedSchema(), nil},
		"words, examples, tags, info and servers": {
			nil, append(otherText(), "The shopper's handle", "Who redeems", "title: Shop,", "title: Storefront,", "url: /",
				"url: https://shop.example"), nil,
		},
		"two details of an operation": {
			nil,
			[]string{
				"nick: {type: string,",
				"gift: {type: boolean}\n                nick: {type: string, maxLength: 64,",
			},
			[]string{"modified POST /shop/{customer}/voucher, breaking: ! the `nick` request property's maxLength " +
				"was set to `64`; added the new optional request property `gift`"},
		},
		"an operation is added": {withoutArea, nil, []string{"added GET /shop/{customer}/checkout"}},
		"an operation is removed": {
			nil, withoutArea, []string{"removed GET /shop/{customer}/checkout, breaking"},
		},
		"a deprecated operation is removed":         {retired, withoutArea, []string{gone}},
		"an operation is removed before its sunset": {deprecated("2999-01-01"), withoutArea, []string{gone}},
		"an operation is removed after its sunset":  {deprecated("2001-01-01"), withoutArea, []string{gone}},
		"an operation is deprecated": {
			nil, deprecated("2001-01-01"), []string{shown + "endpoint deprecated; it may be removed from 2001-01-01 on"},
		},
		"a deprecated operation is added": {
			withoutArea, deprecated("2999-01-01"),
			[]string{"added GET /shop/{customer}/checkout: it is deprecated; it may be removed from 2999-01-01 on"},
		},
		"a sunset is postponed": {
			deprecated("2027-01-01"), deprecated("2028-01-01"), []string{shown + "it may be removed from 2028-01-01 on"},
		},
		"a parameter's sunset is postponed": {
			marked(channel, "2027-01-01"), marked(channel, "2028-01-01"),
			[]string{redeem + "parameter channel in query: it may be removed from 2028-01-01 on"},
		},
		"a request field's sunset is postponed": {
			marked(nick, "2027-01-01"), marked(nick, "2028-01-01"),
			[]string{redeem + "request body, application/json, field nick: it may be removed from 2028-01-01 on"},
		},
		"a response field's sunset is postponed": {
			marked(note, "2027-01-01"), marked(note, "2028-01-01"),
			[]string{redeem + "response 200, application/json, field note: it may be removed from 2028-01-01 on"},
		},
		"a header's sunset is postponed": {
			marked(requestID, "2027-01-01"), marked(requestID, "2028-01-01"),
			[]string{redeem + "response 200, header Request-Id: it may be removed from 2028-01-01 on"},
		},
		"a field's sunset is withdrawn": {
			marked(note, "2027-01-01"),
			[]string{note, strings.Replace(note, "{", "{deprecated: true, ", 1)},
			[]string{redeem + "response 200, application/json, field note: it has no sunset any more"},
		},
		"a parameter is deprecated": {
			nil, marked(channel, "2027-01-01"),
			[]string{redeem + "`query` request parameter `channel` was deprecated; parameter channel in query: it may be " +
				"removed from 2027-01-01 on"},
		},
		"a field is deprecated": {
			nil, marked(note, "2027-01-01"),
			[]string{redeem + "response property `note` deprecated; response 200, application/json, field note: it may be " +
				"removed from 2027-01-01 on"},
		},
		"a header is deprecated": {
			nil, marked(requestID, "2027-01-01"),
			[]string{redeem + "response 200, header Request-Id: it is deprecated; response 200, header Request-Id: it may " +
				"be removed from 2027-01-01 on"},
		},
		"a header is deprecated without a sunset": {
			nil, ids("deprecated: true, schema: {type: string}"),
			[]string{redeem + "response 200, header Request-Id: it is deprecated"},
		},
		"a deprecated field is added": {
			[]string{note, ""},
			marked(note, "2027-01-01"),
			[]string{redeem + "added the optional property `note` to the response with the `200` status; response 200, " +
				"application/json, field note: it may be removed from 2027-01-01 on"},
		},
		"a sunset in an unused schema": {nil, []string{last, last + till}, nil},
		"a new value in a list that may grow": {
			reward("type: string, x-extensible-enum: [coins]"), reward("type: string, x-extensible-enum: [coins, rank]"),
			[]string{redeem + `response 200, application/json, field reward, field coins: may also be "rank"`},
		},
		"an optional key": {
			nil, optionalKey(), []string{redeem + "credentials of the security scheme `key` are accepted"},
		},
		"a relaxed condition": {
			[]string{last, condition},
			[]string{last, strings.Replace(condition, "reward, note", "reward", 1)},
			[]string{redeem + "response 200, application/json, then, field note: is optional now"},
		},
		"a type where any was allowed": {
			[]string{"schema: {type: string, default: web}", "schema: {default: web}"},
			nil,
			[]string{redeem + "for the `query` request parameter `channel`, the `type` was changed from `any` to `string`"},
		},
		"a wider type": {
			code("type: integer"), code("type: [integer, string]"),
			[]string{redeem + "the `code` request property `type` was widened from `integer` to `integer, string`"},
		},
		"a field of one of two schemas": {
			[]string{answer, either},
			[]string{answer, either, note, ""},
			[]string{redeem + "removed the optional property `note` of `Redemption` from the response with the `200` " +
				"status"},
		},
		"a nested field of one of two schemas": {
			[]string{answer, either},
			[]string{answer, either, coins, coins + ", rank: {type: string}"},
			[]string{redeem + "added the optional property `reward/rank` of `Redemption` to the response with the `200` " +
				"status"},
		},
		"fields of a part and of an unnamed alternative": {
			[]string{answer, nameless},
			[]string{answer, strings.NewReplacer("{}", "{type: string}", "[]", "[tags]").Replace(nameless)},
			[]string{redeem + "the response property `tags` of alternative 2 became required for the status `200`; " +
				"the `status` of alternative 2 response's property `type` was narrowed from `any` to `string` for status " +
				"`200`; the `rank` of part 2 of `tags` of alternative 2 response's property `type` was narrowed from " +
				"`any` to `string` for status `200`"},
		},
		"whole numbers and fractions": {
			nil,
			[]string{"{type: string, default: web}", "{type: string, default: 1, maximum: 0.125}"},
			[]string{"modified POST /shop/{customer}/voucher, breaking: ! for the `query` request parameter " +
				"`channel`, the max was set to `0.125`; " +
				"for the `query` request parameter `channel`, default value was changed from `web` to `1`"},
		},
		"an operation ID is renamed": {
			[]string{get, get + "      operationId: showCheckout\n"},
			[]string{get, get + "      operationId: showCheckoutArea\n"},
			[]string{shown + "api operation id `showCheckout` removed and replaced with `showCheckoutArea`"},
		},
		"an operation ID and a status": {
			nil,
			[]string{
				get, get + "      operationId: showCheckout\n", onSale,
				onSale + "\n        \"404\": {description: Shop not found}",
			},
			[]string{shown + "added the non-success response with the status `404`"},
		},
		"a change that the library misses": {
			nil,
			[]string{"name: channel, in: query,", "name: channel, in: query, allowReserved: true,"},
			[]string{redeem + "parameter channel in query: allowReserved was not there and is true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			revision := edited(t, test.revision...)
			root := keep(t, revision, [2]string{"0001-undated", edited(t, test.base...)},
				[2]string{"0002-undated", revision})
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
