package access

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"shopfront/pkg/voucher"
)

// Policy says who may use a part of the interface.
type Policy string

// The policies.
const (
	Anyone     Policy = "anyone"
	ServerOnly Policy = "server" // only callers with a live key of the shop
)

// Allows reports whether a caller may do what the policy guards. An unknown policy keeps strangers out.
func (p Policy) Allows(caller Caller) bool { return p == Anyone || caller.IsServer() }

// Validate returns an error for a policy that does not exist.
func (p Policy) Validate() error {
	if p != Anyone && p != ServerOnly {
		return fmt.Errorf("must be %s or %s", Anyone, ServerOnly)
	}
	return nil
}

// SourceLimit is how many refused codes, or redemptions, one source may cause in a window. The zero SourceLimit means
// that there is no limit.
type SourceLimit struct {
	Limit int           // 1 to MaxOfSource
	Per   time.Duration // whole seconds, from a second to MaxWindow
}

// Bounds of a SourceLimit.
const (
	MaxOfSource = 1_000_000
	MaxWindow   = 24 * time.Hour
)

// DefaultRefusals returns the limit that a new shop gets.
func DefaultRefusals() SourceLimit { return SourceLimit{Limit: 100, Per: 10 * time.Minute} }

// String formats the limit for people: 100 per 10m, or off.
func (l SourceLimit) String() string {
	if l == (SourceLimit{}) {
		return "off"
	}
	return fmt.Sprintf("%d per %s", l.Limit, l.FormatPer())
}

// FormatPer formats Per as an operator writes it: 10m, not 10m0s.
func (l SourceLimit) FormatPer() string {
	text := l.Per.String()
	if whole, is := strings.CutSuffix(text, "m0s"); is {
		text = whole + "m"
	}
	if whole, is := strings.CutSuffix(text, "h0m"); is {
		text = whole + "h"
	}
	return text
}

// Validate returns an error that says which bound is exceeded.
func (l SourceLimit) Validate() error {
	switch {
	case l == SourceLimit{}:
		return nil
	case l.Limit < 1 || l.Limit > MaxOfSource:
		return fmt.Errorf("the limit must be from 1 to %d", MaxOfSource)
	case l.Per < time.Second || l.Per > MaxWindow || l.Per%time.Second != 0:
		return errors.New("the window must be whole seconds, from 1s to 24h")
	default:
		return nil
	}
}

// Settings are the decisions of a shop's owner about access. They are stored apart from the shop's profile, so that
// applying a catalogue file cannot lift a pause.
type Settings struct {
	Redeem   Policy // who may redeem and check vouchers
	CheckOut Policy // who may open checkouts
	Refusals SourceLimit
	// Redemptions limits the redemptions of codes with many uses by callers without a key.
	Redemptions SourceLimit
	Paused      voucher.Pause
	// Version rises by one with each write; 0 means that nothing is stored yet, because the shop is new.
	Version int64
}

// DefaultSettings returns the settings of a shop that does not exist. Anyone may do anything, because there is nothing
// to protect, and refused codes have no limit, because each count would cost a write.
func DefaultSettings() Settings { return Settings{Redeem: Anyone, CheckOut: Anyone} }

// Validate returns an error for settings that no command would write.
func (s Settings) Validate() error {
	if err := s.Redeem.Validate(); err != nil {
		return fmt.Errorf("the policy of redeeming %w, not %q", err, s.Redeem)
	}
	if err := s.CheckOut.Validate(); err != nil {
		return fmt.Errorf("the policy of checking out %w, not %q", err, s.CheckOut)
	}
	if err := s.Refusals.Validate(); err != nil {
		return fmt.Errorf("refusals: %w", err)
	}
	if err := s.Redemptions.Validate(); err != nil {
		return fmt.Errorf("redemptions: %w", err)
	}
	if len(s.Paused.Batches) > voucher.MaxPausedBatches {
		return fmt.Errorf("%d batches are paused, and at most %d can be", len(s.Paused.Batches),
			voucher.MaxPausedBatches)
	}
	return nil
}
