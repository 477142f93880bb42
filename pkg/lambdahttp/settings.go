package lambdahttp

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"shopfront/pkg/httpapi"
)

// Names of the environment variables that template.yaml declares. An empty variable counts as not set.
const (
	envCatalogueTable = "CATALOGUE_TABLE"
	envVouchersTable  = "VOUCHERS_TABLE"
	envCheckoutsTable = "CHECKOUTS_TABLE"
	envRefusalsTable  = "REFUSALS_TABLE"
	envEventsTable    = "EVENTS_TABLE"
	envEventRetention = "EVENT_RETENTION_DAYS"
	envEventBus       = "EVENT_BUS"
	envStack          = "STACK_NAME"
	envDemoPayment    = "DEMO_PAYMENT_URL" // not in template.yaml: only the local run sets it
)

// Environment is what a function gets from its process.
type Environment struct {
	Lookup func(name string) string // os.Getenv
	Now    func() time.Time
	Log    io.Writer // one JSON object per line
}

// CatalogueTable returns the name of the catalogue's table, or an error that names the missing variable.
func (e Environment) CatalogueTable() (string, error) { return e.Require(envCatalogueTable) }

// VouchersTable returns the name of the table of vouchers and redemptions, or an error that names the missing variable.
func (e Environment) VouchersTable() (string, error) { return e.Require(envVouchersTable) }

// CheckoutsTable returns the name of the table of checkouts, or an error that names the missing variable.
func (e Environment) CheckoutsTable() (string, error) { return e.Require(envCheckoutsTable) }

// RefusalsTable returns the name of the table with counts of refused codes, or an error that names the missing variable.
func (e Environment) RefusalsTable() (string, error) { return e.Require(envRefusalsTable) }

// EventsTable returns the name of the table of events, or an error that names the missing variable.
func (e Environment) EventsTable() (string, error) { return e.Require(envEventsTable) }

// EventRetention returns how long events are stored, or an error that names the variable if it is not a number of days.
func (e Environment) EventRetention() (time.Duration, error) {
	text, err := e.Require(envEventRetention)
	if err != nil {
		return 0, err
	}
	days, err := strconv.Atoi(text)
	if err != nil || days < 1 {
		return 0, fmt.Errorf("environment variable %s: want a number of days, not %q", envEventRetention, text)
	}
	return time.Duration(days) * 24 * time.Hour, nil
}

// EventBus returns the name or the ARN of the EventBridge bus that gets the events, or an error that names the missing variable.
func (e Environment) EventBus() (string, error) { return e.Require(envEventBus) }

// DemoPaymentURL returns the local run's payment page, a template like catalog.Page.PaymentURL. It is empty on AWS.
func (e Environment) DemoPaymentURL() string { return e.Lookup(envDemoPayment) }

// Require returns the value of an environment variable, or an error that names the variable if it is not set.
func (e Environment) Require(name string) (string, error) {
	value := e.Lookup(name)
	if value == "" {
		return "", fmt.Errorf("environment variable %s is not set", name)
	}
	return value, nil
}

// Service wires the HTTP layer for this function.
func (e Environment) Service() httpapi.Service {
	return httpapi.Service{
		Now: e.Now, Log: slog.New(slog.NewJSONHandler(e.Log, nil)), Stack: e.Lookup(envStack), RequestID: requestID,
		SourceAddress: sourceAddress,
		PathError:     pathError,
	}
}

// requestID returns the request ID that the gateway assigned. It comes from the event's context; a header such as Request-Id
// would come from the client.
func requestID(r *http.Request) string {
	gateway, _ := core.GetAPIGatewayV2ContextFromContext(r.Context())
	return gateway.RequestID
}

// sourceAddress returns the network address that connected to the gateway. It comes from the event's context; a header such as
// X-Forwarded-For would come from the client.
func sourceAddress(r *http.Request) string {
	gateway, _ := core.GetAPIGatewayV2ContextFromContext(r.Context())
	return gateway.HTTP.SourceIP
}
