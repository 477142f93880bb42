package catalogfile

import (
	"errors"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"shopfront/pkg/voucher"
)

// vouchers reads those of a customer whose currency, if it has a valid one, is known.
func (s *shopReader) vouchers(customer object) {
	earlier := map[voucher.Code]int{}
	for i, node := range customer.list("vouchers") {
		s.voucher(node, fmt.Sprintf("vouchers[%d]", i), earlier)
	}
}

func (s *shopReader) voucher(node *yaml.Node, path string, earlier map[voucher.Code]int) {
	s.lines[path] = node.Line
	o, ok := s.object(node, "a voucher", path+".",
		"code", "reward", "max-uses", "max-uses-per-nick", "valid-from", "valid-until", "disabled", "nick", "batch", "note")
	if !ok {
		return
	}
	o.need("code", "reward")
	terms := voucher.Terms{
		Written: o.string("code"), Reward: s.reward(o), MaxUses: o.limit("max-uses"), MaxUsesPerNick: o.limit("max-uses-per-nick"),
		ValidFrom: o.time("valid-from"), ValidUntil: o.time("valid-until"), Disabled: o.flag("disabled"),
		Nick: o.string("nick"), Batch: o.string("batch"), Note: o.string("note"),
	}
	made, err := voucher.New(terms, time.Time{})
	for _, fault := range fieldFaults(err) {
		s.failField(path+"."+fault.Field, s.lineOf(path+"."+fault.Field), "%v", fault.Err)
	}
	if line, found := earlier[made.Code]; found && made.Code != "" {
		o.fail("code", "it is the same code as on line %d: spaces, dashes and case make no difference, nor do O and 0, or I, L and 1", line)
	}
	earlier[made.Code] = o.line
	s.shop.Vouchers = append(s.shop.Vouchers, Voucher{Terms: terms, Code: made.Code, Place: Place{s.file, node.Line}})
}

// fieldFaults takes apart what voucher.New joined.
func fieldFaults(err error) []*voucher.FieldError {
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		var faults []*voucher.FieldError
		for _, err := range joined.Unwrap() {
			faults = append(faults, fieldFaults(err)...)
		}
		return faults
	}
	if fault, ok := errors.AsType[*voucher.FieldError](err); ok {
		return []*voucher.FieldError{fault}
	}
	return nil
}

func (s *shopReader) reward(o object) voucher.Reward {
	text, ok := o.text("reward")
	currency := s.shop.Customer.Currency
	if !ok || currency == "" {
		s.failed[o.path+"reward"] = true // it was reported, or the currency was
		return voucher.Reward{}
	}
	reward, err := voucher.ParseReward(text, currency)
	if fault, ok := errors.AsType[*voucher.FieldError](err); ok {
		o.fail("reward", "%v", fault.Err)
	}
	return reward
}

// limit is a whole number of at least 1, or none; nil where there is no such member.
func (o object) limit(key string) *voucher.Limit {
	text, ok := o.text(key)
	if !ok {
		return nil
	}
	if text == "none" {
		none := voucher.NoLimit
		return &none
	}
	number := o.whole(key, 1)
	if number < 1 {
		o.fail(key, "must be a whole number of at least 1, or none")
	}
	limit := voucher.Limit(number)
	return &limit
}

// time is a moment in UTC, to the millisecond, a date its first; the zero time where there is no such member.
func (o object) time(key string) time.Time {
	text, ok := o.text(key)
	if !ok {
		return time.Time{}
	}
	moment, err := voucher.ParseTime(text)
	if errors.Is(err, voucher.ErrNoTime) {
		o.fail(key, "%.40q is not a time: write it like 2027-01-31T18:00:00Z (RFC 3339), or 2027-01-31, which begins at midnight UTC", text)
	} else if err != nil {
		o.fail(key, "%v", err)
	}
	return moment
}
