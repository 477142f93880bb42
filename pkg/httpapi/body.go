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

// maxBodyBytes bounds a request's body.
const maxBodyBytes = 4 << 10

// readTextMembers reads a body that is one JSON object whose members are texts, all of them known: RFC 8259 by the strict
// reading of RFC 7493, which refuses duplicate names and what is not UTF-8. Members that are not there are not in the map.
func readTextMembers(r *http.Request, known ...string) (map[string]string, error) {
	if err := checkContentType(r.Header.Values("Content-Type")); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	if err != nil {
		return nil, problemMalformedRequest.because("The body cannot be read.")
	}
	if len(body) > maxBodyBytes {
		return nil, problemContentTooLarge.because("The body may have %d bytes.", maxBodyBytes)
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
		return problemUnsupportedMediaType.because("The body must be application/json in UTF-8, without other parameters.")
	}
	return nil
}

func parseTextMembers(body []byte, known []string) (map[string]string, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(body))
	if opening, err := decoder.ReadToken(); err != nil || opening.Kind() != '{' {
		return nil, problemMalformedRequest.because("The body must be a JSON object.")
	}
	members := make(map[string]string, len(known))
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, problemMalformedRequest.because("The body must be one well-formed JSON object without duplicate names.")
		}
		member := name.String()
		if !slices.Contains(known, member) {
			return nil, problemMalformedRequest.because("The body has a member that is not known here. Known: %s.", knownNames(known))
		}
		value, err := decoder.ReadToken()
		if err != nil {
			return nil, problemMalformedRequest.because("The body must be one well-formed JSON object.")
		}
		if value.Kind() != '"' {
			return nil, problemMalformedRequest.because("The member must be a string.").at("/" + member)
		}
		text := value.String()
		// Invalid UTF-8 reaches a function as U+FFFD: two different codes would be one.
		if strings.ContainsRune(text, utf8.RuneError) {
			return nil, problemMalformedRequest.because("The member must be UTF-8 without U+FFFD.").at("/" + member)
		}
		members[member] = text
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, problemMalformedRequest.because("The body must be one well-formed JSON object.")
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, problemMalformedRequest.because("The body must be nothing but one JSON object.")
	}
	return members, nil
}
