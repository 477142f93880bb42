package contract

import (
	"fmt"
	"reflect"
	"slices"
)

// comparison compares a document with an earlier release. It walks both documents and lets a difference pass only if a
// rule says why it is harmless:
//
//   - a difference in text for people, which parse removes;
//   - a new option for clients, which they need not use: a parameter, a field, a media type, a value;
//   - an addition to what the service offers: an operation, a status, a header, a media type, a field;
//   - a narrower set of values in responses, see the method judge;
//   - a problem of another type, see the method problems;
//   - the removal of something that was deprecated before. Its sunset is checked, too.
//
// Every other difference counts as harmful, even if nobody foresaw it.
type comparison struct {
	today     string // YYYY-MM-DD; sunsets are compared with it
	operation Operation

	differences []difference
	// sunsets are the sunsets that the revision adds, moves or withdraws.
	sunsets []difference
	// early holds, for each sunset that the revision breaks, the announced day.
	early map[difference]string
}

// difference is one difference between two documents.
type difference struct {
	operation Operation // as in the later document, or in the base if it was removed; empty for the document as a whole
	at        string    // the place in the operation, such as "response 200, header ETag"
	what      string    // such as "maximum was 100 and is not there"
	harm      string    // why it breaks clients, and what to do; empty for a harmless difference
}

func (d difference) String() string {
	text := d.what
	if d.at != "" {
		text = d.at + ": " + text
	}
	return text
}

// problem is a harmful difference as the gate reports it.
func (d difference) problem() string {
	of := d.operation.String()
	if d.operation == (Operation{}) {
		of = "the document"
	}
	return of + ": " + d.String() + d.harm
}

const (
	goneEarly    = " before its sunset on %s: put it back, and remove it on that day or later"
	heldEarlier  = ": a release announced %s. Set that day or a later one"
	undeprecated = " without having been deprecated: put it back with deprecated: true, release that, and then " +
		"remove it"
	mustStay       = ": clients rely on it, so put it back"
	mustBeOptional = ": existing clients do not send it, so make it optional"
	mustBeThere    = ": clients rely on it, so make it required again"
	asItWas        = ": it must stay as it was"
	unlisted       = ": no rule says that this is harmless. Take it back, or add a rule with its reason to " +
		"internal/contract"
)

// compare compares a release with a later document.
func compare(base, revision document, today string) *comparison {
	c := &comparison{today: today, early: make(map[difference]string)}
	c.servers(base.root["servers"], revision.root["servers"])
	for name, scheme := range child(child(base.root, "components"), "securitySchemes") {
		if now := child(child(revision.root, "components"), "securitySchemes")[name]; !reflect.DeepEqual(scheme, now) {
			c.differs("", was("security scheme "+name, scheme, now), asItWas)
		}
	}
	for shape, before := range base.operations {
		now, stays := revision.operations[shape]
		if stays {
			c.operation = now.Operation
			c.object("", "", sent, before.object, now.object)
		} else {
			c.operation = before.Operation
			c.gone("", before.object)
		}
	}
	for shape, added := range revision.operations {
		if _, found := base.operations[shape]; found {
			continue
		}
		c.operation = added.Operation
		c.sunset("", nil, added.object)
		for shape, before := range base.operations {
			if _, stays := revision.operations[shape]; stays && added.takesFrom(before.Operation) {
				c.differs("", "takes requests from "+before.String(),
					": its literal segment is matched before a parameter. Choose another path")
			}
		}
	}
	return c
}

func (c *comparison) differs(at, what, harm string) {
	c.differences = append(c.differences, difference{c.operation, at, what, harm})
}

func was(name string, base, revision any) string {
	return fmt.Sprintf("%s was %s and is %s", name, written(base), written(revision))
}

// gone records the removal of an element. The removal is harmful if the element was not deprecated. It is also recorded
// as early if the element's sunset is yet to come.
func (c *comparison) gone(at string, base object) {
	const removed = "was removed"
	if day, given := base[sunsetExtension]; given && fmt.Sprint(day) > c.today {
		c.early[difference{c.operation, at, removed, goneEarly}] = fmt.Sprint(day)
	}
	harm := undeprecated
	if base["deprecated"] == true {
		harm = ""
	}
	c.differs(at, removed, harm)
}

// isDeprecation reports whether a member says that an element is deprecated. The methods named gone and sunset judge
// such members, so other comparisons must skip them.
func isDeprecation(name string) bool { return name == "deprecated" || name == sunsetExtension }

// sunset checks that the sunset of a deprecated element stays the same or moves to a later day. It records each changed
// sunset and deprecation. For a new element, base is nil.
func (c *comparison) sunset(at string, base, revision object) {
	before, given := base[sunsetExtension]
	now := revision[sunsetExtension]
	moved := difference{operation: c.operation, at: at, what: fmt.Sprintf("it may be removed from %v on", now)}
	if now == nil {
		moved.what = "it has no sunset any more"
	}
	if !reflect.DeepEqual(now, before) {
		c.sunsets = append(c.sunsets, moved)
	}
	isDeprecated := revision["deprecated"] == true
	switch {
	case isDeprecated == (base["deprecated"] == true):
	case isDeprecated:
		c.differs(at, "it is deprecated", "")
	default:
		c.differs(at, "it is not deprecated any more", "")
	}
	if given && isDeprecated && (now == nil || fmt.Sprint(now) < fmt.Sprint(before)) {
		c.early[difference{c.operation, at, "brings its sunset forward", heldEarlier}] = fmt.Sprint(before)
	}
}

// object compares two OpenAPI objects. The parameter parent names the member that contains them, such as headers. It is
// empty for an operation.
func (c *comparison) object(at, parent string, from side, base, revision object) {
	c.sunset(at, base, revision)
	for _, name := range names(base, revision) {
		b, r := member(base, name), member(revision, name)
		if isDeprecation(name) || reflect.DeepEqual(b, r) {
			continue
		}
		wasThere, isThere := b != absent{}, r != absent{}
		switch {
		case name == "servers":
			c.servers(b, r)
		case name == "parameters", name == "responses", name == "headers", name == "content":
			c.each(at, name, from, child(base, name), child(revision, name))
		case name == "links" && parent == "responses":
			c.links(at, child(base, name), child(revision, name))
		case name == "requestBody" && isThere:
			c.object("request body", name, sent, child(base, name), child(revision, name))
		case name == "schema" && from == returned && c.problems(at, b, r):
		case name == "schema" && (parent == "content" || wasThere && isThere):
			c.schema(at, from, b, r)
		case name == "required":
			c.required(at, from, r == true)
		case name == "operationId" && !wasThere:
			c.differs(at, was(name, b, r), "")
		// a path parameter may be renamed, because its position identifies it
		case name == "name" && parent == "parameters":
		case name == "security":
			c.security(at, b, r)
		case name == "operationId", name == "schema": // generated clients call the operation by its ID
			c.differs(at, was(name, b, r), asItWas)
		default:
			c.differs(at, was(name, b, r), unlisted)
		}
	}
}

// security judges the credentials that an operation accepts: a list of alternatives, each a set of schemes. A client
// that satisfies any alternative of the base must also satisfy an alternative of the revision. An empty set or a
// missing list asks for no credentials.
func (c *comparison) security(at string, base, revision any) {
	alternatives := func(value any) []any {
		if len(list(value)) == 0 {
			return []any{object{}}
		}
		return list(value)
	}
	harm := ""
	for _, met := range alternatives(base) {
		suffices := func(asked any) bool {
			asks, _ := asked.(object)
			has, _ := met.(object)
			for scheme, scopes := range asks {
				if !reflect.DeepEqual(has[scheme], scopes) {
					return false
				}
			}
			return true
		}
		if !slices.ContainsFunc(alternatives(revision), suffices) {
			harm = asItWas
		}
	}
	c.differs(at, was("security", base, revision), harm)
}

// required judges a parameter, body, header or field that became required, or that is not required any more.
func (c *comparison) required(at string, from side, isRequired bool) {
	what, harm := "is optional now", ""
	if isRequired {
		what = "is required now"
	}
	switch {
	case isRequired && from != returned:
		harm = mustBeOptional
	case !isRequired && from != sent:
		harm = mustBeThere
	}
	c.differs(at, what, harm)
}

// each compares parameters, responses, headers, media types or fields by name.
func (c *comparison) each(at, kind string, from side, base, revision object) {
	for _, key := range names(base, revision) {
		before, wasThere := base[key]
		now, isThere := revision[key]
		b, r := child(base, key), child(revision, key)
		place := join(at, key)
		switch kind {
		case "parameters":
			either := b
			if !wasThere {
				either = r
			}
			place = fmt.Sprintf("parameter %v in %v", either["name"], either["in"])
		case "responses":
			place, from = "response "+key, returned
		case "headers":
			place = join(at, "header "+key)
		case "properties":
			place = join(at, "field "+key)
		}
		switch {
		case !isThere && (kind == "responses" || kind == "content"):
			c.differs(place, "was removed", mustStay)
		case !isThere:
			c.gone(place, b)
		case !wasThere && kind == "parameters" && r["required"] == true:
			c.differs(place, "is new and required", mustBeOptional)
		case !wasThere:
			c.differs(place, "is new", "")
			c.sunset(place, nil, r)
		case kind == "properties":
			c.sunset(place, b, r)
			c.schema(place, from, before, now)
		default:
			c.object(place, kind, from, b, r)
		}
	}
}

// links judges the links of a response to other operations. A client need not follow a new link.
func (c *comparison) links(at string, base, revision object) {
	for _, name := range names(base, revision) {
		b, r := member(base, name), member(revision, name)
		switch place := join(at, "link "+name); {
		case reflect.DeepEqual(b, r):
		case b == absent{}:
			c.differs(place, "is new", "")
		default:
			c.differs(place, was("it", b, r), asItWas)
		}
	}
}

// servers checks that the servers keep their order, because a client takes the first one. New servers may follow them.
func (c *comparison) servers(base, revision any) {
	left := list(revision)
	for i, server := range list(base) {
		if i >= len(left) || !reflect.DeepEqual(server, left[i]) {
			c.differs("servers", written(server)+" is not in its place any more",
				": clients still call it, so put it back")
			return
		}
	}
	if len(list(base)) == 0 && len(left) > 0 {
		c.differs("servers", "are new",
			": clients call the address from which they got the document, so remove the servers")
	}
}

func child(of object, name string) object {
	found, _ := of[name].(object)
	return found
}

func join(at, place string) string {
	if at == "" {
		return place
	}
	return at + ", " + place
}
