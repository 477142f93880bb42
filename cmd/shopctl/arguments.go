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

// exactly requires one argument for each name.
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

// subcommand refuses all arguments: a group does nothing itself.
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

// textFlag is a text that must not be empty: an unset variable in a script must not select everything.
type textFlag string

func (f *textFlag) String() string { return string(*f) }

func (*textFlag) Type() string { return "TEXT" }

// Set parses the flag's value.
func (f *textFlag) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("must not be empty")
	}
	*f = textFlag(text)
	return nil
}

// numberFlag is a whole number above zero. Zero means that the flag was not given.
type numberFlag int

func (f *numberFlag) String() string {
	if *f == 0 {
		return ""
	}
	return strconv.Itoa(int(*f))
}

func (*numberFlag) Type() string { return "N" }

// Set parses the flag's value.
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

// Set parses the flag's value.
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

// fixedFlag is a flag for a field that no edit can change.
type fixedFlag struct{}

func (fixedFlag) String() string { return "" }

func (fixedFlag) Type() string { return "TEXT" }

// Set refuses every value.
func (fixedFlag) Set(string) error {
	return errors.New("a voucher's code, reward and counters never change: create another code instead")
}

// portFlag is a TCP port, or 0.
type portFlag uint16

func (f *portFlag) String() string { return strconv.Itoa(int(*f)) }

func (*portFlag) Type() string { return "PORT" }

// Set parses the flag's value.
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

// timeFlag is a time in RFC 3339, or a date, which means midnight UTC.
type timeFlag struct {
	orNone bool // accept none as the zero time
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

// Set parses the flag's value.
func (f *timeFlag) Set(text string) error {
	if f.orNone && text == none {
		f.time = &time.Time{}
		return nil
	}
	t, err := voucher.ParseTime(text)
	if errors.Is(err, voucher.ErrNoTime) {
		return errors.New("must be a time such as 2026-12-24T18:00:00Z, or a date such as 2026-12-24, which means midnight UTC")
	}
	if err != nil {
		return err
	}
	f.time = &t
	return nil
}

// checkPeriod requires until, if given, to be after since.
func checkPeriod(since, until timeFlag) error {
	if until.time != nil && !since.orZero().Before(*until.time) {
		return misused("--until must be after --since")
	}
	return nil
}

// orZero is the time, or the zero time if the flag was not given.
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

// complete lets shells complete the values of a flag.
func complete[S ~string](command *cobra.Command, flag string, values []S) {
	fixed := cobra.FixedCompletions(texts(values), cobra.ShellCompDirectiveNoFileComp)
	_ = command.RegisterFlagCompletionFunc(flag, fixed) // it fails only if the command does not have the flag
}
