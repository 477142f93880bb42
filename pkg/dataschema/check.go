package dataschema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// check adds every fault of a value at a place in the data.
func (s *schema) check(value any, at []string, found *faults) {
	if s == nil {
		return
	}
	if s.isFalse {
		found.add(at, "is not allowed", false)
	}
	for keyword, limit := range s.keywords {
		if reason := reject(keyword, limit, value); reason != "" {
			found.add(at, reason, keyword == "type" || keyword == "enum" || keyword == "const")
		}
	}
	s.checkForms(value, at, found)
	switch value := value.(type) {
	case map[string]any:
		s.checkMembers(value, at, found)
	case []any:
		s.checkItems(value, at, found)
	}
}

func (s *schema) admits(value any) bool {
	var found faults
	s.check(value, nil, &found)
	return found.n == 0
}

// reject returns the reason why a keyword rejects a value. It returns "" if the keyword does not, or if it is about
// other schemas: the methods below check those.
func reject(keyword string, limit, value any) (reason string) {
	switch limit := limit.(type) {
	case types:
		if !slices.ContainsFunc(limit, isOfType(value)) {
			return "must be " + oneOfTypes(limit)
		}
	case values:
		if !limit.allowed[keyOf(value)] {
			return limit.reason
		}
	case pattern:
		if text, is := value.(string); is && !limit.MatchString(text) {
			return "must match " + limit.quoted()
		}
	case bool:
		if keyword == "uniqueItems" && limit && !isUnique(value) {
			return "must not repeat an item"
		}
	case int:
		return rejectSize(keyword, limit, value)
	case number:
		if n, is := value.(number); is {
			return rejectNumber(keyword, limit, n)
		}
	}
	return ""
}

func rejectSize(keyword string, limit int, value any) (reason string) {
	isLeast := strings.HasPrefix(keyword, "min")
	switch size, noun := sizeOf(keyword, value); {
	case size < 0:
		return ""
	case isLeast && size < limit:
		return "must have at least " + count(limit, noun)
	case !isLeast && size > limit:
		return "must have at most " + count(limit, noun)
	default:
		return ""
	}
}

func rejectNumber(keyword string, limit, n number) (reason string) {
	isRejected, must := false, ""
	switch order := n.value.Cmp(limit.value); keyword {
	case "minimum":
		isRejected, must = order < 0, "must be at least "
	case "maximum":
		isRejected, must = order > 0, "must be at most "
	case "exclusiveMinimum":
		isRejected, must = order <= 0, "must be more than "
	case "exclusiveMaximum":
		isRejected, must = order >= 0, "must be less than "
	default:
		isRejected, must = !new(big.Rat).Quo(n.value, limit.value).IsInt(), "must be a multiple of "
	}
	if !isRejected {
		return ""
	}
	return must + limit.quoted()
}

// sizeOf returns how many characters, items or members a value has, or -1 if the keyword is not about such a value.
func sizeOf(keyword string, value any) (size int, noun string) {
	switch value := value.(type) {
	case string:
		if keyword == "minLength" || keyword == "maxLength" {
			return utf8.RuneCountInString(value), "character"
		}
	case []any:
		if keyword == "minItems" || keyword == "maxItems" {
			return len(value), "item"
		}
	case map[string]any:
		if keyword == "minProperties" || keyword == "maxProperties" {
			return len(value), "member"
		}
	}
	return -1, ""
}

func isOfType(value any) func(name string) bool {
	return func(name string) bool {
		switch value := value.(type) {
		case nil:
			return name == "null"
		case bool:
			return name == "boolean"
		case number:
			return name == "number" || name == "integer" && value.value.IsInt()
		case string:
			return name == "string"
		case []any:
			return name == "array"
		default:
			return name == "object"
		}
	}
}

func isUnique(value any) bool {
	items, _ := value.([]any)
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		seen[keyOf(item)] = true
	}
	return len(seen) == len(items)
}

// keyOf returns the same text for equal values only. It is short even for numbers such as 1e-999.
func keyOf(value any) string { return fmt.Sprintf("%#v", value) }

// asJSON returns a value as JSON, for a reason.
func asJSON(value any) string {
	text, _ := json.Marshal(value) // it cannot fail, because the value comes from JSON
	return string(text)
}

func (s *schema) checkForms(value any, at []string, found *faults) {
	get[*schema](s, "$ref").check(value, at, found)
	for _, form := range get[[]*schema](s, "allOf") {
		form.check(value, at, found)
	}
	if forms := get[[]*schema](s, "anyOf"); forms != nil {
		if matching, none := matchForms(forms, value, at); matching == 0 {
			found.add(at, none, false)
		}
	}
	if forms := get[[]*schema](s, "oneOf"); forms != nil {
		if matching, none := matchForms(forms, value, at); matching == 0 {
			found.add(at, none, false)
		} else if matching > 1 {
			found.add(at, "matches several forms, and must match exactly one", false)
		}
	}
	if form := get[*schema](s, "not"); form != nil && form.admits(value) {
		found.add(at, "has a form that is not allowed", false)
	}
	if condition := get[*schema](s, "if"); condition != nil && condition.admits(value) {
		get[*schema](s, "then").check(value, at, found)
	} else if condition != nil {
		get[*schema](s, "else").check(value, at, found)
	}
}

func (s *schema) checkMembers(object map[string]any, at []string, found *faults) {
	for _, name := range get[[]string](s, "required") {
		if _, has := object[name]; !has {
			found.add(append(at, name), "is required", false)
		}
	}
	for cause, names := range get[map[string][]string](s, "dependentRequired") {
		for _, name := range names {
			_, applies := object[cause]
			if _, has := object[name]; applies && !has {
				found.add(append(at, name), "is required together with "+quoted(cause), false)
			}
		}
	}
	for cause, form := range get[map[string]*schema](s, "dependentSchemas") {
		if _, applies := object[cause]; applies {
			form.check(object, at, found)
		}
	}
	for name, member := range object {
		s.checkMember(name, member, append(at, name), found)
	}
}

func (s *schema) checkMember(name string, member any, at []string, found *faults) {
	subs := s.propertiesOf(name)
	if len(subs) == 0 {
		subs = []*schema{get[*schema](s, "additionalProperties")}
	}
	for _, sub := range subs {
		sub.check(member, at, found)
	}
	var ofName faults
	if get[*schema](s, "propertyNames").check(name, nil, &ofName); ofName.n == 1 {
		found.add(at, "has a name that "+ofName.first.reason, false)
	} else if ofName.n > 1 {
		found.add(at, "has a name that is not allowed", false)
	}
}

// propertiesOf returns the schemas that properties and patternProperties have for a member.
func (s *schema) propertiesOf(name string) (subs []*schema) {
	if sub, has := get[map[string]*schema](s, "properties")[name]; has {
		subs = append(subs, sub)
	}
	for pattern, sub := range get[map[pattern]*schema](s, "patternProperties") {
		if pattern.MatchString(name) {
			subs = append(subs, sub)
		}
	}
	return subs
}

func (s *schema) checkItems(items []any, at []string, found *faults) {
	contains, contained := get[*schema](s, "contains"), 0
	prefix := get[[]*schema](s, "prefixItems")
	for i, item := range items {
		sub := get[*schema](s, "items")
		if i < len(prefix) {
			sub = prefix[i]
		}
		sub.check(item, append(at, strconv.Itoa(i)), found)
		if contains != nil && contains.admits(item) {
			contained++
		}
	}
	least, hasLeast := s.keywords["minContains"].(int)
	most, hasMost := s.keywords["maxContains"].(int)
	switch {
	case contains == nil:
	case contained == 0 && !hasLeast:
		found.add(at, "must have an item of the required form", false)
	case contained < least:
		found.add(at, "must have at least "+count(least, "item")+" of the required form", false)
	case contained > most && hasMost:
		found.add(at, "must have at most "+count(most, "item")+" of the required form", false)
	}
}
