package voucher_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"shopfront/pkg/voucher"
)

func TestPause_Covers(t *testing.T) {
	for _, c := range []struct {
		name  string
		pause voucher.Pause
		batch string
		want  bool
	}{
		{"nothing paused", voucher.Pause{}, "", false},
		{"all paused, code without a batch", voucher.Pause{All: true}, "", true},
		{"its batch is paused", voucher.Pause{Batches: []string{"advent", "summer"}}, "summer", true},
		{"another batch is paused", voucher.Pause{Batches: []string{"advent"}}, "summer", false},
		{"code without a batch", voucher.Pause{Batches: []string{"advent"}}, "", false},
	} {
		if got := c.pause.Covers(c.batch); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPause_WithAndWithout(t *testing.T) {
	everything := voucher.Pause{All: true, Batches: []string{"advent", "summer"}}
	for _, c := range []struct {
		name   string
		before voucher.Pause
		change func(voucher.Pause) (voucher.Pause, error)
		want   voucher.Pause
	}{
		{"all codes", voucher.Pause{Batches: []string{"advent", "summer"}}, with(), everything},
		{
			"batches, one of them twice",
			voucher.Pause{All: true, Batches: []string{"summer"}},
			with("summer", "advent", "advent"), everything,
		},
		{
			"all resumed, batches stay paused", everything, without(),
			voucher.Pause{Batches: []string{"advent", "summer"}},
		},
		{
			"a batch resumed, all codes stay paused", everything, without("summer"),
			voucher.Pause{All: true, Batches: []string{"advent"}},
		},
		{"the last batch resumed", voucher.Pause{Batches: []string{"advent"}}, without("advent"), voucher.Pause{}},
		{
			"a batch resumed that was not paused",
			voucher.Pause{Batches: []string{"advent"}},
			without("sumer"),
			voucher.Pause{Batches: []string{"advent"}},
		},
	} {
		if got, err := c.change(c.before); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

func with(batches ...string) func(voucher.Pause) (voucher.Pause, error) {
	return func(p voucher.Pause) (voucher.Pause, error) { return p.With(batches...) }
}

func without(batches ...string) func(voucher.Pause) (voucher.Pause, error) {
	return func(p voucher.Pause) (voucher.Pause, error) { return p.Without(batches...), nil }
}

func TestPause_With_InvalidOrTooManyBatches_AreRejected(t *testing.T) {
	var full voucher.Pause
	for number := range voucher.MaxPausedBatches {
		var err error
		if full, err = full.With(fmt.Sprintf("launch-%02d", number)); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := full.With("launch-07"); err != nil || !reflect.DeepEqual(again, full) {
		t.Errorf("a batch that is paused already: %+v, %v", again, err)
	}
	for _, batch := range []string{"", "launch\x00", strings.Repeat("x", voucher.MaxBatchBytes+1), "launch-50"} {
		_, err := full.With(batch)
		if _, is := errors.AsType[*voucher.FieldError](err); !is {
			t.Errorf("batch %q: %v", batch, err)
		}
	}
}
