package httpapi

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
)

// Guard authenticates callers. An *access.Guard implements it. Admit returns access.ErrUnauthorized for credentials
// that are not a live key of the shop. An error with Unavailable() means that the shop's settings could not be read.
type Guard interface {
	Admit(ctx context.Context, shop catalog.ShopID, authorization []string, at time.Time) (access.Caller,
		access.Settings, error)
}

// policyOf selects the policy that guards an endpoint. If it is nil, anyone may call the endpoint.
type policyOf func(access.Settings) access.Policy

// admitted returns the respond function of an endpoint. That function calls admit, which authenticates the caller, then
// read, which validates the form of the request, and then respond. The first error ends it. So an unauthorized caller
// always gets 401, and nothing but the key and the settings is looked up for a malformed request.
func admitted[T any](
	read func(*call) (T, error), admit func(*call) error, respond func(*call, T) (response, error),
) func(*call) (response, error) {
	return func(c *call) (response, error) {
		if err := admit(c); err != nil {
			return response{}, err
		}
		request, err := read(c)
		if err != nil {
			return response{}, err
		}
		return respond(c, request)
	}
}

// admit authenticates the caller and applies the policy. It validates credentials even if the policy admits strangers,
// so that a server with a wrong key gets an error.
func (c *call) admit(policy policyOf) error {
	authorization := c.Header.Values("Authorization")
	if policy == nil && len(authorization) == 0 {
		return nil
	}
	caller, settings, err := c.guard.Admit(c.Context(), c.shop, authorization, c.received)
	if rejected, is := errors.AsType[*access.RejectedKeyError](err); is {
		c.record.keyID = rejected.Key
	}
	if err != nil {
		return err
	}
	c.caller, c.settings, c.record.keyID = caller, settings, caller.Key
	if policy != nil && !policy(settings).Allows(caller) {
		return access.ErrUnauthorized
	}
	return nil
}

// admitShopper is admit for an endpoint that limits shoppers by their address. The shop's server may name the address.
func (c *call) admitShopper(policy policyOf) (err error) {
	if err := c.admit(policy); err != nil {
		return err
	}
	values := c.Header.Values("Shopper-Address")
	if len(values) == 0 || !c.caller.IsServer() { // anybody can send a header
		return nil
	}
	if c.caller.Shopper, err = netip.ParseAddr(strings.Join(values, ",")); err != nil || c.caller.Shopper.Zone() != "" {
		return problemMalformedRequest.because("The Shopper-Address must be sent once, with one IP address.")
	}
	return nil
}

// admitWithoutPolicy admits strangers, too. A request without credentials costs no lookup, so
// the settings are not read.
func (c *call) admitWithoutPolicy() error { return c.admit(nil) }

// anyone is a policy that admits strangers, too. Unlike admitWithoutPolicy, it lets admit read the settings.
func anyone(access.Settings) access.Policy { return access.Anyone }

// admitServer admits only the shop's server, whatever the policies are. A request without credentials costs no lookup.
func (c *call) admitServer() error {
	err := access.ErrUnauthorized
	if len(c.Header.Values("Authorization")) > 0 {
		err = c.admit(nil) // only the shop's server has credentials
	}
	if errors.Is(err, access.ErrUnauthorized) {
		return problemUnauthorized.because("This is for the shop's server. Send Authorization: Bearer KEY with a "+
			"live key of the shop.").
			with("WWW-Authenticate", "Bearer")
	}
	return err
}
