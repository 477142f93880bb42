package runtimeapi

import (
	"errors"
	"fmt"
)

// Errors of Invoke. After ErrBusy, ErrEventTooLarge and ErrUnknownFunction, no process has received the event.
var (
	ErrUnknownFunction = errors.New("no such function")
	ErrEventTooLarge   = fmt.Errorf("the event is larger than %d bytes", MaxEvent)
	ErrBusy            = errors.New("no process was free in time")
	ErrClosed          = errors.New("the runtime is closed")
	ErrStart           = errors.New("the executable cannot be started")
	ErrInitTimeout     = errors.New("the process did not ask for its first event in time and was killed")
	ErrTimeout         = errors.New("the function timed out and its process was killed")
	ErrNoAnswer        = errors.New("the process asked for another event before it responded and was killed")
	ErrAnswerTooLarge  = fmt.Errorf("the response is larger than %d bytes", MaxAnswer)
)

// ExitError means that a process ended before it responded: it exited, crashed or was killed from outside.
type ExitError struct {
	// Init is set when the process had not asked for its first event.
	Init bool
	// Status is how the process ended, such as "exit status 1" or "signal: killed".
	Status string
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Init {
		return "the process ended while it started: " + e.Status
	}
	return "the process ended before it responded: " + e.Status
}

// FunctionError is an error that the function itself reported to the runtime API. Error leaves out the message, which may
// repeat what a client sent.
type FunctionError struct {
	// Init is set when the process reported the error instead of asking for its first event.
	Init          bool
	Type, Message string
}

// Error implements error.
func (e *FunctionError) Error() string {
	if e.Init {
		return fmt.Sprintf("the function reported an error of type %q while it started", e.Type)
	}
	return fmt.Sprintf("the function reported an error of type %q", e.Type)
}
