// Package function is the glue between Lambda and the HTTP layer: it reads a function's settings, wires what its endpoint
// needs, and turns events of an HTTP API (payload format 2.0) into requests and answers into responses.
//
// Everything here is linked by every function and runs while it starts: imports are few and nothing loads the SDK's default
// configuration.
package lambdahttp
