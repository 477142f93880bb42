package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/localstate"
	"shopfront/pkg/operator"
	"shopfront/pkg/voucher"
)

// Exit codes. They are documented in the root command's help and do not change.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3
	exitInterrupted = 130 // as a shell has it for Ctrl-C: 128 + SIGINT
)

// Kinds of problem, for scripts; with each the exit code. They are documented with them.
const (
	kindFailed      = "failed"
	kindUnavailable = "unavailable"
	kindNotRunning  = "not_running"
	kindUsage       = "usage"
	kindNotFound    = "not_found"
	kindExists      = "exists"
	kindInvalid     = "invalid"
	kindInterrupted = "interrupted"
)

// problem is an error as it is shown: a line that says what is wrong and what to do, which another program's output may
// follow.
type problem struct {
	exit    int
	kind    string
	message string
}

func (p *problem) Error() string { return p.message }

func refused(kind, format string, args ...any) *problem {
	return &problem{exitRefused, kind, fmt.Sprintf(format, args...)}
}

func misused(format string, args ...any) *problem {
	return &problem{exitUsage, kindUsage, fmt.Sprintf(format, args...)}
}

// Problems of the target.
var (
	errNoTarget = misused("no target: give --stack NAME (or set %s) for a deployed stack, or --local for the local run",
		stackVariable)
	errTwoTargets = misused("--stack and --local are two targets: give one of them")
)

func usageError(command *cobra.Command, err error) error {
	if invalid, is := errors.AsType[*pflag.InvalidValueError](err); is {
		reason := invalid.Unwrap()
		if invalid.GetFlag().Value.Type() == "bool" {
			reason = errors.New("must be true or false")
		}
		err = fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), reason)
	}
	return misused("%s (see %s --help)", err, command.CommandPath())
}

// describeNotFound says what was not found, and what to do, where the error is that.
func describeNotFound(err error, format string, args ...any) error {
	reason, isRefusal := voucher.IsRefusal(err)
	if errors.Is(err, catalog.ErrNotFound) || errors.Is(err, checkout.ErrNotFound) || isRefusal && reason == voucher.ReasonUnknown {
		return refused(kindNotFound, format, args...)
	}
	return err
}

// explain says what to do about an error: one problem for each thing that is wrong, the first of which has the exit code.
func explain(err error) []*problem {
	if described, is := errors.AsType[*problem](err); is {
		return []*problem{described}
	}
	if errors.Is(err, context.Canceled) {
		return []*problem{{exitInterrupted, kindInterrupted, "interrupted; what was done is stored, and is completed by running the command again"}}
	}
	if many, is := err.(interface{ Unwrap() []error }); is { // those that were joined
		var problems []*problem
		for _, one := range many.Unwrap() {
			problems = append(problems, explain(one)...)
		}
		return problems
	}
	return []*problem{explainOne(err)}
}

func explainOne(err error) *problem {
	if _, is := errors.AsType[*voucher.FieldError](err); is {
		return refused(kindInvalid, "%s", err)
	}
	if _, is := errors.AsType[*voucher.OtherTermsError](err); is {
		return refused(kindExists, "%s: give the terms that the batch was begun with", err)
	}
	if taken, is := errors.AsType[*operator.CodeTakenError](err); is {
		return refused(kindExists, "%s: edit that one, or choose another code", taken)
	}
	if _, is := errors.AsType[*dynamo.UnavailableError](err); is {
		return &problem{exitFailed, kindUnavailable, err.Error() + ": it may have been done all the same; look, and run the command again"}
	}
	if _, is := errors.AsType[*catalogfile.Error](err); is {
		return refused(kindInvalid, "%s", err)
	}
	switch {
	case errors.Is(err, localstate.ErrNotRunning):
		return &problem{exitFailed, kindNotRunning, err.Error() + ": start one with make run"}
	case errors.Is(err, operator.ErrNoStack):
		return refused(kindNotFound, "%s: check the name, AWS_REGION and AWS_PROFILE", err)
	case errors.Is(err, operator.ErrNoRegion):
		return &problem{exitFailed, kindFailed, err.Error() + ": set AWS_REGION, or choose a profile that has one with AWS_PROFILE"}
	case errors.Is(err, voucher.ErrBatchTaken):
		return refused(kindExists, "%s: complete it with --resume, or choose another name", err)
	case errors.Is(err, voucher.ErrBatchUnknown):
		return refused(kindNotFound, "%s: see shopctl voucher list for the batches there are", err)
	case errors.Is(err, voucher.ErrBatchLarger):
		return refused(kindExists, "%s: give a --count of at least that", err)
	default:
		return &problem{exitFailed, kindFailed, err.Error()}
	}
}
