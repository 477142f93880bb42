package dynamo_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// late is a network that holds back the first call of an operation until deliver is called. The caller sees a cut connection.
type late struct {
	operation string
	once      sync.Once
	held      *http.Request
}

func (l *late) Do(r *http.Request) (*http.Response, error) {
	var err error
	if r.Header.Get("X-Amz-Target") == "DynamoDB_20120810."+l.operation {
		l.once.Do(func() {
			var body []byte
			if body, err = io.ReadAll(r.Body); err == nil {
				l.held = r.Clone(r.Context())
				l.held.Body = io.NopCloser(bytes.NewReader(body))
				err = &smithyhttp.RequestSendError{Err: errCut}
			}
		})
	}
	if err != nil {
		return nil, err
	}
	return (&http.Client{Timeout: patience}).Do(r)
}

func (l *late) deliver(t *testing.T) {
	t.Helper()
	response, err := (&http.Client{Timeout: patience}).Do(l.held.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
}

// A refusal promises that nothing was taken and nothing will be. An attempt in flight could break that promise if an operator
// makes the code redeemable again. So while one may be in flight, no request is refused, whatever the reason. That includes
// unknown codes, which must look like all others.
func TestRedeem_LostAttemptStillInFlight_IsNotRefused(t *testing.T) {
	t.Parallel()
	none := new(voucher.NoLimit)
	for what, test := range map[string]lateAttempt{
		"single-use, disabled and enabled": {
			operation: "UpdateItem", terms: voucher.Terms{Disabled: true}, edit: voucher.Edit{Disabled: new(false)},
		},
		"used up and raised": {
			operation: "TransactWriteItems", terms: voucher.Terms{MaxUses: new(voucher.Limit(2)), MaxUsesPerNick: none},
			before: 2, edit: voucher.Edit{MaxUses: new(voucher.Limit(3))},
		},
		"single-use, redeemed, disabled and enabled": {
			operation: "UpdateItem", before: 1, edit: voucher.Edit{Disabled: new(false)},
		},
		"nick's limit reached and raised": {
			operation: "TransactWriteItems", terms: voucher.Terms{MaxUses: new(voucher.Limit(100)), MaxUsesPerNick: new(voucher.Limit(2))},
			before: 2, edit: voucher.Edit{MaxUsesPerNick: new(voucher.Limit(3))},
		},
		"many uses, disabled and enabled": {
			operation: "UpdateItem", terms: voucher.Terms{MaxUses: none, Disabled: true}, edit: voucher.Edit{Disabled: new(false)},
		},
	} {
		for _, key := range []string{"", "order-1047"} {
			t.Run(fmt.Sprintf("%s, key %q", what, key), func(t *testing.T) { test.run(t, key) })
		}
	}
}

// lateAttempt is a request by Alder whose first attempt arrives after an edit.
type lateAttempt struct {
	operation string // its first call is late
	terms     voucher.Terms
	before    int // redemptions by Alder
	edit      voucher.Edit
}

func (l lateAttempt) run(t *testing.T, key string) {
	s := newShop(t)
	l.terms.Written = "SUMMER-20"
	v := s.create(l.terms)
	for range l.before {
		s.mustRedeem(request(t, "SUMMER-20", "Alder", ""))
	}
	network := &late{operation: l.operation}
	redeemer := redeemerOf(newClient(t, func(o *dynamodb.Options) { o.HTTPClient = network }), s.table)
	_, _, err := redeemer.Redeem(within(t), request(t, "SUMMER-20", "Alder", key))
	if _, unavailable := errors.AsType[*dynamo.UnavailableError](err); !unavailable {
		t.Errorf("Redeem = %v; want an *UnavailableError", err)
	}
	if _, err := s.vouchers.Edit(t.Context(), emberforge, v.Code, l.edit); err != nil {
		t.Fatal(err)
	}
	network.deliver(t)
}
