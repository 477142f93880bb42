package contract

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// promises finds where a revision breaks what a base promised its clients. It goes through the documents as they are written,
// with their $refs resolved, and lets a difference pass only where it knows why it is harmless:
//
//   - words: see isWords;
//   - what clients may send but need not: a parameter, a field, a media type, a value;
//   - what they may get and did not before: an operation, a status, a header, a media type, a field;
//   - answers that keep to less than was promised, see schema;
//   - what is gone and was deprecated. Its sunset is judged too.
//
// Any other difference is a problem.
type promises struct {
	base, revision tree
	today          string // YYYY-MM-DD

	operation Operation
	// broken are the problems of each operation; those of the document as a whole are the empty operation's.
	broken map[Operation][]string
	// announced are the names of what is gone from each operation after it was announced to go.
	announced map[Operation][]string
	// sunsets are the days that are not kept.
	sunsets map[sunset]string
	// moved says of each operation, by its shape, which sunsets in it were given, moved or taken back.
	moved map[Operation][]string
	// different says what differs in each operation, by its shape, harmless or not. What was added or removed is not in it.
	different map[Operation][]string
	open      map[visit]bool
}

// sunset is how a sunset of something is not kept.
type sunset struct{ of, how string }

const (
	goneEarly    = "was removed before its sunset on %s: it stays until then"
	heldEarlier  = "brings its sunset forward, which was announced for %s: give that day or a later one"
	undeprecated = "was removed without having been deprecated: put it back with deprecated: true, release that, and remove it then"
)

// keep compares a release with a later one, or with the working document. Sunsets are judged by today, a YYYY-MM-DD.
func keep(base, revision tree, today string) *promises {
	p := &promises{
		base: base, revision: revision, today: today, open: make(map[visit]bool),
		broken: make(map[Operation][]string), announced: make(map[Operation][]string), sunsets: make(map[sunset]string),
		moved: make(map[Operation][]string), different: make(map[Operation][]string),
	}
	p.servers(base["servers"], revision["servers"])
	p.securitySchemes()
	revisions := make(map[Operation]endpoint)
	for name, endpoint := range revision.endpoints() {
		revisions[name.shape()] = endpoint
	}
	stays := make(map[string]Operation)
	for name, endpoint := range base.endpoints() {
		p.operation = name
		if kept, found := revisions[name.shape()]; found {
			p.operation = kept.name
			p.endpoint(endpoint, kept)
			stays[name.String()] = name
		} else {
			p.gone("", name.String(), endpoint.operation)
		}
		delete(revisions, name.shape())
	}
	for _, added := range revisions {
		p.operation = added.name
		p.kept("", nil, added.operation)
		for _, name := range slices.Sorted(maps.Keys(stays)) {
			if added.name.takesFrom(stays[name]) {
				p.problem("", "takes requests from "+name+": its literal segment goes before a parameter")
			}
		}
	}
	return p
}

func (p *promises) problem(at, text string) {
	p.broken[p.operation] = append(p.broken[p.operation], in(at, text))
}

func (p *promises) differs(at, text string) {
	shape := p.operation.shape()
	p.different[shape] = append(p.different[shape], in(at, text))
}

func in(at, text string) string {
	if at == "" {
		return text
	}
	return at + ": " + text
}

// gone judges something that the revision has no longer. Its name is what the diff library calls it.
func (p *promises) gone(at, name string, base tree) {
	if day, given := base[sunsetExtension]; given && fmt.Sprint(day) > p.today {
		p.late(at, goneEarly, day)
	}
	if base["deprecated"] == true {
		p.announced[p.operation] = append(p.announced[p.operation], name)
	} else {
		p.problem(at, undeprecated)
	}
}

// kept wants the sunset of something that is deprecated to stay where it was, or later. What was added has no base.
func (p *promises) kept(at string, base, revision tree) {
	before, given := base[sunsetExtension]
	now := revision[sunsetExtension]
	switch shape := p.operation.shape(); {
	case reflect.DeepEqual(now, before):
	case now == nil:
		p.moved[shape] = append(p.moved[shape], in(at, "it has no sunset any more"))
	default:
		p.moved[shape] = append(p.moved[shape], in(at, fmt.Sprintf("it may be removed from %v on", now)))
	}
	switch isDeprecated := revision["deprecated"] == true; {
	case isDeprecated == (base["deprecated"] == true):
	case isDeprecated:
		p.differs(at, "it is deprecated")
	default:
		p.differs(at, "it is not deprecated any more")
	}
	if given && revision["deprecated"] == true && (now == nil || fmt.Sprint(now) < fmt.Sprint(before)) {
		p.late(at, heldEarlier, before)
	}
}

func (p *promises) late(at, how string, day any) {
	of := p.operation.String()
	if at != "" {
		of += ": " + at
	}
	p.sunsets[sunset{of, how}] = fmt.Sprint(day)
}

func (p *promises) endpoint(base, revision endpoint) {
	p.kept("", base.operation, revision.operation)
	p.servers(base.servers, revision.servers)
	p.security(base.security, revision.security)
	p.parameters(base.parameters, revision.parameters)
	p.requestBody(base.operation["requestBody"], revision.operation["requestBody"])
	p.responses(p.base.at(base.operation["responses"]), p.revision.at(revision.operation["responses"]))
	if id := base.operation["operationId"]; id != nil && id != revision.operation["operationId"] { // generated clients call it by that name
		p.problem("", was("operationId", id, revision.operation.member("operationId"))+asItWas)
	}
	p.rest("", base.operation, revision.operation, "servers", "security", "parameters", "requestBody", "responses", "operationId")
}

// rest wants the members that have not been judged to be the same, but for words.
func (p *promises) rest(at string, base, revision tree, judged ...string) {
	for _, name := range names(base, revision) {
		if isWords(name) || slices.Contains(judged, name) {
			continue
		}
		if b, r := base.member(name), revision.member(name); !p.same(b, r, maxDepth) {
			p.differs(at, was(name, b, r))
			p.problem(at, was(name, b, r)+unlisted)
		}
	}
}

const unlisted = ": nothing says that this is harmless. Take it back, or teach internal/contract why it is"

func was(what string, base, revision any) string {
	return fmt.Sprintf("%s was %s and is %s", what, written(base), written(revision))
}

// same tells whether two values are equal, with their $refs resolved. A circle of them is not: nothing says when it is.
func (p *promises) same(base, revision any, depth int) bool {
	switch base := base.(type) {
	case map[string]any:
		object, isObject := revision.(map[string]any)
		if !isObject || depth == 0 {
			return false
		}
		b, r := p.base.at(base), p.revision.at(object)
		return len(b) == len(r) && !slices.ContainsFunc(names(b, r), func(name string) bool {
			return !p.same(b.member(name), r.member(name), depth-1)
		})
	case []any:
		return slices.EqualFunc(base, list(revision), func(b, r any) bool { return p.same(b, r, depth) })
	default:
		return reflect.DeepEqual(base, revision)
	}
}

// isWords tells members that are for people, and those that announce what will go: kept and gone judge these.
func isWords(name string) bool {
	switch name {
	case "title", "summary", "description", "tags", "externalDocs", "$comment", "example", "examples", "deprecated", sunsetExtension:
		return true
	default:
		return false
	}
}

// servers may join, after those that are there: a client takes the first.
func (p *promises) servers(base, revision any) {
	left := list(revision)
	for i, server := range list(base) {
		b := p.base.at(server)
		if i >= len(left) || !p.same(b.withoutWords(), p.revision.at(left[i]).withoutWords(), maxDepth) {
			p.problem("servers", written(b["url"])+" is no more, or not in its place: clients go on calling it")
			return
		}
	}
	if len(list(base)) == 0 && len(left) > 0 {
		p.problem("servers", "were not there: clients go on calling the address of the document")
	}
}

// security: a client goes on with what it has, so each way in must stay. No way at all means that none is needed.
func (p *promises) security(base, revision any) {
	ways := list(revision)
	if len(ways) == 0 {
		return
	}
	if len(list(base)) == 0 {
		p.problem("", was("security", absent{}, revision)+": clients send no credentials")
	}
	for _, way := range list(base) {
		if !slices.ContainsFunc(ways, func(other any) bool { return reflect.DeepEqual(way, other) }) {
			p.problem("security", written(way)+" is no more: clients go on sending it")
		}
	}
}

func (p *promises) securitySchemes() {
	schemes := func(document tree) tree { return document.at(document.at(document["components"])["securitySchemes"]) }
	revisions := schemes(p.revision)
	for name, scheme := range schemes(p.base) {
		base, revision := p.base.at(scheme).withoutWords(), p.revision.at(revisions[name]).withoutWords()
		if !p.same(base, revision, maxDepth) {
			p.problem("", was("security scheme "+name, base, revision)+asItWas)
		}
	}
}

// parameters come by their places and names; those in the path by their segment.
func (p *promises) parameters(base, revision map[string]tree) {
	for key, parameter := range base {
		at := fmt.Sprintf("parameter %v in %v", parameter["name"], parameter["in"])
		kept, found := revision[key]
		if !found {
			p.gone(at, fmt.Sprint(parameter["name"]), parameter)
			continue
		}
		p.kept(at, parameter, kept)
		p.required(at, parameter, kept)
		p.form(at, parameter, kept)
		p.schema(at, sent, parameter.member("schema"), kept.member("schema"))
		p.content(at, sent, parameter["content"], kept["content"])
		p.rest(at, parameter, kept, "name", "in", "required", "schema", "content")
	}
	for key, parameter := range revision {
		if base[key] != nil {
			continue
		}
		at := fmt.Sprintf("parameter %v in %v", parameter["name"], parameter["in"])
		p.kept(at, nil, parameter)
		if parameter["required"] == true {
			p.problem(at, "is new and required: clients do not send it, so make it optional")
		}
	}
}

// form: a parameter or header is written as its schema says, or as its content does.
func (p *promises) form(at string, base, revision tree) {
	for _, member := range []string{"schema", "content"} {
		if before, now := base[member] != nil, revision[member] != nil; before != now {
			p.problem(at, was(member, base.member(member), revision.member(member))+asItWas)
		}
	}
}

func (p *promises) required(at string, base, revision tree) {
	if b, r := base["required"] == true, revision["required"] == true; b != r {
		p.differs(at, was("required", b, r))
	}
	if base["required"] != true && revision["required"] == true {
		p.problem(at, mustBeSent)
	}
}

func (p *promises) requestBody(base, revision any) {
	const at = "request body"
	b, r := p.base.at(base), p.revision.at(revision)
	if base != nil && revision == nil {
		p.problem(at, "was removed: clients go on sending it")
		return
	}
	p.required(at, b, r)
	p.content(at, sent, b["content"], r["content"])
	if base != nil {
		p.rest(at, b, r, "required", "content")
	}
}

func (p *promises) responses(base, revision tree) {
	for status, response := range base {
		at := "answer " + status
		if revision[status] == nil {
			p.problem(at, mustStay)
			continue
		}
		b, r := p.base.at(response), p.revision.at(revision[status])
		p.headers(at, p.base.at(b["headers"]), p.revision.at(r["headers"]))
		p.content(at, answered, b["content"], r["content"])
		p.rest(at, b, r, "headers", "content")
	}
}

const mustStay = "was removed: clients count on it, so put it back"

func (p *promises) headers(at string, base, revision tree) {
	for name, header := range base {
		at, b := at+", header "+name, p.base.at(header)
		if revision[name] == nil {
			p.gone(at, name, b)
			continue
		}
		r := p.revision.at(revision[name])
		p.kept(at, b, r)
		if before, now := b["required"] == true, r["required"] == true; before != now {
			p.differs(at, was("required", before, now))
			if before {
				p.problem(at, mayBeMissing)
			}
		}
		p.form(at, b, r)
		p.schema(at, answered, b.member("schema"), r.member("schema"))
		p.content(at, answered, b["content"], r["content"])
		p.rest(at, b, r, "required", "schema", "content")
	}
	for name, header := range revision {
		if base[name] == nil {
			p.kept(at+", header "+name, nil, p.revision.at(header))
		}
	}
}

func (p *promises) content(at string, s side, base, revision any) {
	revisions := p.revision.at(revision)
	for mediaType, content := range p.base.at(base) {
		at := at + ", " + mediaType
		if revisions[mediaType] == nil {
			p.problem(at, mustStay)
			continue
		}
		b, r := p.base.at(content), p.revision.at(revisions[mediaType])
		p.schema(at, s, b.member("schema"), r.member("schema"))
		p.rest(at, b, r, "schema")
	}
}
