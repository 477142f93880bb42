package operator

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/aws/smithy-go"
)

// UnreachableError says that a service of AWS, or DynamoDB Local, could not be reached, or that its answer was lost.
type UnreachableError struct{ Err error }

func (e *UnreachableError) Error() string {
	return "AWS or the local run cannot be reached: " + e.Err.Error()
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// Plain says an error of AWS in AWS's own words, without those of the SDK about its attempts: as ErrNoCredentials where the
// credentials are not or no longer accepted, as *UnreachableError, or as another error. Any other error stays as it is.
func Plain(err error) error {
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
	answer, is := errors.AsType[smithy.APIError](err)
	if !is {
		return err
	}
	service := "AWS"
	if asked, is := errors.AsType[*smithy.OperationError](err); is {
		service = asked.Service()
	}
	plain := fmt.Errorf("%s refuses: %s: %s", service, answer.ErrorCode(), answer.ErrorMessage())
	if deniesCredentials(answer.ErrorCode()) {
		return fmt.Errorf("%w that are accepted: %w", ErrNoCredentials, plain)
	}
	return plain
}

// deniesCredentials tells whether an error code is about the credentials themselves, not about what they allow.
func deniesCredentials(code string) bool {
	switch code {
	case "ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidClientTokenId", "UnrecognizedClientException",
		"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignature", "AuthFailure",
		"MissingAuthenticationToken", "MissingAuthenticationTokenException", // of every service (AWS's common errors)
		"UnauthorizedException", "InvalidGrantException": // of the sign-in (SSO, SSO OIDC)
		return true
	default:
		return false
	}
}
