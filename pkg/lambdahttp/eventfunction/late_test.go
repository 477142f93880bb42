package eventfunction_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/event"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/eventfunction"
	"shopfront/pkg/voucher"
)

// scene is some minutes of trade in virtual time. Shoppers redeem, the stream of the vouchers table invokes the wired
// function, and so does a schedule, every minute.
type scene struct {
	// rates has how many redemptions a second each shop has.
	rates map[catalog.ShopID]int
	// service is how long the store works on a call. It works on one call at a time, like a busy machine.
	service time.Duration
	// phase is how long after the beginning the schedule first runs.
	phase time.Duration
	// From the time from until the time until, the store does not respond: not at all if only is empty, and otherwise
	// not to calls for the log of this shop. Requests that arrive meanwhile are applied afterwards.
	from, until time.Duration
	only        catalog.ShopID

	t      *testing.T
	begun  time.Time
	over   context.Context //nolint:containedctx // ends when the shoppers leave
	access *memdynamo.Endpoint
	slot   chan struct{}

	mu     sync.Mutex
	parked int
}

const (
	trade    = 60 * time.Second  // how long shoppers redeem
	sceneEnd = 150 * time.Second // when nobody looks at the feeds any more
)

// Do reaches the store as the transport of a function does, which gives up after a second.
func (s *scene) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	waiting, leave := context.WithTimeout(r.Context(), time.Second)
	defer leave()
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	answered := make(chan *http.Response, 1)
	go func() {
		isHeld := s.only == "" || bytes.Contains(body, []byte(`"events"`)) && !bytes.Contains(body, []byte("#parked")) &&
			bytes.Contains(body, []byte(`"`+s.only))
		if now := time.Since(s.begun); isHeld && now >= s.from && now < s.until {
			time.Sleep(s.until - now)
		}
		if waiting.Err() == nil {
			s.slot <- struct{}{}
			time.Sleep(s.service)
			<-s.slot
		}
		response, err := s.access.Do(r) //nolint:bodyclose // the SDK closes it, and nothing is behind it
		if err != nil {
			s.t.Error(err)
		}
		answered <- response
	}()
	select {
	case response := <-answered:
		return response, nil
	case <-waiting.Done():
		return nil, waiting.Err()
	}
}

func clientOver(network dynamodb.HTTPClient) *dynamodb.Client {
	client := dynamo.NewClient(dynamo.Settings{
		Region: "eu-central-1", Endpoint: "http://dynamodb.test", Jitter: mathrand.Int64N,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	return dynamodb.New(client.Options(), func(o *dynamodb.Options) { o.HTTPClient = network })
}

// open creates the tables, and the voucher SUMMER20 of each shop.
func (s *scene) open(t *testing.T) {
	t.Helper()
	s.t, s.begun, s.slot, s.access = t, time.Now(), make(chan struct{}, 1), memdynamo.New().Endpoint(memdynamo.Dials{})
	_, err := clientOver(s.access).CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("vouchers"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("customer"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("customer"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	deployment := backoffice.NewDeployment(clientOver(s.access), backoffice.Tables{Vouchers: "vouchers"}, mathrand.Int64N)
	for shopID := range s.rates {
		terms := voucher.Terms{
			Written: "SUMMER20", MaxUses: new(voucher.NoLimit), MaxUsesPerNick: new(voucher.NoLimit),
			Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20},
		}
		shop := deployment.Open(catalog.Profile{ID: shopID})
		if _, err := shop.CreateVoucher(t.Context(), terms, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
}

// shop lets shoppers redeem until the trade is over.
func (s *scene) shop(shop catalog.ShopID, rate int) {
	redeemer := voucher.Redeemer{
		Store:  dynamo.NewRedeemer(clientOver(s), dynamo.Tables{Vouchers: "vouchers"}, mathrand.Int64N),
		Random: rand.Reader,
	}
	var redeeming sync.WaitGroup
	for n := 0; s.over.Err() == nil; n++ {
		redeeming.Go(func() {
			ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
			defer cancel()
			nick, err := voucher.ParseNick(fmt.Sprint("Kestrel_", n))
			if err != nil {
				s.t.Error(err)
			}
			// If the store does not respond, it may redeem the code later.
			_, _, _ = redeemer.Redeem(ctx, voucher.Request{Shop: shop, Code: "SUMMER20", Nick: nick, At: time.Now()})
		})
		time.Sleep(time.Second / time.Duration(rate))
	}
	redeeming.Wait()
}

// records returns up to 100 records of the vouchers table's stream, from a position on.
func (s *scene) records(position int) (records []json.RawMessage) {
	var described struct {
		Table struct{ LatestStreamArn string }
	}
	s.call("DynamoDB_20120810.DescribeTable", `{"TableName":"vouchers"}`, &described)
	var page struct{ Records []json.RawMessage }
	s.call("DynamoDBStreams_20120810.GetRecords", fmt.Sprintf(`{"ShardIterator":"%s|%021d","Limit":100}`,
		described.Table.LatestStreamArn, position+1), &page)
	for _, record := range page.Records {
		source := fmt.Appendf(nil, `{"eventSourceARN":%q,`, described.Table.LatestStreamArn)
		records = append(records, bytes.Replace(record, []byte("{"), source, 1))
	}
	return records
}

func (s *scene) call(target, body string, out any) {
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://dynamodb.test", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("X-Amz-Target", target)
	response, err := s.access.Do(request)
	if err == nil {
		defer response.Body.Close()
		err = json.NewDecoder(response.Body).Decode(out)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// invoke runs the function with at most a minute, as Lambda does. It returns how many of the records are done.
func (s *scene) invoke(f eventfunction.Function, records []json.RawMessage) (done int) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	response, err := f.Handle(ctx, eventfunction.Batch{Records: records})
	if err != nil {
		return 0
	}
	done = len(records)
	for _, failure := range response.BatchItemFailures {
		for i, record := range records {
			if strings.Contains(string(record), `"`+failure.ItemIdentifier+`"`) {
				done = min(done, i)
			}
		}
	}
	return done
}

// stream delivers the records in batches, as an event source mapping does: one at a time, with a window of a second.
func (s *scene) stream(f eventfunction.Function) {
	for position := 0; time.Since(s.begun) < sceneEnd; {
		records := s.records(position)
		if len(records) < 100 {
			time.Sleep(time.Second)
			records = s.records(position)
		}
		if len(records) > 0 {
			done := s.invoke(f, records)
			if position += done; done < len(records) {
				time.Sleep(250 * time.Millisecond)
			}
		}
	}
}

func (s *scene) schedule(f eventfunction.Function) {
	for next := s.begun.Add(s.phase); time.Since(s.begun) < sceneEnd; next = next.Add(time.Minute) {
		time.Sleep(time.Until(next))
		s.invoke(f, nil)
	}
}

// delays has the longest times that the events of a shop took to its feed, counted from when they happened or, if the
// store did not respond then, from when it did again. early is about events until the store was back.
type delays struct {
	early, all time.Duration
	events     int
}

// follow reads the feed of a shop until the scene ends.
func (s *scene) follow(shop catalog.ShopID) (d delays) {
	log := dynamo.NewEventLog(clientOver(s.access), "events", 90*24*time.Hour, time.Now, mathrand.Int64N, rand.Reader)
	back := s.begun.Add(s.until)
	for cursor := (event.Cursor{}); time.Since(s.begun) < sceneEnd; time.Sleep(100 * time.Millisecond) {
		page, err := event.Feed{Store: log}.Read(s.t.Context(), shop, cursor, event.MaxPerPage)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, e := range page.Events {
			d.events++
			since := e.At
			if !since.After(back) {
				d.early = max(d.early, time.Since(back))
			}
			isHeld := s.only == "" || s.only == shop
			if isHeld && since.Before(back) && since.After(s.begun.Add(s.from-6*time.Second)) {
				since = back // it was redeemed or recorded while the store did not respond
			}
			d.all = max(d.all, time.Since(since))
		}
		cursor = event.Cursor{After: page.Next, Feed: page.Feed}
	}
	return d
}

// run plays the scene, and returns the delays of each shop.
func (s *scene) run(t *testing.T) map[catalog.ShopID]delays {
	t.Helper()
	s.open(t)
	var leave context.CancelFunc
	s.over, leave = context.WithTimeout(t.Context(), trade)
	defer leave()
	set := map[string]string{
		"EVENTS_TABLE": "events", "VOUCHERS_TABLE": "vouchers", "CHECKOUTS_TABLE": "checkouts", "STACK_NAME": "shopfront",
		"EVENT_RETENTION_DAYS": "90",
	}
	env := lambdahttp.Environment{Lookup: func(name string) string { return set[name] }, Now: time.Now, Log: s}
	f := eventfunction.New(env, clientOver(s))
	var playing sync.WaitGroup
	playing.Go(func() { s.stream(f) })
	playing.Go(func() { s.schedule(eventfunction.New(env, clientOver(s))) })
	took := make(map[catalog.ShopID]delays)
	for shop, rate := range s.rates {
		playing.Go(func() { s.shop(shop, rate) })
		playing.Go(func() {
			d := s.follow(shop)
			s.mu.Lock()
			defer s.mu.Unlock()
			took[shop] = d
		})
	}
	playing.Wait()
	for shop, d := range took {
		redeemed := 0
		pages := dynamodb.NewScanPaginator(clientOver(s.access), &dynamodb.ScanInput{TableName: aws.String("vouchers")})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range page.Items {
				key := table.KeyOf(it)
				if strings.HasPrefix(key.Partition, string(shop)+"#") && strings.Contains(key.Sort, "#r#") {
					redeemed++
				}
			}
		}
		if d.events != redeemed || redeemed < s.rates[shop]*int(trade/time.Second)/2 {
			t.Errorf("%s: %d events of %d redemptions are in the feed", shop, d.events, redeemed)
		}
	}
	return took
}

// Write adds up how many changes the function has set aside, from its log.
func (s *scene) Write(line []byte) (int, error) {
	var logged struct {
		Records, ParkedRecords int
	}
	err := json.Unmarshal(line, &logged)
	s.mu.Lock()
	defer s.mu.Unlock()
	if logged.Records > 0 {
		s.parked += logged.ParkedRecords
	}
	return len(line), err
}

// Events must reach the feed soon, whatever happens to the store, and no shop may wait for another one. A stranger redeems
// 20 codes a second.
func TestHandle_StoreHiccups_EventsComeSoon(t *testing.T) {
	t.Parallel()
	const ms, second = time.Millisecond, time.Second
	for what, test := range map[string]struct {
		*scene
		calm bool // whether nothing may be set aside
	}{
		"the machine is busy":           {&scene{service: 7 * ms}, true},
		"the store stops for 7 seconds": {&scene{service: 2 * ms, from: 20 * second, until: 27 * second}, true},
		"the store of a busy machine stops for 7 seconds": {
			&scene{service: 4 * ms, from: 20 * second, until: 27 * second, phase: 26 * second}, false,
		},
		"the log of one shop stops for 7 seconds": {
			&scene{service: 2 * ms, from: 20 * second, until: 27 * second, only: emberforge, phase: 26 * second}, false,
		},
		"the log of one shop stops for a minute": {
			&scene{service: 2 * ms, from: 20 * second, until: 80 * second, only: emberforge}, false,
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				test.rates = map[catalog.ShopID]int{emberforge: 20, "sakura-goods": 1, "minecave": 1, "northwind": 2}
				test.judge(t, test.run(t))
				if test.calm && test.parked > 0 {
					t.Errorf("%d changes were set aside, want none", test.parked)
				}
			})
		})
	}
}

func (s *scene) judge(t *testing.T, took map[catalog.ShopID]delays) {
	t.Helper()
	for shop, d := range took {
		t.Logf("%s: %d events, complete %s after the store was back; the slowest took %s", shop, d.events, d.early,
			d.all)
		if d.early > time.Minute {
			t.Errorf("the feed of %s was complete %s after the store was back, want 60s", shop, d.early)
		}
		if shop != emberforge && d.all > 5*time.Second {
			t.Errorf("an event of %s took %s, want at most 5s", shop, d.all)
		}
	}
	t.Logf("%d changes were set aside", s.parked)
}
