package dynamo

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// lostAttempt records whether an attempt to write got no response from DynamoDB. Such an attempt may still be in
// flight, and may be applied after the SDK's retry was refused.
type lostAttempt bool

// note is an option for a write. It lets l see the errors of all attempts.
func (l *lostAttempt) note(o *dynamodb.Options) { o.Retryer = noting{o.Retryer, l} }

// outcome returns the error of an operation. If err refuses a voucher that an attempt in flight may still redeem or
// hold, the error is an *UnavailableError. For example, an operator may edit the voucher after the refusal, and the
// attempt may be applied then. The reason of the refusal does not matter, because clients must not be able to tell
// reasons apart.
func (l *lostAttempt) outcome(err error) error {
	if _, refused := voucher.IsRefusal(err); refused && bool(*l) {
		err = &UnavailableError{Err: errMayBeApplied}
	}
	return table.Outcome(err)
}

// noting is a retryer that sees the error of every attempt.
type noting struct {
	aws.Retryer

	lost *lostAttempt
}

// IsErrorRetryable implements aws.Retryer. An error that has a code and a 4xx status comes from DynamoDB, which has
// applied nothing. A request that was not sent was not applied either. After any other error the attempt may be in
// flight.
func (n noting) IsErrorRetryable(err error) bool {
	response, is := errors.AsType[*awshttp.ResponseError](err)
	named, _ := errors.AsType[smithy.APIError](err)
	refused := is && response.HTTPStatusCode()/100 == 4 && named != nil && named.ErrorCode() != table.Unnamed
	if _, unsent := errors.AsType[*unsentError](err); !refused && !unsent {
		*n.lost = true
	}
	return n.Retryer.IsErrorRetryable(err)
}
