package dynamo_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
)

// A response that DynamoDB would never send must not be read as "the item does not exist".
func TestTransport_ResponseDynamoDBWouldNeverSend_IsUnavailable(t *testing.T) {
	t.Parallel()
	checksum := func(body string) string { return fmt.Sprint(crc32.ChecksumIEEE([]byte(body))) }
	tests := map[string]struct {
		status         int
		body, checksum string
		foreign        bool // whether the response has no request ID
		wantMissing    bool // whether the response really says that the item does not exist
	}{
		"no such item":                   {http.StatusOK, `{}`, checksum(`{}`), false, true},
		"no such item, without checksum": {http.StatusOK, `{}`, "", false, true},
		"from another server":            {http.StatusOK, `{}`, "", true, false},
		"empty":                          {http.StatusOK, ``, "", false, false},
		"wrong checksum":                 {http.StatusOK, `{}`, checksum(`{"Item":{}}`), false, false},
		"larger than any page": {
			http.StatusOK,
			`{"Item":{"name":{"S":"` + strings.Repeat("x", 9<<20) + `"}}}`, "", false, false,
		},
		"without content":         {http.StatusNoContent, ``, "", false, false},
		"an error without a code": {http.StatusBadRequest, `{"message":"Forbidden"}`, "", false, false},
		"an empty error":          {http.StatusForbidden, ``, "", false, false},
		"a redirection":           {http.StatusFound, ``, "", false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if !test.foreign {
					w.Header().Set("X-Amzn-Requestid", "4KBNVRGD25RG1KEO9UT4V3FQDJVV4KQNSO5AEMVJF66Q9ASUAAJG")
				}
				if test.checksum != "" {
					w.Header().Set("X-Amz-Crc32", test.checksum)
				}
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body)) // the client may have closed the connection
			}))
			t.Cleanup(server.Close)
			client := dynamo.NewClient(dynamo.Settings{
				Region: "eu-central-1", Endpoint: server.URL, Jitter: mathrand.Int64N,
				Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
			})
			budget := 300 * time.Millisecond
			if test.wantMissing {
				budget = patience
			}
			ctx := endingAfter(t, budget)
			_, err := dynamo.NewCatalogue(client, "catalogue", mathrand.Int64N).Profile(ctx, emberforge)
			_, unknown := errors.AsType[*dynamo.UnavailableError](err)
			if errors.Is(err, catalog.ErrNotFound) != test.wantMissing || unknown == test.wantMissing {
				t.Errorf("Profile = %v; want catalog.ErrNotFound: %t, otherwise an *UnavailableError", err,
					test.wantMissing)
			}
		})
	}
}
