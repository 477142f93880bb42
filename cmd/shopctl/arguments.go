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

// parseTime is voucher.ParseTime, voucher.ParseEnd, or one of them with more forms.
type parseTime func(text string, zone *time.Location) (time.Time, error)

// moment is the time that a flag gives, once the shop's time zone is known. It is nil if the flag was not given.
type moment func(zone *time.Location) time.Time

// in returns the time, or the zero time if the flag was not given.
func (m moment) in(zone *time.Location) time.Time {
	if m == nil {
		return time.Time{}
	}
	return m(zone)
}

// pointer is in for a flag that changes nothing unless it is given.
func (m moment) pointer(zone *time.Location) *time.Time {
	if m == nil {
		return nil
	}
	return new(m(zone))
}

// timeFlag is a flag for a time.
func timeFlag(value *moment, parse parseTime) *parsedFlag {
	return &parsedFlag{kind: "TIME", parse: func(text string) error {
		*value = func(zone *time.Location) time.Time {
			at, _ := parse(text, zone) // a date that fails only here is the first or last one, which bounds nothing
			return at
		}
		_, err := parse(text, time.UTC)
		return err
	}}
}

// timeOrNoneFlag is a flag for a time, or "none" for the zero time.
func timeOrNoneFlag(value *moment, parse parseTime) *parsedFlag {
	flag := timeFlag(value, func(text string, zone *time.Location) (time.Time, error) {
		if text == csvfile.None {
			return time.Time{}, nil
		}
		return parse(text, zone)
	})
	flag.kind = "TIME|none"
	return flag
}

// orAgo also accepts a duration, such as 24h or 7d, for the time that was so long ago.
func (s *session) orAgo(parse parseTime) parseTime {
	return func(text string, zone *time.Location) (time.Time, error) {
		duration := text
		if days, isDays := strings.CutSuffix(text, "d"); isDays {
			number, _ := csvfile.ParseWhole(days, 1) // 0 is no duration
			duration = strconv.Itoa(24*number) + "h"
		}
		if ago, err := time.ParseDuration(duration); err == nil && ago > 0 {
			return s.now().Add(-ago), nil
		}
		at, err := parse(text, zone)
		if err != nil {
			return time.Time{}, errors.New("must be a duration such as 24h or 7d, a time such as " +
				"2026-12-24T18:00:00Z, or a date such as 2026-12-24")
		}
		return at, nil
	}
}

// period has the flags --since and --until.
type period struct{ since, until moment }

func (p *period) add(command *cobra.Command, s *session, what string) {
	p.addSince(command, s, what)
	command.Flags().Var(timeFlag(&p.until, s.orAgo(voucher.ParseEnd)), "until",
		what+" before this `TIME`; a date includes its day")
}

// addSince adds only --since.
func (p *period) addSince(command *cobra.Command, s *session, what string) {
	command.Flags().Var(timeFlag(&p.since, s.orAgo(voucher.ParseTime)), "since",
		what+" at this `TIME` or later; 24h or 7d means that long ago")
}

// in returns the period. It is an error if it does not end after it begins.
func (p *period) in(zone *time.Location) (from, until time.Time, err error) {
	from, until = p.since.in(zone), p.until.in(zone)
	if !until.IsZero() && !from.Before(until) {
		err = misused("--until must be after --since")
	}
	return from, until, err
}

func alternatives[S ~string](all []S) string {
	words := represent(all, toString)
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func toString[S ~string](s S) string { return string(s) }
