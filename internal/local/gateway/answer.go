package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// answer is a response before the gateway adds to it.
type answer struct {
	status  int
	header  map[string]string // by canonical name
	cookies []string
	body    []byte
}

const jsonType = "application/json"

// message is what the gateway says for itself: the status's text.
func message(status int) answer {
	body := `{"message":"` + http.StatusText(status) + `"}`
	return answer{status: status, header: map[string]string{"Content-Type": jsonType}, body: []byte(body)}
}

// parseAnswer reads a function's answer in format 2.0:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html#http-api-develop-integrations-lambda.response.
// An object with a statusCode is the response; any other JSON is the body of a response with status 200, a string as the
// text that it holds. What is not JSON, or has members of wrong types, is an error.
//
// Format 2.0 has no multiValueHeaders: the member is ignored, as are unknown ones.
func parseAnswer(raw []byte) (answer, error) {
	if !json.Valid(raw) {
		return answer{}, errors.New("it is not JSON")
	}
	// A map, since the names of members are compared exactly. Null is an empty one.
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // other JSON than an object
	if _, complete := members["statusCode"]; !complete {
		return inferredAnswer(raw), nil
	}
	var (
		a        answer
		header   map[string]string
		body     string
		isBase64 bool
	)
	for name, into := range map[string]any{
		"statusCode": &a.status, "headers": &header, "cookies": &a.cookies, "body": &body, "isBase64Encoded": &isBase64,
	} {
		if member, present := members[name]; present && json.Unmarshal(member, into) != nil {
			return answer{}, fmt.Errorf("%s is of the wrong type", name) // without the value, which may be a shopper's
		}
	}
	// Lower ones are for the connection, not for a response.
	if a.status < http.StatusOK || a.status > 599 {
		return answer{}, fmt.Errorf("statusCode %d is not the status of a response", a.status)
	}
	a.body = []byte(body)
	if isBase64 {
		decoded, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			return answer{}, errors.New("body is not in base64")
		}
		a.body = decoded
	}
	var err error
	a.header, err = responseHeader(header, a.cookies)
	return a, err
}

func inferredAnswer(raw []byte) answer {
	body := bytes.TrimSpace(raw)
	var text string
	if body[0] == '"' && json.Unmarshal(body, &text) == nil {
		body = []byte(text)
	}
	return answer{status: http.StatusOK, header: map[string]string{"Content-Type": jsonType}, body: body}
}

// responseHeader checks a function's headers and drops those that are the gateway's: about the connection, the message's
// length and origin, and its own. AWS documents for HTTP APIs only which headers are reserved:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-parameter-mapping.html#http-api-mapping-reserved-headers.
func responseHeader(header map[string]string, cookies []string) (map[string]string, error) {
	kept := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(header)) { // of names that differ in case, always the same one stays
		value := header[name]
		if !isToken(name) || !isFieldValue(value) {
			return nil, errors.New("headers has a name or value that no header can have")
		}
		name = http.CanonicalHeaderKey(name)
		if !isHopByHop(name) && !isGatewaysOwn(name) {
			kept[name] = value
		}
	}
	for _, cookie := range cookies {
		if !isFieldValue(cookie) {
			return nil, errors.New("cookies has a value that no header can have")
		}
	}
	return kept, nil
}

func isGatewaysOwn(name string) bool {
	switch name {
	case "Content-Length", "Date", "Server", "Via":
		return true
	default:
		return strings.HasPrefix(name, "Apigw-")
	}
}

// isToken says whether a string is a token (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for _, c := range []byte(s) {
		isAlphanumeric := '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		if !isAlphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// isFieldValue says whether a string can be a header's value (RFC 9110, section 5.5): it has no control character but tabs.
func isFieldValue(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
