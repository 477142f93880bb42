package httpapi

import (
	"context"
	"log/slog"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/voucher"
)

// record holds the values of a request's log line. CloudWatch reads metrics from that line. A record holds no code,
// nick, Idempotency-Key, secret key, query string or body.
type record struct {
	outcome string
	reason  string // why a code was refused, or "prefetch" for a rejected prefetch
	metrics []string
	keyID   access.KeyID // of the key that the caller sent, live or not
	err     error        // not shown to the client
}

// Metrics. A request adds 1 to each of its metrics.
const (
	metricRedeemed = "Redeemed"
	metricReplayed = "Replayed"
	metricRefused  = "Refused" // in total and for each reason

	metricTooManyRefusals   = "TooManyRefusals"   // the source is above the limit on refused codes
	metricUncountedRefusals = "UncountedRefusals" // a refusal could not be counted towards that limit
	metricCheckouts         = "Checkouts"
	metricOrders            = "Orders"
	metricCancelledOrders   = "CancelledOrders"
	metricUndoneRedemptions = "UndoneRedemptions"
	metricStoreErrors       = "StoreErrors" // the store gave no usable response in time
	metricErrors            = "Errors"      // any other internal error, for example a missing permission or table
)

func (r *record) note(outcome string, metrics ...string) {
	r.outcome = outcome
	r.metrics = append(r.metrics, metrics...)
}

func (r *record) noteRefusal(reason voucher.Reason) {
	r.reason = string(reason)
	r.note("refused", metricRefused)
}

// log writes one line for the request. A line with metrics is in CloudWatch's embedded metric format. The shop is not a
// dimension, because AWS bills each value of a dimension as a separate metric.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
func (s Service) log(ctx context.Context, c *call, requestID string, status int) {
	now := s.Now()
	attrs := []slog.Attr{
		slog.String("requestId", requestID),
		slog.String("customer", string(c.shop)),
		slog.Int("status", status),
		slog.String("outcome", c.record.outcome),
		slog.Float64("durationMs", float64(now.Sub(c.begun).Microseconds())/1000),
	}
	if c.record.keyID != "" {
		attrs = append(attrs, slog.String("keyId", string(c.record.keyID)))
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
		attrs = append(attrs, slog.String("Stack", s.Stack),
			slog.Any("_aws", EmbeddedMetrics(now, c.record.metrics...)))
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

// EmbeddedMetrics returns the value of the member _aws of a log line. This value makes CloudWatch read the line's
// members with the given names as counts. The line also needs the member Stack.
func EmbeddedMetrics(now time.Time, names ...string) any {
	metadata := emfMetadata{Timestamp: now.UnixMilli()}
	for _, name := range names {
		dimensions := [][]string{{"Stack"}}
		if name == metricRefused {
			dimensions = append(dimensions, []string{"Stack", "Reason"})
		}
		metadata.CloudWatchMetrics = append(metadata.CloudWatchMetrics, emfDirective{
			Namespace: "Shopfront", Dimensions: dimensions, Metrics: []emfMetric{{Name: name, Unit: "Count"}},
		})
	}
	return metadata
}
