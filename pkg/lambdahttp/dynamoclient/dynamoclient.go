// Package dynamoclient wires a function's DynamoDB client, and the parts of the HTTP layer that need it. It is separate from
// package lambdahttp because a function without a table must not link the SDK.
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

// New wires a client for the function's region and role, or returns an error that names the missing setting. It opens the
// connection by reading the table, so the function's role must allow GetItem on the table.
func New(ctx context.Context, env lambdahttp.Environment, table string) (*dynamodb.Client, error) {
	region, err := env.Require("AWS_REGION")
	if err != nil {
		return nil, err
	}
	keyID, err := env.Require("AWS_ACCESS_KEY_ID")
	if err != nil {
		return nil, err
	}
	secret, err := env.Require("AWS_SECRET_ACCESS_KEY")
	if err != nil {
		return nil, err
	}
	// Lambda sets a role's credentials once per process.
	credentials := aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret, SessionToken: env.Lookup("AWS_SESSION_TOKEN")}
	client := dynamo.NewClient(dynamo.Settings{
		Region:      region,
		Endpoint:    env.Lookup(envEndpoint),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, nil }),
		Jitter:      rand.Int64N,
	})
	dynamo.Warm(ctx, client, table)
	return client, nil
}

// Service wires the HTTP layer of a function whose callers may have keys. The catalogue's table holds the keys.
func Service(env lambdahttp.Environment, client *dynamodb.Client) (httpapi.Service, error) {
	catalogue, err := env.CatalogueTable()
	if err != nil {
		return httpapi.Service{}, err
	}
	service := env.Service()
	service.Guard = access.NewGuard(dynamo.NewAccess(client, catalogue, rand.Int64N))
	return service, nil
}
