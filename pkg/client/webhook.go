package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// WebhookTolerance is how far the time of a webhook may be from the receiver's clock.
const WebhookTolerance = 5 * time.Minute

// Errors of VerifyWebhook.
var (
	// ErrMalformedSecret rejects a secret. A secret is whsec_ followed by 24 to 64 bytes in base64, as `shopctl events
	// forward --new-secret` prints it.
	ErrMalformedSecret = errors.New("malformed webhook secret")
	// ErrWebhookRefused means that the sender did not have the secret, that the time of the webhook is more than
	// WebhookTolerance away, or that the body is not an event. Respond with status 400.
	ErrWebhookRefused = errors.New("webhook refused")
)

// VerifyWebhook verifies a request of `shopctl events forward`, which follows https://www.standardwebhooks.com. It
// returns the event if at least one signature was made with one of the secrets. While you replace a secret, pass the
// old one and the new one. body is the body as it was received, byte for byte. The Event's Shop is the shop.
//
// The sender posts an event again until it gets a response with status 2xx. So apply an event once for each ID, and
// only then respond. The errors are ErrMalformedSecret and ErrWebhookRefused.
func VerifyWebhook(secrets []string, header http.Header, body []byte, now time.Time) (Event, error) {
	id, signedAt := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(signedAt, 10, 64)
	if age := now.Sub(time.Unix(seconds, 0)).Abs(); err != nil || age > WebhookTolerance {
		return Event{}, fmt.Errorf("%w: the time is malformed or more than %v from now", ErrWebhookRefused,
			WebhookTolerance)
	}
	isSigned := false
	for _, secret := range secrets {
		key, err := readWebhookSecret(secret)
		if err != nil {
			return Event{}, err
		}
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(id + "." + signedAt + "." + string(body))) // a hash cannot fail
		wanted := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for signature := range strings.FieldsSeq(header.Get("Webhook-Signature")) {
			isSigned = hmac.Equal([]byte(signature), wanted) || isSigned
		}
	}
	if !isSigned || id == "" {
		return Event{}, fmt.Errorf("%w: no signature was made with the secret", ErrWebhookRefused)
	}
	var event Event
	if err := json.Unmarshal(body, &event); err != nil {
		return Event{}, fmt.Errorf("%w: the body is not an event", ErrWebhookRefused)
	}
	return event, nil
}

func readWebhookSecret(secret string) ([]byte, error) {
	text, isSecret := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if !isSecret || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, ErrMalformedSecret
	}
	return key, nil
}
