package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shopfront/pkg/csvfile"
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

// optional allows no argument, or one.
func optional(name string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return exactly(name)(command, args)
	}
}

// subcommand validates the arguments of a group. It always returns an error, because a group itself does nothing.
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

// parsedFlag is a flag whose value is parsed and checked when it is set.
type parsedFlag struct {
	kind    string // shown in help texts
	written string
	parse   func(text string) error
}

func (f *parsedFlag) String() string { return f.written }

func (f *parsedFlag) Type() string { return f.kind }

func (f *parsedFlag) Set(text string) error {
	f.written = text
	return f.parse(text)
}

// countedFlag counts how often a flag is given.
type countedFlag struct {
	pflag.Value

	times int
}

func (f *countedFlag) Set(text string) error {
	f.times++
	return f.Value.Set(text)
}

// countFlags counts how often each flag of a command and of its subcommands is given, for refuseRepeated. A flag that
// takes a list may be repeated, so it is not counted.
func countFlags(command *cobra.Command) {
	count := func(flag *pflag.Flag) {
		if _, isList := flag.Value.(pflag.SliceValue); !isList {
			flag.Value = &countedFlag{Value: flag.Value}
		}
	}
	command.PersistentFlags().VisitAll(count)
	command.Flags().VisitAll(count)
	for _, subcommand := range command.Commands() {
		countFlags(subcommand)
	}
}

// refuseRepeated rejects a flag that is given twice, because the last value would win silently. Set cannot reject it:
// shell completion parses the flags twice.
func refuseRepeated(command *cobra.Command, _ []string) (err error) {
	command.Flags().Visit(func(flag *pflag.Flag) {
		if counted, is := flag.Value.(*countedFlag); is && counted.times > 1 && err == nil {
			err = fmt.Errorf("--%s is given more than once: give it once", flag.Name)
		}
	})
	return err
}

// textFlag is a flag for a string that must not be empty: an unset variable in a script must not select everything.
func textFlag(value *string) *parsedFlag {
	return &parsedFlag{kind: "TEXT", parse: func(text string) error {
		*value = text
		if strings.TrimSpace(text) == "" {
			return errors.New("must not be empty")
		}
		return nil
	}}
}

// addChoice adds a flag that takes one of the choices; shell completion offers them. The initial value is the default.
func addChoice[S ~string](command *cobra.Command, value *S, name, usage string, choices ...S) {
	command.Flags().Var(&parsedFlag{
		kind: strings.Join(represent(choices, toString), "|"), written: string(*value),
		parse: func(text string) error {
			if *value = S(text); !slices.Contains(choices, *value) {
				return errors.New("must be " + alternatives(choices))
			}
			return nil
		},
	}, name, usage)
	fixed := cobra.FixedCompletions(represent(choices, toString), cobra.ShellCompDirectiveNoFileComp)
	_ = command.RegisterFlagCompletionFunc(name, fixed) // cannot fail: the flag was just added
}

// numberFlag is a flag for a whole number that is not below least. The help text shows the initial value as the
// default, unless it is 0.
func numberFlag(value *int, least int) *parsedFlag {
	written := ""
	if *value != 0 {
		written = strconv.Itoa(*value)
	}
	return &parsedFlag{kind: "N", written: written, parse: func(text string) (err error) {
		*value, err = csvfile.ParseWhole(text, least)
		return err
	}}
}

// limitFlag is a flag for a whole number above zero, or "none".
func limitFlag(value **voucher.Limit) *parsedFlag {
	return &parsedFlag{kind: "N|none", parse: func(text string) (err error) {
		*value, err = csvfile.ParseLimit(text)
		return err
	}}
}

// portFlag is a flag for a TCP port, or 0.
func portFlag(value *int) *parsedFlag {
	return &parsedFlag{kind: "PORT", written: strconv.Itoa(*value), parse: func(text string) error {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return errors.New("must be 0 to 65535")
		}
		*value = int(port)
		return nil
	}}
}

// timeFlag is a flag for a time in RFC 3339, or a date, which means midnight UTC.
func timeFlag(value *time.Time) *parsedFlag {
	return &parsedFlag{kind: "TIME", parse: func(text string) (err error) {
		*value, err = voucher.ParseTime(text)
		return err
	}}
}

// timeOrNoneFlag is a flag for a time, or "none" for the zero time.
func timeOrNoneFlag(value **time.Time) *parsedFlag {
	return &parsedFlag{kind: "TIME|none", parse: func(text string) error {
		*value = new(time.Time)
		if text == csvfile.None {
			return nil
		}
		return timeFlag(*value).Set(text)
	}}
}

// checkPeriod requires that --until, if given, is after --since.
func checkPeriod(since, until time.Time) error {
	if !until.IsZero() && !since.Before(until) {
		return misused("--until must be after --since")
	}
	return nil
}

// orZero returns the flag's time, or the zero time if the flag was not given.
func orZero(given *time.Time) time.Time {
	if given == nil {
		return time.Time{}
	}
	return *given
}

func alternatives[S ~string](all []S) string {
	words := represent(all, toString)
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func toString[S ~string](s S) string { return string(s) }
