package access_test

import (
	"testing"
	"time"

	"shopfront/pkg/access"
)

func TestRefusalLimit_String_IsWhatAnOperatorWrites(t *testing.T) {
	for want, limit := range map[string]access.SourceLimit{
		"off": {}, "100 per 10m": access.DefaultRefusals(), "20 per 1m30s": {Limit: 20, Per: 90 * time.Second},
		"5 per 24h":   {Limit: 5, Per: access.MaxWindow},
		"5 per 1h30m": {Limit: 5, Per: 90 * time.Minute}, "5 per 10s": {Limit: 5, Per: 10 * time.Second},
		"5 per 1h0m10s": {Limit: 5, Per: time.Hour + 10*time.Second},
	} {
		if got := limit.String(); got != want || limit.Validate() != nil {
			t.Errorf("%s, want %s; %v", got, want, limit.Validate())
		}
	}
}
