package backoffice

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/aws/smithy-go"

	"shopfront/pkg/dynamo"
)

// UnreachableError means that an AWS service or DynamoDB Local could not be reached, or that its response was lost.
type UnreachableError struct{ Err error }

func (e *UnreachableError) Error() string {
	return "AWS or the local run cannot be reached: " + e.Err.Error()
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// IsOutcomeUnknown reports whether a failed request may have taken effect, because the store was unavailable or its
// response was lost.
func IsOutcomeUnknown(err error) bool {
	_, isUnavailable := errors.AsType[*dynamo.UnavailableError](err)
	_, isUnreachable := errors.AsType[*UnreachableError](AWSError(err))
	return isUnavailable || isUnreachable
}

// AWSError reduces an error of the AWS SDK to the message of AWS, without the SDK's report of its attempts. If AWS does
// not accept the credentials, it returns ErrNoCredentials. If the connection failed, it returns an *UnreachableError.
// It returns other errors unchanged.
func AWSError(err error) error {
	unreached, is := errors.AsType[interface {
		error
		ConnectionError() bool
	}](err)
	if is && unreached.ConnectionError() {
		if request, is := errors.AsType[*url.Error](err); is {
			return &UnreachableError{request.Err}
		}
		return &UnreachableError{unreached}
	}
	response, is := errors.AsType[smithy.APIError](err)
	if !is {
		return err
	}
	service := "AWS"
	if asked, is := errors.AsType[*smithy.OperationError](err); is {
		service = asked.Service()
	}
	plain := fmt.Errorf("%s refuses: %s: %s", service, response.ErrorCode(), response.ErrorMessage())
	if deniesCredentials(response.ErrorCode()) {
		return fmt.Errorf("%w: %w", ErrNoCredentials, plain)
	}
	return plain
}

// deniesCredentials reports whether an error code means that the credentials themselves are not accepted. Missing
// permissions do not count.
func deniesCredentials(code string) bool {
	switch code {
	case "ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidClientTokenId",
		"UnrecognizedClientException",
		"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignature",
		"AuthFailure",
		"MissingAuthenticationToken", "MissingAuthenticationTokenException", // any service (AWS's common errors)
		"UnauthorizedException", "InvalidGrantException": // sign-in (SSO, SSO OIDC)
		return true
	default:
		return false
	}
}
