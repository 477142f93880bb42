package lambdahttp

import (
	"context"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

// Start builds the endpoint and serves Lambda's events until the process ends.
func Start(build func(context.Context, Environment) http.Handler) {
	StartHandler(func(ctx context.Context, env Environment) any {
		return NewHandler(build(ctx, env), env.Now).Handle
	})
}

// StartHandler is like Start, but for a function that the HTTP API does not invoke. build returns a handler for
// lambda.Start.
func StartHandler(build func(context.Context, Environment) (handler any)) {
	env := Environment{Lookup: os.Getenv, Now: time.Now, Log: os.Stdout}
	useMemory(env.Lookup(envMemory))
	handler := build(context.Background(), env)
	log.SetOutput(withoutBodies{os.Stderr})
	lambda.Start(handler)
}
