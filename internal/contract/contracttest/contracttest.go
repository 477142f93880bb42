// Package contracttest holds requests and answers to the interface's document: what it does not know of an operation, a
// status, a header or a field, fails. It is for tests only.
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
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"

	"shopfront/api"
)

// Validator holds exchanges to the working document. Goroutines may share it.
type Validator struct {
	mu        sync.Mutex // the library fills its model while it reads it
	model     *v3.Document
	validator validator.Validator
}

// New reads the document that this commit embeds.
func New() (*Validator, error) {
	text, err := prepare(api.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("read the interface's document: %w", err)
	}
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		return nil, fmt.Errorf("read the interface's document: %w", err)
	}
	model, err := document.BuildV3Model()
	if err != nil {
		return nil, fmt.Errorf("read the interface's document: %w", err)
	}
	for item := range model.Model.Paths.PathItems.ValuesFromOldest() {
		item.Head = item.Get // the document names none: HEAD is its GET
	}
	options := []config.Option{
		config.WithStrictMode(), config.WithFormatAssertions(), config.WithStrictIgnoredHeaders(transportHeaders()...),
		// What a variant wants to know, and what a shopper answered, is the shop's.
		config.WithStrictIgnorePaths("$.body.data.**", "$.body.products[*].variants[*].dataSchema.**"),
	}
	return &Validator{model: &model.Model, validator: validator.NewValidatorFromV3Model(&model.Model, options...)}, nil
}

// removedPath is that of removedOperation. No request can have it.
const removedPath = "removed"

// removedOperation is in the place of what a release removed, whatever its path. The document does not have it, but what
// it is made of: docs/interface.md, The removed payment paths.
const removedOperation = `{"responses": {"410": {
	"description": "A release removed it.",
	"headers": {"Request-Id": {"$ref": "#/components/headers/RequestId"}, "Cache-Control": {"$ref": "#/components/headers/NoStore"}},
	"content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/GoneProblem"}}}
}}}`

const goneProblem = `{"allOf": [{"$ref": "#/components/schemas/Problem"}, {
	"required": ["detail"],
	"properties": {"type": {"const": "urn:problem:shopfront:gone"}, "title": {"const": "Gone"}, "status": {"const": 410}}
}]}`

// prepare adds removedOperation to a document in JSON, and inherits.
func prepare(text string) ([]byte, error) {
	var document map[string]any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		return nil, err
	}
	var operation, problem any
	if err := errors.Join(json.Unmarshal([]byte(removedOperation), &operation), json.Unmarshal([]byte(goneProblem), &problem)); err != nil {
		return nil, err
	}
	paths, hasPaths := document["paths"].(map[string]any)
	components, _ := document["components"].(map[string]any)
	schemas, hasSchemas := components["schemas"].(map[string]any)
	if !hasPaths || !hasSchemas {
		return nil, errors.New("it has no paths or schemas")
	}
	paths[removedPath] = map[string]any{"get": operation, "post": operation}
	schemas["GoneProblem"] = problem
	inherit(schemas)
	return json.Marshal(document)
}

// inherit gives the schemas that extend another by allOf the properties of that one: the library's strict mode does not look
// into the allOf of an alternative, and would take them for unknown.
func inherit(schemas map[string]any) {
	for _, extended := range schemas {
		schema, _ := extended.(map[string]any)
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
}

// transportHeaders are about the connection, the browser or the gateway, and part of no operation.
func transportHeaders() []string {
	return []string{
		"Accept", "Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date", "Host", "Origin",
		"Sec-Purpose", "Transfer-Encoding", "User-Agent", "Vary", "Apigw-Requestid",
		"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Request-Headers", "Access-Control-Request-Method",
	}
}

// Exchange holds an answer to the document, and where it is a success also the request that led to it: what a test sends
// to be refused need not be in the document. It leaves both bodies to be read again.
func (v *Validator) Exchange(request *http.Request, requestBody []byte, response *http.Response, responseBody []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	sent := responseBody
	responseBody, err := decompress(response, responseBody)
	if err != nil {
		return err
	}
	path, item := v.find(request.Method, request.URL.EscapedPath())
	if item == nil && response.StatusCode == http.StatusGone {
		path, item = v.find(request.Method, removedPath)
	}
	if item == nil {
		return checkUndocumented(request, response, responseBody)
	}
	if isGatewaysOwn(request, response, responseBody) {
		return nil
	}
	setBodies(request, requestBody, response, responseBody)
	defer setBodies(request, requestBody, response, sent)
	var found []*violations.ValidationError
	if response.StatusCode < http.StatusBadRequest {
		_, found = v.validator.ValidateHttpRequestSyncWithPathItem(request, item, path)
		setBodies(request, requestBody, response, responseBody)
	}
	_, answered := v.validator.GetResponseBodyValidator().ValidateResponseBodyWithPathItem(request, response, item, path)
	problems := describe(append(found, answered...))
	if err := checkBody(request, item, response, responseBody); err != nil {
		problems = append(problems, err)
	}
	problems = append(problems, checkEncoding(request, item, response)...)
	problems = append(problems, checkHeaders(request, item, response)...)
	if len(problems) > 0 {
		return fmt.Errorf("%s %s answers %d %s: %w", request.Method, path, response.StatusCode, responseBody, errors.Join(problems...))
	}
	return nil
}

// find is the operation of a request as the gateway routes it: by the method, exactly, and the segments of the path as it
// was sent.
func (v *Validator) find(method, sent string) (string, *v3.PathItem) {
	if method != strings.ToUpper(method) {
		return "", nil
	}
	have := strings.Split(sent, "/")
	for path, item := range v.model.Paths.PathItems.FromOldest() {
		want := strings.Split(path, "/")
		matches := slices.EqualFunc(want, have, func(want, have string) bool {
			return want == have || strings.HasPrefix(want, "{") && have != ""
		})
		if _, documented := item.GetOperations().Get(strings.ToLower(method)); matches && documented {
			return path, item
		}
	}
	return "", nil
}

// checkUndocumented wants nobody to answer what the document does not have, but for the gateway.
func checkUndocumented(request *http.Request, response *http.Response, body []byte) error {
	isPreflight := request.Method == http.MethodOptions && response.StatusCode == http.StatusNoContent
	if isPreflight || response.StatusCode >= http.StatusBadRequest && hasMessage(request, response, body) {
		return nil
	}
	return fmt.Errorf("%s %s, which the document does not have, answers %d %s", request.Method, request.URL.EscapedPath(), response.StatusCode, body)
}

// isGatewaysOwn tells what the gateway refuses for its form before any operation is asked: it is no HTTP that a client
// of the document would send.
func isGatewaysOwn(request *http.Request, response *http.Response, body []byte) bool {
	switch response.StatusCode {
	case http.StatusBadRequest, http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		return hasMessage(request, response, body)
	default:
		return false
	}
}

// hasMessage tells the gateway's own answers from those of a function. To a HEAD there is no body to tell by.
func hasMessage(request *http.Request, response *http.Response, body []byte) bool {
	var message struct {
		Message string `json:"message"`
	}
	isMessage := request.Method == http.MethodHead && len(body) == 0 || json.Unmarshal(body, &message) == nil && message.Message != ""
	return isMessage && response.Header.Get("Content-Type") == "application/json" && response.Header.Get("Request-Id") == ""
}

// documentedAnswer is what the document has of an answer's status, or nil.
func documentedAnswer(request *http.Request, item *v3.PathItem, response *http.Response) *v3.Response {
	operation, _ := item.GetOperations().Get(strings.ToLower(request.Method))
	return operation.Responses.Codes.GetOrZero(fmt.Sprint(response.StatusCode))
}

// checkBody wants a body where the document has one, and none where it has none. The library takes either.
func checkBody(request *http.Request, item *v3.PathItem, response *http.Response, body []byte) error {
	documented := documentedAnswer(request, item, response)
	if documented == nil || request.Method == http.MethodHead {
		return nil
	}
	if string(bytes.TrimSpace(body)) == "null" {
		return errors.New("the body is null, of which the library asks nothing")
	}
	if hasBody := documented.Content != nil && documented.Content.Len() > 0; hasBody != (len(body) > 0) {
		return fmt.Errorf("the document has a body: %t", hasBody)
	}
	return nil
}

// checkHeaders looks where the library does not: at the values of headers that may be missing, at cookies, and at answers that
// the document has no headers for.
func checkHeaders(request *http.Request, item *v3.PathItem, response *http.Response) (problems []error) {
	documented := documentedAnswer(request, item, response)
	if documented == nil {
		return nil // it is said already
	}
	headers := make(map[string]*v3.Header)
	if documented.Headers != nil {
		for name, header := range documented.Headers.FromOldest() {
			headers[http.CanonicalHeaderKey(name)] = header
		}
	}
	for name, values := range response.Header {
		switch header := headers[name]; {
		case header != nil:
			for _, value := range values {
				problems = append(problems, checkHeader(name, value, header)...)
			}
		case name == "Set-Cookie", len(headers) == 0 && !slices.Contains(transportHeaders(), name):
			problems = append(problems, fmt.Errorf("the document knows no header %s", name))
		}
	}
	return problems
}

func checkHeader(name, text string, header *v3.Header) []error {
	if header.Schema == nil {
		return []error{fmt.Errorf("header %s has no schema, and nothing else is looked at", name)}
	}
	schema := header.Schema.Schema()
	var value any = text
	if number, err := strconv.Atoi(text); err == nil && strconv.Itoa(number) == text && slices.Contains(schema.Type, "integer") {
		value = number
	}
	_, wrong := schema_validation.NewSchemaValidator(config.WithFormatAssertions()).ValidateSchemaObject(schema, value)
	var problems []error
	for _, err := range describe(wrong) {
		problems = append(problems, fmt.Errorf("header %s: %w", name, err))
	}
	return problems
}

// pagesTag is the document's tag of what is compressed where the client accepts it (RFC 9110, section 8.4): the pages, and the
// document itself. The document does not repeat how HTTP does that.
const pagesTag = "Contract"

// checkEncoding wants only pages to be compressed or to vary by what the client accepts. CORS has any answer vary by the Origin.
func checkEncoding(request *http.Request, item *v3.PathItem, response *http.Response) (problems []error) {
	operation, _ := item.GetOperations().Get(strings.ToLower(request.Method))
	isPage := slices.Contains(operation.Tags, pagesTag)
	for _, encoding := range response.Header.Values("Content-Encoding") {
		if !isPage || encoding != "gzip" {
			problems = append(problems, fmt.Errorf("the document knows no Content-Encoding: %s", encoding))
		}
	}
	for field := range strings.SplitSeq(strings.Join(response.Header.Values("Vary"), ","), ",") {
		switch field = strings.TrimSpace(field); {
		case field == "" || strings.EqualFold(field, "Origin"):
		case isPage && strings.EqualFold(field, "Accept-Encoding"):
		default:
			problems = append(problems, fmt.Errorf("the document knows no Vary: %s", field))
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
		return nil, fmt.Errorf("the answer is not in gzip: %w", err)
	}
	return io.ReadAll(reader)
}

func setBodies(request *http.Request, requestBody []byte, response *http.Response, responseBody []byte) {
	request.Body, response.Body = http.NoBody, http.NoBody
	if len(requestBody) > 0 {
		request.Body = io.NopCloser(bytes.NewReader(requestBody))
	}
	if len(responseBody) > 0 {
		response.Body = io.NopCloser(bytes.NewReader(responseBody))
	}
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

// Transport holds every exchange over another transport to the document, and fails the test where one is not in it.
func (v *Validator) Transport(t testing.TB, base http.RoundTripper) http.RoundTripper {
	return transport{t, v, base}
}

type transport struct {
	t         testing.TB
	validator *Validator
	base      http.RoundTripper
}

func (c transport) RoundTrip(request *http.Request) (*http.Response, error) {
	requestBody, err := readAll(request.Body)
	if err != nil {
		return nil, err
	}
	sent := request.Clone(request.Context())
	if requestBody != nil {
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

// readAll reads and closes a body; nil is none.
func readAll(body io.ReadCloser) ([]byte, error) {
	if body == nil || body == http.NoBody {
		return nil, nil
	}
	text, err := io.ReadAll(body)
	return text, errors.Join(err, body.Close())
}
