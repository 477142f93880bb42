package function

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/httpapi"
)

// Names of the environment variables that template.yaml declares. An empty one counts as not set.
const (
	envCatalogueTable = "CATALOGUE_TABLE"
	envVouchersTable  = "VOUCHERS_TABLE"
	envCheckoutsTable = "CHECKOUTS_TABLE"
	envStack          = "STACK_NAME"
	envEndpoint       = "AWS_ENDPOINT_URL_DYNAMODB"
)

// Environment is what a function is handed by the process it runs in.
type Environment struct {
	Lookup func(name string) string // os.Getenv
	Now    func() time.Time
	Log    io.Writer // one JSON object a line
}

// CatalogueTable is the name of the table of the catalogue, or an error that names the missing variable.
func (e Environment) CatalogueTable() (string, error) { return e.require(envCatalogueTable) }

// VouchersTable is the name of the table of vouchers and redemptions, or an error that names the missing variable.
func (e Environment) VouchersTable() (string, error) { return e.require(envVouchersTable) }

// CheckoutsTable is the name of the table of checkouts, or an error that names the missing variable.
func (e Environment) CheckoutsTable() (string, error) { return e.require(envCheckoutsTable) }

func (e Environment) require(name string) (string, error) {
	value := e.Lookup(name)
	if value == "" {
		return "", fmt.Errorf("environment variable %s is not set", name)
	}
	return value, nil
}

// DynamoDB wires a client for the function's region and role and opens its connection, with a read of the table, which the
// function must be allowed.
func (e Environment) DynamoDB(ctx context.Context, table string) (*dynamodb.Client, error) {
	region, err := e.require("AWS_REGION")
	if err != nil {
		return nil, err
	}
	keyID, err := e.require("AWS_ACCESS_KEY_ID")
	if err != nil {
		return nil, err
	}
	secret, err := e.require("AWS_SECRET_ACCESS_KEY")
	if err != nil {
		return nil, err
	}
	// Lambda sets a role's credentials once, for as long as the process lives.
	credentials := aws.Credentials{AccessKeyID: keyID, SecretAccessKey: secret, SessionToken: e.Lookup("AWS_SESSION_TOKEN")}
	client := dynamo.NewClient(dynamo.Settings{
		Region:      region,
		Endpoint:    e.Lookup(envEndpoint),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, nil }),
		Jitter:      rand.Int64N,
	})
	dynamo.Warm(ctx, client, table)
	return client, nil
}

// Service is what the HTTP layer shares between endpoints, as wired for this function.
func (e Environment) Service() httpapi.Service {
	return httpapi.Service{
		Now: e.Now, Log: slog.New(slog.NewJSONHandler(e.Log, nil)), Stack: e.Lookup(envStack), RequestID: requestID,
	}
}

// requestID is the number the gateway gave the request. It is read from the event's context: a header of that name comes
// from the client.
func requestID(r *http.Request) string {
	gateway, _ := core.GetAPIGatewayV2ContextFromContext(r.Context())
	return gateway.RequestID
}
