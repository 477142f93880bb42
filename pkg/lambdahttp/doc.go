// Package lambdahttp runs an HTTP endpoint as a Lambda function: it reads the function's settings, wires what the
// endpoint needs, and translates between events of an API Gateway HTTP API (payload format 2.0) and HTTP requests and
// responses.
//
// This package works around the quirks of aws-lambda-go-api-proxy: an endpoint sees the path, query, headers, Host and
// body as the gateway sent them.
//
// Every function links this package and runs it at each start, so its imports are few. They may not include the SDK's
// default configuration (aws-sdk-go-v2/config), which triples the time to start.
package lambdahttp
