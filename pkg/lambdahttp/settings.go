package lambdahttp

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"shopfront/pkg/httpapi"
)

// Names of the environment variables that template.yaml declares. An empty one counts as not set.
const (
	envCatalogueTable = "CATALOGUE_TABLE"
	envVouchersTable  = "VOUCHERS_TABLE"
	envCheckoutsTable = "CHECKOUTS_TABLE"
	envStack          = "STACK_NAME"
)

// Environment is what a function is handed by the process it runs in.
type Environment struct {
	Lookup func(name string) string // os.Getenv
	Now    func() time.Time
	Log    io.Writer // one JSON object a line
}

// CatalogueTable is the name of the table of the catalogue, or an error that names the missing variable.
func (e Environment) CatalogueTable() (string, error) { return e.Require(envCatalogueTable) }

// VouchersTable is the name of the table of vouchers and redemptions, or an error that names the missing variable.
func (e Environment) VouchersTable() (string, error) { return e.Require(envVouchersTable) }

// CheckoutsTable is the name of the table of checkouts, or an error that names the missing variable.
func (e Environment) CheckoutsTable() (string, error) { return e.Require(envCheckoutsTable) }

// Require is the value of an environment variable, or an error that names it where it is not set.
func (e Environment) Require(name string) (string, error) {
	value := e.Lookup(name)
	if value == "" {
		return "", fmt.Errorf("environment variable %s is not set", name)
	}
	return value, nil
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
