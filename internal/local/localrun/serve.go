package localrun

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"shopfront/internal/local/gateway"
	"shopfront/internal/local/runtimeapi"
	"shopfront/internal/local/samtemplate"
)

const (
	// requestTimeout is how long the server waits for a request to arrive, idleTimeout for the next one.
	requestTimeout = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	// stopGrace is how long requests may take to end once the run was asked to.
	stopGrace = 5 * time.Second
)

// LoadTemplate reads the template of the checkout at root, as it is for a local run whose DynamoDB has that endpoint.
func LoadTemplate(root, endpoint string) (*samtemplate.Template, error) {
	return samtemplate.Load(root, map[string]string{"AllowedOrigins": "*", "DynamoDBEndpoint": endpoint, "AWS::Region": region})
}

// NewRuntime runs the template's functions, which Run has built in the checkout at root. Log is as in runtimeapi.Config.
func NewRuntime(root string, template *samtemplate.Template, log func(function, line string)) (*runtimeapi.Runtime, error) {
	config := runtimeapi.Config{Region: region, Credentials: local, Log: log}
	for _, f := range template.Functions() {
		environment, err := f.Environment(Tables(template))
		if err != nil {
			return nil, err
		}
		config.Functions = append(config.Functions, runtimeapi.Function{
			Name: f.Name, Path: Binary(root, f.Name), Handler: f.Handler, MemorySize: f.MemorySize, Timeout: f.Timeout, Env: environment,
		})
	}
	return runtimeapi.New(config)
}

// NewGateway is the template's HTTP API in front of its functions. Log takes a record of each request.
func NewGateway(template *samtemplate.Template, functions gateway.Invoker, now func() time.Time, log func(gateway.Record)) (*gateway.Gateway, error) {
	config := gateway.Config{Invoker: functions, Status: status, Clock: now, Log: log}
	for _, route := range template.Routes() {
		config.Routes = append(config.Routes, gateway.Route(route))
	}
	if cors := template.CORS(); cors != nil {
		allowed := gateway.CORS(*cors)
		config.CORS = &allowed
	}
	return gateway.New(config)
}

// status returns the HTTP status for a function's error.
func status(err error) int {
	for _, unavailable := range []error{
		runtimeapi.ErrBusy, runtimeapi.ErrTimeout, runtimeapi.ErrInitTimeout, runtimeapi.ErrClosed,
	} {
		if errors.Is(err, unavailable) {
			return http.StatusServiceUnavailable
		}
	}
	if errors.Is(err, runtimeapi.ErrEventTooLarge) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusInternalServerError
}

func (r *run) load(context.Context) error {
	var err error
	r.template, err = LoadTemplate(r.Root, "")
	return err
}

// serve runs the functions and answers requests.
func (r *run) serve(ctx context.Context) error {
	file, err := os.OpenFile(r.functionsLog(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	r.onStop(file.Close)
	// The template once more, for now it is known where DynamoDB is.
	if r.template, err = LoadTemplate(r.Root, r.store.Endpoint()); err != nil {
		return err
	}
	functions, err := NewRuntime(r.Root, r.template, func(function, line string) {
		_, _ = fmt.Fprintln(file, function, line) // a full disk must not end the shop
	})
	if err != nil {
		return err
	}
	r.onStop(functions.Close)
	api, err := NewGateway(r.template, functions, r.Now, r.out.request)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: api, ReadTimeout: requestTimeout, IdleTimeout: idleTimeout, ErrorLog: log.New(file, "server ", 0),
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
			_ = server.Close() // what takes longer is cut off
		}
		<-served
		return nil
	})
	return nil
}

func (r *run) functionsLog() string { return filepath.Join(r.dir, "functions.log") }
