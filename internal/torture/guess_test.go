package torture_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/internal/torture/testshop"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// guessLimit is how many refused codes these shops allow one source in a window. A window lasts a day, so no test
// outlasts it.
const guessLimit = 100

// guessed is a shop whose codes somebody guesses.
type guessed struct {
	*testing.T
	*testshop.Shop

	shop  catalog.ShopID
	calm  *backoffice.Shop
	wrong []string // codes that are refused, each for a different reason

	mu  sync.Mutex
	log []string // lines of the function
}

func newGuessed(t *testing.T, programs testshop.Programs) *guessed {
	t.Helper()
	s := &guessed{
		T: t, shop: catalog.ShopID("shop-" + rand.Text()),
		wrong: []string{"INVENTED", "no code has a *"},
	}
	s.Shop = testshop.Start(t, programs, testshop.Settings{Log: func(_, line string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log = append(s.log, line)
	}})
	s.calm = s.Open(t, s.shop, fmt.Sprintf("refusals: {limit: %d, per: 24h}", guessLimit))
	for code, terms := range map[string]voucher.Terms{
		"RIGHT": {}, "DISABLED": {Disabled: true}, "EXPIRED": {ValidUntil: time.Now().Add(-time.Hour)},
		"TOO-EARLY": {ValidFrom: time.Now().Add(time.Hour)}, "OF-ANOTHER": {Nick: "Cedar"},
	} {
		terms.Written, terms.Reward = code, voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}
		if _, err := s.calm.CreateVoucher(t.Context(), terms, time.Now()); err != nil {
			t.Fatal(err)
		}
		if code != "RIGHT" {
			s.wrong = append(s.wrong, code)
		}
	}
	return s
}

// redeem sends a code from an address, with a key of the shop's server unless key is empty.
func (s *guessed) redeem(code, address, key string) *httptest.ResponseRecorder {
	request := testshop.Redemption(code, "Alder")
	request.Server = key
	from := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = address + ":50000"
		s.API.ServeHTTP(w, r)
	})
	return request.Send(s.Context(), from, s.shop)
}

// logged waits until the log has a line for each request. It returns how many requests were judged and refused, and how
// many of those were not counted.
func (s *guessed) logged(requests int) (judged, uncounted int) {
	s.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		lines := slices.Clone(s.log)
		s.mu.Unlock()
		judged, uncounted = 0, 0
		seen := 0
		for _, line := range lines {
			var request struct {
				Outcome                    string
				Refused, UncountedRefusals int
			}
			if json.Unmarshal([]byte(line), &request) == nil && request.Outcome != "" {
				seen++
				judged += request.Refused
				uncounted += request.UncountedRefusals
			}
		}
		if seen == requests {
			return judged, uncounted
		}
		if time.Since(began) > time.Minute {
			s.Fatalf("the log has %d requests, want %d", seen, requests)
		}
	}
}

// counted reads the count of the shop's only source.
func (s *guessed) counted() int {
	s.Helper()
	found, err := dynamotest.Client(s).Scan(s.Context(), &dynamodb.ScanInput{
		TableName:        aws.String("RefusalsTable"),
		FilterExpression: aws.String("begins_with(customer, :customer) AND begins_with(sk, :source)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":customer": &types.AttributeValueMemberS{Value: string(s.shop) + "#"},
			":source":   &types.AttributeValueMemberS{Value: "203.0.113.7#"},
		},
	})
	if err != nil || len(found.Items) != 1 {
		s.Fatalf("%d items count the source, %v; want 1", len(found.Items), err)
	}
	count, _ := found.Items[0]["refusals"].(*types.AttributeValueMemberN)
	n, err := strconv.Atoi(count.Value)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// uses returns how often the right code was redeemed.
func (s *guessed) uses() int {
	s.Helper()
	standing, err := s.calm.Voucher(s.Context(), "R1GHT", time.Now()) // normalized
	if err != nil {
		s.Fatal(err)
	}
	return standing.Used
}

// looksLike returns all that a client sees of a refusal, except for what differs in each response.
func looksLike(a *httptest.ResponseRecorder) string {
	header := a.Header().Clone()
	for _, name := range []string{"Request-Id", "Apigw-Requestid", "Date", "Retry-After"} {
		header.Del(name)
	}
	return fmt.Sprint(a.Code, header, a.Body)
}

// Many processes share one count of a source's refusals. A process learns that the source is above the limit when it
// counts a refusal itself, so each process may judge one guess too many.
func TestGuesses_ManyProcesses_EachJudgesAtMostOneGuessAboveTheLimit(t *testing.T) {
	const processes, guesses = 8, 500
	s := newGuessed(t, testshop.Build(t))
	responses := make([]*httptest.ResponseRecorder, guesses)
	next := make(chan int)
	var workers sync.WaitGroup
	for range processes { // each keeps one process busy
		workers.Go(func() {
			for i := range next {
				responses[i] = s.redeem(s.wrong[i%len(s.wrong)], "203.0.113.7", "")
			}
		})
	}
	for i := range guesses {
		next <- i
	}
	close(next)
	workers.Wait()

	looks := make(map[int]map[string]bool)
	statuses := make(map[int]int)
	for _, a := range responses {
		statuses[a.Code]++
		if looks[a.Code] == nil {
			looks[a.Code] = make(map[string]bool)
		}
		looks[a.Code][looksLike(a)] = true
		if wait, err := strconv.Atoi(
			a.Header().Get("Retry-After"),
		); (a.Code == http.StatusTooManyRequests) != (err == nil && wait > 0 && wait <= 86400) {
			t.Errorf("a response has the status %d and Retry-After %q", a.Code, a.Header().Get("Retry-After"))
		}
	}
	judged, uncounted := s.logged(guesses)
	counted := s.counted()
	t.Logf("statuses %v; %d judged, %d of them not counted; the count is %d", statuses, judged, uncounted, counted)
	if len(looks) != 2 || len(looks[http.StatusNotFound]) != 1 || len(looks[http.StatusTooManyRequests]) != 1 {
		t.Errorf("refusals look different: %v", looks)
	}
	if judged > guessLimit+processes+uncounted {
		t.Errorf("%d guesses were judged, want at most %d", judged, guessLimit+processes+uncounted)
	}
	// On a slow machine, a retried call counts twice, and an abandoned one counts only in its process.
	twice := counted - (judged - uncounted)
	if refused := statuses[http.StatusNotFound]; refused > guessLimit+uncounted || refused < guessLimit-twice {
		t.Errorf("%d guesses got 404, want %d to %d", refused, guessLimit-twice, guessLimit+uncounted)
	}
	if a := s.redeem("RIGHT", "203.0.113.8", ""); a.Code != http.StatusOK || s.uses() != 1 {
		t.Errorf("another source gets %d %s, and the code was redeemed %d times; want 200, once", a.Code, a.Body,
			s.uses())
	}
}
