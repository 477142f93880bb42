// Command deploy deploys what `sam package` left, to an environment of samconfig.toml; `make deploy` runs it. Package rollout
// does all of it.
//
//	deploy ENVIRONMENT TEMPLATE [PARAMETER=VALUE…]
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/rollout"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second one does not wait for what is put in order after the first
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("usage: deploy ENVIRONMENT TEMPLATE [PARAMETER=VALUE…]")
	}
	parameters := make(map[string]string)
	for _, argument := range arguments[2:] {
		name, value, ok := strings.Cut(argument, "=")
		if !ok {
			return fmt.Errorf("%q is not PARAMETER=VALUE", argument)
		}
		parameters[name] = value
	}
	settings, err := rollout.Read(os.DirFS("."), arguments[0], arguments[1], parameters)
	if err != nil {
		return err
	}
	configuration, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return fmt.Errorf("AWS configuration: %w", err)
	}
	return rollout.Rollout{
		API: cloudformation.NewFromConfig(configuration), Tables: dynamodb.NewFromConfig(configuration), Out: os.Stdout, In: os.Stdin, Now: time.Now, Sleep: sleep,
	}.Deploy(ctx, settings)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
