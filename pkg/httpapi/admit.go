package httpapi

import (
	"context"
	"errors"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
)

// Guard authenticates callers; it is an *access.Guard. Admit returns access.ErrUnauthorized for credentials that are not a live
// key of the customer. An error with Unavailable() means that the customer's settings could not be read.
type Guard interface {
	Admit(ctx context.Context, customer catalog.CustomerID, authorization []string, at time.Time) (access.Caller, access.Settings, error)
}

// policyOf selects the policy that guards an endpoint. If it is nil, anyone may call the endpoint.
type policyOf func(access.Settings) access.Policy

// admit authenticates the caller and applies the policy. Endpoints call it after they have validated the form of the request
// and before they look anything up. Credentials are validated even where strangers are welcome, so that a misconfigured server
// notices.
func (c *call) admit(policy policyOf) error {
	authorization := c.Header.Values("Authorization")
	if policy == nil && len(authorization) == 0 {
		return nil
	}
	caller, settings, err := c.guard.Admit(c.Context(), c.customer, authorization, c.received)
	if rejected, is := errors.AsType[*access.RejectedKeyError](err); is {
		c.record.keyID = rejected.Key
	}
	if err != nil {
		return err
	}
	c.caller, c.settings, c.record.caller, c.record.keyID = caller, settings, caller, caller.Key
	if policy != nil && !policy(settings).Allows(caller) {
		return access.ErrUnauthorized
	}
	return nil
}

// admitServer admits only the shop's server, whatever the policies. A request without credentials costs no lookup.
func (c *call) admitServer() error {
	err := access.ErrUnauthorized
	if len(c.Header.Values("Authorization")) > 0 {
		err = c.admit(nil) // only the shop's server has credentials
	}
	if errors.Is(err, access.ErrUnauthorized) {
		return problemUnauthorized.because("This is for the shop's server. Send Authorization: Bearer KEY with a live key of the customer.").
			with("WWW-Authenticate", "Bearer")
	}
	return err
}
