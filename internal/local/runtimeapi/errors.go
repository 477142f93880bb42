package runtimeapi

import (
	"errors"
	"fmt"
)

// Errors of Invoke.
var (
	// ErrUnknownFunction says that no function has this name.
	ErrUnknownFunction = errors.New("no such function")
	// ErrEventTooLarge says that the event is larger than MaxEvent.
	ErrEventTooLarge = fmt.Errorf("the event is larger than %d bytes", MaxEvent)
	// ErrBusy says that no process became free for the event in time.
	ErrBusy = errors.New("no process was free in time")
	// ErrClosed says that the runtime was closed before the function answered.
	ErrClosed = errors.New("the runtime is closed")

	// ErrStart says that the executable cannot be started.
	ErrStart = errors.New("the executable cannot be started")
	// ErrInitTimeout says that a new process did not ask for its first event in time. It was killed.
	ErrInitTimeout = errors.New("the process did not ask for its first event in time")
	// ErrTimeout says that the function ran longer than its timeout. The process was killed.
	ErrTimeout = errors.New("the function timed out")
	// ErrNoAnswer says that the process asked for another event before it answered this one. It was killed.
	ErrNoAnswer = errors.New("the process asked for another event before it answered")
	// ErrAnswerTooLarge says that the answer is larger than MaxAnswer.
	ErrAnswerTooLarge = fmt.Errorf("the answer is larger than %d bytes", MaxAnswer)
)

// ExitError says that a process ended before it answered: it exited, crashed or was killed from outside.
type ExitError struct {
	// Init is set when the process had not asked for its first event.
	Init bool
	// Status is how it ended, such as "exit status 1" or "signal: killed".
	Status string
}

// Error says when the process ended and how.
func (e *ExitError) Error() string {
	if e.Init {
		return "the process ended while it started: " + e.Status
	}
	return "the process ended before it answered: " + e.Status
}

// FunctionError is an error that the function itself reported to the runtime API, in its own words. Message may repeat
// what a client sent, so Error leaves it out.
type FunctionError struct {
	// Init is set when it was reported instead of asking for a first event.
	Init          bool
	Type, Message string
}

// Error names the type of the error, in Go the name of its type.
func (e *FunctionError) Error() string {
	if e.Init {
		return fmt.Sprintf("the function reported an error of type %q while it started", e.Type)
	}
	return fmt.Sprintf("the function reported an error of type %q", e.Type)
}
