package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxBodyBytes bounds a request's body, in bytes.
const maxBodyBytes = 4 << 10

// paidAmount is the only member whose value is a number. Its text is the number as it was sent.
const paidAmount = "payment/amount"

// readTextMembers reads a body that is one JSON object (RFC 8259). Its members have known names, and their values are
// strings, except for paidAmount. A known name such as payment/provider stands for the member provider of the object
// payment. As RFC 7493 demands, duplicate names and invalid UTF-8 are rejected. The map has only the members that were
// sent. The value of an object such as payment is the empty string.
func readTextMembers(r *http.Request, known ...string) (map[string]string, error) {
	if err := checkContentType(r.Header.Values("Content-Type")); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	if err != nil {
		return nil, problemMalformedRequest.because("The body cannot be read.")
	}
	if len(body) > maxBodyBytes {
		return nil, problemContentTooLarge.because("The body must have at most %d bytes.", maxBodyBytes)
	}
	return parseTextMembers(body, known)
}

func checkContentType(values []string) error {
	if len(values) != 1 {
		return problemUnsupportedMediaType.because("The body must be application/json.")
	}
	mediaType, parameters, err := mime.ParseMediaType(values[0])
	if err != nil || mediaType != "application/json" {
		return problemUnsupportedMediaType.because("The body must be application/json.")
	}
	charset, found := parameters["charset"]
	if len(parameters) > 1 || len(parameters) == 1 && (!found || !strings.EqualFold(charset, "utf-8")) {
		return problemUnsupportedMediaType.because("The body must be application/json in UTF-8, without other " +
			"parameters.")
	}
	return nil
}

func parseTextMembers(body []byte, known []string) (map[string]string, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(body))
	if opening, err := decoder.ReadToken(); err != nil || opening.Kind() != '{' {
		return nil, problemMalformedRequest.because("The body must be a JSON object.")
	}
	members := make(map[string]string, len(known))
	if err := parseMembers(decoder, members, "", known); err != nil {
		return nil, err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, problemMalformedRequest.because("Nothing may follow the JSON object in the body.")
	}
	return members, nil
}

// parseMembers reads the members of an object, and its closing brace. The parameter within is the name of the object
// and a slash, or empty for the body itself.
func parseMembers(decoder *jsontext.Decoder, members map[string]string, within string, known []string) error {
	for decoder.PeekKind() != '}' {
		token, err := decoder.ReadToken()
		if err != nil {
			return problemMalformedRequest.because("The body must be one well-formed JSON object without duplicate " +
				"names.")
		}
		name := token.String()
		if strings.Contains(name, "/") { // a member named payment/provider must not pass for payment's provider
			return unknownMember(known)
		}
		if err := parseMember(decoder, members, within+name, known); err != nil {
			return err
		}
	}
	if _, err := decoder.ReadToken(); err != nil {
		return problemMalformedRequest.because("The body must be one well-formed JSON object.")
	}
	return nil
}

func parseMember(decoder *jsontext.Decoder, members map[string]string, member string, known []string) error {
	isObject := slices.ContainsFunc(known, func(name string) bool { return strings.HasPrefix(name, member+"/") })
	if !isObject && !slices.Contains(known, member) {
		return unknownMember(known)
	}
	value, err := decoder.ReadToken()
	if err != nil {
		return problemMalformedRequest.because("The body must be one well-formed JSON object.")
	}
	if isObject {
		if value.Kind() != '{' {
			return problemMalformedRequest.because(
				"The member must be an object. Leave it out instead of sending null.",
			).at("/" + member)
		}
		members[member] = ""
		return parseMembers(decoder, members, member+"/", known)
	}
	kind, wanted := jsontext.Kind('"'), "string"
	if member == paidAmount {
		kind, wanted = '0', "number"
	}
	if value.Kind() != kind {
		return problemMalformedRequest.because("The member must be a %s.", wanted).at("/" + member)
	}
	text := value.String()
	// aws-lambda-go replaces invalid UTF-8 with U+FFFD. Two different codes could then be equal.
	if strings.ContainsRune(text, utf8.RuneError) {
		return problemMalformedRequest.because("The member must be UTF-8 without U+FFFD.").at("/" + member)
	}
	members[member] = text
	return nil
}

func unknownMember(known []string) error {
	return problemMalformedRequest.because("The body has an unknown member. Known members: %s.", knownNames(known))
}
