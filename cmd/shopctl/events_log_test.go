package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo"
	"shopfront/pkg/event"
)

// park sets aside a change of one of emberforge's vouchers. It returns the place of the change as the commands show it.
func (s *shopfront) park(t *testing.T, code string) string {
	t.Helper()
	place := event.Place{Table: event.Vouchers, Partition: "emberforge#00", Sort: code}
	parked := event.Parked{
		Place: place, Shop: "emberforge", Reason: "voucher item: malformed redemption",
		First: s.clock,
	}
	if err := s.parking().Park(t.Context(), "emberforge", parked); err != nil {
		t.Fatal(err)
	}
	return "vouchers/emberforge#00/" + code
}

func (s *shopfront) parking() *dynamo.EventParking {
	return dynamo.NewEventParking(s.client, s.state.Tables.Events, nil, func() time.Time { return s.clock })
}

// putDamaged stores a damaged voucher item, at the place that park returns.
func (s *shopfront) putDamaged(t *testing.T, code string) {
	t.Helper()
	text := func(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }
	_, err := s.client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(s.state.Tables.Vouchers),
		Item: map[string]types.AttributeValue{
			"customer": text("emberforge#00"), "sk": text(code),
			"b#auZ4P0-96RtuuItzpI7SRw": text("a dragon"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEventsParked_ListsChangesThatAreSetAside(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml", "testdata/sakura-goods.yaml")
	place := s.park(t, "G1FT")
	want := "SINCE                     ATTEMPTS  PLACE                        REASON\n" +
		"2026-11-20T18:00:00.000Z  1         vouchers/emberforge#00/G1FT  voucher item: malformed redemption\n"
	for _, args := range [][]string{{"events", "parked"}, {"events", "parked", "emberforge"}} {
		if got := s.must(t, args...); got != want {
			t.Errorf("%q:\n%s", args, got)
		}
	}
	wantJSON := `{"place":"` + place +
		`","customer":"emberforge","since":"2026-11-20T18:00:00.000Z","attempts":1,"reason":"voucher item: ` +
		`malformed redemption"}` + "\n"
	if got := s.must(t, "events", "parked", "--json"); got != wantJSON {
		t.Errorf("JSON: %s", got)
	}
	if got := s.shopctl(t.Context(), "--local", "events", "parked",
		"sakura-goods"); got != (result{"", "no changes set aside\n", exitOK}) {
		t.Errorf("of another shop: %v", got)
	}
}

func TestEventsRetry_ChangeOfADamagedItem_StaysParkedUntilItIsForgotten(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.park(t, "G1FT") // there is no such item, so the retry has nothing to record
	dragon := s.park(t, "DRAG0N")
	s.putDamaged(t, "DRAG0N")
	problem := "error: 1 change could not be recorded: shopctl --local events parked shows why\n"
	if got := s.shopctl(t.Context(), "--local", "events",
		"retry"); got != (result{"recorded         0\nstill set aside  1\n", problem, exitFailed}) {
		t.Errorf("retry: %v", got)
	}
	if got := s.must(t, "events", "parked", "--json"); !strings.Contains(got, dragon) ||
		!strings.Contains(got, `"attempts":2`) || strings.Contains(got, "G1FT") {
		t.Errorf("parked: %s", got)
	}
	unknown := "error: no change is set aside at \"vouchers/emberforge#00/G1FT\": see shopctl --local events parked\n"
	if got := s.shopctl(t.Context(), "--local", "events", "retry", "--forget",
		"vouchers/emberforge#00/G1FT"); got != (result{"", unknown, exitRefused}) {
		t.Errorf("forgetting a change that is not parked: %v", got)
	}
	s.must(t, "events", "retry", "--forget", dragon)
	if got := s.must(t, "events", "retry", "--json"); got != `{"parked":0,"recorded":0}`+"\n" {
		t.Errorf("retry after forgetting: %s", got)
	}
}

func TestEventsRetry_ForgetChangeOfUnknownTable_DropsIt(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	parked := event.Parked{Reason: "a record of an unknown table", First: s.clock}
	if err := s.parking().Park(t.Context(), "", parked); err != nil {
		t.Fatal(err)
	}
	s.must(t, "events", "retry", "--forget", "//")
	if got := s.shopctl(t.Context(), "--local", "events",
		"parked"); got != (result{"", "no changes set aside\n", exitOK}) {
		t.Errorf("parked: %v", got)
	}
}

func TestEventsRebuild_DamagedItem_IsReported(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.putDamaged(t, "DRAG0N")
	want := result{
		"added   0\nunread  1\n", "error: 1 item cannot be read: see shopctl --local verify emberforge\n",
		exitFailed,
	}
	if got := s.shopctl(t.Context(), "--local", "events", "rebuild", "emberforge"); got != want {
		t.Errorf("got %v want %v", got, want)
	}
}

// busyParking sets each change aside again before it is released.
type busyParking struct{ *dynamo.EventParking }

func (p busyParking) Release(ctx context.Context, parked ...event.Parked) (int, error) {
	if err := p.Park(ctx, "emberforge", parked...); err != nil {
		return 0, err
	}
	return p.EventParking.Release(ctx, parked...)
}

func TestEventsRetry_ForgetChangeThatIsSetAsideAgain_StaysParked(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	place := s.park(t, "DRAG0N")
	parking := busyParking{s.parking()}
	err := (&session{}).forget(t.Context(), parking, place)
	if p, is := errors.AsType[*problem](err); !is || p.exit != exitFailed ||
		!strings.Contains(s.must(t, "events", "parked"), place) {
		t.Errorf("got %v", err)
	}
}

func TestEvents_DeploymentWithoutEvents_SaysHowToTurnThemOn(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.state.Tables.Events = ""
	if err := s.state.Write(s.dir); err != nil {
		t.Fatal(err)
	}
	want := result{"", "error: this deployment has no events: deploy it with the parameter Events set to on, see " +
		"docs/operating/feeds.md\n", exitFailed}
	for _, args := range []string{
		"list emberforge", "show emberforge MTCXgwWFAhhCzmYLdegdZw", "parked", "retry", "rebuild emberforge",
	} {
		if got := s.shopctl(t.Context(),
			append([]string{"--local", "events"}, strings.Fields(args)...)...); got != want {
			t.Errorf("%s: %v", args, got)
		}
	}
	if got := s.must(t, "status"); strings.Contains(got, "stream") {
		t.Errorf("status: %s", got)
	}
	s.must(t, "verify", "emberforge")
}

func TestStatus_DisabledStream_Warns(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	_, err := s.client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName:           aws.String(s.state.Tables.Vouchers),
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(false)},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := s.shopctl(t.Context(), "--local", "status")
	want := "warning: the stream of the table " + s.state.Tables.Vouchers +
		" is disabled, so its changes are not recorded as events: see docs/operating/feeds.md\n"
	if got.exit != exitOK || got.stderr != want || !strings.Contains(got.stdout, "\nstream    disabled\n") {
		t.Errorf("%v", got)
	}
}
