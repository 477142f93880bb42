package contract_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/internal/contract"
	"shopfront/internal/local/gateway"
)

// `make contract` passes, and the files that functions embed are up to date.
func TestRun_Check_PassesOnThisSourceTree(t *testing.T) {
	if err := contract.Run(t.Context(), []string{"check"}, root, t.Output(), time.Now()); err != nil {
		t.Error(err)
	}
}

const (
	area = "  /shop/{customer}/checkout:\n    get:\n      parameters:\n        - {name: customer, in: path, " +
		"required: true, schema: {type: string}}\n      responses:\n        \"200\": {description: What is on sale}\n"
	get     = "  /shop/{customer}/checkout:\n    get:\n"
	channel = "        - {name: channel, in: query, schema: {type: string, default: web}}\n"
	note    = "        note: {type: string}\n"
	id      = "        id: {type: string}\n"
	nick    = "                nick: {type: string, description: The shopper's handle}\n"
	header  = "          headers:\n            Request-Id: {schema: {type: string}}\n"
	coins   = "coins: {type: integer}"
	linked  = `"200": {description: What is on sale, links: {redeem: {operationId: redeem, ` +
		`requestBody: {code: $response.body#/code}}}}`
	// also the last line of the document
	last = "        reward: {type: object, properties: {coins: {type: integer}}}\n"
)

// future is the day after today.
const future = "2027-03-02"

// deprecated returns the shop with a deprecated operation and its sunset.
func deprecated(t *testing.T, sunset string) string {
	t.Helper()
	return edited(t, get, fmt.Sprintf("%s      deprecated: true\n      x-sunset: %q\n", get, sunset))
}

// marked returns the shop with one element deprecated and with a sunset. The parameter text is the element's text in
// the shop.
func marked(t *testing.T, text, sunset string) string {
	t.Helper()
	return edited(t, text, strings.Replace(text, "{", fmt.Sprintf("{deprecated: true, x-sunset: %q, ", sunset), 1))
}

// problems returns the problems of a working document after releases, one per line.
func problems(t *testing.T, working string, releases ...string) string {
	t.Helper()
	var named [][2]string
	for i, release := range releases {
		named = append(named, [2]string{fmt.Sprintf("%04d-2026-11-21", i+1), release})
	}
	c := open(t, keep(t, working, named...))
	_ = c.Render() // a broken document cannot be rendered
	routed := routes()
	if !strings.Contains(working, get) {
		routed = routed[:1]
	}
	found, err := c.Check(t.Context(), routed, today)
	if err != nil {
		found = []string{err.Error()}
	}
	return strings.Join(found, "\n")
}

func TestCheck_HarmfulChange_IsReported(t *testing.T) {
	tests := map[string]struct {
		base, working string
		want          string
	}{
		"a removed operation": {
			shop, edited(t, area, ""),
			"GET /shop/{customer}/checkout: was removed without having been deprecated",
		},
		"a removed response field": {
			shop, edited(t, note, ""),
			"response 200, application/json, field note: was removed without having been deprecated",
		},
		"a removed required response field": {
			shop, edited(t, id, "", "[id, reward]", "[reward]"),
			"field id: was removed",
		},
		"a removed request field": {
			shop, edited(t, nick, ""),
			"request body, application/json, field nick: was removed",
		},
		"a new required field": {
			shop,
			edited(t, "[code]", "[code, till]", nick, nick+"                till: {type: string}\n"),
			"field till: is required now",
		},
		"a field that becomes required": {
			shop, edited(t, "[code]", "[code, nick]"),
			"field nick: is required now",
		},
		"a new required parameter": {
			shop,
			edited(t, channel, channel+"        - {name: till, in: query, required: true, schema: {type: string}}\n"),
			"parameter till in query: is new and required",
		},
		"a parameter that becomes required": {
			shop,
			edited(t, "name: channel, in: query,", "name: channel, in: query, required: true,"),
			"parameter channel in query: is required now",
		},
		"a body that becomes required": {
			shop,
			edited(t, "requestBody:\n", "requestBody:\n        required: true\n"), "request body: is required now",
		},
		"a removed body": {shop, edited(t, "requestBody:", "x-formerly:"), "requestBody was {"},
		"a removed media type": {
			shop,
			edited(t, "application/json:\n              schema: {$ref",
				"application/hal+json:\n              schema: {$ref"), "response 200, application/json: was removed",
		},
		"a narrowed type": {
			shop, edited(t, "code: {type: string}", "code: {type: integer}"),
			"field code: type was \"string\" and is \"integer\"",
		},
		"a narrowed field": {
			shop,
			edited(t, "code: {type: string}", "code: {type: string, maxLength: 8}"),
			"field code: maxLength was not there and is 8: what clients may send must stay accepted",
		},
		"a widened response": {
			shop, edited(t, "id: {type: string}", "id: {type: [string, integer]}"),
			"field id: type was \"string\" and is [\"string\",\"integer\"]: responses must stay within what was " +
				"promised",
		},
		"a response field that may be missing": {
			shop, edited(t, "[id, reward]", "[id]"),
			"field reward: is optional now",
		},
		"a removed status": {
			shop,
			edited(t, `        "404": {description: Voucher not found}`+"\n", ""), "response 404: was removed",
		},
		"a removed header": {
			shop, edited(t, header, ""),
			"response 200, header Request-Id: was removed",
		},
		"a removed parameter": {
			shop, edited(t, channel, ""),
			"parameter channel in query: was removed",
		},
		"another default": {
			shop, edited(t, "default: web", "default: app"),
			"default was \"web\" and is \"app\"",
		},
		"no default": {
			shop, edited(t, ", default: web", ""),
			"default was \"web\" and is not there",
		},
		"another operation ID": {
			shop, edited(t, "operationId: redeem", "operationId: use"), "operationId was \"redeem\" and is \"use\"",
		},
		"a removal before the sunset": {
			deprecated(t, future), edited(t, area, ""),
			"GET /shop/{customer}/checkout: was removed before its sunset on 2027-03-02",
		},
		"a field removed before its sunset": {
			marked(t, note, future), edited(t, note, ""),
			"field note: was removed before its sunset",
		},
		"a parameter removed before its sunset": {
			marked(t, channel, future), edited(t, channel, ""),
			"parameter channel in query: was removed before its sunset",
		},
		"a header removed before its sunset": {
			marked(t, "            Request-Id: {schema: {type: string}}\n", future), edited(t, header, ""),
			"header Request-Id: was removed before its sunset",
		},
		"a link that becomes another": {
			edited(t, `"200": {description: What is on sale}`, linked),
			edited(t, `"200": {description: What is on sale}`, strings.Replace(linked, "body#/code", "body#/id", 1)),
			"response 200, link redeem: it was {",
		},
		"a removed link": {
			edited(t, `"200": {description: What is on sale}`, linked), shop,
			"response 200, link redeem: it was {",
		},
		"a sunset brought forward": {
			deprecated(t, future), deprecated(t, "2027-02-28"),
			"brings its sunset forward: a release announced 2027-03-02",
		},
		"a withdrawn sunset": {
			deprecated(t, future),
			edited(t, get, get+"      deprecated: true\n"), "brings its sunset forward",
		},
		"a deprecated field's sunset brought forward": {
			marked(t, note, future), marked(t, note, "2027-02-28"),
			"field note: brings its sunset forward",
		},
		"a sunset without deprecation": {
			deprecated(t, future),
			edited(t, get, get+"      x-sunset: \"2027-03-02\"\n"),
			"paths./shop/{customer}/checkout.get has an x-sunset but is not deprecated",
		},
		"a new field's sunset without deprecation": {
			shop,
			edited(t, last, last+"        till: {type: string, x-sunset: \"2027-03-02\"}\n"),
			"components.schemas.Redemption.properties.till has an x-sunset but is not deprecated",
		},
		"a sunset that is not a date": {
			shop, deprecated(t, "next year"),
			"x-sunset \"next year\" of paths./shop/{customer}/checkout.get is not a date",
		},
		"another version": {
			shop, edited(t, "version: 1.0.0", "version: 2.0.0"),
			"info.version is 2.0.0",
		},
		"a broken document": {
			shop, edited(t, "in: query,", "in: body,"),
			"openapi.yaml: invalid paths",
		},
		"an operation that takes requests from another": {
			shop,
			edited(t, area, area+strings.Replace(area, "{customer}", "emberforge", 1)),
			"GET /shop/emberforge/checkout: takes requests from GET /shop/{customer}/checkout",
		},
		"a broken reference": {
			shop, edited(t, "schemas/Redemption", "schemas/Redeemed"),
			"Redeemed",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := problems(t, test.working, test.base); !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
		})
	}
}

// These changes break clients, but the diff library misses them or reports them as harmless.
func TestCheck_HarmfulChangeUnknownToTheLibrary_IsReported(t *testing.T) {
	const (
		sentCode  = "code: {type: string}"
		optional  = "must stay accepted"
		within    = "must stay within what was promised"
		asItWas   = "must stay as it was"
		unlisted  = "no rule says that this is harmless"
		requestID = "Request-Id: {schema: {type: string}}"
		condition = "      if: {properties: {note: {const: coins}}}\n      then: {required: [reward, note]}\n"
	)
	oneOf := func(kinds string) []string {
		return []string{coins, "kind: {oneOf: [" + kinds + "]}"}
	}
	for name, test := range map[string]struct {
		base, working []string // edits of the shop
		want          string
	}{
		"another const of a header": {
			[]string{
				requestID,
				"Request-Id: {schema: {type: string, const: no-store}}",
			},
			[]string{requestID, "Request-Id: {schema: {type: string, const: no-cache}}"},
			"header Request-Id: const was \"no-store\" and is \"no-cache\"",
		},
		"another pattern of a header": {
			[]string{requestID, "Request-Id: {schema: {type: string, pattern: ^@}}"},
			[]string{requestID, "Request-Id: {schema: {type: string, pattern: ^x}}"},
			"header Request-Id: pattern",
		},
		"more values of a header": {
			[]string{requestID, "Request-Id: {schema: {type: string, enum: [a]}}"},
			[]string{requestID, "Request-Id: {schema: {type: string, enum: [a, b]}}"},
			"header Request-Id: enum",
		},
		"a header that may be missing": {
			[]string{requestID, "Request-Id: {required: true, schema: {type: string}}"},
			nil, "header Request-Id: is optional now",
		},
		"a dropped maximum of responses": {
			[]string{coins, "coins: {type: integer, maximum: 100}"},
			nil,
			"field coins: maximum was 100 and is not there",
		},
		"a higher maximum of responses": {
			[]string{coins, "coins: {type: integer, maximum: 100}"},
			[]string{coins, "coins: {type: integer, maximum: 101}"},
			within,
		},
		"a dropped minimum of responses": {
			[]string{coins, "coins: {type: integer, minimum: 0}"},
			nil,
			"field coins: minimum was 0 and is not there",
		},
		"a lower minimum of responses": {
			[]string{coins, "coins: {type: integer, exclusiveMinimum: 0}"},
			[]string{coins, "coins: {type: integer, exclusiveMinimum: -1}"},
			within,
		},
		"a dropped maxItems of responses": {
			[]string{coins, "coins: {type: array, maxItems: 3}"},
			[]string{coins, "coins: {type: array}"},
			"field coins: maxItems was 3 and is not there",
		},
		"other items of responses": {
			[]string{coins, "coins: {type: array, items: {type: integer, maximum: 3}}"},
			[]string{coins, "coins: {type: array, items: {type: integer}}"},
			"field coins, items: maximum",
		},
		"responses open to other members": {
			[]string{coins, "coins: {type: object, additionalProperties: false}"},
			[]string{coins, "coins: {type: object}"},
			"field coins, additionalProperties:",
		},
		"a relaxed condition": {
			[]string{last, last + condition},
			[]string{last, last + strings.Replace(condition, "reward, note", "reward", 1)},
			"then, field note: is optional now",
		},
		"another condition": {
			[]string{last, last + condition},
			[]string{last, last + strings.Replace(condition, "const: coins", "const: ranks", 1)},
			`if was {"properties":{"note":{"const":"coins"}}} and is {"properties":{"note":{"const":"ranks"}}}: it ` +
				asItWas,
		},
		"a const of a parameter": {
			nil,
			[]string{"default: web", "default: web, const: web"},
			"parameter channel in query: const was not there and is \"web\": what clients may send " + optional,
		},
		"a divisor of requests": {
			[]string{sentCode, "code: {type: integer}"},
			[]string{sentCode, "code: {type: integer, multipleOf: 2}"},
			"field code: multipleOf was not there and is 2",
		},
		"another divisor of responses": {
			[]string{coins, "coins: {type: integer, multipleOf: 2}"},
			[]string{coins, "coins: {type: integer, multipleOf: 3}"},
			"field coins: multipleOf was 2 and is 3",
		},
		"a negation": {
			nil,
			[]string{sentCode, "code: {type: string, not: {const: none}}"},
			"field code: not was not there and is {\"const\":\"none\"}: what clients may send " + optional,
		},
		"a dropped negation": {
			[]string{coins, "coins: {type: integer, not: {const: 0}}"},
			nil,
			"field coins: not was {\"const\":0} and is not there: responses " + within,
		},
		"another negation": {
			[]string{sentCode, "code: {type: string, not: {maxLength: 2}}"},
			[]string{sentCode, "code: {type: string, not: {maxLength: 3}}"},
			`field code: not was {"maxLength":2} and is {"maxLength":3}: it ` + asItWas,
		},
		"security": {
			nil,
			[]string{
				"operationId: redeem\n", "operationId: redeem\n      security: [{key: []}]\n", "components:\n",
				"components:\n  securitySchemes: {key: {type: apiKey, in: header, name: Key}}\n",
			},
			"POST /shop/{customer}/voucher: security",
		},
		"security of all operations": {
			nil,
			[]string{
				"servers:", "security: [{key: []}]\nservers:", "components:\n",
				"components:\n  securitySchemes: {key: {type: apiKey, in: header, name: Key}}\n",
			},
			"GET /shop/{customer}/checkout: security",
		},
		"another security scheme": {
			[]string{
				"components:\n",
				"components:\n  securitySchemes: {key: {type: apiKey, in: header, name: Key}}\n",
			},
			[]string{"components:\n", "components:\n  securitySchemes: {key: {type: apiKey, in: query, name: Key}}\n"},
			"security scheme key was",
		},
		"a removed kind": {
			[]string{coins, "kind: {type: string, x-extensible-enum: [coins, rank]}"},
			[]string{coins, "kind: {type: string, x-extensible-enum: [coins]}"},
			"field kind: x-extensible-enum was [\"coins\",\"rank\"] and is [\"coins\"]: clients rely on it",
		},
		"a removed list of kinds": {
			[]string{coins, "kind: {type: string, x-extensible-enum: [coins]}"},
			[]string{coins, "kind: {type: string}"},
			"field kind: x-extensible-enum was [\"coins\"] and is not there: clients rely on it",
		},
		"a new alternative of responses": {
			oneOf("{const: coins}"), oneOf("{const: coins}, {const: rank}"),
			"field kind: oneOf had 1 and has 2 schemas: responses " + within,
		},
		"fewer alternatives of requests": {
			[]string{sentCode, "code: {anyOf: [{type: string}, {type: integer}]}"},
			[]string{sentCode, "code: {anyOf: [{type: string}]}"},
			"field code: anyOf had 2 and has 1 schemas: what clients may send " + optional,
		},
		"a changed alternative": {
			oneOf("{const: coins}"), oneOf("{const: rank}"),
			"field kind, oneOf 1: const",
		},
		"fewer parts of responses": {
			[]string{coins, "kind: {allOf: [{type: string}, {maxLength: 3}]}"},
			[]string{coins, "kind: {allOf: [{type: string}]}"},
			"field kind: allOf had 2 and has 1 schemas",
		},
		"other servers": {
			nil,
			[]string{"url: /", "url: /v2"},
			"servers: {\"url\":\"/\"} is not in its place any more",
		},
		"servers of an operation": {
			nil,
			[]string{"operationId: redeem\n", "operationId: redeem\n      servers: [{url: /v2}]\n"},
			"POST /shop/{customer}/voucher: servers",
		},
		"content instead of a schema": {
			nil,
			[]string{"schema: {type: string, default: web}", "content: {text/plain: {schema: {type: string}}}"},
			"parameter channel in query: schema was",
		},
		"a header's content": {
			nil,
			[]string{requestID, "Request-Id: {content: {text/plain: {schema: {type: string}}}}"},
			"header Request-Id: schema was",
		},
		"another style of a parameter": {
			nil,
			[]string{"name: channel, in: query,", "name: channel, in: query, allowReserved: true,"},
			"parameter channel in query: allowReserved was not there and is true: " + unlisted,
		},
		"a keyword without a rule": {
			nil,
			[]string{coins, "coins: {type: integer, minContains: 2}"},
			"field coins: minContains was not there and is 2: " + unlisted,
		},
		"a change behind a reference": {
			[]string{
				"    Redemption:\n", "    Coin: {type: integer}\n    Redemption:\n", coins,
				`coins: {type: array, contains: {$ref: "#/components/schemas/Coin"}}`,
			},
			[]string{
				"    Redemption:\n", "    Coin: {type: string}\n    Redemption:\n", coins,
				`coins: {type: array, contains: {$ref: "#/components/schemas/Coin"}}`,
			},
			"field coins: contains",
		},
		"a keyword beside a reference": {
			[]string{
				`$ref: "#/components/schemas/Redemption"`,
				`$ref: "#/components/schemas/Redemption", maxProperties: 3`,
			},
			nil,
			"response 200, application/json: maxProperties was 3 and is not there",
		},
		"a change beside a harmless one": {
			[]string{coins, "coins: {type: integer, maximum: 100}"},
			[]string{note, note + "        till: {type: string}\n"},
			"maximum was 100 and is not there",
		},
		"a change in a recursive schema": {
			[]string{
				last,
				last + `        earlier: {$ref: "#/components/schemas/Redemption"}` + "\n",
			},
			[]string{last, last + `        earlier: {$ref: "#/components/schemas/Redemption"}` + "\n", note, ""},
			"field note: was removed",
		},
		"a change beside a broken example": {
			nil,
			[]string{note, "", coins, "coins: {type: integer, example: many}"},
			"field note: was removed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := problems(t, edited(t, test.working...), edited(t, test.base...)); !strings.Contains(got,
				test.want) {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
		})
	}
}

func TestCheck_SeveralProblems_AreAllReported(t *testing.T) {
	got := problems(t, edited(t, note, "", coins, "coins: {type: integer, example: many}", "version: 1.0.0",
		"version: 2.0.0", "url: /", "url: /v2"), shop)
	for _, want := range []string{
		"openapi.yaml: invalid components", "info.version", "field note: was removed",
		"servers",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

// A release that announces a sunset promises it. A later release may lift the deprecation. But no later document may
// remove the element before that day, or announce an earlier day.
func TestCheck_SunsetOfAnyRelease_IsRemembered(t *testing.T) {
	const want = "brings its sunset forward: a release announced 2028-01-01"
	for name, test := range map[string]struct {
		releases []string
		working  string
		want     string
	}{
		"deprecation lifted, then set earlier": {
			[]string{deprecated(t, "2028-01-01"), shop},
			deprecated(t, future), want,
		},
		"deprecation lifted, then set again without a day": {
			[]string{deprecated(t, "2028-01-01"), shop},
			edited(t, get, get+"      deprecated: true\n"), want,
		},
		"a field's sunset": {
			[]string{marked(t, note, "2028-01-01"), shop},
			marked(t, note, future), want,
		},
		"removed": {[]string{
			deprecated(t, "2028-01-01"), shop,
			deprecated(t, "2027-01-01"),
		}, edited(t, area, ""), "was removed before its sunset on 2028-01-01"},
		"the latest of two": {[]string{
			deprecated(t, "2027-06-01"),
			deprecated(t, "2028-01-01"),
		}, deprecated(t, future), want},
		"deprecation lifted": {[]string{deprecated(t, "2028-01-01")}, shop, ""},
		"deprecation lifted, then set to the same day": {
			[]string{deprecated(t, "2028-01-01"), shop},
			deprecated(t, "2028-01-01"), "",
		},
		"removed after the last sunset": {[]string{
			deprecated(t, "2026-12-01"), shop,
			deprecated(t, "2027-01-01"),
		}, edited(t, area, ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := problems(t, test.working, test.releases...)
			if !strings.Contains(got, test.want) || (test.want == "") != (got == "") {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
			if strings.Count(got, "sunset") > 1 {
				t.Errorf("the sunset is reported more than once: %q", got)
			}
		})
	}
}

// A release made by hand must keep earlier promises, like a release made by `make release`. The first six releases are
// reconstructed.
func TestCheck_HandMadeRelease_KeepsEarlierPromises(t *testing.T) {
	withoutNote := edited(t, note, "")
	markedReconstructed := func(text string) string {
		return strings.Replace(text, "version: 1.0.0", "version: 1.0.0, x-reconstructed: true", 1)
	}
	for name, test := range map[string]struct {
		releases []release // after six releases of the shop
		want     string    // part of the problems; empty: there are none
	}{
		"correct": {[]release{
			{"2026-11-21", shop},
			{"2026-12-01", deprecated(t, "2027-01-01")},
			{"2027-01-01", edited(t, area, "")},
		}, ""},
		"breaking, right after the reconstructed ones": {[]release{{"2026-11-21", withoutNote}}, ""},
		"breaking": {
			[]release{{"2026-11-21", shop}, {"2026-12-01", withoutNote}},
			"release 0008-2026-12-01: POST /shop/{customer}/voucher: response 200, application/json, field note: " +
				"was removed without",
		},
		"breaking, then repaired": {[]release{
			{"2026-11-21", shop},
			{"2026-12-01", withoutNote},
			{"2026-12-02", shop},
		}, "release 0008-2026-12-01: POST"},
		"breaking, and marked as reconstructed": {[]release{
			{"2026-11-21", shop},
			{"2026-12-01", markedReconstructed(withoutNote)},
		}, "release 0008-2026-12-01: POST"},
		"removed before the sunset": {
			[]release{
				{"2026-11-21", deprecated(t, "2027-01-01")},
				{"2026-12-31", edited(t, area, "")},
			},
			"release 0008-2026-12-31: GET /shop/{customer}/checkout: was removed before its sunset on 2027-01-01",
		},
		"deprecation lifted, then set again without a day": {
			[]release{
				{"2026-11-21", deprecated(t, "2027-01-01")},
				{"2026-12-01", shop},
				{"2026-12-02", edited(t, get, get+"      deprecated: true\n")},
			},
			"release 0009-2026-12-02: GET /shop/{customer}/checkout: brings its sunset forward: a release " +
				"announced 2027-01-01",
		},
		"a sunset that is not a day": {
			[]release{{"2026-11-21", shop}, {"2026-12-01", deprecated(t, "soon")}},
			"release 0008-2026-12-01: x-sunset \"soon\"",
		},
		"other servers": {
			[]release{{"2026-11-21", shop}, {"2026-12-01", edited(t, "url: /", "url: /v2")}},
			"release 0008-2026-12-01: the document: servers",
		},
		"dated today": {[]release{{"2026-11-21", shop}, {"2027-03-01", shop}}, ""},
		"dated tomorrow": {
			[]release{{"2026-11-21", shop}, {future, shop}},
			"release 0008-2027-03-02: its date is in the future",
		},
		"without a date": {[]release{{"", shop}}, "release 0007-undated: it has no date"},
	} {
		t.Run(name, func(t *testing.T) {
			c := afterTheRecord(t, test.releases)
			routed := routes()
			if !strings.Contains(test.releases[len(test.releases)-1].text, get) {
				routed = routed[:1]
			}
			problems, err := c.Check(t.Context(), routed, today)
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(problems, "\n")
			if isRed := test.want != ""; isRed != (len(problems) > 0) || !strings.Contains(all, test.want) {
				t.Errorf("the problems are %q, want %q", all, test.want)
			}
			changes, err := c.Changelog()
			if err != nil || !changes[5].Reconstructed || changes[6].Reconstructed ||
				changes[len(changes)-1].Reconstructed {
				t.Errorf("want only the first six reconstructed: %+v, %v", changes, err)
			}
		})
	}
}

type release struct{ date, text string }

// afterTheRecord returns a contract with six releases of the shop, then the given ones. The last release is also the
// working document.
func afterTheRecord(t *testing.T, after []release) *contract.Contract {
	t.Helper()
	var releases [][2]string
	for i, r := range append(slices.Repeat([]release{{"", shop}}, 6), after...) {
		releases = append(releases, [2]string{fmt.Sprintf("%04d-%s", i+1, cmp.Or(r.date, "undated")), r.text})
	}
	c := open(t, keep(t, releases[len(releases)-1][1], releases...))
	if err := c.Render(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCheck_HarmlessChange_Passes(t *testing.T) {
	pastSunset := func(text string) string { // deprecates an element with a sunset on today's date
		return edited(t, text, strings.Replace(text, "{", `{deprecated: true, x-sunset: "2027-03-01", `, 1))
	}
	gone := append(routes()[:1], route("removed-payment", "GET", "/shop/{customer}/checkout"))
	tests := map[string]struct {
		base, working string
		routes        []gateway.Route
	}{
		"nothing changed": {shop, shop, routes()},
		"an addition": {
			shop, edited(t, "components:\n",
				"  /shop/{customer}/orders:\n    get:\n      parameters: [{name: customer, in: path, required: "+
					"true, schema: {type: string}}]\n      responses: {\"200\": {description: Orders}}\ncomponents:\n"),
			routes(route("", "GET", "/shop/{shop}/orders"), route("", "HEAD", "/shop/{shop}/orders")),
		},
		"an optional field": {
			shop, edited(t, nick, nick+"                till: {type: string}\n"),
			routes(),
		},
		"a response field": {
			shop, edited(t, note, note+"        till: {type: string}\n"),
			routes(),
		},
		"a new status": {
			shop,
			edited(t, `"404":`, "\"429\": {description: Later}\n        \"404\":"), routes(),
		},
		"a link to another operation": {shop, edited(t, `"200": {description: What is on sale}`, linked), routes()},
		"a removal after deprecation": {
			edited(t, get, get+"      deprecated: true\n"), edited(t, area, ""),
			routes()[:1],
		},
		"a removal on the sunset": {edited(t, get,
			get+"      deprecated: true\n      x-sunset: \"2027-03-01\"\n"), edited(t, area, ""), gone},
		"a parameter after deprecation": {
			edited(t, channel,
				"        - {name: channel, in: query, deprecated: true, schema: {type: string}}\n"),
			edited(t, channel, ""),
			routes(),
		},
		"a response field after deprecation": {pastSunset(note), edited(t, note, ""), routes()},
		"a required field after deprecation": {
			pastSunset(id), edited(t, id, "", "[id, reward]", "[reward]"),
			routes(),
		},
		"a request field after deprecation": {pastSunset(nick), edited(t, nick, ""), routes()},
		"a header after deprecation": {
			pastSunset("            Request-Id: {schema: {type: string}}\n"),
			edited(t, header, ""), routes(),
		},
		"a lower minimum of requests": {
			edited(t, channel,
				strings.Replace(channel, "default: web", "minLength: 2", 1)),
			edited(t, channel, strings.Replace(channel, "default: web", "minLength: 1", 1)), routes(),
		},
		"a wider type of requests": {
			shop,
			edited(t, nick, "                nick: {type: [string, \"null\"]}\n"), routes(),
		},
		"more values of requests": {
			edited(t, nick, "                nick: {enum: [alder]}\n"),
			edited(t, nick, "                nick: {enum: [alder, birch]}\n"), routes(),
		},
		"a pattern dropped from requests": {edited(t, nick,
			"                nick: {type: string, pattern: ^a}\n"), shop, routes()},
		"a field that may be left out": {edited(t, "[code]", "[code, nick]"), shop, routes()},
		"a new maximum of responses": {
			shop, edited(t, coins, "coins: {type: integer, maximum: 100}"),
			routes(),
		},
		"a response field that is now required": {shop, edited(t, "[id, reward]", "[id, note, reward]"), routes()},
		"fewer alternatives of responses": {
			edited(t, coins, "coins: {oneOf: [{type: integer}, {type: string}]}"),
			edited(t, coins, "coins: {oneOf: [{type: integer}]}"), routes(),
		},
		"a new kind": {
			edited(t, coins, "kind: {type: string, x-extensible-enum: [coins]}"),
			edited(t, coins, "kind: {type: string, x-extensible-enum: [coins, rank]}"), routes(),
		},
		"a new header":             {edited(t, header, ""), shop, routes()},
		"a new optional parameter": {edited(t, channel, ""), edited(t, ", default: web", ""), routes()},
		"another server": {
			shop,
			edited(t, "[{url: /}]", "[{url: /, description: Here}, {url: https://shop.example}]"), routes(),
		},
		"a renamed path parameter": {
			shop,
			edited(t, "{customer}", "{shop}", "name: customer", "name: shop"), routes(),
		},
		"a shared schema": {
			shop,
			edited(t, "code: {type: string}", `code: {$ref: "#/components/schemas/Code"}`, "schemas:\n",
				"schemas:\n    Code: {type: string}\n"), routes(),
		},
		"other text for people": {
			shop,
			edited(t, "summary: Redeem a voucher",
				"summary: Redeem\n      description: At most once.\n      externalDocs: {url: https://shop.example}",
				"note: {type: string}", "note: {type: string, title: A note, examples: [thanks], $comment: free text}",
				"tags: [Vouchers]", "tags: [Codes, Vouchers]", "description: Redeemed", "description: It is redeemed"),
			routes(),
		},
		"an optional key": {
			shop,
			edited(t, "operationId: redeem\n", "operationId: redeem\n      security: [{}, {key: []}]\n",
				"components:\n", "components:\n  securitySchemes: {key: {type: http, scheme: bearer}}\n"), routes(),
		},
		"a deprecation": {
			shop,
			edited(t, get, get+"      deprecated: true\n      x-sunset: \"2028-03-01\"\n"), routes(),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			problems, err := rendered(t, test.base, test.working).Check(t.Context(), test.routes, today)
			if err != nil || len(problems) > 0 {
				t.Errorf("the problems are %q, %v, want none", problems, err)
			}
		})
	}
}

func TestCheck_Routes_MatchTheDocument(t *testing.T) {
	orders, old := "/shop/{customer}/orders", "/shop/{shop}/checkout/{product}"
	before := edited(t, area, strings.Replace(area, "get:\n", "get:\n      deprecated: true\n",
		1)+strings.NewReplacer("/checkout:", "/checkout/{product}:", "get:\n", "get:\n      deprecated: true\n",
		"parameters:\n", "parameters:\n        - {name: product, in: path, required: true, schema: {type: string}}\n").Replace(area))
	for name, test := range map[string]struct {
		routes []gateway.Route
		want   string
	}{
		"every documented operation": {routes(), ""},
		"an undocumented operation": {
			routes(route("", "GET", orders)),
			"GET /shop/{customer}/orders is routed, but not in openapi.yaml",
		},
		"an undocumented HEAD": {
			routes(route("", "HEAD", orders)),
			"HEAD /shop/{customer}/orders is routed, but not in openapi.yaml",
		},
		"an unrouted operation": {
			routes()[1:],
			"POST /shop/{customer}/voucher is in openapi.yaml, but not routed",
		},
		"a GET without its HEAD": {
			routes()[:2],
			"HEAD /shop/{customer}/checkout is not routed, but its GET is",
		},
		"a HEAD with another function": {
			append(routes()[:2],
				route("voucher", "HEAD", "/shop/{customer}/checkout")),
			"HEAD /shop/{customer}/checkout is routed to voucher, but its GET to checkout-area",
		},
		"a removed operation with a 410": {routes(route("removed-payment", "GET", old)), ""},
		"a removed operation that is still served": {
			routes(route("checkout", "GET", old)),
			"GET /shop/{shop}/checkout/{product} is routed, but not in openapi.yaml",
		},
		"a 410 for an operation that no release had": {
			routes(route("removed-payment", "GET", orders)),
			"GET /shop/{customer}/orders is routed to removed-payment, but no release had it",
		},
		"a 410 for a documented operation": {
			append(routes()[1:],
				route("removed-payment", "POST", "/shop/{customer}/voucher")),
			"POST /shop/{customer}/voucher is routed to removed-payment, which responds 410, but is in openapi.yaml",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, keep(t, shop, [2]string{"0001-undated", before}, [2]string{"0002-undated", shop}))
			if err := c.Render(); err != nil {
				t.Fatal(err)
			}
			problems, err := c.Check(t.Context(), test.routes, today)
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(problems, "\n"); !strings.Contains(all, test.want) ||
				(test.want == "") != (all == "") || len(problems) > 1 {
				t.Errorf("the problems are %q, want only %q", problems, test.want)
			}
		})
	}
}

func TestCheck_StaleRenderedFile_IsReported(t *testing.T) {
	for _, file := range []string{"openapi.json", "changelog.json", "pages/docs.html"} {
		t.Run(file, func(t *testing.T) {
			root := keep(t, shop, [2]string{"0001-2026-11-21", shop})
			c := open(t, root)
			if err := c.Render(); err != nil {
				t.Fatal(err)
			}
			write(t, root, "api/"+file, "{}\n")
			problems, err := c.Check(t.Context(), routes(), today)
			if err != nil || len(problems) != 1 || !strings.Contains(problems[0], "api/"+file+" is out of date") {
				t.Errorf("the problems are %q, %v, want only the stale file", problems, err)
			}
		})
	}
}

func TestOpen_EditedRelease_IsRejected(t *testing.T) {
	const first, second = "api/releases/0001-undated.yaml", "api/releases/0002-2026-11-21.yaml"
	for name, test := range map[string]struct {
		harm func(t *testing.T, root string)
		want string
	}{
		"edited": {func(t *testing.T, root string) {
			write(t, root, first, edited(t, "Voucher not found", "No voucher"))
		}, "0001-undated.yaml was edited after its release"},
		"added by hand": {func(t *testing.T,
			root string,
		) {
			write(t, root, "api/releases/0003-undated.yaml", shop)
		}, "0003-undated.yaml was edited after its release"},
		"removed": {
			func(t *testing.T, root string) { remove(t, root, second) },
			"lists a document that does not exist",
		},
		"the first removed, with its sum": {
			func(t *testing.T, root string) { remove(t, root, first); sum(t, root) },
			"0002-2026-11-21.yaml should be 0001",
		},
		"without sums": {func(t *testing.T,
			root string,
		) {
			remove(t, root, "api/releases/SHA256SUMS")
		}, "SHA256SUMS"},
		"no line in the sums": {func(t *testing.T,
			root string,
		) {
			write(t, root, "api/releases/SHA256SUMS", "")
		}, "0001-undated.yaml was edited"},
	} {
		t.Run(name, func(t *testing.T) {
			root := keep(t, shop, [2]string{"0001-undated", shop}, [2]string{"0002-2026-11-21", shop})
			test.harm(t, root)
			if _, err := contract.Open(root, page); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
	for name, releases := range map[string][2]string{
		"out of order":     {"0001-2026-11-21", "0002-2026-11-20"},
		"a missing number": {"0001-undated", "0003-undated"},
		"without a number": {"0001-undated", "next"},
	} {
		t.Run(name, func(t *testing.T) {
			root := keep(t, shop, [2]string{releases[0], shop}, [2]string{releases[1], shop})
			if _, err := contract.Open(root, page); err == nil {
				t.Errorf("releases %v are accepted", releases)
			}
		})
	}
}

func remove(t *testing.T, root, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}
