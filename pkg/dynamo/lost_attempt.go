package dynamo

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"shopfront/pkg/voucher"
)

// lostAttempt notes whether an attempt of a redemption's writes went without an answer of DynamoDB: it may be on its way
// still, and be applied after the SDK's next attempt was refused.
type lostAttempt bool

// note is an option of a write.
func (l *lostAttempt) note(o *dynamodb.Options) { o.Retryer = noting{o.Retryer, l} }

// mayContradict tells whether an attempt on its way may redeem what a refusal says is not redeemed. It may once an operator
// has edited the voucher meanwhile, in whatever way, and no refusal is told from another.
func (l *lostAttempt) mayContradict(err error) bool {
	_, refused := voucher.IsRefusal(err)
	return bool(*l) && refused
}

// noting is a retryer that sees each error of an attempt.
type noting struct {
	aws.Retryer

	lost *lostAttempt
}

// IsErrorRetryable is aws.Retryer's. DynamoDB refuses with a status of 4xx, and then has applied nothing.
func (n noting) IsErrorRetryable(err error) bool {
	answer, is := errors.AsType[*awshttp.ResponseError](err)
	named, _ := errors.AsType[smithy.APIError](err)
	if !is || answer.HTTPStatusCode()/100 != 4 || named == nil || named.ErrorCode() == unnamed {
		*n.lost = true
	}
	return n.Retryer.IsErrorRetryable(err)
}
