package memdynamo

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Fault is something that goes wrong with a call.
type Fault string

// Faults that hit a call when it arrives. At most one of them hits an attempt.
const (
	LostRequest  Fault = "connection cut before" // not applied
	LostResponse Fault = "connection cut after"  // applied
	CutResponse  Fault = "response cut in the middle"
	LateRequest  Fault = "late request" // the connection is cut, and the call is applied later
	Throttle     Fault = "throttle"
	ServerError  Fault = "server error"         // 500 or 503, half of them after the call was applied
	Conflict     Fault = "transaction conflict" // as if other transactions held items; hits writes and transactions
	SlowRequest  Fault = "slow request"         // applied later
	SlowResponse Fault = "slow response"        // applied, but the response is sent later
)

// Faults that hit a call while it is applied.
const (
	Halves      Fault = "transaction in halves" // others see a transaction item by item
	Torn        Fault = "torn read"             // a BatchGetItem, a Query or a Scan reads items at several moments
	Unprocessed Fault = "unprocessed keys"      // some or all keys of a BatchGetItem come back unread
	ShortPage   Fault = "short page"            // a Query or a Scan ends after one to three items
)

// A call that a rule of an Endpoint refuses counts as one of these faults. They are never drawn.
const (
	HeldItem       Fault = "held item"       // a transaction in flight has the item
	OverThroughput Fault = "over throughput" // the partition has used its units
)

// Faults lists the faults that can be drawn, in the order of the draw.
func Faults() []Fault {
	return []Fault{
		Conflict, Throttle, ServerError, SlowRequest, LateRequest, SlowResponse, LostRequest, LostResponse, CutResponse,
		Halves, Torn, Unprocessed, ShortPage,
	}
}

// arriving is how many of the faults hit a call when it arrives.
const arriving = 9

// Rates has a share from 0 to 1 for each fault: the fault hits this share of the attempts that it can hit.
type Rates map[Fault]float64

// canHit reports whether a fault is possible for an operation.
func (f Fault) canHit(o operation) bool {
	only := map[Fault][]string{
		Halves: {"TransactWriteItems"}, Torn: {"BatchGetItem", "Query", "Scan"}, Unprocessed: {"BatchGetItem"},
		ShortPage: {"Query", "Scan"},
	}
	switch f { //nolint:exhaustive // the others depend on the operation's name
	case Conflict:
		return o.write || o.exclusive
	case LateRequest:
		return o.write
	}
	return only[f] == nil || slices.Contains(only[f], o.name)
}

// errCut is the error of a call whose connection is cut.
var errCut = errors.New("connection cut by memdynamo")

// throttled returns one of the errors with which DynamoDB throttles.
func (a *attempt) throttled(o operation) error {
	if o.isTransaction() && a.chance(0.5) {
		return canceled(len(o.keys), map[int]bool{a.random.IntN(len(o.keys)): true})
	}
	codes := []string{"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"}
	return refusal(codes[a.random.IntN(len(codes))], overCapacity)
}

const overCapacity = "Throughput exceeds the current capacity of your table or index."

// canceled returns the error of a transaction with n items, of which the given ones are throttled.
func canceled(n int, throttled map[int]bool) error {
	reasons := make(cancellation, n)
	for i := range reasons {
		reasons[i].Code = aws.String("None")
		if throttled[i] {
			reasons[i].Code, reasons[i].Message = aws.String("ThrottlingError"), aws.String(overCapacity)
		}
	}
	return reasons.err()
}

func (a *attempt) serverError() error {
	return refusal([]string{"InternalServerError", "ServiceUnavailable"}[a.random.IntN(2)],
		"The request processing has failed because of an unknown error.")
}

// isConflict reports whether another transaction kept a call from being applied.
func isConflict(err error) bool {
	_, one := errors.AsType[*types.TransactionConflictException](err)
	_, same := errors.AsType[*types.TransactionInProgressException](err)
	canceled, is := errors.AsType[*types.TransactionCanceledException](err)
	return one || same || is && slices.ContainsFunc(canceled.CancellationReasons,
		func(r types.CancellationReason) bool {
			return aws.ToString(r.Code) == "TransactionConflict"
		})
}

// status returns the HTTP status of an error.
func status(err error) int {
	named, _ := errors.AsType[smithy.APIError](err)
	switch named.ErrorCode() {
	case "InternalServerError":
		return http.StatusInternalServerError
	case "ServiceUnavailable":
		return http.StatusServiceUnavailable
	default:
		return http.StatusBadRequest
	}
}

// meet runs an attempt's first moment, perhaps with a fault that hits it when it arrives. It describes the fault for a
// trace. later runs a function at a later moment.
func (s *Store) meet(
	a *attempt, o operation, fault Fault, f func() error, later func(func() string),
) (trace string, err error) {
	switch fault { //nolint:exhaustive // the others do not hit the first moment
	case LostRequest:
		return "does not arrive, ", errCut
	case LostResponse, CutResponse:
		return fmt.Sprintf("response lost (%s), ", Outcome(f())), errCut
	case LateRequest:
		later(func() string { return s.arriveLate(a, f) })
		return "is late, ", errCut
	case Throttle:
		return "", a.throttled(o)
	case ServerError:
		if a.chance(0.5) {
			return fmt.Sprintf("applied (%s), ", Outcome(f())), a.serverError()
		}
		return "", a.serverError()
	case Conflict:
		return "meets a conflict, ", s.whileLocked(a, o.keys, f)
	default:
		return "", f()
	}
}

// arriveLate runs f. In half of the cases, DynamoDB has forgotten the transaction's token by then.
func (s *Store) arriveLate(a *attempt, f func() error) string {
	s.forgotten = a.chance(0.5)
	defer func() { s.forgotten = false }()
	return "arrives late, " + Outcome(f())
}

// Outcome describes the end of a call in a few words.
func Outcome(err error) string {
	if err == nil {
		return "done"
	}
	if canceled, is := errors.AsType[*types.TransactionCanceledException](err); is {
		codes := []string{"canceled"}
		for _, reason := range canceled.CancellationReasons {
			codes = append(codes, aws.ToString(reason.Code))
		}
		return strings.Join(codes, " ")
	}
	if named, is := errors.AsType[smithy.APIError](err); is {
		return named.ErrorCode()
	}
	return err.Error()
}
