package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tree is an object of a document as JSON has it, or the document itself.
type tree map[string]any

// absent stands for a member that is not there; null is one that is.
type absent struct{}

func readTree(name string, text []byte) (tree, error) {
	inJSON, err := toJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var document tree
	if err := json.Unmarshal(inJSON, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return document, nil
}

func (t tree) member(name string) any {
	if value, found := t[name]; found {
		return value
	}
	return absent{}
}

func (t tree) withoutWords() map[string]any {
	t = maps.Clone(t)
	maps.DeleteFunc(t, func(name string, _ any) bool { return isWords(name) })
	return t
}

// maxDepth bounds how deep circles of $refs are followed.
const maxDepth = 64

// at is the object that a value of the document t is, or that it refers to; what stands beside a $ref overrides. What is no
// object is an empty one.
func (t tree) at(value any) tree {
	node, _ := value.(map[string]any)
	for range maxDepth {
		reference, isReference := node["$ref"].(string)
		if !isReference {
			break
		}
		target := t.find(reference)
		if target == nil {
			break
		}
		merged := maps.Clone(target)
		for name, beside := range node {
			if name != "$ref" {
				merged[name] = beside
			}
		}
		node = merged
	}
	return node
}

// find follows a reference within the document.
func (t tree) find(reference string) map[string]any {
	pointer, isInside := strings.CutPrefix(reference, "#/")
	if !isInside {
		return nil
	}
	node := map[string]any(t)
	for name := range strings.SplitSeq(pointer, "/") {
		node, _ = node[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)].(map[string]any)
	}
	return node
}

// misplacedSunsets are the problems of sunsets in an object and below: only what is deprecated has one, and it is a day.
func (t tree) misplacedSunsets(at string, problems []string) []string {
	switch day := t[sunsetExtension].(type) {
	case nil, map[string]any: // the latter is a field of that name
	default:
		if _, err := time.Parse(time.DateOnly, fmt.Sprint(day)); err != nil {
			problems = append(problems, fmt.Sprintf("%s %s of %s is not a date such as \"2027-11-21\"", sunsetExtension, written(day), at))
		}
		if t["deprecated"] != true {
			problems = append(problems, fmt.Sprintf("%s has an %s, but is not deprecated: mark it so, or take the day out", at, sunsetExtension))
		}
	}
	for name, value := range t {
		below := strings.TrimPrefix(at+"."+name, ".")
		if object, isObject := value.(map[string]any); isObject {
			problems = tree(object).misplacedSunsets(below, problems)
		}
		for i, element := range list(value) {
			if object, isObject := element.(map[string]any); isObject {
				problems = tree(object).misplacedSunsets(fmt.Sprintf("%s.%d", below, i), problems)
			}
		}
	}
	return problems
}

// names are the members' names of two objects, sorted.
func names(base, revision tree) []string {
	both := slices.AppendSeq(slices.Collect(maps.Keys(base)), maps.Keys(revision))
	slices.Sort(both)
	return slices.Compact(both)
}

func list(value any) []any {
	values, _ := value.([]any)
	return values
}

// written is a value in JSON, cut where it gets long.
func written(value any) string {
	if value == (absent{}) {
		return "not there"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	const most = 120
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "…"
	}
	return string(text)
}

// endpoint is an operation with what it has from its path and from the document.
type endpoint struct {
	name              Operation
	operation         tree
	parameters        map[string]tree
	servers, security any
}

func (t tree) endpoints() map[Operation]endpoint {
	methods := []string{
		http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodOptions, http.MethodHead, http.MethodPatch, http.MethodTrace,
	}
	endpoints := make(map[Operation]endpoint)
	for path, item := range t.at(t["paths"]) {
		item := t.at(item)
		for _, method := range methods {
			if item[strings.ToLower(method)] == nil {
				continue
			}
			operation := t.at(item[strings.ToLower(method)])
			name := Operation{method, path}
			endpoints[name] = endpoint{
				name:       name,
				operation:  operation,
				parameters: t.parameters(path, slices.Concat(list(item["parameters"]), list(operation["parameters"]))),
				servers:    cmp.Or(operation["servers"], item["servers"]),
				security:   cmp.Or(operation["security"], t["security"]),
			}
		}
	}
	return endpoints
}

func (t tree) parameters(path string, parameters []any) map[string]tree {
	byKey := make(map[string]tree)
	for _, parameter := range parameters {
		found := t.at(parameter)
		key := fmt.Sprint(found["in"], " ", found["name"])
		if found["in"] == "path" {
			key = "path " + strconv.Itoa(slices.Index(strings.Split(path, "/"), fmt.Sprintf("{%v}", found["name"])))
		}
		byKey[key] = found
	}
	return byKey
}
