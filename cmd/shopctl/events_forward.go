package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"shopfront/pkg/client"
)

const (
	webhookSecretVariable = "SHOPFRONT_WEBHOOK_SECRET" //nolint:gosec // the name of a variable
	webhookSecretPrefix   = "whsec_"
	receiverTimeout       = 15 * time.Second
	// The delay before an event is posted again doubles from the first to the longest.
	firstPostDelay   = time.Second
	longestPostDelay = 5 * time.Minute
)

// postHelp is the part of a help text that describes the requests to the receiver.
const postHelp = `
The body of a request is one event, as in the feed. Its signature follows https://www.standardwebhooks.com, with the
secret in SHOPFRONT_WEBHOOK_SECRET; pkg/client and the libraries of Standard Webhooks verify it. URL must be https,
unless it is on this machine. The receiver has 15 seconds to respond. Status 2xx is success, and a redirect is not
followed. After 410 the command ends. After any other response, or none, it posts the same event again: first after
1 second, then after twice as long each time, up to 5 minutes. It waits longer if the response has a Retry-After in
seconds, also up to 5 minutes. It never skips an event. An event can arrive twice: skip an event whose webhook-id you
have already applied.`

func newEventsForwardCommand(s *session) *cobra.Command {
	var flags feedFlags
	var after *client.EventCursor
	var stateFile string
	var newSecret bool
	command := &cobra.Command{
		Use: "forward SHOP URL", Short: "Post events to a web server as they happen, until Ctrl-C",
		Args: func(command *cobra.Command, args []string) error {
			if newSecret {
				return exactly()(command, args)
			}
			return exactly("SHOP", "URL")(command, args)
		},
		Long: `Post each event to a web server of the shop, in sequence. The first run begins with the next event. Every later run
with the same deployment, shop and URL continues where the last one stopped, so no event is missed. To begin
elsewhere, give --after. If the shop is out of reach at the start, the command fails; later it waits. Ctrl-C ends it
with exit code 0.
` + postHelp + "\n" + feedHelp,
		Example: `  shopctl events forward --new-secret
  shopctl --local events forward emberforge http://localhost:8080/events
  shopctl --local events forward emberforge http://localhost:8080/events --after 0 --state events.json`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			if newSecret {
				return s.printNewSecret()
			}
			p, err := s.newPoster(args[1])
			if err != nil {
				return err
			}
			return untilInterrupted(s.withFeed(ctx, args[0], flags, func(f feed) error {
				if f.stateFile = stateFile; stateFile == "" {
					if f.stateFile, err = s.defaultStateFile(f, args[1]); err != nil {
						return err
					}
				}
				return p.forward(ctx, f, after)
			}))
		}),
	}
	command.Flags().Var(afterFlag(&after), "after",
		"begin after the event with this sequence `N`; 0 begins with the oldest that is kept")
	command.Flags().Var(textFlag(&stateFile), "state",
		"store the progress in `FILE` (default: one file for each deployment, shop and URL\nin "+
			"$XDG_STATE_HOME/shopfront or ~/.local/state/shopfront)")
	command.Flags().BoolVar(&newSecret, "new-secret", false,
		"print a new secret for "+webhookSecretVariable+", and end")
	flags.add(command)
	return command
}

func newEventsReplayCommand(s *session) *cobra.Command {
	var flags feedFlags
	var from, to int
	var period period
	command := &cobra.Command{
		Use: "replay SHOP URL", Short: "Post earlier events again, and end", Args: exactly("SHOP", "URL"),
		Long: `Post events to a web server again, in sequence. The command ends after the newest event, or after the event --to.
It does not change where forward continues. With --since it reads the whole feed and posts the events that happened at
that time or later; a date is in UTC.
` + postHelp + "\n" + feedHelp,
		Example: `  shopctl --local events replay emberforge http://localhost:8080/events --from 1
  shopctl --local events replay emberforge http://localhost:8080/events --since 24h --to 200`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			switch {
			case (from == 0) == (period.since == nil):
				return misused("give either --from or --since")
			case to != 0 && to < from:
				return misused("--to must not be below --from")
			}
			p, err := s.newPoster(args[1])
			if err != nil {
				return err
			}
			return s.withFeed(ctx, args[0], flags, func(f feed) error {
				// the feed does not say which time zone the shop has
				return p.replay(ctx, f, int64(from), period.since.in(time.UTC), int64(to))
			})
		}),
	}
	command.Flags().Var(numberFlag(&from, 1), "from", "the sequence `N` of the first event")
	period.addSince(command, s, "only events")
	command.Flags().Var(numberFlag(&to, 1), "to", "the sequence `N` of the last event (default: the newest)")
	flags.add(command)
	return command
}

func (s *session) printNewSecret() error {
	var secret [32]byte
	if _, err := io.ReadFull(s.random, secret[:]); err != nil {
		return fmt.Errorf("read randomness: %w", err)
	}
	text := webhookSecretPrefix + base64.StdEncoding.EncodeToString(secret[:])
	if err := s.line(map[string]string{"secret": text}, text); err != nil {
		return err
	}
	s.note("give it to the receiver, and to shopctl in " + webhookSecretVariable)
	return nil
}

// poster posts events to a receiver.
type poster struct {
	*session

	to     string
	signer *standardwebhooks.Webhook
	http   *http.Client
}

func (s *session) newPoster(to string) (*poster, error) {
	if err := checkAddress(to); err != nil {
		return nil, misused("URL %s", err)
	}
	secret, _ := s.lookupEnv(webhookSecretVariable)
	text, isSecret := strings.CutPrefix(secret, webhookSecretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !isSecret || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, misused("%s must be the receiver's secret, %s followed by 24 to 64 bytes in base64: shopctl "+
			"events forward --new-secret prints a new one",
			webhookSecretVariable, webhookSecretPrefix)
	}
	signer, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		return nil, err
	}
	return &poster{session: s, to: to, signer: signer, http: &http.Client{
		Timeout:       receiverTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// forward posts events as they happen. It stores its progress before the first event and after each one, so that the
// next run misses nothing.
func (p *poster) forward(ctx context.Context, f feed, after *client.EventCursor) error {
	lock := flock.New(f.stateFile + ".lock")
	locked, err := lock.TryLock()
	if err != nil {
		return failed(kindFailed, "state file: %s", err)
	}
	if !locked {
		return failed(kindFailed, "another forward of this shop and URL is running: it stores its progress in %s",
			f.stateFile)
	}
	// the lock file is not deleted: otherwise two processes could lock different files
	defer func() { _ = lock.Unlock() }()
	if after == nil {
		stored, err := readState(f.stateFile)
		if err != nil {
			return err
		}
		after = stored
	}
	begin, err := f.start(ctx, after)
	if err != nil {
		return err
	}
	if err := writeState(f.stateFile, begin); err != nil {
		return err
	}
	p.note(fmt.Sprintf("posting events of %s after %d; progress is stored in %s; Ctrl-C ends", f.shop, begin.After,
		f.stateFile))
	for event, err := range f.Events(ctx, begin) {
		if err != nil {
			return f.explain(err)
		}
		if err := p.deliver(ctx, event, fmt.Sprintf("--after %d", event.Sequence)); err != nil {
			return err
		}
		if err := writeState(f.stateFile, event.Cursor()); err != nil {
			return err
		}
	}
	return nil
}

// replay posts earlier events. The parameters from and to are the sequences of the first and the last event, and since
// is the time of the earliest event. A zero value sets no bound.
func (p *poster) replay(ctx context.Context, f feed, from int64, since time.Time, to int64) error {
	posted, last := 0, max(from, 1)-1
	for event, err := range f.existing(ctx, client.EventCursor{After: last}) {
		if err == nil && from > 0 && event.Sequence != last+1 {
			err = refused(kindNotFound, "event %d is no longer kept: the oldest event that is kept is %d", from,
				event.Sequence)
		}
		if err == nil && to > 0 && event.Sequence > to {
			break
		}
		if err == nil && !event.Timestamp.Before(since) {
			err = p.deliver(ctx, event, fmt.Sprintf("--from %d", event.Sequence+1))
			posted++
		}
		if errors.Is(err, context.Canceled) {
			return &problem{
				exitInterrupted, kindInterrupted, "interrupted",
				fmt.Sprintf("to continue, run the command with --from %d", last+1),
			}
		}
		if err != nil {
			return err
		}
		last = event.Sequence
	}
	p.summary(map[string]int{"posted": posted}, "posted "+countOf(posted, "event"))
	return nil
}

// existing iterates over the events after a cursor, up to the newest event.
func (f feed) existing(ctx context.Context, after client.EventCursor) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		page := client.EventPage{Next: after}
		for page.PollAfter == 0 {
			var err error
			if page, err = f.EventPage(ctx, page.Next); err != nil {
				yield(client.Event{}, f.explain(err))
				return
			}
			for _, event := range page.Events {
				if !yield(event, nil) {
					return
				}
			}
		}
	}
}

// forwardedJSON is an event that the receiver accepted.
type forwardedJSON struct {
	Sequence int64            `json:"sequence"`
	ID       string           `json:"id"`
	Type     client.EventType `json:"type"`
	Status   int              `json:"status"` // of the receiver's response
}

// deliver posts an event until the receiver accepts it. It returns an error if the receiver wants no more events. The
// parameter skip is the flag with which the user can skip the event.
func (p *poster) deliver(ctx context.Context, event client.Event, skip string) error {
	for delay := firstPostDelay; ; delay = min(2*delay, longestPostDelay) {
		status, retryAfter, err := p.post(ctx, event)
		switch {
		case ctx.Err() != nil && err != nil:
			return ctx.Err()
		case err != nil:
		case status == http.StatusGone:
			return failed(kindFailed, "the receiver wants no more events: it responded to event %d with 410",
				event.Sequence)
		case status >= http.StatusOK && status < http.StatusMultipleChoices:
			return p.line(forwardedJSON{event.Sequence, event.ID, event.Type, status},
				describeEvent(event, event.ID+"  "+strconv.Itoa(status)))
		default:
			err = fmt.Errorf("the receiver responded with status %d", status)
		}
		pause := max(delay, min(retryAfter, longestPostDelay))
		p.warn(fmt.Sprintf("event %d %s: %s: posting it again in %s (to skip it, press Ctrl-C and run the command "+
			"with %s)",
			event.Sequence, event.ID, err, pause, skip))
		if err := p.sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// post posts an event once. It returns the status of the response, and how long the receiver asks to wait. Its errors
// do not contain the URL, which may contain a secret.
func (p *poster) post(ctx context.Context, event client.Event) (status int, retryAfter time.Duration, err error) {
	at := p.now()
	signature, err := p.signer.Sign(event.ID, at, event.Raw)
	if err != nil {
		return 0, 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.to, bytes.NewReader(event.Raw))
	if err != nil {
		return 0, 0, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "shopctl", standardwebhooks.HeaderWebhookID: event.ID,
		standardwebhooks.HeaderWebhookTimestamp: strconv.FormatInt(at.Unix(), 10),
		standardwebhooks.HeaderWebhookSignature: signature,
	} {
		request.Header.Set(name, value)
	}
	response, err := p.http.Do(request)
	if wrapped, is := errors.AsType[*url.Error](err); is {
		err = fmt.Errorf("no response: %w", wrapped.Err)
	}
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	// read, so that the connection can be used again
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
	seconds, _ := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 32) // 0 without a number
	return response.StatusCode, time.Duration(seconds) * time.Second, nil
}

// defaultStateFile returns the file in which forward stores its progress without --state. It creates the directory.
func (s *session) defaultStateFile(f feed, to string) (string, error) {
	dir, _ := s.lookupEnv("XDG_STATE_HOME")
	if home, _ := s.lookupEnv("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".local", "state")
	}
	if !filepath.IsAbs(dir) {
		return "", misused("--state is missing, and neither XDG_STATE_HOME nor HOME is an absolute path")
	}
	route := sha256.Sum256([]byte(strings.TrimRight(f.baseURL, "/") + " " + to))
	dir = filepath.Join(dir, "shopfront")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", failed(kindFailed, "state file: %s", err)
	}
	return filepath.Join(dir, fmt.Sprintf("forward-%s-%x.json", f.shop, route[:6])), nil
}

// readState returns the cursor that writeState stored, or nil.
func readState(path string) (*client.EventCursor, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the user names the file
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // nothing was stored yet
	}
	var stored client.EventCursor
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if err != nil {
		return nil, failed(kindFailed, "state file %s: %s: correct it, or give --after", path, err)
	}
	return &stored, nil
}

// writeState stores a cursor completely or not at all, even if the machine crashes.
func writeState(path string, cursor client.EventCursor) error {
	file, err := newWholeFile(path)
	if err == nil {
		err = file.end(writeJSON(file, cursor))
	}
	if err != nil {
		return failed(kindFailed, "state file: %s", err)
	}
	return nil
}
