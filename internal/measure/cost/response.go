package cost

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// parseResponse reads a function's response to an HTTP API, and decodes its body.
func parseResponse(text []byte) (r events.APIGatewayV2HTTPResponse, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("a function responded %.200q: %w", text, err)
	}
	if r.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(r.Body)
		if err != nil {
			return r, err
		}
		r.Body = string(body)
	}
	return r, nil
}

// size returns the size of a response in HTTP/1.1, without the gateway's own headers, in bytes.
func size(r events.APIGatewayV2HTTPResponse) int {
	size := len("HTTP/1.1 200 OK\r\n\r\n") + len(r.Body)
	for name, value := range r.Headers {
		size += len(name) + len(": \r\n") + len(value)
	}
	return size
}

// metricsOf lists the custom metrics of a log line in the embedded metric format, each with its dimensions
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html).
func metricsOf(line []byte) ([]string, error) {
	var members map[string]any
	var embedded struct {
		AWS struct {
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name string }
			}
		} `json:"_aws"`
	}
	if err := errors.Join(json.Unmarshal(line, &members), json.Unmarshal(line, &embedded)); err != nil {
		return nil, fmt.Errorf("log line %q: %w", line, err)
	}
	var names []string
	for _, directive := range embedded.AWS.CloudWatchMetrics {
		for _, metric := range directive.Metrics {
			for _, dimensions := range directive.Dimensions {
				parts := []string{directive.Namespace, metric.Name}
				for _, dimension := range dimensions {
					parts = append(parts, fmt.Sprintf("%s=%v", dimension, members[dimension]))
				}
				names = append(names, strings.Join(parts, " "))
			}
		}
	}
	return names, nil
}
