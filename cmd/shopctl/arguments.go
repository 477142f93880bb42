package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shopfront/pkg/voucher"
)

// exactly wants the arguments that are named.
func exactly(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return fmt.Errorf("%s is missing", names[len(args)])
		}
		if len(args) > len(names) {
			return fmt.Errorf("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

// subcommand is for commands that do nothing themselves.
func subcommand(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("a command is missing")
	}
	return fmt.Errorf("unknown command %q%s", args[0], suggest(command, args[0]))
}

func suggest(command *cobra.Command, typed string) string {
	if suggestions := command.SuggestionsFor(typed); len(suggestions) > 0 {
		return ": did you mean " + strings.Join(suggestions, " or ") + "?"
	}
	return ""
}

// textFlag is a text that must not be empty: an unset variable in a script must not mean all.
type textFlag string

func (f *textFlag) String() string { return string(*f) }

func (*textFlag) Type() string { return "TEXT" }

// Set takes what is written after the flag.
func (f *textFlag) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("must not be empty")
	}
	*f = textFlag(text)
	return nil
}

// numberFlag is a whole number above zero; zero: not given.
type numberFlag int

func (f *numberFlag) String() string {
	if *f == 0 {
		return ""
	}
	return strconv.Itoa(int(*f))
}

func (*numberFlag) Type() string { return "N" }

// Set takes what is written after the flag.
func (f *numberFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("must be a whole number above 0")
	}
	*f = numberFlag(n)
	return nil
}

// limitFlag is a number above zero or none.
type limitFlag struct{ limit *voucher.Limit }

func (f *limitFlag) String() string {
	if f.limit == nil {
		return ""
	}
	return formatLimit(*f.limit)
}

func (*limitFlag) Type() string { return "N|none" }

// Set takes what is written after the flag.
func (f *limitFlag) Set(text string) error {
	limit := voucher.NoLimit
	if text != none {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return errors.New("must be a whole number above 0, or none")
		}
		limit = voucher.Limit(n)
	}
	f.limit = &limit
	return nil
}

// fixedFlag is a field of a voucher that no edit changes.
type fixedFlag struct{}

func (fixedFlag) String() string { return "" }

func (fixedFlag) Type() string { return "TEXT" }

// Set refuses whatever is written after the flag.
func (fixedFlag) Set(string) error {
	return errors.New("code, reward and counters of a voucher never change: create another code instead")
}

// portFlag is a TCP port, or 0.
type portFlag uint16

func (f *portFlag) String() string { return strconv.Itoa(int(*f)) }

func (*portFlag) Type() string { return "PORT" }

// Set takes what is written after the flag.
func (f *portFlag) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return errors.New("must be 0 to 65535")
	}
	*f = portFlag(n)
	return nil
}

const none = "none"

func formatLimit(limit voucher.Limit) string {
	if limit == voucher.NoLimit {
		return none
	}
	return strconv.Itoa(int(limit))
}

// timeFlag is a time in RFC 3339, or a date, which means its first moment in UTC.
type timeFlag struct {
	orNone bool // none is a time too: the zero one
	time   *time.Time
}

func (f *timeFlag) String() string {
	if f.time == nil {
		return ""
	}
	return formatTime(*f.time)
}

func (f *timeFlag) Type() string {
	if f.orNone {
		return "TIME|none"
	}
	return "TIME"
}

// Set takes what is written after the flag.
func (f *timeFlag) Set(text string) error {
	if f.orNone && text == none {
		f.time = &time.Time{}
		return nil
	}
	t, err := voucher.ParseTime(text)
	if errors.Is(err, voucher.ErrNoTime) {
		return errors.New("must be a time such as 2026-12-24T18:00:00Z, or a date such as 2026-12-24, which begins at midnight UTC")
	}
	if err != nil {
		return err
	}
	f.time = &t
	return nil
}

// checkPeriod wants an end, if there is one, after the beginning.
func checkPeriod(since, until timeFlag) error {
	if until.time != nil && !since.orZero().Before(*until.time) {
		return misused("--until must be after --since")
	}
	return nil
}

// orZero is the time, or the zero time where the flag was not given.
func (f *timeFlag) orZero() time.Time {
	if f.time == nil {
		return time.Time{}
	}
	return *f.time
}

func alternatives[S ~string](all []S) string {
	words := texts(all)
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func texts[S ~string](all []S) []string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = string(one)
	}
	return texts
}

// complete has shells complete the values of a flag.
func complete[S ~string](command *cobra.Command, flag string, values []S) {
	fixed := cobra.FixedCompletions(texts(values), cobra.ShellCompDirectiveNoFileComp)
	_ = command.RegisterFlagCompletionFunc(flag, fixed) // fails only for a flag that the command does not have
}
