package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/client"
	"shopfront/pkg/event"
	"shopfront/pkg/voucher"
	"shopfront/pkg/wire"
)

// events opens the feeds of the deployment.
func (s *session) events(ctx context.Context) (*backoffice.Deployment, *backoffice.Events, error) {
	deployment, err := s.deployment(ctx)
	if err != nil {
		return nil, nil, err
	}
	events, err := deployment.Events(s.now, s.random)
	return deployment, events, err
}

// eventsCommand returns a command's RunE. The function do gets the feeds, and the shop that the first argument names.
func (s *session) eventsCommand(
	do func(ctx context.Context, events *backoffice.Events, shop *backoffice.Shop, args []string) error,
) func(*cobra.Command, []string) error {
	return s.command(func(ctx context.Context, args []string) error {
		id, err := parseShop(args[0])
		if err != nil {
			return err
		}
		deployment, events, err := s.events(ctx)
		if err != nil {
			return err
		}
		shop, err := deployment.Shop(ctx, id)
		if err != nil {
			return s.describeNoShop(err, id)
		}
		return do(ctx, events, shop, args)
	})
}

func newEventsListCommand(s *session) *cobra.Command {
	var after *client.EventCursor
	var period period
	var kind event.Type
	var limit int
	command := &cobra.Command{
		Use: "list SHOP", Short: "List recorded events, in sequence", Args: exactly("SHOP"),
		Long: `List the events that are kept, in sequence: one line each, or with --json each event as in the feed. The command reads the
tables. Events are in the order in which they were recorded, so a later line can have an earlier time.`,
		Example: `  shopctl --local events list emberforge --since 24h
  shopctl --local events list emberforge --after 0 --type order.created --json`,
		PreRunE: func(*cobra.Command, []string) error {
			if after != nil && period.since != nil {
				return errors.New("give --after or --since, not both")
			}
			return nil
		},
		RunE: s.eventsCommand(func(ctx context.Context, events *backoffice.Events, shop *backoffice.Shop,
			_ []string,
		) error {
			since, until, err := period.in(shop.Zone)
			if err != nil {
				return err
			}
			cursor := event.Cursor{After: event.FromOldest}
			switch {
			case after != nil && after.After > 0:
				cursor.After = after.After
			case !since.IsZero():
				if cursor, err = events.Since(ctx, shop.Profile.ID, since); err != nil {
					return err
				}
			}
			wanted := func(e event.Event) bool {
				return !e.At.Before(since) && (until.IsZero() || e.At.Before(until)) && (kind == "" || e.Type == kind)
			}
			return s.listEvents(ctx, events.Feed, shop.Profile.ID, cursor, wanted, limit)
		}),
	}
	flags := command.Flags()
	flags.Var(afterFlag(&after), "after",
		"begin after the event with this sequence `N`; 0 begins with the oldest that is kept")
	period.add(command, s, "only events")
	addChoice(command, &kind, "type", "only events of this `TYPE`: "+alternatives(event.Types()), event.Types()...)
	flags.Var(numberFlag(&limit, 1), "limit", "print at most `N` events")
	return command
}

// listEvents prints at most limit wanted events after a cursor. A limit of 0 means no limit.
func (s *session) listEvents(
	ctx context.Context, feed event.Feed, shop catalog.ShopID, cursor event.Cursor,
	wanted func(event.Event) bool, limit int,
) error {
	printed := 0
	for more := true; more; {
		page, err := feed.Read(ctx, shop, cursor, event.MaxPerPage)
		if err != nil {
			return describeCursor(err)
		}
		for _, e := range page.Events {
			if !wanted(e) {
				continue
			}
			if err := s.printEvent(e); err != nil {
				return err
			}
			if printed++; printed == limit {
				return nil
			}
		}
		cursor, more = event.Cursor{After: page.Next, Feed: page.Feed}, page.More
	}
	if printed == 0 {
		s.note("no events")
	}
	return nil
}

// printEvent prints an event as tail does.
func (s *session) printEvent(e event.Event) error {
	text, err := wire.Encode(e)
	if err != nil {
		return err
	}
	var read client.Event
	if err := json.Unmarshal(text, &read); err != nil {
		return fmt.Errorf("event %d: %w", e.Sequence, err)
	}
	return s.line(read.Raw, describeEvent(read, about(read)))
}

func describeCursor(err error) error {
	if expired, is := errors.AsType[*event.ExpiredError](err); is {
		return refused(kindNotFound, "%s: give --after %d, or neither --after nor --since", expired, expired.Earliest)
	}
	if errors.Is(err, event.ErrBeyond) {
		return refused(kindInvalid, "--after: %s", err)
	}
	return err
}

func newEventsShowCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show SHOP ID", Short: "Show an event by its ID", Args: exactly("SHOP", "ID"),
		Long: "Show a stored event, for example one whose ID a shop's server has logged. The output lacks the " +
			"event's sequence number.",
		Example: "  shopctl --local events show emberforge ID",
		RunE: s.eventsCommand(func(ctx context.Context, events *backoffice.Events, shop *backoffice.Shop,
			args []string,
		) error {
			listJSON := s.commandLine("events list " + string(shop.Profile.ID) + " --json")
			id, err := voucher.ParseRedemptionID(args[1]) // an event ID has the same form
			if err != nil {
				return misused("ID: an event ID has 22 characters of A-Z a-z 0-9 _ -: %s shows the IDs of events",
					listJSON)
			}
			e, found, err := events.Find(ctx, shop, event.ID(id))
			if err != nil {
				return err
			}
			if !found {
				return refused(kindNotFound, "shop %s has no event %s, or it is no longer kept: %s shows the "+
					"IDs of events", shop.Profile.ID, id, listJSON)
			}
			return s.document(e, []field{
				{"ID", string(e.ID)}, {"type", string(e.Type)}, {"time", wire.Time(e.At)}, {"data", string(e.Data)},
			})
		}),
	}
}

// parkedJSON is a change that could not be recorded and was set aside.
type parkedJSON struct {
	Place    string `json:"place"`
	Shop     string `json:"customer,omitempty"`
	Since    string `json:"since"`
	Attempts int    `json:"attempts"`
	Reason   string `json:"reason"`
}

func (p parkedJSON) cells() []string {
	return []string{p.Since, strconv.Itoa(p.Attempts), p.Place, p.Reason}
}

func representParked(p event.Parked) parkedJSON {
	return parkedJSON{placeOf(p), string(p.Shop), wire.Time(p.First), p.Attempts, p.Reason}
}

func placeOf(p event.Parked) string {
	return strings.Join([]string{p.Place.Table, p.Place.Partition, p.Place.Sort}, "/")
}

func newEventsParkedCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "parked [SHOP]", Short: "List changes that were set aside, because they could not be recorded as events",
		Args: optional("SHOP"),
		Long: `List changes of vouchers and checkouts that could not be recorded as events and were set aside, with the place of the
changed item and the reason. Shopfront retries them every minute; shopctl events retry does so at once. If a shop has
more than 10,000 changes, the command lists only the first.`,
		Example: "  shopctl --local events parked\n  shopctl --local events parked emberforge --json",
		RunE: s.command(func(ctx context.Context, args []string) error {
			shop, err := optionalShop(args)
			if err != nil {
				return err
			}
			deployment, events, err := s.events(ctx)
			if err != nil {
				return err
			}
			if shop != "" {
				if _, err := deployment.Shop(ctx, shop); err != nil {
					return s.describeNoShop(err, shop)
				}
			}
			parked, err := parkedOf(ctx, events.Parking, shop)
			if err != nil {
				return err
			}
			rows := []parkedJSON{}
			for _, p := range parked {
				rows = append(rows, representParked(p))
			}
			return list(&s.output, "changes set aside", []string{"SINCE", "ATTEMPTS", "PLACE", "REASON"}, rows)
		}),
	}
}

// parkedOf returns the changes of a shop that are set aside, or of all shops if its ID is empty.
func parkedOf(
	ctx context.Context, parking event.Parking, shopID catalog.ShopID,
) (parked []event.Parked, err error) {
	shops := []catalog.ShopID{shopID}
	if shopID == "" {
		if shops, err = parking.Shops(ctx); err != nil {
			return nil, err
		}
	}
	for _, shop := range shops {
		of, err := parking.Parked(ctx, shop)
		if err != nil {
			return nil, err
		}
		parked = append(parked, of...)
	}
	return parked, nil
}

func newEventsRetryCommand(s *session) *cobra.Command {
	var forget string
	command := &cobra.Command{
		Use: "retry", Short: "Record the changes that were set aside", Args: exactly(),
		Long: `Try again to record all changes that were set aside, from the items as they are now. Changes that fail again stay set
aside. With --forget the command drops one change instead, and its event never appears. Do so only if you cannot repair
the item.`,
		Example: "  shopctl --local events retry\n  shopctl --local events retry --forget PLACE",
		RunE: s.command(func(ctx context.Context, _ []string) error {
			_, events, err := s.events(ctx)
			if err != nil {
				return err
			}
			if forget != "" {
				return s.forget(ctx, events.Parking, forget)
			}
			outcome := events.Retry(ctx)
			if outcome.Err != nil && outcome.Parked == 0 {
				return outcome.Err
			}
			if err := s.document(map[string]int{"recorded": outcome.Recorded, "parked": outcome.Parked}, []field{
				{"recorded", strconv.Itoa(outcome.Recorded)}, {"still set aside", strconv.Itoa(outcome.Parked)},
			}); err != nil {
				return err
			}
			if outcome.Parked > 0 {
				return failed(kindFailed, "%s could not be recorded: %s shows why", countOf(outcome.Parked, "change"),
					s.commandLine("events parked"))
			}
			return nil
		}),
	}
	command.Flags().Var(textFlag(&forget), "forget", "drop the change at `PLACE`, as events parked shows it")
	return command
}

func (s *session) forget(ctx context.Context, parking event.Parking, place string) error {
	parked, err := parkedOf(ctx, parking, "")
	if err != nil {
		return err
	}
	for _, p := range parked {
		if placeOf(p) != place {
			continue
		}
		kept, err := parking.Release(ctx, p)
		if err != nil {
			return err
		}
		if kept > 0 {
			return failed(kindFailed, "the change at %s was set aside again meanwhile: run the command again",
				strconv.QuoteToGraphic(place))
		}
		s.note("forgotten: " + printable(place))
		return nil
	}
	return refused(kindNotFound, "no change is set aside at %s: see %s", strconv.QuoteToGraphic(place),
		s.commandLine("events parked"))
}

// rebuiltJSON is the result of a rebuild. It has Added for a feed, and Indexed for the index of nicks.
type rebuiltJSON struct {
	Shop    string `json:"customer"`
	Added   *int   `json:"added,omitempty"`
	Indexed *int   `json:"indexed,omitempty"`
	Unread  int    `json:"unread"` // the number of items that cannot be read
}

func newEventsRebuildCommand(s *session) *cobra.Command {
	var period period
	var nicks bool
	command := &cobra.Command{
		Use: "rebuild SHOP", Short: "Add the events that a feed lacks", Args: exactly("SHOP"),
		Long: `Read all vouchers, redemptions and orders of a shop, and append the events that the feed lacks, earliest first. An
event always has the same ID. Use this for redemptions and orders from a time when events were off, and for events that
were lost in an outage of many hours, or together with the table of events. Without --since the command goes back as
far as events are kept. An earlier --since can add events again that have expired.

With --nicks the command leaves the feed as it is. It adds all redemptions with a nick to the index that shopctl
redemption list --nick reads.

The output shows how many events were added (or how many redemptions are indexed now), and how many items are unread,
because they are damaged. If any are, the command adds the rest and ends with exit code 1.

The shop can stay live. If the command is interrupted, run it again to complete it. A further run adds nothing.`,
		Example: "  shopctl --local events rebuild emberforge\n  shopctl --local events rebuild emberforge --since " +
			"2026-01-01\n" +
			"  shopctl --local events rebuild emberforge --nicks",
		PreRunE: func(*cobra.Command, []string) error {
			if nicks && period.since != nil {
				return errors.New("give --since or --nicks, not both")
			}
			return nil
		},
		RunE: s.eventsCommand(func(ctx context.Context, events *backoffice.Events, shop *backoffice.Shop,
			_ []string,
		) error {
			bar := s.newProgress("rebuilt", unknownCount)
			var result backoffice.Rebuilt
			var err error
			document, count := rebuiltJSON{Shop: string(shop.Profile.ID)}, "added"
			if nicks {
				result, err = events.RebuildNicks(ctx, shop, bar.steps)
				document.Indexed, count = &result.Added, "indexed"
			} else {
				result, err = events.Rebuild(ctx, shop,
					backoffice.Rebuilding{From: period.since.in(shop.Zone), Progress: bar.steps})
				document.Added = &result.Added
			}
			bar.end()
			if err != nil {
				return err
			}
			document.Unread = result.Unread
			if err := s.document(document,
				[]field{{count, strconv.Itoa(result.Added)}, {"unread", strconv.Itoa(result.Unread)}}); err != nil {
				return err
			}
			if result.Unread > 0 {
				return failed(kindFailed, "%s cannot be read: see %s", countOf(result.Unread, "item"),
					s.commandLine("verify "+string(shop.Profile.ID)))
			}
			return nil
		}),
	}
	command.Flags().BoolVar(&nicks, "nicks", false, "index redemptions by nick instead")
	period.addSince(command, s, "add what happened")
	return command
}
