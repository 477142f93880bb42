package httpapi

import (
	"context"
	"log/slog"
	"time"
)

// record is what is noted of a request: for the log, and for the metrics that CloudWatch reads from the log.
// It holds no code, nick, key, query string or body.
type record struct {
	customer string
	outcome  string
	reason   string // of a refusal, or why nothing was done
	metrics  []string
	err      error // what a client is not told
}

// Metrics, each counted by one.
const (
	metricRedeemed    = "Redeemed"
	metricReplayed    = "Replayed"
	metricRefused     = "Refused" // also by reason
	metricCheckouts   = "Checkouts"
	metricStoreErrors = "StoreErrors" // the store did not answer in time
	metricErrors      = "Errors"      // anything else that went wrong inside, missing rights and tables among it
)

func (r *record) note(outcome string, metrics ...string) {
	r.outcome = outcome
	r.metrics = append(r.metrics, metrics...)
}

// log writes one line for the request. With metrics it is in CloudWatch's embedded metric format: the customer stays a
// property, since each value of a dimension is billed as a metric of its own.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
func (s Service) log(ctx context.Context, c *call, requestID string, status int) {
	now := s.Now()
	attrs := []slog.Attr{
		slog.String("requestId", requestID),
		slog.String("customer", c.record.customer),
		slog.Int("status", status),
		slog.String("outcome", c.record.outcome),
		slog.Float64("durationMs", float64(now.Sub(c.begun).Microseconds())/1000),
	}
	if c.record.reason != "" {
		attrs = append(attrs, slog.String("Reason", c.record.reason))
	}
	level := slog.LevelInfo
	if c.record.err != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.String("error", c.record.err.Error()))
	}
	if len(c.record.metrics) > 0 {
		attrs = append(attrs, slog.String("Stack", s.Stack), slog.Any("_aws", embeddedMetrics(now, c.record)))
		for _, metric := range c.record.metrics {
			attrs = append(attrs, slog.Int(metric, 1))
		}
	}
	s.Log.LogAttrs(ctx, level, "request", attrs...)
}

type emfMetadata struct {
	Timestamp         int64          `json:"Timestamp"` // milliseconds since 1970
	CloudWatchMetrics []emfDirective `json:"CloudWatchMetrics"`
}

type emfDirective struct {
	Namespace  string      `json:"Namespace"`
	Dimensions [][]string  `json:"Dimensions"`
	Metrics    []emfMetric `json:"Metrics"`
}

type emfMetric struct {
	Name string `json:"Name"`
	Unit string `json:"Unit"`
}

func embeddedMetrics(now time.Time, r *record) emfMetadata {
	dimensions := [][]string{{"Stack"}}
	if r.reason != "" {
		dimensions = append(dimensions, []string{"Stack", "Reason"})
	}
	metrics := make([]emfMetric, len(r.metrics))
	for i, name := range r.metrics {
		metrics[i] = emfMetric{Name: name, Unit: "Count"}
	}
	return emfMetadata{
		Timestamp:         now.UnixMilli(),
		CloudWatchMetrics: []emfDirective{{Namespace: "Shopfront", Dimensions: dimensions, Metrics: metrics}},
	}
}
