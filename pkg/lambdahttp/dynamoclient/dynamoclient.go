// Package dynamoclient wires a function's DynamoDB client, and the parts of the HTTP layer that need it. It is separate
// from package lambdahttp because a function without a table must not link the SDK.
package dynamoclient

import (
	"context"
	"math/rand/v2"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/access"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/httpapi"
	"shopfront/pkg/lambdahttp"
)

// envEndpoint names the variable that replaces the region's endpoint. template.yaml declares it; it is empty on AWS.
const envEndpoint = "AWS_ENDPOINT_URL_DYNAMODB"

// Connect wires a client for the function's region and role. It opens the connection by reading from warmTable, so the
// function's role must allow GetItem on that table; the client can call every table. ForStream is the only option.
func Connect(
	ctx context.Context, env lambdahttp.Environment, warmTable string, options ...func(*dynamo.Settings),
) *dynamodb.Client {
	// Lambda sets a role's credentials once per process.
	credentials := aws.Credentials{
		AccessKeyID:     env.Must("AWS_ACCESS_KEY_ID"),
		SecretAccessKey: env.Must("AWS_SECRET_ACCESS_KEY"),
		SessionToken:    env.Lookup("AWS_SESSION_TOKEN"),
	}
	settings := dynamo.Settings{
		Region:   env.Must("AWS_REGION"),
		Endpoint: env.Lookup(envEndpoint),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return credentials, nil
		}),
		Jitter: rand.Int64N, ShopperWaits: true,
	}
	for _, option := range options {
		option(&settings)
	}
	client := dynamo.NewClient(settings)
	dynamo.Warm(ctx, client, warmTable)
	return client
}

// ForStream is the option of a function that a stream invokes: it retries a throttled call as long as it has time.
func ForStream(settings *dynamo.Settings) { settings.ShopperWaits = false }

// GuardedService wires the HTTP layer of a function whose callers may have keys. The catalogue's table holds the keys.
func GuardedService(env lambdahttp.Environment, client *dynamodb.Client) httpapi.Service {
	service := env.Service()
	service.Guard = access.NewGuard(dynamo.NewAccess(client, env.CatalogueTable(), rand.Int64N))
	return service
}
