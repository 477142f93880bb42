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
	valid, byOld := with("", ""), signed(t, oldSecret, id, now, body)
	signature := valid.Get("Webhook-Signature")
	later := strconv.FormatInt(now.Unix()+1, 10)
	at := func(age time.Duration) http.Header { return signed(t, webhookSecret, id, now.Add(-age), body) }
	known, refused, malformed := []string{webhookSecret}, client.ErrWebhookRefused, client.ErrMalformedSecret
	const ping = `{"test":2432232314}`
	for name, test := range map[string]struct {
		secrets []string
		header  http.Header
		body    string
		is      error
	}{
		"signed":                         {known, valid, body, nil},
		"signed by the second secret":    {[]string{webhookSecret, oldSecret}, byOld, body, nil},
		"one of two signatures is known": {[]string{oldSecret}, both, body, nil},
		"a second, unknown signature":    {known, with("Webhook-Signature", "v2,AAAA "+signature), body, nil},
		"five minutes old":               {known, at(5 * time.Minute), body, nil},
		"five minutes ahead":             {known, at(-5 * time.Minute), body, nil},

		"over five minutes old":        {known, at(301 * time.Second), body, refused},
		"over five minutes ahead":      {known, at(-301 * time.Second), body, refused},
		"another time than was signed": {known, with("Webhook-Timestamp", later), body, refused},
		"no time":                      {known, with("Webhook-Timestamp", ""), body, refused},
		"a time far in the past":       {known, with("Webhook-Timestamp", "-9223372036854775808"), body, refused},
		"another ID than was signed":   {known, with("Webhook-Id", "MTCXgwWFAhhCzmYLdeg-1048"), body, refused},
		"no ID":                        {known, signed(t, webhookSecret, "", now, body), body, refused},
		"another body than was signed": {known, valid, strings.Replace(body, "Alder", "Heron", 1), refused},
		"no signature":                 {known, with("Webhook-Signature", ""), body, refused},
		"a signature of another kind":  {known, with("Webhook-Signature", "v1a"+signature[2:]), body, refused},
		"a part of the signature":      {known, with("Webhook-Signature", signature[:len(signature)-1]), body, refused},
		"no secret":                    {nil, valid, body, refused},
		"another secret":               {[]string{oldSecret}, valid, body, refused},
		"signed, but not an event":     {known, signed(t, webhookSecret, id, now, ping), ping, refused},

		"a secret without its beginning": {[]string{webhookSecret[6:]}, valid, body, malformed},
		"a secret that is too short":     {[]string{"whsec_AAAA"}, valid, body, malformed},
		"a secret that is too long":      {[]string{"whsec_" + strings.Repeat("AAAA", 22)}, valid, body, malformed},
		"a secret that is not base64":    {[]string{strings.Replace(webhookSecret, "M", "*", 1)}, valid, body, malformed},
		"an empty second secret":         {[]string{webhookSecret, ""}, valid, body, malformed},
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
