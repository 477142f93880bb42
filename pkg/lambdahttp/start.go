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

// Start builds the endpoint and serves it to Lambda until the process is ended. A function that cannot be built ends the
// process: Lambda reports it as an init error.
func Start(build Build) {
	env := Environment{Lookup: os.Getenv, Now: time.Now, Log: os.Stdout}
	useMemory(env.Lookup(envMemory))
	handler, err := build(context.Background(), env)
	if err != nil {
		log.Fatalf("start function: %v", err)
	}
	log.SetOutput(discreet{os.Stderr})
	lambda.Start(NewHandler(handler, env.Now).Handle)
}
