package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shopfront/pkg/access"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/client"
	"shopfront/pkg/csvfile"
	"shopfront/pkg/wire"
)

func newEventsCommand(s *session) *cobra.Command {
	return newGroup("events", "List, follow and forward what happened in a shop",
		newEventsTailCommand(s), newEventsForwardCommand(s), newEventsReplayCommand(s), newEventsListCommand(s),
		newEventsShowCommand(s),
		newEventsParkedCommand(s), newEventsRetryCommand(s), newEventsRebuildCommand(s))
}

const (
	keyVariable = "SHOPFRONT_KEY"
	// eventsKeyName is the name of the keys that the events commands create for themselves. eventsKeyLifetime bounds
	// the life of such a key if it cannot be revoked.
	eventsKeyName     = "shopctl events"
	eventsKeyLifetime = 24 * time.Hour
	revokeTimeout     = 5 * time.Second
	// localPoll is the longest wait between polls of the local run: a developer watches, and requests cost nothing.
	localPoll = 500 * time.Millisecond
)

// feedHelp is the part of a help text that says how to reach a feed.
const feedHelp = `
The command reads the shop's feed over HTTP, as the shop's server does. It needs a key of the shop's server, in
SHOPFRONT_KEY or a --key-file. With --url it needs nothing else, not even an AWS account. If you give no key, --local
and --stack create a key for this run and revoke it at the end. That key expires after a day: a command that runs
longer needs a --key-file or SHOPFRONT_KEY.`

// feed is a shop's feed of events over HTTP.
type feed struct {
	*client.Client

	shop      catalog.ShopID
	baseURL   string
	isOwnKey  bool   // the command created its key
	stateFile string // in which forward stores its progress
}

// feedFlags say how to reach a feed.
type feedFlags struct{ url, keyFile string }

func (f *feedFlags) add(command *cobra.Command) {
	command.Flags().Var(textFlag(&f.url), "url", "the base `URL` of the deployment, instead of --stack or --local")
	command.Flags().Var(textFlag(&f.keyFile), "key-file",
		"read the key of the shop's server from `FILE` (default: "+keyVariable+")")
}

// withFeed opens a shop's feed and passes it to the function do.
func (s *session) withFeed(ctx context.Context, shopID string, flags feedFlags, do func(feed) error) error {
	id, err := parseShop(shopID)
	if err != nil {
		return err
	}
	key, err := s.serverKey(flags.keyFile)
	if err != nil {
		return err
	}
	baseURL, isOwnKey := flags.url, false
	if baseURL == "" {
		deployment, err := s.deployment(ctx)
		if errors.Is(err, errNoTarget) {
			return misused("%s, or --url URL with a key of the shop's server", err)
		}
		if err != nil {
			return err
		}
		baseURL = deployment.BaseURL
		if key == "" {
			created, revoke, err := s.temporaryKey(ctx, deployment, id)
			defer revoke()
			if err != nil {
				return err
			}
			key, isOwnKey = created, true
		}
	}
	switch {
	case flags.url != "" && (s.local || s.stack != ""):
		return misused("--url is a target of its own: give it without --stack and --local")
	case key == "":
		return misused("no key: set %s to a key of the shop's server, or give --key-file", keyVariable)
	case flags.url != "" && checkAddress(flags.url) != nil:
		return misused("--url: %s", checkAddress(flags.url))
	}
	options := []client.Option{
		client.WithServerKey(key),
		client.WithOutageReport(func(cause error) { s.reportOutage(baseURL, cause) }),
	}
	if s.local {
		options = append(options, client.WithLongestPoll(localPoll))
	}
	shop, err := client.New(baseURL, string(id), options...)
	if err != nil {
		return misused("%s", err)
	}
	return do(feed{Client: shop, shop: id, baseURL: baseURL, isOwnKey: isOwnKey})
}

// reportOutage reports why the shop is out of reach or, if cause is nil, that the shop is back.
func (s *session) reportOutage(baseURL string, cause error) {
	if cause == nil {
		s.note(baseURL + " is back")
		return
	}
	s.warn(fmt.Sprintf("waiting for %s: %s", baseURL, cause))
}

// untilInterrupted turns the error of Ctrl-C into nil, because Ctrl-C is the normal end of the command.
func untilInterrupted(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// serverKey returns the key that the user gave, or "".
func (s *session) serverKey(file string) (string, error) {
	if file == "" {
		key, _ := s.lookupEnv(keyVariable)
		return key, nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // the user names the file
	if err != nil {
		return "", misused("--key-file: %s", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// temporaryKey creates a key for this run. revoke must be called even after an error: the key may exist.
func (s *session) temporaryKey(
	ctx context.Context, deployment *backoffice.Deployment, id catalog.ShopID,
) (secret string, revoke func(), err error) {
	shop, err := deployment.Shop(ctx, id)
	if err != nil {
		return "", func() {}, s.describeNoShop(err, id)
	}
	key, _, err := shop.CreateKey(ctx, eventsKeyName, s.now().Add(eventsKeyLifetime), s.random, s.now())
	if errors.Is(err, access.ErrTooManyKeys) {
		err = refused(kindInvalid, "%s: set %s to one of them, or revoke one, see %s", err, keyVariable,
			s.commandLine("key list "+string(id)))
	}
	return key.Secret(), func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeTimeout)
		defer cancel()
		if _, err := shop.RevokeKey(ctx, key.ID, s.now()); err != nil && !errors.Is(err, access.ErrKeyUnknown) {
			s.warn(fmt.Sprintf("key %s of this run was not revoked; it expires within a day: %s", key.ID,
				backoffice.AWSError(err)))
		}
	}, err
}

// checkAddress rejects a URL that is neither https nor on this machine: the requests contain secrets and shoppers'
// names.
func checkAddress(address string) error {
	to, err := url.Parse(address)
	if err != nil || to.Host == "" || to.User != nil {
		return errors.New("must look like https://shop.example/events, without a user")
	}
	ip := net.ParseIP(to.Hostname())
	isLocal := to.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if to.Scheme != "https" && (to.Scheme != "http" || !isLocal) {
		return errors.New("must begin with https://, unless it is on this machine (http://localhost:8080/events)")
	}
	return nil
}

// start returns the cursor to begin at: the given cursor or, if it is nil, the cursor of the newest event. If the feed
// is out of reach, start returns an error, because the command line may be wrong. Later requests wait for the feed
// instead.
func (f feed) start(ctx context.Context, given *client.EventCursor) (client.EventCursor, error) {
	if given == nil {
		newest, err := f.NewestEvent(ctx)
		return newest, f.explain(err)
	}
	_, err := f.EventPage(ctx, *given)
	return *given, f.explain(err)
}

// explain turns an error of the feed into a problem.
func (f feed) explain(err error) error {
	details, _ := errors.AsType[*client.ProblemError](err)
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, client.ErrUnauthorized) && f.isOwnKey:
		return refused(kindInvalid, "%s refuses the key of this run: the local run was started anew, or the key "+
			"expired: run the command again", f.baseURL)
	case errors.Is(err, client.ErrUnauthorized):
		return refused(kindInvalid, "%s refuses the key: give a live key of %s, see shopctl key create --help",
			f.baseURL, f.shop)
	case errors.Is(err, client.ErrCursorExpired):
		expired := refused(kindNotFound,
			"the next events are no longer kept, or the feed was lost and began again: the oldest event that is "+
				"kept is %d",
			details.Earliest+1)
		if f.stateFile != "" {
			expired.next = "to continue, compare your records with the shop's " +
				"(docs/reference/events.md#when-events-were-missed), then run the command once with " +
				"--after 0, which begins the state file " + f.stateFile + " anew"
		}
		return expired
	case errors.Is(err, client.ErrInvalid):
		return refused(kindInvalid, "the feed has no event with that number yet")
	case errors.Is(err, client.ErrWrongBaseURL):
		return failed(kindFailed, "%s has no feed of events: check the URL, and that the deployment's parameter "+
			"Events is on", f.baseURL)
	default:
		return failed(kindUnavailable, "%s: %s", f.baseURL, err)
	}
}

func newEventsTailCommand(s *session) *cobra.Command {
	var flags feedFlags
	var after *client.EventCursor
	command := &cobra.Command{
		Use: "tail SHOP", Short: "Print events as they happen, until Ctrl-C", Args: exactly("SHOP"),
		Long: `Print events as they happen: one line each, or with --json each event as in the feed. Without --after the command
begins with the next event. If the shop is out of reach at the start, the command fails; later it waits, and misses
nothing. Ctrl-C ends it with exit code 0. An event takes a second or two to reach the feed. It is printed up to 15
seconds after that; with --local it is printed at once.
` + feedHelp,
		Example: `  shopctl --local events tail emberforge
  shopctl --local events tail emberforge --after 0 --json`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			return untilInterrupted(s.withFeed(ctx, args[0], flags, func(f feed) error {
				begin, err := f.start(ctx, after)
				if err != nil {
					return err
				}
				s.note(fmt.Sprintf("waiting for events of %s after %d; Ctrl-C ends", f.shop, begin.After))
				for event, err := range f.Events(ctx, begin) {
					if err != nil {
						return f.explain(err)
					}
					if err := s.line(event.Raw, describeEvent(event, about(event))); err != nil {
						return err
					}
				}
				return nil
			}))
		}),
	}
	command.Flags().Var(afterFlag(&after), "after",
		"begin after the event with this sequence `N`; 0 begins with the oldest that is kept")
	flags.add(command)
	return command
}

// afterFlag takes the sequence of an event, or 0.
func afterFlag(value **client.EventCursor) *parsedFlag {
	return &parsedFlag{kind: "N", parse: func(text string) error {
		sequence, err := csvfile.ParseWhole(text, 0)
		*value = &client.EventCursor{After: int64(sequence)}
		return err
	}}
}

// describeEvent returns the line that people see for an event. The line ends with the text more.
func describeEvent(e client.Event, more string) string {
	return fmt.Sprintf("%s  %5d  %-18s  %s", wire.Time(e.Timestamp), e.Sequence, printable(string(e.Type)), more)
}

// about describes the subject of an event for people.
func about(e client.Event) string {
	switch {
	case e.Redemption != nil:
		r := e.Redemption
		return joinCells([]string{r.Code, formatClientReward(r.Reward), r.Nick, r.ID}, "  ")
	case e.Order != nil:
		o := e.Order
		amount := formatAmount(o.Amount, o.Product, o.Variant)
		return joinCells([]string{amount, o.Total.Display, o.Nick, o.Number}, "  ")
	default:
		return printable(string(e.Data))
	}
}

func formatClientReward(r client.Reward) string {
	switch r.Kind {
	case client.RewardProduct:
		return formatAmount(r.Amount, r.Product, r.Variant)
	case client.RewardPercentOff:
		return strconv.Itoa(r.PercentOff) + "% off"
	case client.RewardAmountOff:
		return r.AmountOff.Display + " off"
	case client.RewardBundle:
		return strings.Join(represent(r.Items,
			func(g client.Good) string { return formatAmount(g.Amount, g.Product, g.Variant) }), "+")
	default:
		return string(r.Kind)
	}
}

func formatAmount(amount int64, product, variant string) string {
	text := product + "/" + variant
	if amount != 1 {
		text = strconv.FormatInt(amount, 10) + "*" + text
	}
	return text
}
