package client_test

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"shopfront/pkg/client"
)

const (
	webhookSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	oldSecret     = "whsec_b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQtb2xkLW9sZCE="
)

// signed returns the headers that the reference library of Standard Webhooks makes for a body.
func signed(t *testing.T, secret, id string, at time.Time, body string) http.Header {
	t.Helper()
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := signer.Sign(id, at, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	header.Set(standardwebhooks.HeaderWebhookID, id)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return header
}

func TestVerifyWebhook(t *testing.T) {
	now := time.Date(2026, time.November, 22, 1, 36, 0, 0, time.UTC)
	body := redeemedEvent(1047)
	const id = "MTCXgwWFAhhCzmYLdeg-1047"
	both := signed(t, oldSecret, id, now, body)
	both.Set("Webhook-Signature", signed(t, webhookSecret, id, now, body).Get("Webhook-Signature")+" "+
		both.Get("Webhook-Signature"))
	with := func(name, value string) http.Header {
		header := signed(t, webhookSecret, id, now, body)
		header.Set(name, value)
		return header
	}
	signature := with("", "").Get("Webhook-Signature")
	for name, test := range map[string]struct {
		secrets []string
		header  http.Header
		body    string
		is      error
	}{
		"signed": {[]string{webhookSecret}, signed(t, webhookSecret, id, now, body), body, nil},
		"signed by the second secret": {
			[]string{webhookSecret, oldSecret},
			signed(t, oldSecret, id, now, body),
			body, nil,
		},
		"one of two signatures is known": {[]string{oldSecret}, both, body, nil},
		"a second, unknown signature": {
			[]string{webhookSecret},
			with("Webhook-Signature", "v2,AAAA "+signature),
			body, nil,
		},
		"five minutes old": {
			[]string{webhookSecret},
			signed(t, webhookSecret, id, now.Add(-5*time.Minute), body), body, nil,
		},
		"five minutes ahead": {
			[]string{webhookSecret},
			signed(t, webhookSecret, id, now.Add(5*time.Minute), body), body, nil,
		},
		"over five minutes old": {
			[]string{webhookSecret},
			signed(t, webhookSecret, id, now.Add(-301*time.Second), body), body, client.ErrWebhookRefused,
		},
		"over five minutes ahead": {
			[]string{webhookSecret},
			signed(t, webhookSecret, id, now.Add(301*time.Second), body), body, client.ErrWebhookRefused,
		},
		"another time than was signed": {
			[]string{webhookSecret},
			with("Webhook-Timestamp", strconv.FormatInt(now.Unix()+1, 10)), body, client.ErrWebhookRefused,
		},
		"no time": {
			[]string{webhookSecret},
			with("Webhook-Timestamp", ""), body,
			client.ErrWebhookRefused,
		},
		"a time far in the past": {
			[]string{webhookSecret},
			with("Webhook-Timestamp", "-9223372036854775808"),
			body, client.ErrWebhookRefused,
		},
		"another ID than was signed": {
			[]string{webhookSecret},
			with("Webhook-Id", "MTCXgwWFAhhCzmYLdeg-1048"),
			body, client.ErrWebhookRefused,
		},
		"no ID": {
			[]string{webhookSecret},
			signed(t, webhookSecret, "", now, body), body,
			client.ErrWebhookRefused,
		},
		"another body than was signed": {
			[]string{webhookSecret},
			with("", ""),
			strings.Replace(body, "Alder", "Heron", 1), client.ErrWebhookRefused,
		},
		"no signature": {
			[]string{webhookSecret},
			with("Webhook-Signature", ""), body,
			client.ErrWebhookRefused,
		},
		"a signature of another kind": {
			[]string{webhookSecret},
			with("Webhook-Signature", "v1a"+signature[2:]),
			body, client.ErrWebhookRefused,
		},
		"a part of the signature": {
			[]string{webhookSecret},
			with("Webhook-Signature", signature[:len(signature)-1]), body, client.ErrWebhookRefused,
		},
		"no secret":      {nil, with("", ""), body, client.ErrWebhookRefused},
		"another secret": {[]string{oldSecret}, with("", ""), body, client.ErrWebhookRefused},
		"signed, but not an event": {
			[]string{webhookSecret},
			signed(t, webhookSecret, id, now, `{"test":2432232314}`), `{"test":2432232314}`, client.ErrWebhookRefused,
		},
		"a secret without its beginning": {[]string{webhookSecret[6:]}, with("", ""), body, client.ErrMalformedSecret},
		"a secret that is too short":     {[]string{"whsec_AAAA"}, with("", ""), body, client.ErrMalformedSecret},
		"a secret that is too long": {
			[]string{"whsec_" + strings.Repeat("AAAA", 22)},
			with("", ""), body,
			client.ErrMalformedSecret,
		},
		"a secret that is not base64": {
			[]string{strings.Replace(webhookSecret, "M", "*", 1)},
			with("", ""), body,
			client.ErrMalformedSecret,
		},
		"an empty second secret": {[]string{webhookSecret, ""}, with("", ""), body, client.ErrMalformedSecret},
	} {
		t.Run(name, func(t *testing.T) {
			event, err := client.VerifyWebhook(test.secrets, test.header, []byte(test.body), now)
			if !errors.Is(err, test.is) {
				t.Fatalf("%v, want %v", err, test.is)
			}
			if isEvent := event.ID == id && event.Sequence == 1047 && event.Redemption != nil &&
				string(event.Raw) == body; isEvent != (err == nil) {
				t.Errorf("%+v", event)
			}
			if err != nil {
				wantNoSecrets(t, err)
			}
		})
	}
	if strings.Count(both.Get("Webhook-Signature"), " ") != 1 || slices.Contains(both["Webhook-Signature"], signature) {
		t.Error("the test has no header with two signatures")
	}
}
