// Package dynamoclient wires a function's client of DynamoDB. It is apart from package function because a function without
// a table does not link the SDK.
package dynamoclient

import (
	"context"
	"math/rand/v2"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/lambdahttp"
)

// envEndpoint replaces the region's endpoint; template.yaml declares it, and it is empty in the cloud.
const envEndpoint = "AWS_ENDPOINT_URL_DYNAMODB"

// New wires a client for the function's region and role, or says which setting is missing. It opens the connection with a
// read of the table, which the function must be allowed.
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
	// Lambda sets a role's credentials once, for as long as the process lives.
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
