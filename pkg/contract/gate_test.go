package contract_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shopfront/pkg/contract"
)

// The gate is green on what is checked in: `make contract`, and what functions embed is up to date.
func TestTheContractIsKept(t *testing.T) {
	if err := contract.Run([]string{"check"}, root, t.Output(), time.Now()); err != nil {
		t.Error(err)
	}
}

const (
	area    = "  /shop/{customer}/checkout:\n    get:\n      parameters:\n        - {name: customer, in: path, required: true, schema: {type: string}}\n      responses:\n        \"200\": {description: What is on sale}\n"
	get     = "  /shop/{customer}/checkout:\n    get:\n"
	channel = "        - {name: channel, in: query, schema: {type: string, default: web}}\n"
	note    = "        note: {type: string}\n"
	id      = "        id: {type: string}\n"
	nick    = "                nick: {type: string, description: The shopper's handle}\n"
	header  = "          headers:\n            Request-Id: {schema: {type: string}}\n"
)

func TestTheGateIsRed(t *testing.T) {
	deprecated := func(sunset string) string {
		return edited(t, get, fmt.Sprintf("%s      deprecated: true\n      x-sunset: %q\n", get, sunset))
	}
	field := func(text, sunset string) string {
		return edited(t, text, strings.Replace(text, "{", fmt.Sprintf("{deprecated: true, x-sunset: %q, ", sunset), 1))
	}
	const future = "2027-03-02"
	tests := map[string]struct {
		base, working string
		want          string
	}{
		"a removed operation":                {shop, edited(t, area, ""), "GET /shop/{customer}/checkout: api path removed without deprecation"},
		"a removed answer field":             {shop, edited(t, note, ""), "removed the optional property `note` from the response"},
		"a removed field of every answer":    {shop, edited(t, id, "", "[id, reward]", "[reward]"), "removed the required property `id`"},
		"a new required field":               {shop, edited(t, "[code]", "[code, till]", nick, nick+"                till: {type: string}\n"), "required request property `till`"},
		"a field that becomes required":      {shop, edited(t, "[code]", "[code, nick]"), "the request property `nick` became required"},
		"a new required parameter":           {shop, edited(t, "name: channel, in: query,", "name: channel, in: query, required: true,"), "channel"},
		"a narrowed type":                    {shop, edited(t, "code: {type: string}", "code: {type: integer}"), "`code` request property `type` changed"},
		"a narrowed field":                   {shop, edited(t, "code: {type: string}", "code: {type: string, maxLength: 8}"), "maxLength"},
		"a widened answer":                   {shop, edited(t, "id: {type: string}", "id: {type: [string, integer]}"), "`id`"},
		"an answer field that may be gone":   {shop, edited(t, "[id, reward]", "[id]"), "`reward` became optional"},
		"a removed status":                   {shop, edited(t, `        "404": {description: Voucher not found}`+"\n", ""), "`404`"},
		"a removed header":                   {shop, edited(t, header, ""), "Request-Id"},
		"a removed parameter":                {shop, edited(t, channel, ""), "channel"},
		"another default":                    {shop, edited(t, "default: web", "default: app"), "default"},
		"another name for generated clients": {shop, edited(t, "operationId: redeem", "operationId: use"), "operation id"},
		"a removal before the sunset":        {deprecated(future), edited(t, area, ""), "GET /shop/{customer}/checkout: was removed before its sunset on 2027-03-02"},
		"a field removed before its sunset":  {field(note, future), edited(t, note, ""), "the field note was removed before its sunset"},
		"a parameter removed before its sunset": {
			edited(t, channel, "        - {name: channel, in: query, deprecated: true, x-sunset: \"2027-03-02\", schema: {type: string}}\n"), edited(t, channel, ""),
			"the parameter channel was removed before its sunset",
		},
		"a sunset brought forward":                    {deprecated(future), deprecated("2027-02-28"), "brings its sunset forward, which was announced for 2027-03-02"},
		"a sunset taken back":                         {deprecated(future), edited(t, get, get+"      deprecated: true\n"), "brings its sunset forward"},
		"a deprecated field's sunset brought forward": {field(note, future), field(note, "2027-02-28"), "the field note brings its sunset forward"},
		"another version":                             {shop, edited(t, "version: 1.0.0", "version: 2.0.0"), "info.version is 2.0.0"},
		"a broken document":                           {shop, edited(t, "in: query,", "in: body,"), "in"},
		"a broken reference":                          {shop, edited(t, "schemas/Redemption", "schemas/Redeemed"), "Redeemed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := open(t, keep(t, test.working, [2]string{"0001-2026-11-21", test.base}))
			_ = c.Render() // a broken document has no rendering
			problems, err := c.Check(routes(), today)
			if err != nil {
				problems = []string{err.Error()}
			}
			if all := strings.Join(problems, "\n"); !strings.Contains(all, test.want) {
				t.Errorf("got %q, want %q in it", all, test.want)
			}
		})
	}
}

func TestTheGateIsGreen(t *testing.T) {
	passed := func(text string) string {
		return edited(t, text, strings.Replace(text, "{", `{deprecated: true, x-sunset: "2027-03-01", `, 1))
	}
	tests := map[string]struct {
		base, working string
		routes        []contract.Operation
	}{
		"nothing changed": {shop, shop, routes()},
		"an addition": {
			shop, edited(t, "components:\n", "  /shop/{customer}/orders:\n    get:\n      parameters: [{name: customer, in: path, required: true, schema: {type: string}}]\n      responses: {\"200\": {description: Orders}}\ncomponents:\n"),
			routes(contract.Operation{Method: "GET", Path: "/shop/{shop}/orders"}),
		},
		"an optional field":                  {shop, edited(t, nick, nick+"                till: {type: string}\n"), routes()},
		"an answer field":                    {shop, edited(t, note, note+"        till: {type: string}\n"), routes()},
		"a new status":                       {shop, edited(t, `"404":`, "\"429\": {description: Later}\n        \"404\":"), routes()},
		"a removal after deprecation":        {edited(t, get, get+"      deprecated: true\n"), edited(t, area, ""), routes()},
		"a removal on the sunset":            {edited(t, get, get+"      deprecated: true\n      x-sunset: \"2027-03-01\"\n"), edited(t, area, ""), routes()},
		"a parameter after deprecation":      {edited(t, channel, "        - {name: channel, in: query, deprecated: true, schema: {type: string}}\n"), edited(t, channel, ""), routes()},
		"an answer field after deprecation":  {passed(note), edited(t, note, ""), routes()},
		"a required field after deprecation": {passed(id), edited(t, id, "", "[id, reward]", "[reward]"), routes()},
		"a request field after deprecation":  {passed(nick), edited(t, nick, ""), routes()},
		"a header after deprecation":         {passed("            Request-Id: {schema: {type: string}}\n"), edited(t, header, ""), routes()},
		"a deprecation":                      {shop, edited(t, get, get+"      deprecated: true\n      x-sunset: \"2028-03-01\"\n"), routes()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			problems, err := rendered(t, test.base, test.working).Check(test.routes, today)
			if err != nil || len(problems) > 0 {
				t.Errorf("%q, %v", problems, err)
			}
		})
	}
}

func TestTheCodeRoutesWhatIsDocumented(t *testing.T) {
	c := rendered(t, shop, shop)
	for name, test := range map[string]struct {
		routes []contract.Operation
		want   string
	}{
		"an operation that is not documented": {routes(contract.Operation{Method: "GET", Path: "/shop/{customer}/orders"}), "GET /shop/{customer}/orders is routed, but not in openapi.yaml"},
		"an operation that is not routed":     {routes()[1:], "POST /shop/{customer}/voucher is in openapi.yaml, but not routed"},
	} {
		t.Run(name, func(t *testing.T) {
			problems, err := c.Check(test.routes, today)
			if err != nil || len(problems) != 1 || problems[0] != test.want {
				t.Errorf("%q, %v; want %q", problems, err, test.want)
			}
		})
	}
}

func TestRenderedFilesAreUpToDate(t *testing.T) {
	for _, file := range []string{"openapi.json", "changelog.json", "pages/docs.html"} {
		t.Run(file, func(t *testing.T) {
			root := keep(t, shop, [2]string{"0001-2026-11-21", shop})
			c := open(t, root)
			if err := c.Render(); err != nil {
				t.Fatal(err)
			}
			write(t, root, "api/"+file, "{}\n")
			problems, err := c.Check(routes(), today)
			if err != nil || len(problems) != 1 || !strings.Contains(problems[0], "api/"+file+" is out of date") {
				t.Errorf("%q, %v", problems, err)
			}
		})
	}
}

func TestReleasedDocumentsAreNeverEdited(t *testing.T) {
	const first, second = "api/releases/0001-undated.yaml", "api/releases/0002-2026-11-21.yaml"
	for name, test := range map[string]struct {
		harm func(t *testing.T, root string)
		want string
	}{
		"edited": {func(t *testing.T, root string) {
			t.Helper()
			write(t, root, first, edited(t, "Voucher not found", "No voucher"))
		}, "0001-undated.yaml was edited after it was released"},
		"added by hand":       {func(t *testing.T, root string) { t.Helper(); write(t, root, "api/releases/0003-undated.yaml", shop) }, "0003-undated.yaml was edited after it was released"},
		"taken away":          {func(t *testing.T, root string) { t.Helper(); remove(t, root, second) }, "lists a document that is not there"},
		"without sums":        {func(t *testing.T, root string) { t.Helper(); remove(t, root, "api/releases/SHA256SUMS") }, "SHA256SUMS"},
		"sums without a line": {func(t *testing.T, root string) { t.Helper(); write(t, root, "api/releases/SHA256SUMS", "") }, "0001-undated.yaml was edited"},
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
		"out of order":      {"0001-2026-11-21", "0002-2026-11-20"},
		"a number left out": {"0001-undated", "0003-undated"},
		"without a number":  {"0001-undated", "next"},
	} {
		t.Run(name, func(t *testing.T) {
			root := keep(t, shop, [2]string{releases[0], shop}, [2]string{releases[1], shop})
			if _, err := contract.Open(root, page); err == nil {
				t.Error("it is opened")
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
