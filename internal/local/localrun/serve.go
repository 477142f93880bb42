package localrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"shopfront/internal/local/eventsource"
	"shopfront/internal/local/gateway"
	"shopfront/internal/local/runtimeapi"
	"shopfront/internal/local/samtemplate"
	"shopfront/pkg/backoffice"
)

const (
	// requestTimeout bounds how long a request may take to arrive. idleTimeout bounds the wait for the next request of
	// a connection.
	requestTimeout = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	// stopGrace is how long requests in flight may take to finish when the run stops.
	stopGrace = 5 * time.Second
)

// LoadTemplate reads the template of the source tree at root, for a local run whose DynamoDB is at the endpoint.
func LoadTemplate(root, endpoint string) (*samtemplate.Template, error) {
	return samtemplate.Load(root, map[string]string{
		"AllowedOrigins": "*", "DynamoDBEndpoint": endpoint,
		"AWS::Region": region,
	})
}

// NewRuntime returns a runtime for the template's functions, whose programs are in the directory bin. The parameter log
// is described in runtimeapi.Config.
func NewRuntime(bin string, template *samtemplate.Template, log func(function, line string)) *runtimeapi.Runtime {
	config := runtimeapi.Config{Region: region, AccessKey: accessKey, Log: log}
	for _, f := range template.Functions {
		config.Functions = append(config.Functions, runtimeapi.Function{
			Name: f.Name, Path: filepath.Join(bin, f.Name), MemorySize: f.MemorySize,
			Timeout: f.Timeout,
			Env:     f.Environment,
		})
	}
	return runtimeapi.New(config)
}

// NewGateway returns the template's HTTP API, which invokes the functions. It calls log for each request if log is not
// nil.
func NewGateway(
	template *samtemplate.Template, functions gateway.Invoker, now func() time.Time, log func(gateway.Record),
) (*gateway.Gateway, error) {
	return gateway.New(gateway.Config{
		Routes: template.Routes, Invoker: functions, CORS: template.CORS, Clock: now, Log: log,
	})
}

// load reads the template. It needs the endpoint of DynamoDB Local.
func (r *Run) load(context.Context) error {
	var err error
	if r.template, err = LoadTemplate(r.Root, r.store.Endpoint()); err != nil {
		return err
	}
	for _, line := range r.template.Ignored {
		_, _ = fmt.Fprintln(r.Warnings, line)
	}
	r.State = State{
		BaseURL: "http://" + r.listener.Addr().String(), DynamoDBEndpoint: r.store.Endpoint(), Region: region,
		Tables: backoffice.Tables{
			Catalogue: "CatalogueTable", Vouchers: "VouchersTable", Checkouts: "CheckoutsTable",
			Refusals: "RefusalsTable", Events: "EventsTable",
		},
		PID: os.Getpid(), Version: r.template.Version,
	}
	return nil
}

func (r *Run) functionsLog() string { return filepath.Join(r.dir, "functions.log") }

// serve makes the functions ready and serves requests.
func (r *Run) serve(ctx context.Context) error {
	file, err := os.OpenFile(r.functionsLog(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	r.onStop(file.Close)
	r.functions = NewRuntime(BinDir(r.Root), r.withDemoPayment(), func(function, line string) {
		_, _ = fmt.Fprintln(file, function, line) // a full disk must not end the run
	})
	r.onStop(r.functions.Close)
	api, err := NewGateway(r.template, r.functions, r.Now, r.showRequest)
	if err != nil {
		return err
	}
	handler, err := r.newDemoPages(api)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: handler, ReadTimeout: requestTimeout, IdleTimeout: idleTimeout, ErrorLog: log.New(file, "server ", 0),
		DisableGeneralOptionsHandler: true,
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(r.listener); !errors.Is(err, http.ErrServerClosed) {
			r.failed <- err
		}
	}()
	r.onStop(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			_ = server.Close() // cuts off requests that take longer
		}
		<-served
		return nil
	})
	return nil
}

// withDemoPayment returns a copy of the template whose functions have a variable that sends shoppers to the demo
// payment page. r.template does not get the variable, because the SAM CLI passes only variables that the template
// declares.
func (r *Run) withDemoPayment() *samtemplate.Template {
	address := r.State.BaseURL + paymentPath + "?checkout={checkout}&return={return}"
	template := *r.template
	template.Functions = slices.Clone(template.Functions)
	for i, f := range template.Functions {
		variables := map[string]string{"DEMO_PAYMENT_URL": address}
		maps.Copy(variables, f.Environment)
		template.Functions[i].Environment = variables
	}
	return &template
}

// startEvents starts the streams and schedules that invoke functions.
func (r *Run) startEvents(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	r.onStop(func() error {
		cancel()
		running.Wait()
		return nil
	})
	report := func(err error) { r.say("%s %v", r.Now().Format(time.TimeOnly), err) }
	for _, mapping := range r.template.EventSources {
		source, err := eventsource.New(eventsource.Config{
			Mapping: mapping, Endpoint: r.store.Endpoint(), Functions: r.functions, Report: report,
			// The file is in the data directory, so that it is deleted with the data.
			Path: filepath.Join(r.dataDir(), mapping.Function+"-"+mapping.Table+".position"),
		})
		if err != nil {
			return fmt.Errorf("%w; --fresh deletes the data and starts again", err)
		}
		running.Go(func() { source.Run(ctx) })
	}
	for _, schedule := range r.template.Schedules {
		running.Go(func() { schedule.Run(ctx, r.functions, r.Now, report) })
	}
	return nil
}

// announce writes the files that other commands read to find the run, and prints the run's address and examples.
func (r *Run) announce(ctx context.Context) error {
	variables := filepath.Join(r.dir, "env-vars.json")
	r.onStop(func() error { return remove(variables) })
	if err := r.writeVariables(ctx, variables); err != nil {
		return err
	}
	r.onStop(func() error { return RemoveState(r.Root) })
	if err := r.State.Write(r.Root); err != nil {
		return err
	}
	shown, err := examples(r.Root, r.template, r.State.BaseURL)
	if err != nil {
		return err
	}
	r.say("\nShopfront is at %s. Open it in a browser to see the demo shops.\n"+
		"Its functions log to %s. Ctrl-C stops it.\nRead and try its interface at %s/docs\n"+
		"Some requests are only for the shop's server. Replace KEY in them with the key that this command prints: "+
		"bin/shopctl --local key create emberforge --name server\n"+
		"Checkouts and redemptions have random IDs. Replace ID with the id in the response to your own "+
		"request.\n\n%s\nThe demo shops: %s\n",
		r.State.BaseURL, r.functionsLog(), r.State.BaseURL, shown, r.State.BaseURL)
	return nil
}

// writeVariables writes the functions' variables in the form that `sam local --env-vars` reads. In them, the endpoint
// of DynamoDB Local is one that the SAM CLI's containers can reach.
func (r *Run) writeVariables(ctx context.Context, path string) error {
	endpoint, err := r.store.ContainerEndpoint(ctx)
	if err != nil {
		return err
	}
	variables := make(map[string]map[string]string)
	for _, f := range r.template.Functions {
		variables[f.LogicalID] = make(map[string]string)
		for name, text := range f.Environment {
			variables[f.LogicalID][name] = strings.ReplaceAll(text, r.store.Endpoint(), endpoint)
		}
	}
	text, err := json.MarshalIndent(variables, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}
