package lambdahttp

import (
	"context"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

// Build wires a function's endpoint from its environment.
type Build func(ctx context.Context, env Environment) (http.Handler, error)

// Start builds the endpoint and serves Lambda's events until the process ends. If the endpoint cannot be built, the process
// exits and Lambda reports an init error.
func Start(build Build) {
	StartHandler(func(ctx context.Context, env Environment) (any, error) {
		endpoint, err := build(ctx, env)
		return NewHandler(endpoint, env.Now).Handle, err
	})
}

// StartHandler is like Start, but for a function that the HTTP API does not invoke. build returns a handler for lambda.Start.
func StartHandler(build func(ctx context.Context, env Environment) (handler any, err error)) {
	env := Environment{Lookup: os.Getenv, Now: time.Now, Log: os.Stdout}
	useMemory(env.Lookup(envMemory))
	handler, err := build(context.Background(), env)
	if err != nil {
		log.Fatalf("start function: %v", err)
	}
	log.SetOutput(withoutBodies{os.Stderr})
	lambda.Start(handler)
}
