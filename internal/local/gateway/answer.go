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

	"golang.org/x/net/http/httpguts"
)

// answer is a response before the gateway adds its own headers.
type answer struct {
	status  int
	header  map[string]string // by canonical name
	cookies []string
	body    []byte
}

const jsonType = "application/json"

// message returns a response of the gateway itself. The body contains the text of the status.
func message(status int) answer {
	body := `{"message":"` + http.StatusText(status) + `"}`
	return answer{status: status, header: map[string]string{"Content-Type": jsonType}, body: []byte(body)}
}

// parseAnswer reads a function's response in format 2.0:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html#http-api-develop-integrations-lambda.response.
// A JSON object with a statusCode describes the response. Any other JSON is the body of a response with status 200; a JSON string loses its
// quotes and escapes. parseAnswer returns an error if raw is not JSON, or if a member has the wrong type or an invalid value. It ignores
// unknown members, including multiValueHeaders, which format 2.0 does not have.
func parseAnswer(raw []byte) (answer, error) {
	if !json.Valid(raw) {
		return answer{}, errors.New("it is not JSON")
	}
	// Decode into a map: decoding into a struct would ignore the case of member names. JSON null gives an empty map.
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // fails if the JSON is not an object
	if _, complete := members["statusCode"]; !complete {
		body := bytes.TrimSpace(raw)
		var text string
		if body[0] == '"' && json.Unmarshal(body, &text) == nil {
			body = []byte(text)
		}
		return answer{status: http.StatusOK, header: map[string]string{"Content-Type": jsonType}, body: body}, nil
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
			return answer{}, fmt.Errorf("%s has the wrong type", name) // does not show the value, which may be private
		}
	}
	// A status below 200 is informational and cannot complete a response.
	if a.status < http.StatusOK || a.status > 599 {
		return answer{}, fmt.Errorf("statusCode %d is not the status of a response", a.status)
	}
	a.body = []byte(body)
	if isBase64 {
		decoded, err := base64.StdEncoding.DecodeString(body)
		if err != nil {
			return answer{}, errors.New("body is not valid base64")
		}
		a.body = decoded
	}
	var err error
	a.header, err = responseHeader(header, a.cookies)
	return a, err
}

// responseHeader checks the headers and cookies of a function's response. It returns the headers without those that a function
// cannot set: headers about the connection, and reserved headers. For HTTP APIs, AWS documents only which headers are reserved:
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-parameter-mapping.html#http-api-mapping-reserved-headers.
func responseHeader(header map[string]string, cookies []string) (map[string]string, error) {
	kept := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(header)) { // if names differ only in case, the last one wins
		value := header[name]
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, errors.New("headers has an invalid name or value")
		}
		name = http.CanonicalHeaderKey(name)
		if !isHopByHop(name) && !isReserved(name) {
			kept[name] = value
		}
	}
	for _, cookie := range cookies {
		if !httpguts.ValidHeaderFieldValue(cookie) {
			return nil, errors.New("cookies has an invalid value")
		}
	}
	return kept, nil
}

// isReserved reports whether the gateway reserves a response header for itself. The name must be canonical.
func isReserved(name string) bool {
	return slices.Contains([]string{"Content-Length", "Date", "Server", "Via"}, name) || strings.HasPrefix(name, "Apigw-")
}
