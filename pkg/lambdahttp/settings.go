package lambdahttp

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
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
	envOrigins        = "ALLOWED_ORIGINS"
	envStack          = "STACK_NAME"
	envDemoPayment    = "DEMO_PAYMENT_URL" // not in template.yaml: only the local run sets it
)

// Environment is what a function gets from its process. If a setting is missing or malformed, the method that returns
// it panics with a message that names the variable. Then the process ends before it serves any event, and the message
// is in the function's log.
type Environment struct {
	Lookup func(name string) string // os.Getenv
	Now    func() time.Time
	Log    io.Writer // one JSON object per line
}

// CatalogueTable returns the name of the catalogue's table.
func (e Environment) CatalogueTable() string { return e.Must(envCatalogueTable) }

// VouchersTable returns the name of the table of vouchers and redemptions.
func (e Environment) VouchersTable() string { return e.Must(envVouchersTable) }

// CheckoutsTable returns the name of the table of checkouts.
func (e Environment) CheckoutsTable() string { return e.Must(envCheckoutsTable) }

// RefusalsTable returns the name of the table with counts of refused codes.
func (e Environment) RefusalsTable() string { return e.Must(envRefusalsTable) }

// EventsTable returns the name of the table of events.
func (e Environment) EventsTable() string { return e.Must(envEventsTable) }

// EventRetention returns how long events are stored.
func (e Environment) EventRetention() time.Duration {
	text := e.Must(envEventRetention)
	days, err := strconv.Atoi(text)
	if err != nil || days < 1 {
		panic(fmt.Sprintf("start function: environment variable %s: want a number of days, not %q",
			envEventRetention, text))
	}
	return time.Duration(days) * 24 * time.Hour
}

// EventBus returns the name or the ARN of the EventBridge bus that gets the events.
func (e Environment) EventBus() string { return e.Must(envEventBus) }

// DemoPaymentURL returns the local run's payment page, a template like catalog.Page.PaymentURL. It is empty on AWS.
func (e Environment) DemoPaymentURL() string { return e.Lookup(envDemoPayment) }

// Must returns the value of an environment variable that the function needs.
func (e Environment) Must(name string) string {
	value := e.Lookup(name)
	if value == "" {
		panic("start function: environment variable " + name + " is not set")
	}
	return value
}

// allowedOrigins returns the origins that may call from a browser. Only some functions have the variable.
func (e Environment) allowedOrigins() []string {
	return strings.FieldsFunc(e.Lookup(envOrigins), func(r rune) bool { return r == ',' })
}

// Service wires the HTTP layer for this function.
func (e Environment) Service() httpapi.Service {
	return httpapi.Service{
		Now: e.Now, Log: slog.New(slog.NewJSONHandler(e.Log, nil)), Stack: e.Lookup(envStack), RequestID: requestID,
		SourceAddress: sourceAddress, AllowedOrigins: e.allowedOrigins(),
		PathError: pathError,
	}
}

// requestID returns the request ID that the gateway assigned. It comes from the event's context; a header such as
// Request-Id would come from the client.
func requestID(r *http.Request) string {
	gateway, _ := core.GetAPIGatewayV2ContextFromContext(r.Context())
	return gateway.RequestID
}

// sourceAddress returns the network address that connected to the gateway. It comes from the event's context; a header
// such as X-Forwarded-For would come from the client.
func sourceAddress(r *http.Request) string {
	gateway, _ := core.GetAPIGatewayV2ContextFromContext(r.Context())
	return gateway.HTTP.SourceIP
}
