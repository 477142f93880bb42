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

// late is a network that holds the first call of an operation back, as if its connection had been cut, until it is
// delivered.
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

// A refusal says that nothing was taken, and that nothing will be: not even by an attempt that is still on its way while
// the operator lets shoppers at the code again. Where that could be, it is no refusal; where it could not, it is.
func TestARefusedRequestIsNotRedeemedLater(t *testing.T) {
	none := new(voucher.NoLimit)
	for what, test := range map[string]struct {
		operation string // whose first call is late
		terms     voucher.Terms
		before    int // redemptions by Alder
		edit      voucher.Edit
		refused   bool
	}{
		"single-use, disabled and enabled": {
			"UpdateItem", voucher.Terms{Disabled: true}, 0, voucher.Edit{Disabled: new(false)}, false,
		},
		"used up and raised": {
			"TransactWriteItems", voucher.Terms{MaxUses: new(voucher.Limit(2)), MaxUsesPerNick: none}, 2,
			voucher.Edit{MaxUses: new(voucher.Limit(3))}, false,
		},
		"single-use, redeemed, disabled and enabled": {
			"UpdateItem", voucher.Terms{}, 1, voucher.Edit{Disabled: new(false)}, true,
		},
		"nick's limit reached and raised": {
			"TransactWriteItems", voucher.Terms{MaxUses: new(voucher.Limit(100)), MaxUsesPerNick: new(voucher.Limit(2))}, 2,
			voucher.Edit{MaxUsesPerNick: new(voucher.Limit(3))}, true,
		},
		"many uses, disabled and enabled": {
			"UpdateItem", voucher.Terms{MaxUses: none, Disabled: true}, 0, voucher.Edit{Disabled: new(false)}, true,
		},
	} {
		for _, key := range []string{"", "order-1047"} {
			t.Run(fmt.Sprintf("%s, key %q", what, key), func(t *testing.T) {
				s := newShop(t)
				test.terms.Written = "SUMMER-20"
				v := s.create(test.terms)
				for range test.before {
					s.mustRedeem(request(t, "SUMMER-20", "Alder", ""))
				}
				network := &late{operation: test.operation}
				desk := deskOf(newClient(t, func(o *dynamodb.Options) { o.HTTPClient = network }), s.table)
				_, _, err := desk.Redeem(within(t), request(t, "SUMMER-20", "Alder", key))
				if _, refused := voucher.IsRefusal(err); refused != test.refused {
					t.Errorf("Redeem = %v", err)
				}
				if unavailable, is := errors.AsType[*dynamo.UnavailableError](err); !test.refused && (!is || !unavailable.Unavailable()) {
					t.Errorf("Redeem = %v; want an *UnavailableError", err)
				}
				if _, err := s.vouchers.Edit(t.Context(), emberforge, v.Code, test.edit); err != nil {
					t.Fatal(err)
				}
				network.deliver(t)
				if records := s.records("SUMMER-20"); test.refused != (len(records) == test.before) {
					t.Errorf("%d redemptions are on record, %d before", len(records), test.before)
				}
			})
		}
	}
}
