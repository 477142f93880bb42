package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"shopfront/internal/local/localrun"
	"shopfront/internal/local/samtemplate"
	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/access"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dataschema"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

func TestMain(m *testing.M) {
	cobra.EnableCommandSorting = false // as in main
	m.Run()
}

// shopfront is a Shopfront for one test. It has its own tables on DynamoDB Local, and a clock that only the test moves.
type shopfront struct {
	dir       string // looks like a clone of Shopfront with a local run
	state     localrun.State
	client    *dynamodb.Client
	vouchers  voucher.Redeemer
	checkouts checkout.Opener
	guard     *access.Guard
	stdin     io.Reader
	random    io.Reader
	clock     time.Time
	variables map[string]string
	sleep     func(ctx context.Context, delay time.Duration) error
	printed   func(args []string, got result) // checks what a run printed
}

func newShopfront(t *testing.T) *shopfront {
	t.Helper()
	s := &shopfront{
		dir: t.TempDir(), client: dynamotest.Client(t),
		stdin: strings.NewReader(""), random: mathrand.NewChaCha8([32]byte{}),
		clock:     time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC),
		variables: map[string]string{},
	}
	s.sleep = func(ctx context.Context, delay time.Duration) error {
		s.clock = s.clock.Add(delay)
		return ctx.Err()
	}
	s.state = localrun.State{
		BaseURL: "http://127.0.0.1:3000", DynamoDBEndpoint: dynamotest.Endpoint(t), Region: dynamotest.Region,
		Tables: backoffice.Tables{
			Catalogue: dynamotest.Table(t, "CatalogueTable"), Vouchers: dynamotest.TableWithStream(t, "VouchersTable"),
			Checkouts: dynamotest.TableWithStream(t, "CheckoutsTable"),
			Events:    dynamotest.Table(t, "EventsTable"),
		},
		PID: os.Getpid(), Version: "1.0.0",
	}
	if err := errors.Join(os.WriteFile(filepath.Join(s.dir, samtemplate.File), nil, 0o600),
		s.state.Write(s.dir)); err != nil {
		t.Fatal(err)
	}
	s.guard = access.NewGuard(dynamo.NewAccess(s.client, s.state.Tables.Catalogue, mathrand.Int64N))
	// Redemption and checkout IDs have their own random source, so that shopctl's random draws do not change them.
	shoppersRandom := mathrand.NewChaCha8([32]byte{1})
	s.vouchers = voucher.Redeemer{
		Store: dynamo.NewRedeemer(s.client, s.tables(), mathrand.Int64N), Random: shoppersRandom,
	}
	s.checkouts = checkout.Opener{
		Catalogue: catalog.Catalogue{Store: dynamo.NewCatalogue(s.client, s.state.Tables.Catalogue, mathrand.Int64N)},
		// requests have no source, so no holds are counted
		Store: dynamo.NewCheckouts(s.client, s.tables(), mathrand.Int64N), Data: &dataschema.Validator{},
		Random: shoppersRandom,
	}
	schema := readSchema(t)
	s.printed = func(args []string, got result) { checkJSON(t, schema, args, got) }
	return s
}

// through puts a proxy between the command and DynamoDB Local until restore is called.
func (s *shopfront) through(t *testing.T, network http.Handler) (restore func()) {
	t.Helper()
	server := httptest.NewServer(network)
	t.Cleanup(server.Close)
	direct := s.state.DynamoDBEndpoint
	use := func(endpoint string) {
		s.state.DynamoDBEndpoint = endpoint
		if err := s.state.Write(s.dir); err != nil {
			t.Fatal(err)
		}
	}
	use(server.URL)
	return func() { use(direct) }
}

// result is the outcome of a run of shopctl.
type result struct {
	stdout, stderr string
	exit           int
}

// shopctl runs the program as a user would.
func (s *shopfront) shopctl(ctx context.Context, args ...string) result {
	var stdout, stderr bytes.Buffer
	exit := s.program(&stdout, &stderr).run(ctx, args)
	got := result{stdout.String(), stderr.String(), exit}
	s.printed(args, got)
	return got
}

func (s *shopfront) program(stdout, stderr io.Writer) program {
	return program{
		output: output{stdout: stdout, stderr: stderr}, stdin: s.stdin,
		lookupEnv: func(name string) (string, bool) { value, found := s.variables[name]; return value, found },
		workDir:   func() (string, error) { return s.dir, nil },
		now:       func() time.Time { return s.clock }, random: s.random, jitter: mathrand.Int64N, sleep: s.sleep,
		settle: 10 * time.Millisecond,
	}
}

// must runs shopctl on the local run, fails the test unless it succeeds, and returns its stdout.
func (s *shopfront) must(t *testing.T, args ...string) string {
	t.Helper()
	got := s.shopctl(t.Context(), append([]string{"--local"}, args...)...)
	if got.exit != exitOK {
		t.Fatalf("shopctl %s: exit %d\n%s%s", strings.Join(args, " "), got.exit, got.stdout, got.stderr)
	}
	return got.stdout
}

// redeem sends a shopper's request. It returns the redemption's ID, or the reason for the refusal.
func (s *shopfront) redeem(t *testing.T, shop, code, nick string) string {
	t.Helper()
	request := voucher.Request{Shop: catalog.ShopID(shop), At: s.clock}
	var err error
	if request.Nick, err = voucher.ParseNick(nick); err != nil {
		t.Fatal(err)
	}
	if request.Code, err = voucher.ParseCode(code); err != nil {
		t.Fatal(err)
	}
	redemption, _, err := s.vouchers.Redeem(t.Context(), request)
	if reason, refused := voucher.IsRefusal(err); refused {
		return "refused: " + string(reason)
	}
	if err != nil {
		t.Fatal(err)
	}
	return redemption.ID
}

// tables returns the tables that checkouts with a code write.
func (s *shopfront) tables() dynamo.Tables {
	return dynamo.Tables{Checkouts: s.state.Tables.Checkouts, Vouchers: s.state.Tables.Vouchers}
}

// checkOut sends a shopper's request for packs of 500 coins from emberforge. It returns the checkout's ID.
func (s *shopfront) checkOut(t *testing.T, amount string) string {
	t.Helper()
	return s.checkOutWith(t, "emberforge", "coins/500", amount, "", checkout.Request{})
}

// checkOutWith sends a shopper's request with a code, a nick or a checkout to replace. It returns the checkout's ID, or
// the reason for the refusal.
func (s *shopfront) checkOutWith(
	t *testing.T, shop, variant, amount, data string, request checkout.Request,
) string {
	t.Helper()
	request.Shop, request.At = catalog.ShopID(shop), s.clock
	product, variantID, _ := strings.Cut(variant, "/")
	request.Product, request.Variant = catalog.ProductID(product), catalog.VariantID(variantID)
	var err error
	if request.Amount, err = checkout.ParseAmount(amount); err != nil {
		t.Fatal(err)
	}
	if data != "" {
		if request.Data, err = checkout.ParseData(data); err != nil {
			t.Fatal(err)
		}
	}
	c, _, err := s.checkouts.Open(t.Context(), request)
	if reason, refused := voucher.IsRefusal(err); refused {
		return "refused: " + string(reason)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(c.ID)
}

// place turns a checkout of emberforge into an order.
func (s *shopfront) place(t *testing.T, id string) {
	t.Helper()
	s.must(t, "order", "place", "emberforge", id, "--provider", "stripe", "--reference", "pi_3QK8ZbF2eZvKYlo1")
}

// objectOf reads a JSON document that a command printed.
func objectOf(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return object
}
