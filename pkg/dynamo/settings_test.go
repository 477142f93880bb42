package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/access"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

// door is a catalogue table, with the owner's and the functions' access to settings and keys.
type door struct {
	t         testing.TB
	table     string
	owner     *backoffice.Shop // emberforge's
	functions *dynamo.Access
}

func newDoor(t testing.TB) *door {
	t.Helper()
	client, table := newTable(t)
	return &door{
		t, table, ownerOf(emberforge, client, backoffice.Tables{Catalogue: table}),
		dynamo.NewAccess(client, table, mathrand.Int64N),
	}
}

// ownerOver returns emberforge's shop through a client.
func (d *door) ownerOver(api backoffice.API) *backoffice.Shop {
	return ownerOf(emberforge, api, backoffice.Tables{Catalogue: d.table})
}

// other returns another shop.
func (d *door) other() *backoffice.Shop {
	return ownerOf(sakura, newClient(d.t), backoffice.Tables{Catalogue: d.table})
}

// wantSettings compares the settings that a function reads with the wanted ones.
func (d *door) wantSettings(want access.Settings) {
	d.t.Helper()
	got, _, err := d.functions.Access(d.t.Context(), emberforge, "")
	if err != nil || !reflect.DeepEqual(got, want) {
		d.t.Errorf("settings %+v, %v; want %+v", got, err, want)
	}
}

// strict returns settings in which every field differs from the defaults.
func strict() access.Settings {
	return access.Settings{
		Redeem: access.ServerOnly, CheckOut: access.ServerOnly, Refusals: access.DefaultRefusals(),
		Redemptions: access.SourceLimit{Limit: 20, Per: time.Hour},
		Paused:      voucher.Pause{All: true, Batches: []string{"advent", "summer"}},
	}
}

func pauseAll(ctx context.Context, shop *backoffice.Shop) error {
	_, err := shop.Pause(ctx)
	return err
}

func resumeAll(ctx context.Context, shop *backoffice.Shop) error {
	_, _, err := shop.Resume(ctx)
	return err
}

func TestPutSettings_FunctionsReadThem(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.wantSettings(access.DefaultSettings())
	want := strict()
	for _, change := range []func(){
		func() {},
		func() { want.Refusals, want.Redemptions = access.SourceLimit{}, access.SourceLimit{} },
		func() { want.Paused = voucher.Pause{} },
		func() { want.Redeem = access.Anyone },
	} {
		change()
		must(t, d.owner.PutSettings(t.Context(), want))
		want.Version++
		d.wantSettings(want)
	}
	other, err := d.other().Settings(t.Context())
	if err != nil || !reflect.DeepEqual(other, access.DefaultSettings()) {
		t.Errorf("another shop has the settings %+v, %v; want the defaults", other, err)
	}
}

func TestPutSettings_AnotherVersionStored_IsRejected(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	must(t, d.owner.PutSettings(t.Context(), strict()))
	for _, version := range []int64{0, 2, 7} {
		stale := access.DefaultSettings()
		stale.Version = version
		if err := d.owner.PutSettings(t.Context(), stale); !errors.Is(err, catalog.ErrChanged) {
			t.Errorf("PutSettings based on version %d = %v, want catalog.ErrChanged", version, err)
		}
	}
	want := strict()
	want.Version = 1
	d.wantSettings(want)
}

func TestPutSettings_LostResponse_Succeeds(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	want := strict()
	for range 2 {
		network := losingResponses("UpdateItem", 2)
		must(t, d.ownerOver(newClient(t, over(network))).PutSettings(t.Context(), want))
		want.Version++
		d.wantSettings(want)
	}
}

func TestPause_LateWrite_UndoesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                string
		before, first, last func(context.Context, *backoffice.Shop) error
		want                bool
	}{
		{"paused late, then resumed", resumeAll, pauseAll, resumeAll, false},
		{"resumed late, then paused", pauseAll, resumeAll, pauseAll, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t)
			must(t, d.owner.PutSettings(t.Context(), access.DefaultSettings()))
			network := &late{operation: "UpdateItem"}
			for _, change := range []struct {
				by *backoffice.Shop
				do func(context.Context, *backoffice.Shop) error
			}{{d.owner, c.before}, {d.ownerOver(newClient(t, over(network))), c.first}, {d.owner, c.last}} {
				must(t, change.do(t.Context(), change.by))
			}
			network.deliver(t)
			settings, err := d.owner.Settings(t.Context())
			if err != nil || settings.Paused.All != c.want {
				t.Errorf("the settings are %+v, %v; want all codes paused: %t", settings, err, c.want)
			}
		})
	}
}

// A command that finds nothing to change must still make a late write of an interrupted command fail. Otherwise codes
// could become redeemable again after an operator was told that they are paused.
func TestPause_LateWriteOfAnInterruptedCommand_IsNotApplied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		interrupted, last func(context.Context, *backoffice.Shop) error
		want              bool
	}{
		"paused, resume interrupted, paused again":  {resumeAll, pauseAll, true},
		"resumed, pause interrupted, resumed again": {pauseAll, resumeAll, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t)
			if c.want {
				must(t, c.last(t.Context(), d.owner))
			}
			network := &late{operation: "UpdateItem"}
			once := newClient(t, func(o *dynamodb.Options) { o.HTTPClient, o.RetryMaxAttempts = network, 1 })
			if err := c.interrupted(t.Context(), d.ownerOver(once)); err == nil {
				t.Fatal("the command was not interrupted")
			}
			must(t, c.last(t.Context(), d.owner))
			network.deliver(t)
			settings, err := d.owner.Settings(t.Context())
			if err != nil || settings.Paused.All != c.want {
				t.Errorf("the settings are %+v, %v; want all codes paused: %t", settings, err, c.want)
			}
		})
	}
}

func TestPause_ManyWriters_AllAreApplied(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	const writers = 8
	var running sync.WaitGroup
	for number := range writers {
		running.Go(func() {
			if _, err := d.owner.Pause(t.Context(), fmt.Sprintf("launch-%d", number)); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	settings, err := d.owner.Settings(t.Context())
	if err != nil || len(settings.Paused.Batches) != writers || settings.Version != writers {
		t.Errorf("%+v, %v; want %d batches and as many writes", settings, err, writers)
	}
}

// newKey returns a key and its record. The key was created the given number of minutes after midnight.
func newKey(t testing.TB, minute int) (access.Key, access.KeyRecord) {
	t.Helper()
	key, err := access.NewKey(mathrand.NewChaCha8([32]byte{
		byte(mathrand.N(256)), byte(mathrand.N(256)),
		byte(mathrand.N(256)), byte(mathrand.N(256)),
	}))
	must(t, err)
	return key, access.KeyRecord{
		ID: key.ID, Name: "web shop", Digest: key.Digest(),
		Created: midnight().Add(time.Duration(minute) * time.Minute),
	}
}

func midnight() time.Time { return time.Date(2026, time.November, 22, 0, 0, 0, 0, time.UTC) }

func TestCreateKey_FunctionsAcceptIt(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	key, record := newKey(t, 0)
	must(t, d.owner.StoreKey(t.Context(), record))
	settings, read, err := d.functions.Access(t.Context(), emberforge, key.ID)
	if err != nil || !read.Accepts(key, midnight()) || !reflect.DeepEqual(settings, access.DefaultSettings()) {
		t.Errorf("Access = %+v, %+v, %v; want the default settings and the record of the key", settings, read, err)
	}
	if _, read, err := d.functions.Access(t.Context(), sakura, key.ID); err != nil || read.ID != "" {
		t.Errorf("another shop reads the key as %+v, %v; want no key", read, err)
	}
	if records, err := d.other().Keys(t.Context()); err != nil || len(records) != 0 {
		t.Errorf("another shop has the keys %+v, %v; want none", records, err)
	}
	// Creating a key leaves the version of the settings as it was, so a write based on that version succeeds.
	must(t, d.owner.PutSettings(t.Context(), strict()))
}

func TestCreateKey_RevokedAndExpiredKeys_AreNotCounted(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	create := func(minute int, expires time.Time) (access.KeyID, error) {
		_, record := newKey(t, minute)
		record.Expires = expires
		return record.ID, d.owner.StoreKey(t.Context(), record)
	}
	revoked, err := create(0, time.Time{})
	must(t, err)
	_, err = d.owner.RevokeKey(t.Context(), revoked, midnight())
	must(t, err)
	for number := range access.MaxLiveKeys {
		var expires time.Time
		if number == 0 {
			expires = midnight().Add(time.Minute)
		}
		_, err := create(0, expires)
		must(t, err)
	}
	if _, err := create(0, time.Time{}); !errors.Is(err, access.ErrTooManyKeys) {
		t.Errorf("CreateKey while the first key is live = %v, want access.ErrTooManyKeys", err)
	}
	if _, err := create(1, time.Time{}); err != nil {
		t.Errorf("CreateKey once the first key has expired = %v", err)
	}
}

func TestCreateKey_Race_LeavesAtMostTheLimit(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	const left, racers = 6, 12
	for range access.MaxLiveKeys - left {
		_, record := newKey(t, 0)
		must(t, d.owner.StoreKey(t.Context(), record))
	}
	var created, refused atomic.Int32
	var running sync.WaitGroup
	for range racers {
		_, record := newKey(t, 0)
		running.Go(func() {
			switch err := d.owner.StoreKey(t.Context(), record); {
			case err == nil:
				created.Add(1)
			case errors.Is(err, access.ErrTooManyKeys):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	running.Wait()
	records, err := d.owner.Keys(t.Context())
	if err != nil || created.Load() != left || refused.Load() != racers-left || len(records) != access.MaxLiveKeys {
		t.Errorf("%d created, %d refused, %d stored, %v; want %d, %d, %d", created.Load(), refused.Load(), len(records),
			err, left, racers-left, access.MaxLiveKeys)
	}
}

// staleQuery is a client whose first query does not see the newest key yet.
type staleQuery struct {
	*dynamodb.Client

	newest access.KeyID
	once   sync.Once
}

func (s *staleQuery) Query(
	ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	out, err := s.Client.Query(ctx, in, options...)
	s.once.Do(func() {
		out.Items = slices.DeleteFunc(out.Items, func(it map[string]types.AttributeValue) bool {
			return reflect.DeepEqual(it["sk"], &types.AttributeValueMemberS{Value: "key#" + string(s.newest)})
		})
	})
	return out, err
}

// A transaction becomes visible item by item. So the number of created keys may include a key that a query does not
// return yet.
func TestCreateKey_AnotherCreationHalfVisible_LeavesAtMostTheLimit(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	var newest access.KeyRecord
	for range access.MaxLiveKeys {
		_, newest = newKey(t, 0)
		must(t, d.owner.StoreKey(t.Context(), newest))
	}
	_, record := newKey(t, 0)
	owner := d.ownerOver(&staleQuery{Client: newClient(t), newest: newest.ID})
	err := owner.StoreKey(t.Context(), record)
	records, readErr := d.owner.Keys(t.Context())
	if !errors.Is(err, access.ErrTooManyKeys) || readErr != nil || len(records) != access.MaxLiveKeys {
		t.Errorf("CreateKey = %v, and %d keys are stored, %v; want access.ErrTooManyKeys and %d", err, len(records),
			readErr, access.MaxLiveKeys)
	}
}

// After somebody deleted a record in the table, keys can still be created.
func TestCreateKey_RecordDeletedByHand_Succeeds(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	_, deleted := newKey(t, 0)
	must(t, d.owner.StoreKey(t.Context(), deleted))
	_, err := newClient(t).DeleteItem(t.Context(),
		&dynamodb.DeleteItemInput{TableName: &d.table, Key: map[string]types.AttributeValue{
			"customer": &types.AttributeValueMemberS{Value: string(emberforge)},
			"sk":       &types.AttributeValueMemberS{Value: "key#" + string(deleted.ID)},
		}})
	must(t, err)
	_, record := newKey(t, 0)
	must(t, d.owner.StoreKey(t.Context(), record))
}

// canceling is a client that applies the first transaction, but reports that another transaction conflicted with it.
type canceling struct {
	*dynamodb.Client

	once sync.Once
}

func (c *canceling) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, options ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := c.Client.TransactWriteItems(ctx, in, options...)
	c.once.Do(func() { err = &types.TransactionCanceledException{} })
	return out, err
}

func TestCreateKey_LostResponse_CreatesOneKey(t *testing.T) {
	t.Parallel()
	network := losingResponses("TransactWriteItems", 2)
	for name, client := range map[string]backoffice.API{
		"in the network": newClient(t, over(network)), "reported as a conflict": &canceling{Client: newClient(t)},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t)
			for range access.MaxLiveKeys - 1 {
				_, record := newKey(t, 0)
				must(t, d.owner.StoreKey(t.Context(), record))
			}
			_, record := newKey(t, 0)
			must(t, d.ownerOver(client).StoreKey(t.Context(), record))
			if records, err := d.owner.Keys(t.Context()); err != nil ||
				len(records) != access.MaxLiveKeys {
				t.Errorf("%d keys are stored, %v; want %d", len(records), err, access.MaxLiveKeys)
			}
		})
	}
}

func TestRevokeKey_EndsTheKey_OnlyOnce(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	key, record := newKey(t, 0)
	must(t, d.owner.StoreKey(t.Context(), record))
	for _, minute := range []time.Duration{1, 2} {
		revoked, err := d.owner.RevokeKey(t.Context(), key.ID, midnight().Add(minute*time.Minute))
		record.Revoked = midnight().Add(time.Minute)
		if err != nil || revoked != record {
			t.Errorf("RevokeKey in minute %d = %+v, %v; want %+v", minute, revoked, err, record)
		}
	}
	_, read, err := d.functions.Access(t.Context(), emberforge, key.ID)
	if err != nil || read.Accepts(key, midnight()) {
		t.Errorf("Access = %+v, %v; want a record that no longer accepts the key", read, err)
	}
	if _, err := d.other().RevokeKey(t.Context(), key.ID, midnight()); !errors.Is(err, access.ErrKeyUnknown) {
		t.Errorf("another shop's RevokeKey = %v, want access.ErrKeyUnknown", err)
	}
	if _, err := d.owner.RevokeKey(t.Context(), "0123456789", midnight()); !errors.Is(err, access.ErrKeyUnknown) {
		t.Errorf("RevokeKey of an unknown key = %v, want access.ErrKeyUnknown", err)
	}
}
