package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// startTimeout bounds a start, which takes 1 to 2 s on an idle machine.
	startTimeout = 60 * time.Second
	// failureGrace is how long a server may answer with errors before it is given up: it does so where it cannot read its
	// data, and then does not stop.
	failureGrace = 3 * time.Second
	// probeInterval and probeTimeout are for asking whether the server is up.
	probeInterval = 25 * time.Millisecond
	probeTimeout  = 10 * time.Second
)

// awaitReady returns nil once the server answers.
func (s *Server) awaitReady(ctx context.Context) error {
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	var failing <-chan time.Time // nil before the first answer
	for {
		err := s.probe(starting)
		if err == nil || errors.Is(err, ErrPortInUse) {
			return err
		}
		if failing == nil && errors.Is(err, errFails) {
			failing = time.After(failureGrace)
		}
		select {
		case <-s.done:
			if strings.Contains(s.output.String(), "java.net.BindException") {
				return fmt.Errorf("port %d: %w", s.port, ErrPortInUse)
			}
			return fmt.Errorf("start: %w", s.err)
		case <-starting.Done():
			if ctx.Err() != nil {
				return fmt.Errorf("starting DynamoDB Local was interrupted: %w", context.Cause(ctx))
			}
			return fmt.Errorf("DynamoDB Local does not answer after %s (%w). The end of its output:\n%s", startTimeout, err, s.output)
		case <-failing:
			return fmt.Errorf("%w (%w). The end of its output:\n%s", ErrDataUnreadable, err, s.output)
		case <-ticker.C:
		}
	}
}

// errFails says that the server answers a correct call with an error.
var errFails = errors.New("it fails")

// probe lists the tables, which loads all that the server needs. It answers ErrPortInUse if it is another server that
// answers, and errFails if it is this one, with an error.
func (s *Server) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Endpoint(), strings.NewReader("{}"))
	if err != nil {
		return err
	}
	request.Header.Set("Origin", s.origin)
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810.ListTables")
	// DynamoDB Local wants a signature's form, but does not verify it.
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/eu-central-1/dynamodb/aws4_request,"+
		" SignedHeaders=host, Signature=0")
	// A transport of its own: no proxy from the environment, no connection kept.
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.Header.Get("Access-Control-Allow-Origin") != s.origin {
		return fmt.Errorf("port %d is answered by another server: %w", s.port, ErrPortInUse)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: it answers %s", errFails, response.Status)
	}
	return nil
}
