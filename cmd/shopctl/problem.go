package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shopfront/internal/local/localrun"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/checkout"
	"shopfront/pkg/voucher"
)

// Exit codes. The root command's help documents them; they never change.
const (
	exitOK           = 0
	exitFailed       = 1
	exitUsage        = 2
	exitRefused      = 3
	exitInconsistent = 4
	exitInterrupted  = 130 // what shells report for Ctrl-C: 128 + SIGINT
)

// Kinds of problem, for scripts. The root command's help documents them with the exit codes.
const (
	kindFailed       = "failed"
	kindUnavailable  = "unavailable"
	kindNotRunning   = "not_running"
	kindUsage        = "usage"
	kindNotFound     = "not_found"
	kindExists       = "exists"
	kindInvalid      = "invalid"
	kindInconsistent = "inconsistent"
	kindInterrupted  = "interrupted"
)

// problem is an error as shopctl prints it: a line that says what is wrong and what to do.
type problem struct {
	exit    int
	kind    string
	message string
	next    string // how to continue after partial work; may be empty
}

func (p *problem) Error() string {
	if p.next == "" {
		return p.message
	}
	return p.message + "; " + p.next
}

func failed(kind, format string, args ...any) *problem {
	return &problem{exit: exitFailed, kind: kind, message: fmt.Sprintf(format, args...)}
}

func refused(kind, format string, args ...any) *problem {
	return &problem{exit: exitRefused, kind: kind, message: fmt.Sprintf(format, args...)}
}

func misused(format string, args ...any) *problem {
	return &problem{exit: exitUsage, kind: kindUsage, message: fmt.Sprintf(format, args...)}
}

var (
	errNoTarget = misused("no target: give --stack NAME (or set %s) for a deployed stack, or --local for the local run",
		stackVariable)
	errTwoTargets = misused("--stack and --local are two targets: give only one")
)

func usageError(command *cobra.Command, args []string, err error) error {
	if _, is := errors.AsType[*pflag.NotExistError](err); is {
		// If a command is misspelled, its parent parses the flags and does not know them. Report the command instead.
		if word := commandWord(command, args); word != "" {
			err = subcommand(command, []string{word})
		}
	}
	if invalid, is := errors.AsType[*pflag.InvalidValueError](err); is {
		reason := invalid.Unwrap()
		if invalid.GetFlag().Value.Type() == "bool" {
			reason = errors.New("must be true or false")
		}
		err = fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), reason)
	}
	return misused("%s (see %s --help)", err, command.CommandPath())
}

// commandWord returns the argument that should name one of a group's commands. It returns "" if an unknown flag comes
// first, because the next argument may be that flag's value.
func commandWord(group *cobra.Command, args []string) string {
	if !group.HasSubCommands() {
		return ""
	}
	_, rest, err := group.Root().Find(args)
	for ; err == nil && len(rest) > 0; rest = rest[1:] {
		name, isFlag := strings.CutPrefix(rest[0], "--")
		if !isFlag {
			return rest[0]
		}
		name, _, hasValue := strings.Cut(name, "=")
		known := group.Flag(name)
		if known == nil {
			return ""
		}
		if !hasValue && known.NoOptDefVal == "" && len(rest) > 1 {
			rest = rest[1:]
		}
	}
	return ""
}

// describeNotFound replaces an error that means "not found" by a problem with the given message.
func describeNotFound(err error, format string, args ...any) error {
	reason, isRefusal := voucher.IsRefusal(err)
	if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, checkout.ErrNotFound) || isRefusal &&
		reason == voucher.ReasonUnknown {
		return refused(kindNotFound, format, args...)
	}
	return err
}

// explain turns an error into one problem for each fault, with what to do about it. The program exits with the code of
// the first problem.
func (s *session) explain(err error) []*problem {
	if described, is := errors.AsType[*problem](err); is {
		return []*problem{described}
	}
	if errors.Is(err, context.Canceled) {
		return []*problem{{
			exitInterrupted, kindInterrupted, "interrupted; everything done so far is stored",
			"to complete it run the command again",
		}}
	}
	if many, is := err.(interface{ Unwrap() []error }); is { // joined errors
		var problems []*problem
		for _, one := range many.Unwrap() {
			problems = append(problems, s.explain(one)...)
		}
		return problems
	}
	return []*problem{s.explainOne(err)}
}

func (s *session) explainOne(err error) *problem {
	if _, is := errors.AsType[*voucher.FieldError](err); is {
		return refused(kindInvalid, "%s", err)
	}
	if _, is := errors.AsType[*voucher.OtherTermsError](err); is {
		return refused(kindExists, "%s: give the terms with which the batch was started, or take such vouchers out "+
			"of the batch with %s", err,
			s.commandLine(fmt.Sprintf(`voucher edit %s CODE --batch ""`, s.shopID)))
	}
	if taken, is := errors.AsType[*voucher.CodeTakenError](err); is {
		return refused(kindExists, "%s: edit that one, or choose another code", taken)
	}
	if errors.Is(err, voucher.ErrCodeTaken) {
		return refused(kindExists, "%s", err)
	}
	isUnknown := backoffice.IsOutcomeUnknown(err)
	err = backoffice.AWSError(err)
	if isUnknown {
		p := failed(kindUnavailable, "%s", err)
		p.next = "the command may have taken effect: check, and run it again"
		return p
	}
	if _, is := errors.AsType[*catalogfile.Error](err); is {
		return refused(kindInvalid, "%s", err)
	}
	switch {
	case errors.Is(err, localrun.ErrNotRunning):
		return failed(kindNotRunning, "%s: start one with make run", err)
	case errors.Is(err, backoffice.ErrNoStack):
		return refused(kindNotFound, "%s: check the name, AWS_REGION and AWS_PROFILE", err)
	case errors.Is(err, backoffice.ErrNoRegion):
		return failed(kindFailed, "%s: set AWS_REGION, or set AWS_PROFILE to a profile that has a region", err)
	case errors.Is(err, backoffice.ErrNoEvents):
		return failed(kindFailed, "%s: deploy it with the parameter Events set to on, see docs/operating/feeds.md", err)
	case errors.Is(err, backoffice.ErrNoCredentials):
		return failed(kindFailed, "%s: set AWS_PROFILE, or sign in with aws configure or aws sso login", err)
	case errors.Is(err, backoffice.ErrNoProfile):
		return failed(kindFailed, "%s: set AWS_PROFILE to another profile, or create it with aws configure", err)
	case errors.Is(err, voucher.ErrBatchTaken):
		return refused(kindExists, "%s: complete it with --resume, or choose another name", err)
	case errors.Is(err, voucher.ErrBatchUnknown):
		return refused(kindNotFound, "%s: see %s for the batches that exist", err,
			s.commandLine("voucher list "+string(s.shopID)))
	case errors.Is(err, voucher.ErrBatchLarger):
		return refused(kindExists, "%s: give a --count of at least that number", err)
	default:
		return failed(kindFailed, "%s", err)
	}
}
