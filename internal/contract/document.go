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

// Operation is a method and a path, such as GET /shop/{customer}/checkout.
type Operation struct {
	Method string
	Path   string
}

func (o Operation) String() string { return o.Method + " " + o.Path }

// parameter is the placeholder for a path parameter in a shape.
const parameter = "{}"

// shape returns the operation with the placeholder in place of every path parameter. Two operations are the same if
// their shapes are equal.
func (o Operation) shape() Operation {
	segments := strings.Split(o.Path, "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "{") {
			segments[i] = parameter
		}
	}
	return Operation{Method: o.Method, Path: strings.Join(segments, "/")}
}

// takesFrom reports whether o takes requests away from the other operation, because o has a literal segment where the
// other operation has a parameter.
func (o Operation) takesFrom(other Operation) bool {
	mine, theirs := strings.Split(o.shape().Path, "/"), strings.Split(other.shape().Path, "/")
	if o.Method != other.Method || len(mine) != len(theirs) {
		return false
	}
	takes := false
	for i := range mine {
		if mine[i] != theirs[i] && mine[i] != parameter && theirs[i] != parameter {
			return false
		}
		takes = takes || theirs[i] == parameter && mine[i] != parameter
	}
	return takes
}

// object is a JSON object.
type object = map[string]any

// document is a parsed OpenAPI document.
type document struct {
	name       string                  // the file name, or the name of the release
	yaml       []byte                  // as it was written
	text       []byte                  // in JSON
	root       object                  // the document, with each $ref replaced by its target
	operations map[Operation]operation // by shape
	// misplaced describes each x-sunset that is not a date, or whose element is not deprecated.
	misplaced []string
}

// operation is an operation with what it inherits from its path and from the document.
type operation struct {
	Operation

	object object
}

func (o operation) isDeprecated() bool { return o.object["deprecated"] == true }

func parse(name string, yaml []byte) (document, error) {
	d := document{name: name, yaml: yaml, operations: make(map[Operation]operation)}
	var err error
	if d.text, err = toJSON(yaml); err != nil {
		return d, fmt.Errorf("%s: %w", name, err)
	}
	if err := json.Unmarshal(d.text, &d.root); err != nil {
		return d, fmt.Errorf("%s: %w", name, err)
	}
	d.misplaced = misplacedSunsets("", d.root)
	strip(d.root, false, append(text(), "title")...)
	d.root, _ = d.inline(d.root).(object)
	for path, item := range child(d.root, "paths") {
		item, _ := item.(object)
		for method, found := range item {
			method = strings.ToUpper(method)
			if found, isObject := found.(object); isObject && slices.Contains(methods(), method) {
				named := Operation{method, path}
				d.operations[named.shape()] = operation{named, d.inherit(path, item, found)}
			}
		}
	}
	return d, nil
}

func methods() []string {
	return []string{
		http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodOptions, http.MethodHead,
		http.MethodPatch, http.MethodTrace,
	}
}

// inherit gives an operation the parameters, servers and security of its path and of the document. Parameters become an
// object: the key of a path parameter is the position of its segment; the key of any other parameter is its place and
// name.
func (d document) inherit(path string, item, operation object) object {
	parameters := make(object)
	for _, found := range slices.Concat(list(item["parameters"]), list(operation["parameters"])) {
		found, _ := found.(object)
		key := fmt.Sprint(found["in"], " ", found["name"])
		if found["in"] == "path" {
			key = "path " + strconv.Itoa(slices.Index(strings.Split(path, "/"), fmt.Sprintf("{%v}", found["name"])))
		}
		parameters[key] = found
	}
	operation = maps.Clone(operation)
	operation["parameters"] = parameters
	operation["servers"] = cmp.Or(operation["servers"], item["servers"])
	operation["security"] = cmp.Or(operation["security"], d.root["security"])
	return operation
}

// text returns the names of the members that hold text for people. Titles are not included, because the diff library
// needs them.
func text() []string {
	return []string{"summary", "description", "tags", "externalDocs", "$comment", "example", "examples"}
}

// strip removes members by name, except from objects whose member names the author chooses, such as properties. It does
// not look into data such as a default.
func strip(value any, hasOwnNames bool, members ...string) {
	switch value := value.(type) {
	case object:
		for name, member := range value {
			isData := name == "default" || name == "const" || name == "enum"
			switch {
			case hasOwnNames:
				strip(member, false, members...)
			case slices.Contains(members, name):
				delete(value, name)
			case !isData:
				own := []string{
					"paths", "headers", "properties", "patternProperties", "$defs", "schemas", "parameters",
					"responses", "securitySchemes",
				}
				strip(member, slices.Contains(own, name), members...)
			}
		}
	case []any:
		for _, element := range value {
			strip(element, false, members...)
		}
	}
}

// inline replaces each $ref in a value with its target. Members beside a $ref override those of the target. The
// parameter open lists the references whose targets contain the value. A $ref to one of these targets is recursive, so
// inline keeps it.
func (d document) inline(value any, open ...string) any {
	switch value := value.(type) {
	case object:
		inlined := make(object)
		reference, _ := value["$ref"].(string)
		target := d.find(reference)
		follows := target != nil && !slices.Contains(open, reference)
		if follows {
			inlined, _ = d.inline(target, append(slices.Clone(open), reference)...).(object)
		}
		for name, member := range value {
			if name != "$ref" || !follows {
				inlined[name] = d.inline(member, open...)
			}
		}
		return inlined
	case []any:
		inlined := make([]any, len(value))
		for i, element := range value {
			inlined[i] = d.inline(element, open...)
		}
		return inlined
	default:
		return value
	}
}

// find returns the target of a reference within the document.
func (d document) find(reference string) object {
	pointer, isInside := strings.CutPrefix(reference, "#/")
	if !isInside {
		return nil
	}
	node := d.root
	for name := range strings.SplitSeq(pointer, "/") {
		node, _ = node[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)].(object)
	}
	return node
}

// sunsetExtension names the member with the date from which something deprecated may be removed.
const sunsetExtension = "x-sunset"

func misplacedSunsets(at string, value any) (problems []string) {
	switch value := value.(type) {
	case object:
		sunset, found := value[sunsetExtension]
		if _, isField := sunset.(object); found && !isField {
			if _, err := time.Parse(time.DateOnly, fmt.Sprint(sunset)); err != nil {
				problems = append(problems, fmt.Sprintf("%s %s of %s is not a date such as \"2027-11-21\"",
					sunsetExtension, written(sunset), at))
			}
			if value["deprecated"] != true {
				problems = append(problems, fmt.Sprintf("%s has an %s but is not deprecated: add deprecated: true, "+
					"or remove the date", at, sunsetExtension))
			}
		}
		for name, member := range value {
			problems = append(problems, misplacedSunsets(strings.TrimPrefix(at+"."+name, "."), member)...)
		}
	case []any:
		for i, element := range value {
			problems = append(problems, misplacedSunsets(fmt.Sprintf("%s.%d", at, i), element)...)
		}
	}
	return problems
}

func list(value any) []any {
	values, _ := value.([]any)
	return values
}

// names returns the names of the members of both objects, sorted and without duplicates.
func names(base, revision object) []string {
	both := slices.AppendSeq(slices.Collect(maps.Keys(base)), maps.Keys(revision))
	slices.Sort(both)
	return slices.Compact(both)
}

// absent is the value of a missing member. It differs from null.
type absent struct{}

func member(of object, name string) any {
	if value, found := of[name]; found {
		return value
	}
	return absent{}
}

// written returns a value in JSON, shortened if it is long.
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
