package contract_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
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

// Parts of the shop.
const (
	area = "  /shop/{customer}/checkout:\n    get:\n      parameters:\n        - {name: customer, in: path, " +
		"required: true, schema: {type: string}}\n      responses:\n        " + onSale + "\n"
	get       = "  /shop/{customer}/checkout:\n    get:\n"
	onSale    = `"200": {description: What is on sale}`
	channel   = "        - {name: channel, in: query, schema: {type: string, default: web}}\n"
	note      = "        note: {type: string}\n"
	id        = "        id: {type: string}\n"
	nick      = "                nick: {type: string, description: The shopper's handle}\n"
	requestID = "            Request-Id: {schema: {type: string}}\n"
	header    = "          headers:\n" + requestID
	coins     = "coins: {type: integer}"
	// also the last line of the document
	last = "        reward: {type: object, properties: {coins: {type: integer}}}\n"
)

// Other members of the shop, in place of one that it has.
const (
	newNote = note + "        till: {type: string}\n"
	newNick = nick + "                till: {type: string}\n"
	linked  = `"200": {description: What is on sale, links: {redeem: {operationId: redeem, ` +
		`requestBody: {code: $response.body#/code}}}}`
	condition = last + "      if: {properties: {note: {const: coins}}}\n      then: {required: [reward, note]}\n"
	inHeader  = "components:\n  securitySchemes: {key: {type: apiKey, in: header, name: Key}}\n"
	recursive = last + `        earlier: {$ref: "#/components/schemas/Redemption"}` + "\n"
)

// future is the day after today.
const future = "2027-03-02"

// deprecated is an edit that deprecates an operation, with a sunset.
func deprecated(sunset string) []string {
	return []string{get, fmt.Sprintf("%s      deprecated: true\n      x-sunset: %q\n", get, sunset)}
}

// marked is an edit that deprecates one element, with a sunset. The parameter text is the element's text in the shop.
func marked(text, sunset string) []string {
	return []string{text, strings.Replace(text, "{", fmt.Sprintf("{deprecated: true, x-sunset: %q, ", sunset), 1)}
}

// reward is an edit of a member that responses have, code of a member that requests have, and ids of a header.
func reward(schema string) []string { return []string{coins, "coins: {" + schema + "}"} }

func code(schema string) []string { return []string{"code: {type: string}", "code: {" + schema + "}"} }

func ids(header string) []string {
	return []string{requestID, "            Request-Id: {" + header + "}\n"}
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
	found, err := c.Check(t.Context(), routesOf(working), today)
	if err != nil {
		found = []string{err.Error()}
	}
	return strings.Join(found, "\n")
}

// routesOf returns the routes of a document that may lack the second operation of the shop.
func routesOf(working string) []gateway.Route {
	if !strings.Contains(working, "/checkout:\n") {
		return routes()[:1]
	}
	return routes()
}

// The diff library misses many of these changes, or reports them as harmless.
func TestCheck_HarmfulChange_IsReported(t *testing.T) {
	const (
		optional = "what clients may send must stay accepted"
		within   = "responses must stay within what was promised"
		unlisted = "no rule says that this is harmless"
		coin     = "    Redemption:\n"
		contains = `coins: {type: array, contains: {$ref: "#/components/schemas/Coin"}}`
		till     = channel + "        - {name: till, in: query, required: true, schema: {type: string}}\n"
		ref      = `$ref: "#/components/schemas/Redemption"`
		redeem   = "operationId: redeem\n"
	)
	for name, test := range map[string]struct {
		base, working []string // edits of the shop
		want          string
	}{
		"a removed operation": {
			nil, []string{area, ""}, "GET /shop/{customer}/checkout: was removed without having been deprecated",
		},
		"a removed response field": {
			nil,
			[]string{note, ""},
			"response 200, application/json, field note: was removed without having been deprecated",
		},
		"a removed required response field": {nil, []string{id, "", "[id, reward]", "[reward]"}, "field id: was removed"},
		"a removed request field": {
			nil, []string{nick, ""}, "request body, application/json, field nick: was removed",
		},
		"a new required field": {
			nil, []string{"[code]", "[code, till]", nick, newNick}, "field till: is required now",
		},
		"a field that becomes required": {nil, []string{"[code]", "[code, nick]"}, "field nick: is required now"},
		"a new required parameter":      {nil, []string{channel, till}, "parameter till in query: is new and required"},
		"a parameter that becomes required": {
			nil, []string{"in: query,", "in: query, required: true,"}, "parameter channel in query: is required now",
		},
		"a body that becomes required": {
			nil, []string{"requestBody:\n", "requestBody:\n        required: true\n"}, "request body: is required now",
		},
		"a removed body": {nil, []string{"requestBody:", "x-formerly:"}, "requestBody was {"},
		"a removed media type": {
			nil,
			[]string{"json:\n              schema: {$ref", "hal+json:\n              schema: {$ref"},
			"response 200, application/json: was removed: clients rely on it",
		},
		"a removed status": {
			nil, []string{`        "404": {description: Voucher not found}` + "\n", ""}, "response 404: was removed: clients rely on it",
		},
		"a removed header":    {nil, []string{header, ""}, "response 200, header Request-Id: was removed"},
		"a removed parameter": {nil, []string{channel, ""}, "parameter channel in query: was removed"},
		"a removed link":      {[]string{onSale, linked}, nil, "response 200, link redeem: it was {"},
		"a link that becomes another": {
			[]string{onSale, linked},
			[]string{onSale, strings.Replace(linked, "body#/code", "body#/id", 1)},
			"response 200, link redeem: it was {",
		},
		"a response field that may be missing": {nil, []string{"[id, reward]", "[id]"}, "field reward: is optional now"},
		"another default": {
			nil, []string{"default: web", "default: app"}, `default was "web" and is "app"`,
		},
		"no default": {nil, []string{", default: web", ""}, `default was "web" and is not there`},
		"another operation ID": {
			nil, []string{"operationId: redeem", "operationId: use"}, `operationId was "redeem" and is "use"`,
		},

		"a narrowed type": {nil, code("type: integer"), `field code: type was "string" and is "integer"`},
		"a narrowed field": {
			nil, code("type: string, maxLength: 8"), "field code: maxLength was not there and is 8: " + optional,
		},
		"a const of a parameter": {
			nil,
			[]string{"default: web", "default: web, const: web"},
			`parameter channel in query: const was not there and is "web": ` + optional,
		},
		"a divisor of requests": {
			code("type: integer"), code("type: integer, multipleOf: 2"), "field code: multipleOf was not there and is 2",
		},
		"a negation": {
			nil, code("type: string, not: {const: none}"),
			`field code: not was not there and is {"const":"none"}: ` + optional,
		},
		"another negation": {
			code("type: string, not: {maxLength: 2}"), code("type: string, not: {maxLength: 3}"),
			`field code: not was {"maxLength":2} and is {"maxLength":3}: it must stay as it was`,
		},
		"fewer alternatives of requests": {
			code("anyOf: [{type: string}, {type: integer}]"), code("anyOf: [{type: string}]"),
			"field code: anyOf had 2 and has 1 schemas: " + optional,
		},
		"content instead of a schema": {
			nil,
			[]string{"schema: {type: string, default: web}", "content: {text/plain: {schema: {type: string}}}"},
			"parameter channel in query: schema was",
		},
		"another style of a parameter": {
			nil,
			[]string{"in: query,", "in: query, allowReserved: true,"},
			"parameter channel in query: allowReserved was not there and is true: " + unlisted,
		},

		"a widened response": {
			nil,
			[]string{id, "        id: {type: [string, integer]}\n"},
			`field id: type was "string" and is ["string","integer"]: ` + within,
		},
		"a dropped maximum of responses": {
			reward("type: integer, maximum: 100"), nil, "field coins: maximum was 100 and is not there",
		},
		"a higher maximum of responses": {
			reward("type: integer, maximum: 100"), reward("type: integer, maximum: 101"), within,
		},
		"a dropped minimum of responses": {
			reward("type: integer, minimum: 0"), nil, "field coins: minimum was 0 and is not there",
		},
		"a lower minimum of responses": {
			reward("type: integer, exclusiveMinimum: 0"), reward("type: integer, exclusiveMinimum: -1"), within,
		},
		"a dropped maxItems of responses": {
			reward("type: array, maxItems: 3"), reward("type: array"), "field coins: maxItems was 3 and is not there",
		},
		"other items of responses": {
			reward("type: array, items: {type: integer, maximum: 3}"), reward("type: array, items: {type: integer}"),
			"field coins, items: maximum",
		},
		"responses open to other members": {
			reward("type: object, additionalProperties: false"), reward("type: object"),
			"field coins, additionalProperties:",
		},
		"another divisor of responses": {
			reward("type: integer, multipleOf: 2"), reward("type: integer, multipleOf: 3"),
			"field coins: multipleOf was 2 and is 3",
		},
		"a dropped negation": {
			reward("type: integer, not: {const: 0}"), nil, `field coins: not was {"const":0} and is not there: ` + within,
		},
		"a relaxed condition": {
			[]string{last, condition},
			[]string{last, strings.Replace(condition, "reward, note", "reward", 1)},
			"then, field note: is optional now",
		},
		"another condition": {
			[]string{last, condition},
			[]string{last, strings.Replace(condition, "const: coins", "const: ranks", 1)},
			`if was {"properties":{"note":{"const":"coins"}}} and is {"properties":{"note":{"const":"ranks"}}}: it must ` +
				"stay as it was",
		},
		"a removed kind": {
			reward("x-extensible-enum: [coins, rank]"), reward("x-extensible-enum: [coins]"),
			`field coins: x-extensible-enum was ["coins","rank"] and is ["coins"]: clients rely on it`,
		},
		"a removed list of kinds": {
			reward("type: integer, x-extensible-enum: [1]"), nil,
			"field coins: x-extensible-enum was [1] and is not there: clients rely on it",
		},
		"a new alternative of responses": {
			reward("oneOf: [{const: coins}]"), reward("oneOf: [{const: coins}, {const: rank}]"),
			"field coins: oneOf had 1 and has 2 schemas: " + within,
		},
		"a changed alternative": {
			reward("oneOf: [{const: coins}]"), reward("oneOf: [{const: rank}]"), "field coins, oneOf 1: const",
		},
		"fewer parts of responses": {
			reward("allOf: [{type: string}, {maxLength: 3}]"), reward("allOf: [{type: string}]"),
			"field coins: allOf had 2 and has 1 schemas",
		},
		"a keyword without a rule": {
			nil, reward("type: integer, minContains: 2"), "field coins: minContains was not there and is 2: " + unlisted,
		},
		"another const of a header": {
			ids("schema: {type: string, const: no-store}"), ids("schema: {type: string, const: no-cache}"),
			`header Request-Id: const was "no-store" and is "no-cache"`,
		},
		"another pattern of a header": {
			ids("schema: {type: string, pattern: ^@}"), ids("schema: {type: string, pattern: ^x}"),
			"header Request-Id: pattern",
		},
		"more values of a header": {
			ids("schema: {type: string, enum: [a]}"), ids("schema: {type: string, enum: [a, b]}"), "header Request-Id: enum",
		},
		"a header that may be missing": {
			ids("required: true, schema: {type: string}"), nil, "header Request-Id: is optional now",
		},
		"a header's content": {
			nil, ids("content: {text/plain: {schema: {type: string}}}"), "header Request-Id: schema was",
		},

		"security": {
			nil,
			[]string{redeem, redeem + "      security: [{key: []}]\n", "components:\n", inHeader},
			"POST /shop/{customer}/voucher: security",
		},
		"security of all operations": {
			nil,
			[]string{"servers:", "security: [{key: []}]\nservers:", "components:\n", inHeader},
			"GET /shop/{customer}/checkout: security",
		},
		"another security scheme": {
			[]string{"components:\n", inHeader},
			[]string{"components:\n", strings.Replace(inHeader, "in: header", "in: query", 1)},
			"security scheme key was",
		},
		"other servers": {nil, []string{"url: /", "url: /v2"}, `servers: {"url":"/"} is not in its place any more`},
		"servers of an operation": {
			nil, []string{redeem, redeem + "      servers: [{url: /v2}]\n"}, "POST /shop/{customer}/voucher: servers",
		},
		"an operation that takes requests from another": {
			nil,
			[]string{area, area + strings.Replace(area, "{customer}", "emberforge", 1)},
			"GET /shop/emberforge/checkout: takes requests from GET /shop/{customer}/checkout",
		},

		"a change behind a reference": {
			[]string{coin, "    Coin: {type: integer}\n" + coin, coins, contains},
			[]string{coin, "    Coin: {type: string}\n" + coin, coins, contains},
			"field coins: contains",
		},
		"a keyword beside a reference": {
			[]string{ref, ref + ", maxProperties: 3"},
			nil,
			"response 200, application/json: maxProperties was 3 and is not there",
		},
		"a change beside a harmless one": {
			reward("type: integer, maximum: 100"), []string{note, newNote}, "maximum was 100 and is not there",
		},
		"a change in a recursive schema": {
			[]string{last, recursive}, []string{last, recursive, note, ""}, "field note: was removed",
		},
		"a change beside a broken example": {
			nil, append(reward("type: integer, example: many"), note, ""), "field note: was removed",
		},

		"a removal before the sunset": {
			deprecated(future),
			[]string{area, ""},
			"GET /shop/{customer}/checkout: was removed before its sunset on 2027-03-02",
		},
		"a field removed before its sunset": {
			marked(note, future), []string{note, ""}, "field note: was removed before its sunset",
		},
		"a parameter removed before its sunset": {
			marked(channel, future), []string{channel, ""}, "parameter channel in query: was removed before its sunset",
		},
		"a header removed before its sunset": {
			marked(requestID, future), []string{header, ""}, "header Request-Id: was removed before its sunset",
		},
		"a sunset brought forward": {
			deprecated(future), deprecated("2027-02-28"), "brings its sunset forward: a release announced 2027-03-02",
		},
		"a withdrawn sunset": {
			deprecated(future), []string{get, get + "      deprecated: true\n"}, "brings its sunset forward",
		},
		"a deprecated field's sunset brought forward": {
			marked(note, future), marked(note, "2027-02-28"), "field note: brings its sunset forward",
		},
		"a sunset without deprecation": {
			deprecated(future),
			[]string{get, get + "      x-sunset: \"2027-03-02\"\n"},
			"paths./shop/{customer}/checkout.get has an x-sunset but is not deprecated",
		},
		"a new field's sunset without deprecation": {
			nil,
			[]string{last, last + "        till: {type: string, x-sunset: \"2027-03-02\"}\n"},
			"components.schemas.Redemption.properties.till has an x-sunset but is not deprecated",
		},
		"a sunset that is not a date": {
			nil, deprecated("next year"), `x-sunset "next year" of paths./shop/{customer}/checkout.get is not a date`,
		},

		"another version":    {nil, []string{"version: 1.0.0", "version: 2.0.0"}, "info.version is 2.0.0"},
		"a broken document":  {nil, []string{"in: query,", "in: body,"}, "openapi.yaml: invalid paths"},
		"a broken reference": {nil, []string{"schemas/Redemption", "schemas/Redeemed"}, "Redeemed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := problems(t, edited(t, test.working...), edited(t, test.base...)); !strings.Contains(got, test.want) {
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
	const want, first = "brings its sunset forward: a release announced 2028-01-01", "2028-01-01"
	for name, test := range map[string]struct {
		releases [][]string // edits of the shop
		working  []string
		want     string
	}{
		"deprecation lifted, then set earlier": {[][]string{deprecated(first), nil}, deprecated(future), want},
		"deprecation lifted, then set again without a day": {
			[][]string{deprecated(first), nil}, []string{get, get + "      deprecated: true\n"}, want,
		},
		"a field's sunset":  {[][]string{marked(note, first), nil}, marked(note, future), want},
		"the latest of two": {[][]string{deprecated("2027-06-01"), deprecated(first)}, deprecated(future), want},
		"removed": {
			[][]string{deprecated(first), nil, deprecated("2027-01-01")},
			[]string{area, ""},
			"was removed before its sunset on 2028-01-01",
		},
		"deprecation lifted":                           {[][]string{deprecated(first)}, nil, ""},
		"deprecation lifted, then set to the same day": {[][]string{deprecated(first), nil}, deprecated(first), ""},
		"removed after the last sunset": {
			[][]string{deprecated("2026-12-01"), nil, deprecated("2027-01-01")}, []string{area, ""}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var releases []string
			for _, edits := range test.releases {
				releases = append(releases, edited(t, edits...))
			}
			got := problems(t, edited(t, test.working...), releases...)
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
	withoutNote, withoutArea := []string{note, ""}, []string{area, ""}
	first := release{"2026-11-21", nil}
	for name, test := range map[string]struct {
		releases []release // after six releases of the shop
		want     string    // part of the problems; empty: there are none
	}{
		"correct": {[]release{first, {"2026-12-01", deprecated("2027-01-01")}, {"2027-01-01", withoutArea}}, ""},
		"breaking, right after the reconstructed ones": {[]release{{"2026-11-21", withoutNote}}, ""},
		"breaking": {
			[]release{first, {"2026-12-01", withoutNote}},
			"release 0008-2026-12-01: POST /shop/{customer}/voucher: response 200, application/json, field note: " +
				"was removed without",
		},
		"breaking, then repaired": {
			[]release{first, {"2026-12-01", withoutNote}, {"2026-12-02", nil}}, "release 0008-2026-12-01: POST",
		},
		"breaking, and marked as reconstructed": {
			[]release{first, {"2026-12-01", append(withoutNote, "version: 1.0.0", "version: 1.0.0, x-reconstructed: true")}},
			"release 0008-2026-12-01: POST",
		},
		"removed before the sunset": {
			[]release{{"2026-11-21", deprecated("2027-01-01")}, {"2026-12-31", withoutArea}},
			"release 0008-2026-12-31: GET /shop/{customer}/checkout: was removed before its sunset on 2027-01-01",
		},
		"deprecation lifted, then set again without a day": {
			[]release{
				{"2026-11-21", deprecated("2027-01-01")},
				{"2026-12-01", nil},
				{"2026-12-02", []string{get, get + "      deprecated: true\n"}},
			},
			"release 0009-2026-12-02: GET /shop/{customer}/checkout: brings its sunset forward: a release " +
				"announced 2027-01-01",
		},
		"a sunset that is not a day": {
			[]release{first, {"2026-12-01", deprecated("soon")}}, `release 0008-2026-12-01: x-sunset "soon"`,
		},
		"other servers": {
			[]release{first, {"2026-12-01", []string{"url: /", "url: /v2"}}},
			"release 0008-2026-12-01: the document: servers",
		},
		"dated today":    {[]release{first, {"2027-03-01", nil}}, ""},
		"dated tomorrow": {[]release{first, {future, nil}}, "release 0008-2027-03-02: its date is in the future"},
		"without a date": {[]release{{"", nil}}, "release 0007-undated: it has no date"},
	} {
		t.Run(name, func(t *testing.T) {
			// six releases of the shop, then the given ones; the last is also the working document
			var releases [][2]string
			for i, r := range append(make([]release, 6), test.releases...) {
				named := fmt.Sprintf("%04d-%s", i+1, cmp.Or(r.date, "undated"))
				releases = append(releases, [2]string{named, edited(t, r.edits...)})
			}
			working := releases[len(releases)-1][1]
			c := open(t, keep(t, working, releases...))
			if err := c.Render(); err != nil {
				t.Fatal(err)
			}
			problems, err := c.Check(t.Context(), routesOf(working), today)
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

type release struct {
	date  string   // empty: undated
	edits []string // of the shop
}

func TestCheck_HarmlessChange_Passes(t *testing.T) {
	const (
		orders = "  /shop/{customer}/orders:\n    get:\n      parameters: [{name: customer, in: path, required: true, " +
			"schema: {type: string}}]\n      responses: {\"200\": {description: Orders}}\ncomponents:\n"
		retired = "2027-03-01" // today
	)
	gone := append(routes()[:1], route("removed-payment", "GET", "/shop/{customer}/checkout"))
	for name, test := range map[string]struct {
		base, working []string        // edits of the shop
		routes        []gateway.Route // nil: those of the document
	}{
		"nothing changed": {},
		"an addition": {
			nil,
			[]string{"components:\n", orders},
			routes(route("", "GET", "/shop/{shop}/orders"), route("", "HEAD", "/shop/{shop}/orders")),
		},
		"an optional field":           {nil, []string{nick, newNick}, nil},
		"a response field":            {nil, []string{note, newNote}, nil},
		"a new status":                {nil, []string{`"404":`, "\"429\": {description: Later}\n        \"404\":"}, nil},
		"a new header":                {[]string{header, ""}, nil, nil},
		"a new optional parameter":    {[]string{channel, ""}, []string{", default: web", ""}, nil},
		"a link to another operation": {nil, []string{onSale, linked}, nil},
		"another server": {
			nil, []string{"[{url: /}]", "[{url: /, description: Here}, {url: https://shop.example}]"}, nil,
		},

		"a removal after deprecation": {[]string{get, get + "      deprecated: true\n"}, []string{area, ""}, nil},
		"a removal on the sunset":     {deprecated(retired), []string{area, ""}, gone},
		"a parameter after deprecation": {
			[]string{channel, strings.Replace(channel, "{", "{deprecated: true, ", 1)}, []string{channel, ""}, nil,
		},
		"a response field after deprecation": {marked(note, retired), []string{note, ""}, nil},
		"a required field after deprecation": {
			marked(id, retired), []string{id, "", "[id, reward]", "[reward]"}, nil,
		},
		"a request field after deprecation": {marked(nick, retired), []string{nick, ""}, nil},
		"a header after deprecation":        {marked(requestID, retired), []string{header, ""}, nil},
		"a deprecation":                     {nil, deprecated("2028-03-01"), nil},

		"a lower minimum of requests":     {code("type: string, minLength: 2"), code("type: string, minLength: 1"), nil},
		"a wider type of requests":        {nil, code("type: [string, \"null\"]"), nil},
		"more values of requests":         {code("enum: [alder]"), code("enum: [alder, birch]"), nil},
		"a pattern dropped from requests": {code("type: string, pattern: ^a"), nil, nil},
		"a field that may be left out":    {[]string{"[code]", "[code, nick]"}, nil, nil},

		"a new maximum of responses":            {nil, reward("type: integer, maximum: 100"), nil},
		"a response field that is now required": {nil, []string{"[id, reward]", "[id, note, reward]"}, nil},
		"fewer alternatives of responses": {
			reward("oneOf: [{type: integer}, {type: string}]"), reward("oneOf: [{type: integer}]"), nil,
		},
		"a new kind": {reward("x-extensible-enum: [coins]"), reward("x-extensible-enum: [coins, rank]"), nil},

		"a renamed path parameter": {nil, []string{"{customer}", "{shop}", "name: customer", "name: shop"}, nil},
		"a shared schema":          {nil, sharedSchema(), nil},
		"other text for people":    {nil, otherText(), nil},
		"an optional key":          {nil, optionalKey(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			working := edited(t, test.working...)
			if test.routes == nil {
				test.routes = routesOf(working)
			}
			problems, err := rendered(t, edited(t, test.base...), working).Check(t.Context(), test.routes, today)
			if err != nil || len(problems) > 0 {
				t.Errorf("the problems are %q, %v, want none", problems, err)
			}
		})
	}
}

// These edits change no structure, except that optionalKey lets clients send credentials.
func sharedSchema() []string {
	return append(code(`$ref: "#/components/schemas/Code"`), "schemas:\n", "schemas:\n    Code: {type: string}\n")
}

func otherText() []string {
	return []string{
		"summary: Redeem a voucher",
		"summary: Redeem\n      description: At most once.\n      externalDocs: {url: https://shop.example}",
		"note: {type: string}", "note: {type: string, title: A note, examples: [thanks], $comment: free text}",
		"tags: [Vouchers]", "tags: [Codes, Vouchers]", "description: Redeemed", "description: It is redeemed",
	}
}

func optionalKey() []string {
	return []string{
		"operationId: redeem\n", "operationId: redeem\n      security: [{}, {key: []}]\n",
		"components:\n", "components:\n  securitySchemes: {key: {type: http, scheme: bearer}}\n",
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
			routes(route("", "GET", orders)), "GET /shop/{customer}/orders is routed, but not in openapi.yaml",
		},
		"an undocumented HEAD": {
			routes(route("", "HEAD", orders)), "HEAD /shop/{customer}/orders is routed, but not in openapi.yaml",
		},
		"an unrouted operation":  {routes()[1:], "POST /shop/{customer}/voucher is in openapi.yaml, but not routed"},
		"a GET without its HEAD": {routes()[:2], "HEAD /shop/{customer}/checkout is not routed, but its GET is"},
		"a HEAD with another function": {
			append(routes()[:2], route("voucher", "HEAD", "/shop/{customer}/checkout")),
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
			append(routes()[1:], route("removed-payment", "POST", "/shop/{customer}/voucher")),
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
		harm func(root string)
		want string
	}{
		"edited": {
			func(root string) { write(t, root, first, edited(t, "Voucher not found", "No voucher")) },
			"0001-undated.yaml was edited after its release",
		},
		"added by hand": {
			func(root string) { write(t, root, "api/releases/0003-undated.yaml", shop) },
			"0003-undated.yaml was edited after its release",
		},
		"removed": {func(root string) { remove(t, root, second) }, "lists a document that does not exist"},
		"the first removed, with its sum": {
			func(root string) { remove(t, root, first); sum(t, root) }, "0002-2026-11-21.yaml should be 0001",
		},
		"without sums": {func(root string) { remove(t, root, "api/releases/SHA256SUMS") }, "SHA256SUMS"},
		"no line in the sums": {
			func(root string) { write(t, root, "api/releases/SHA256SUMS", "") }, "0001-undated.yaml was edited",
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := keep(t, shop, [2]string{"0001-undated", shop}, [2]string{"0002-2026-11-21", shop})
			test.harm(root)
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
