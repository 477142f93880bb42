package contract_test

import (
	"fmt"
	"strings"
	"testing"
)

const refused = `"404": {description: Voucher not found}`

// problemsOf returns a response with problems of the given types, which the keyword lists.
func problemsOf(keyword string, kinds ...string) string {
	var schemas []string
	for _, kind := range kinds {
		schemas = append(schemas, fmt.Sprintf("{allOf: [{properties: {type: {%s: [refused, gone], const: %s}, "+
			"status: {const: 404}}}]}", keyword, kind))
	}
	schema := schemas[0]
	if len(schemas) > 1 {
		schema = "{oneOf: [" + strings.Join(schemas, ", ") + "]}"
	}
	return `"404": {description: Refused, content: {application/problem+json: {schema: ` + schema + "}}}"
}

// Clients must expect problems of types that they do not know, if the types are an x-extensible-enum.
func TestCheck_FurtherProblems(t *testing.T) {
	const extensible = "x-extensible-enum"
	before := problemsOf(extensible, "refused")
	for what, test := range map[string]struct{ base, working, want string }{
		"a further type": {before, problemsOf(extensible, "gone", "refused"), ""},
		"a closed list of types": {
			problemsOf("enum", "refused"), problemsOf("enum", "refused", "gone"), "allOf had 1 and has 0 schemas",
		},
		"another form of the old problem": {
			before, strings.ReplaceAll(problemsOf(extensible, "refused", "gone"), "status: {const: 404}", ""),
			"refused, allOf 1, field status: was removed",
		},
	} {
		got := problems(t, edited(t, refused, test.working), edited(t, refused, test.base))
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", what, got, test.want)
		}
	}
}
