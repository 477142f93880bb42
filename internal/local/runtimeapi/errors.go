package runtimeapi

import (
	"errors"
	"fmt"
)

// Errors of Invoke and Start. After ErrBusy, ErrEventTooLarge and ErrUnknownFunction, no process has received the event.
var (
	ErrUnknownFunction = errors.New("no such function")
	ErrEventTooLarge   = fmt.Errorf("the event is larger than %d bytes", MaxEvent)
	ErrBusy            = errors.New("no process was free in time")
	ErrClosed          = errors.New("the runtime is closed")
	ErrStart           = errors.New("the executable cannot be started")
	ErrInitTimeout     = errors.New("the process was killed: it did not ask for its first event in time")
	ErrTimeout         = errors.New("the function timed out and its process was killed")
	ErrNoAnswer        = errors.New("the process was killed: it asked for another event before it responded")
	ErrAnswerTooLarge  = fmt.Errorf("the response is larger than %d bytes", MaxAnswer)
)

// reported returns the error for a failure that the function itself reported to the runtime API. It leaves out the function's
// message, which may repeat what a client sent.
func reported(errorType string) error {
	return fmt.Errorf("the function reported an error of type %q", errorType)
}
