// Package contracttest checks requests and responses against the interface's OpenAPI document. An operation, status,
// header or field that the document does not have is an error. Only tests import this package.
package contracttest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	violations "github.com/pb33f/libopenapi-validator/errors"
	"github.com/pb33f/libopenapi-validator/schema_validation"
	"github.com/pb33f/libopenapi/datamodel/high/base"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"

	"shopfront/api"
)

// Validator checks exchanges against the working document. Goroutines may share it.
type Validator struct {
	mu        sync.Mutex // guards the model, because reading it also changes it
	model     *v3.Document
	validator validator.Validator
}

// New reads the document that this commit embeds.
func New() (*Validator, error) {
	text, err := prepare(api.OpenAPI())
	if err != nil {
		return nil, err
	}
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		return nil, err
	}
	model, err := document.BuildV3Model()
	if err != nil {
		return nil, err
	}
	for item := range model.Model.Paths.PathItems.ValuesFromOldest() {
		item.Head = item.Get // the document describes a HEAD only by its GET
	}
	options := []config.Option{
		config.WithStrictMode(), config.WithFormatAssertions(), config.WithStrictIgnoredHeaders(transportHeaders()...),
		// The shop decides which data a variant asks for. The data of an event depends on the event's type, which
		// strict mode does not evaluate.
		config.WithStrictIgnorePaths("$.body.data.**", "$.body.orders[*].data.**", "$.body.events[*].data.**",
			"$.body.products[*].variants[*].dataSchema.**",
			"$.query.utm_source"), // the shop's page ignores parameters that links from elsewhere add
	}
	return &Validator{model: &model.Model, validator: validator.NewValidatorFromV3Model(&model.Model, options...)}, nil
}

// removedPath is the path of removedOperation. No request can have it.
const removedPath = "removed"

// removedOperation describes the response of every operation that a release removed. The document does not have these
// operations. See docs/interface.md, The removed payment paths.
const removedOperation = `{"responses": {"410": {
	"description": "A release removed it.",
	"headers": {"Request-Id": {"$ref": "#/components/headers/RequestId"}, "Cache-Control": {"$ref": "#/components/headers/NoStore"}},
	"content": {"application/problem+json": {"schema": {
		"type": "object",
		"required": ["type", "title", "status", "detail"],
		"properties": {
			"type": {"const": "urn:problem:shopfront:gone"}, "title": {"const": "Gone"}, "status": {"const": 410}, "detail": {"type": "string"}
		}
	}}}
}}}`

// prepare adds removedOperation to a document in JSON. If a schema extends another schema by allOf, prepare copies the
// properties of the extended schema, because the library's strict mode does not look into the allOf of an alternative.
func prepare(text string) ([]byte, error) {
	var document struct {
		OpenAPI    string                    `json:"openapi"`
		Info       any                       `json:"info"`
		Paths      map[string]any            `json:"paths"`
		Components map[string]map[string]any `json:"components"`
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	removed := json.RawMessage(removedOperation)
	document.Paths[removedPath] = map[string]any{"get": removed, "post": removed}
	schemas := document.Components["schemas"]
	for _, schema := range schemas {
		schema, _ := schema.(map[string]any)
		parts, _ := schema["allOf"].([]any)
		for _, part := range parts {
			reference, _ := part.(map[string]any)
			name, _ := reference["$ref"].(string)
			base, _ := schemas[strings.TrimPrefix(name, "#/components/schemas/")].(map[string]any)
			if base["properties"] != nil {
				schema["properties"] = base["properties"]
			}
		}
	}
	return json.Marshal(document)
}

// transportHeaders belong to the connection, the browser or the gateway, not to an operation.
func transportHeaders() []string {
	return []string{
		"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Host",
		"Origin",
		"Sec-Fetch-Dest", "Sec-Fetch-Site", "Sec-Purpose", "Transfer-Encoding", "User-Agent", "Vary", "Apigw-Requestid",
		"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Request-Headers",
		"Access-Control-Request-Method",
	}
}

// Exchange checks a response. It checks the request only if the response's status is below 400, because a test may send
// an invalid request on purpose. Both bodies can be read again afterwards.
func (v *Validator) Exchange(
	request *http.Request, requestBody []byte, response *http.Response, responseBody []byte,
) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	defer setBodies(request, requestBody, response, responseBody)
	responseBody, err := decompress(response, responseBody)
	if err != nil {
		return err
	}
	path, item := v.find(request.Method, request.URL.Path)
	if item == nil && response.StatusCode == http.StatusGone {
		path, item = v.find(request.Method, removedPath)
	}
	isGateways := isGatewaysOwn(request, response, responseBody)
	if item == nil {
		isPreflight := request.Method == http.MethodOptions && response.StatusCode == http.StatusNoContent
		if isPreflight || isGateways && response.StatusCode >= http.StatusBadRequest {
			return nil
		}
		return fmt.Errorf("the document does not have %s %s, which returned %d %s", request.Method,
			request.URL.EscapedPath(), response.StatusCode, responseBody)
	}
	operation, _ := item.GetOperations().Get(strings.ToLower(request.Method))
	documented := operation.Responses.Codes.GetOrZero(strconv.Itoa(response.StatusCode))
	switch response.StatusCode {
	case http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		if isGateways { // the gateway rejects malformed HTTP before it looks for an operation
			return nil
		}
	case http.StatusBadRequest:
		// it has none of the headers that the document promises for the response of a function
		if isGateways && documented != nil && documented.Content.GetOrZero("application/json") != nil {
			return nil
		}
	}
	var problems []error
	if response.StatusCode < http.StatusBadRequest {
		setBodies(request, requestBody, response, responseBody)
		_, found := v.validator.ValidateHttpRequestSyncWithPathItem(request, item, path)
		problems = describe(found)
	}
	if documented != nil {
		problems = append(problems, checkRest(documented, variesBy(operation.Tags), request, response, responseBody)...)
	}
	setBodies(request, requestBody, response, responseBody)
	_, found := v.validator.GetResponseBodyValidator().ValidateResponseBodyWithPathItem(request, response, item, path)
	if problems = append(problems, describe(found)...); len(problems) > 0 {
		return fmt.Errorf("%s %s returned %d %s: %w", request.Method, path, response.StatusCode, responseBody,
			errors.Join(problems...))
	}
	return nil
}

// find returns the operation of a request as the gateway routes it: by the exact method and the segments of the decoded
// path.
func (v *Validator) find(method, decoded string) (string, *v3.PathItem) {
	if method != strings.ToUpper(method) {
		return "", nil
	}
	have := strings.Split(decoded, "/")
	for path, item := range v.model.Paths.PathItems.FromOldest() {
		matches := slices.EqualFunc(strings.Split(path, "/"), have, func(want, have string) bool {
			return want == have || strings.HasPrefix(want, "{") && have != ""
		})
		if _, documented := item.GetOperations().Get(strings.ToLower(method)); matches && documented {
			return path, item
		}
	}
	return "", nil
}

// isGatewaysOwn reports whether the gateway, not a function, wrote a response. For a HEAD without a body it looks only
// at the headers.
func isGatewaysOwn(request *http.Request, response *http.Response, body []byte) bool {
	var message struct {
		Message string `json:"message"`
	}
	isMessage := request.Method == http.MethodHead && len(body) == 0 || json.Unmarshal(body, &message) == nil &&
		message.Message != ""
	return isMessage && response.Header.Get("Content-Type") == "application/json" &&
		response.Header.Get("Request-Id") == ""
}

// checkHeader checks the value of a header as a string, or as a number if the document says that it is one. The library
// does not check the values of optional headers.
func checkHeader(name, text string, schema *base.Schema) (problems []error) {
	var value any = text
	if number, err := strconv.Atoi(text); err == nil && strconv.Itoa(number) == text &&
		slices.Contains(schema.Type, "integer") {
		value = number
	}
	_, found := schema_validation.NewSchemaValidator(config.WithFormatAssertions()).ValidateSchemaObject(schema, value)
	for _, err := range describe(found) {
		problems = append(problems, fmt.Errorf("header %s: %w", name, err))
	}
	return problems
}

const acceptEncoding, acceptLanguage = "Accept-Encoding", "Accept-Language"

// variesBy returns the request headers by which responses of an operation with these tags may vary. Pages and their
// files are compressed if the client accepts that. The document does not describe compression, because HTTP does (RFC
// 9110, section 8.4).
func variesBy(tags []string) []string {
	switch {
	case slices.Contains(tags, "Page"):
		return []string{acceptEncoding, acceptLanguage}
	case slices.Contains(tags, "Contract"):
		return []string{acceptEncoding}
	default:
		return nil
	}
}

// checkRest makes the checks that the library lacks: whether there is a body, the values of headers, undocumented
// headers, cookies, compression, and Vary. The response may vary by the headers in varies.
func checkRest(
	documented *v3.Response, varies []string, request *http.Request, response *http.Response, body []byte,
) (problems []error) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	hasBody := documented.Content != nil && documented.Content.Len() > 0
	switch isHead := request.Method == http.MethodHead; {
	case !isHead && string(bytes.TrimSpace(body)) == "null":
		problem("the body is null, which the library accepts for every schema")
	case !isHead && hasBody != (len(body) > 0):
		problem("the document says that there is a body: %t", hasBody)
	}
	for _, encoding := range response.Header.Values("Content-Encoding") {
		if !slices.Contains(varies, acceptEncoding) || encoding != "gzip" {
			problem("the document does not have Content-Encoding: %s", encoding)
		}
	}
	for field := range strings.SplitSeq(strings.Join(response.Header.Values("Vary"), ","), ",") {
		field = http.CanonicalHeaderKey(strings.TrimSpace(field))
		// CORS adds Origin to any response
		isKnown := field == "" || field == "Origin" || slices.Contains(varies, field)
		if !isKnown {
			problem("the document does not have Vary: %s", field)
		}
	}
	return append(problems, checkHeaders(documented, response.Header)...)
}

func checkHeaders(documented *v3.Response, sent http.Header) (problems []error) {
	headers := make(map[string]*v3.Header)
	for name, header := range documented.Headers.FromOldest() {
		headers[http.CanonicalHeaderKey(name)] = header
	}
	for name, values := range sent {
		switch header := headers[name]; {
		case header != nil:
			for _, value := range values {
				problems = append(problems, checkHeader(name, value, header.Schema.Schema())...)
			}
		case name == "Set-Cookie", len(headers) == 0 && !slices.Contains(transportHeaders(), name):
			problems = append(problems, fmt.Errorf("the document does not have the header %s", name))
		}
	}
	return problems
}

// decompress undoes Content-Encoding.
func decompress(response *http.Response, body []byte) ([]byte, error) {
	if len(body) == 0 || response.Header.Get("Content-Encoding") != "gzip" {
		return body, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the response is not in gzip: %w", err)
	}
	return io.ReadAll(reader)
}

func setBodies(request *http.Request, requestBody []byte, response *http.Response, responseBody []byte) {
	request.Body, response.Body = io.NopCloser(bytes.NewReader(requestBody)),
		io.NopCloser(bytes.NewReader(responseBody))
}

func describe(found []*violations.ValidationError) []error {
	var described []error
	for _, violation := range found {
		texts := []string{violation.Message + ": " + violation.Reason}
		for _, failure := range violation.SchemaValidationErrors {
			texts = append(texts, failure.FieldPath+" "+failure.Reason)
		}
		described = append(described, errors.New(strings.Join(texts, "; ")))
	}
	return described
}

// Transport checks every exchange over another transport, and fails the test where Exchange finds an error.
func (v *Validator) Transport(t testing.TB, base http.RoundTripper) http.RoundTripper {
	return transport{t, v, base}
}

type transport struct {
	t         testing.TB
	validator *Validator
	base      http.RoundTripper
}

func (c transport) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := request.Clone(request.Context())
	requestBody, err := readAll(request.Body)
	if err != nil {
		return nil, err
	}
	if sent.Body != nil {
		sent.Body = io.NopCloser(bytes.NewReader(requestBody))
	}
	response, err := c.base.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	responseBody, err := readAll(response.Body)
	if err != nil {
		return nil, err
	}
	if err := c.validator.Exchange(sent, requestBody, response, responseBody); err != nil {
		c.t.Error(err)
	}
	return response, nil
}

// readAll reads and closes a body, which may be nil.
func readAll(body io.ReadCloser) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	text, err := io.ReadAll(body)
	return text, errors.Join(err, body.Close())
}
