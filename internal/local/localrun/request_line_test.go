package localrun

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/internal/local/gateway"
)

// `shopctl events tail` polls twice a second. A line for each poll would hide the other requests.
func TestShowRequest_PollsInARow_PrintOneLine(t *testing.T) {
	var out strings.Builder
	r := &Run{Options: Options{Out: &out, Now: time.Now}}
	poll := gateway.Record{Method: http.MethodGet, Path: "/shop/emberforge/events", Status: http.StatusOK}
	denied, redemption := poll, gateway.Record{
		Method: http.MethodPost, Path: "/shop/emberforge/voucher",
		Status: http.StatusOK,
	}
	denied.Status = http.StatusUnauthorized
	for _, record := range []gateway.Record{poll, poll, redemption, redemption, poll, poll, denied, denied} {
		r.showRequest(record)
	}
	var printed []string
	for line := range strings.Lines(out.String()) {
		printed = append(printed, strings.Fields(line)[1]+strings.Fields(line)[3])
	}
	want := []string{
		"200/shop/emberforge/events", "200/shop/emberforge/voucher", "200/shop/emberforge/voucher",
		"200/shop/emberforge/events", "401/shop/emberforge/events", "401/shop/emberforge/events",
	}
	if !slices.Equal(printed, want) {
		t.Errorf("printed %q, want %q", printed, want)
	}
}
