package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"shopfront/pkg/access"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

func newKeyCommand(s *session) *cobra.Command {
	return newGroup("key", "Create, list and revoke the secret keys of a shop's server",
		newKeyCreateCommand(s), newKeyListCommand(s), newKeyRevokeCommand(s))
}

type keyJSON struct {
	Shop      string `json:"customer"`
	ID        string `json:"id"`
	Name      string `json:"name"`
	CreatedAt string `json:"createdAt"`
	ExpiresAt string `json:"expiresAt,omitempty"`
	RevokedAt string `json:"revokedAt,omitempty"`
	Status    string `json:"status"`        // live, expired or revoked
	Key       string `json:"key,omitempty"` // only when it is created
}

func (k keyJSON) cells() []string {
	return []string{k.ID, k.Name, k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.Status}
}

func (s *session) representKey(shop *backoffice.Shop, record access.KeyRecord) keyJSON {
	status := "live"
	switch {
	case !record.Revoked.IsZero():
		status = "revoked"
	case !record.Live(s.now()):
		status = "expired"
	}
	return keyJSON{
		Shop: string(shop.Profile.ID), ID: string(record.ID), Name: record.Name,
		CreatedAt: wire.Time(record.Created),
		ExpiresAt: wire.Time(record.Expires), RevokedAt: wire.Time(record.Revoked), Status: status,
	}
}

func newKeyCreateCommand(s *session) *cobra.Command {
	var name string
	var expires moment
	command := &cobra.Command{
		Use: "create SHOP --name NAME", Short: "Create a key and print it once", Args: exactly("SHOP"),
		Long: fmt.Sprintf(`Create a secret key for the shop's own server, which sends it as "Authorization: Bearer KEY". Anybody who has the
key may do everything over HTTP in this shop. The key is printed once, to stdout; only a hash of it is
stored. If you send it to a file, run umask 077 before, so that other users of the computer cannot read the file.
The name is only for your lists: name the program that uses the key, for example. A shop has at most %d live keys.`,
			access.MaxLiveKeys),
		Example: `  shopctl --local key create emberforge --name "web shop"
  shopctl --local key create emberforge --name "web shop" --expires 2027-06-30 > web-shop.key`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			if err := access.CheckKeyName(name); err != nil {
				return misused("--name: %s", err)
			}
			shop, err := s.shop(ctx, args[0])
			if err != nil {
				return err
			}
			end := expires.in(shop.Zone)
			if !end.IsZero() && !end.After(s.now()) {
				return misused("--expires must be in the future")
			}
			return s.createKey(ctx, shop, name, end)
		}),
	}
	command.Flags().StringVar(&name, "name", "",
		fmt.Sprintf("what the key is for, at most %d bytes of `TEXT` (required)", access.MaxKeyNameBytes))
	command.Flags().Var(timeFlag(&expires, voucher.ParseEnd), "expires",
		"the first moment at which the key is refused, or its last day (default never)")
	return command
}

func (s *session) createKey(ctx context.Context, shop *backoffice.Shop, name string, expires time.Time) error {
	key, record, err := shop.CreateKey(ctx, name, expires, s.random, s.now())
	revoke := fmt.Sprintf("revoke it with %s, and create another",
		s.commandLine(fmt.Sprintf("key revoke %s %s", shop.Profile.ID, key.ID)))
	if errors.Is(err, access.ErrTooManyKeys) {
		return refused(kindInvalid, "%s: revoke one that is not in use, see %s", err,
			s.commandLine("key list "+string(shop.Profile.ID)))
	}
	if err != nil {
		stopped := s.explain(err)[0]
		if ctx.Err() != nil || backoffice.IsOutcomeUnknown(err) {
			stopped.next = fmt.Sprintf("key %s may exist, although it was not shown: %s", key.ID, revoke)
		}
		return stopped
	}
	document := s.representKey(shop, record)
	document.Key = key.Secret()
	if err := s.line(document, document.Key); err != nil {
		return failed(kindFailed, "key %s was created, but could not be printed: %s: %s", key.ID, err, revoke)
	}
	s.note(fmt.Sprintf("key %s of %s for %q: store it now, it is shown only once", key.ID, shop.Profile.ID,
		record.Name))
	return nil
}

func newKeyListCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "list SHOP", Short: "List keys, oldest first, without their secrets", Args: exactly("SHOP"),
		Example: "  shopctl --local key list emberforge",
		RunE: s.shopCommand(func(ctx context.Context, shop *backoffice.Shop, _ []string) error {
			records, err := shop.Keys(ctx)
			if err != nil {
				return err
			}
			rows := represent(records, func(r access.KeyRecord) keyJSON { return s.representKey(shop, r) })
			return list(&s.output, "keys", []string{"ID", "NAME", "CREATED", "EXPIRES", "REVOKED", "STATUS"}, rows)
		}),
	}
}

func newKeyRevokeCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "revoke SHOP ID", Short: "Revoke a key for good", Args: exactly("SHOP", "ID"),
		Long: `Revoke a key for good. Within 15 seconds, requests with it get 401. The ID of a key is the ten characters after sf_.
Revoking a key again changes nothing.`,
		Example: "  shopctl --local key revoke emberforge KEY-ID",
		RunE: s.command(func(ctx context.Context, args []string) error {
			id, err := access.ParseKeyID(args[1])
			if err != nil {
				return misused("%s", err)
			}
			shop, err := s.shop(ctx, args[0])
			if err != nil {
				return err
			}
			record, err := shop.RevokeKey(ctx, id, s.now())
			if errors.Is(err, access.ErrKeyUnknown) {
				return refused(kindNotFound, "shop %s has no key %s: see %s", shop.Profile.ID, id,
					s.commandLine("key list "+string(shop.Profile.ID)))
			}
			if err != nil {
				return err
			}
			revoked := fmt.Sprintf("key %s of %s for %q: revoked at %s", id, shop.Profile.ID, record.Name,
				wire.Time(record.Revoked))
			if err := s.line(s.representKey(shop, record), revoked); err != nil {
				return err
			}
			s.note(takesEffect)
			return nil
		}),
	}
}
