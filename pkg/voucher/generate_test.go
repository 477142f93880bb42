package voucher_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shopfront/pkg/voucher"
)

// fakeStore is a voucher.BatchStore in memory.
type fakeStore struct {
	mu       sync.Mutex
	vouchers map[voucher.Code]voucher.Voucher
	// create, if set, is called before each voucher is stored, with the number of vouchers stored so far. If it returns
	// an error, the method Create returns that error and stores nothing.
	create func(v voucher.Voucher, stored int) error
}

func (s *fakeStore) Create(_ context.Context, v voucher.Voucher) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.create != nil {
		if err := s.create(v, len(s.vouchers)); err != nil {
			return err
		}
	}
	if _, taken := s.vouchers[v.Code]; taken {
		return voucher.ErrCodeTaken
	}
	if s.vouchers == nil {
		s.vouchers = make(map[voucher.Code]voucher.Voucher)
	}
	s.vouchers[v.Code] = v
	return nil
}

func (s *fakeStore) Batch(_ context.Context, batch string) iter.Seq2[voucher.Voucher, error] {
	return func(yield func(voucher.Voucher, error) bool) {
		for _, v := range s.vouchers {
			if v.Batch == batch && !yield(v, nil) {
				return
			}
		}
	}
}

// writers is how many calls fakeStore.InParallel makes at a time.
const writers = 16

func (*fakeStore) InParallel(ctx context.Context, count int, do func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all sync.WaitGroup
	var begun atomic.Int64
	for range min(writers, count) {
		all.Go(func() {
			for ctx.Err() == nil && begun.Add(1) <= int64(count) {
				if err := do(ctx); err != nil {
					stop(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func generator(store voucher.BatchStore) voucher.Generator {
	return voucher.Generator{
		Store: store, Random: rand.NewChaCha8([32]byte{}),
		Now: func() time.Time { return time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC) },
	}
}

func launch(count int) voucher.BatchRequest {
	return voucher.BatchRequest{
		Count: count,
		Terms: voucher.Terms{Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}, Batch: "launch"},
	}
}

func (s *fakeStore) codes() []voucher.Code {
	codes := make([]voucher.Code, 0, len(s.vouchers))
	for code := range s.vouchers {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}

type issued []voucher.Code

func (i *issued) issue(v voucher.Voucher) error {
	*i = append(*i, v.Code)
	return nil
}

func (i *issued) sorted() []voucher.Code { return slices.Sorted(slices.Values(*i)) }

func TestGenerate_IssuesExactlyWhatItStores(t *testing.T) {
	for _, count := range []int{1, 15, 16, 17, 500} {
		var store fakeStore
		var out issued
		result, err := generator(&store).Generate(t.Context(), launch(count), out.issue)
		if err != nil || result != (voucher.BatchResult{Created: count}) {
			t.Fatalf("Generate of %d vouchers = %+v, %v", count, result, err)
		}
		if !slices.Equal(out.sorted(), store.codes()) || len(out) != count {
			t.Errorf("batch of %d: %d issued, %d stored", count, len(out), len(store.vouchers))
		}
	}
}

func TestGenerate_Format_AppliesToEveryCode(t *testing.T) {
	order := launch(20)
	order.Format = voucher.CodeFormat{Prefix: "XMAS", Length: 20, Group: 5}
	form := regexp.MustCompile(`^XMAS(-[0-9A-HJKMNP-TV-Z]{5}){4}$`)
	_, err := generator(&fakeStore{}).Generate(t.Context(), order, func(v voucher.Voucher) error {
		if !form.MatchString(v.Written) {
			t.Errorf("code %q does not have the ordered format", v.Written)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestGenerate_TakenCode_IsReplacedByAnother(t *testing.T) {
	var first issued
	if _, err := generator(&fakeStore{}).Generate(t.Context(), launch(1), first.issue); err != nil {
		t.Fatal(err)
	}
	store := fakeStore{vouchers: map[voucher.Code]voucher.Voucher{first[0]: {Code: first[0]}}}
	var out issued
	if _, err := generator(&store).Generate(t.Context(), launch(3), out.issue); err != nil {
		t.Fatal(err)
	}
	if len(out) != 3 || slices.Contains(out, first[0]) {
		t.Errorf("issued %v although %s was taken", out, first[0])
	}
}

// delayed is a store behind a slow network. It collects the vouchers of a run instead of storing them, and returns an
// error for each. The test stores them later.
type delayed struct {
	*fakeStore
	all      sync.WaitGroup // of the writes in flight
	mu       sync.Mutex
	inFlight []voucher.Voucher
}

func (s *delayed) Create(ctx context.Context, v voucher.Voucher) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	s.inFlight = append(s.inFlight, v)
	s.mu.Unlock()
	s.all.Done()
	s.all.Wait()
	return errors.New("response lost")
}

func TestGenerate_LateWrites_AreReportedAndCanBeIssued(t *testing.T) {
	var store fakeStore
	var out issued
	if _, err := generator(&store).Generate(t.Context(), launch(1), out.issue); err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{1})
	resume := func(store voucher.BatchStore, count int) (issued, error) {
		order, out := launch(count), issued{}
		order.Resume = true
		g := generator(store)
		g.Random = random
		_, err := g.Generate(t.Context(), order, out.issue)
		return out, err
	}
	network := delayed{fakeStore: &store}
	network.all.Add(writers)
	if _, err := resume(&network, 500); err == nil || len(network.inFlight) != writers {
		t.Fatalf("%v; %d writes are in flight, want %d", err, len(network.inFlight), writers)
	}
	if out, err := resume(&store, 20); err != nil || len(out) != 20 {
		t.Fatalf("%d issued, %v", len(out), err)
	}
	for _, v := range network.inFlight {
		if err := store.Create(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := resume(&store, 20); !errors.Is(err, voucher.ErrBatchLarger) ||
		!strings.Contains(err.Error(), ": 36") || len(out) > 0 {
		t.Errorf("%d issued, %v, want voucher.ErrBatchLarger with 36", len(out), err)
	}
	if out, err := resume(&store, 36); err != nil || !slices.Equal(out.sorted(), store.codes()) {
		t.Errorf("%d issued of %d, %v", len(out), len(store.vouchers), err)
	}
}

func TestGenerate_EndsEarly_ResumingCompletesTheBatch(t *testing.T) {
	errLost := errors.New("response lost")
	// onWrite is called when the 21st voucher is to be written.
	for name, onWrite := range map[string]func(store *fakeStore, v voucher.Voucher, cancel func()) error{
		"not written": func(*fakeStore, voucher.Voucher, func()) error { return errLost },
		"written, but the response is lost": func(store *fakeStore, v voucher.Voucher, _ func()) error {
			store.vouchers[v.Code] = v
			return errLost
		},
		"cancelled": func(_ *fakeStore, _ voucher.Voucher, cancel func()) error {
			cancel()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var store fakeStore
			store.create = func(v voucher.Voucher, stored int) error {
				if stored != 20 {
					return nil
				}
				return onWrite(&store, v, cancel)
			}
			var out issued
			result, err := generator(&store).Generate(ctx, launch(500), out.issue)
			if err == nil || result.Created != len(out) || len(out) >= 500 {
				t.Fatalf("Generate = %+v, %v, with %d issued; want an early end", result, err, len(out))
			}
			for _, code := range out {
				if !slices.Contains(store.codes(), code) {
					t.Errorf("%s was issued but is not stored", code)
				}
			}
			completes(t, &store, 500)
		})
	}
}

func TestGenerate_IssueFails_ResumingCompletesTheBatch(t *testing.T) {
	errFull := errors.New("no space left on device")
	var store fakeStore
	_, err := generator(&store).Generate(t.Context(), launch(500), func(voucher.Voucher) error { return errFull })
	if !errors.Is(err, errFull) || len(store.vouchers) >= 500 {
		t.Fatalf("%v, %d stored; want an early end", err, len(store.vouchers))
	}
	completes(t, &store, 500)
}

// completes resumes a batch and fails the test unless each voucher of the batch is then issued exactly once.
func completes(t *testing.T, store *fakeStore, count int) {
	t.Helper()
	store.create = nil
	stored := len(store.vouchers)
	order := launch(count)
	order.Resume = true
	var all issued
	g := generator(store)
	g.Random = rand.NewChaCha8([32]byte{1})
	result, err := g.Generate(t.Context(), order, all.issue)
	if err != nil || result != (voucher.BatchResult{Found: stored, Created: count - stored}) {
		t.Fatalf("resumed: %+v, %v; %d were stored", result, err, stored)
	}
	if !slices.Equal(all.sorted(), store.codes()) || len(all) != count {
		t.Errorf("resumed: %d issued, %d stored, want %d", len(all), len(store.vouchers), count)
	}
}

func TestGenerate_InvalidOrder_ChangesNothing(t *testing.T) {
	ten := voucher.Limit(10)
	for name, test := range map[string]struct {
		change func(*voucher.BatchRequest)
		want   func(error) bool
	}{
		"no vouchers": {func(o *voucher.BatchRequest) { o.Count = 0 }, isFieldError("count")},
		"too many vouchers": {
			func(o *voucher.BatchRequest) { o.Count = voucher.MaxGenerated + 1 },
			isFieldError("count"),
		},
		"too few random characters": {func(o *voucher.BatchRequest) { o.Format.Length = 15 }, isFieldError("length")},
		"no batch":                  {func(o *voucher.BatchRequest) { o.Terms.Batch = "" }, isFieldError("batch")},
		"no reward": {
			func(o *voucher.BatchRequest) { o.Terms.Reward = voucher.Reward{} },
			isFieldError("reward"),
		},
		"a batch that exists": {func(*voucher.BatchRequest) {}, is(voucher.ErrBatchTaken)},
		"resumes an unknown batch": {
			func(o *voucher.BatchRequest) { o.Resume, o.Terms.Batch = true, "lunch" },
			is(voucher.ErrBatchUnknown),
		},
		"resumes to fewer vouchers": {
			func(o *voucher.BatchRequest) { o.Resume, o.Count = true, 4 },
			is(voucher.ErrBatchLarger),
		},
		"resumes with another reward": {
			resume(func(terms *voucher.Terms) { terms.Reward.PercentOff = 25 }),
			differs("reward"),
		},
		"resumes with another limit": {
			resume(func(terms *voucher.Terms) { terms.MaxUses = &ten }),
			differs("max-uses"),
		},
		"a note with a line break": {
			func(o *voucher.BatchRequest) { o.Terms.Note = "two\nlines" },
			isFieldError("note"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			var store fakeStore
			g := generator(&store)
			var out issued
			if _, err := g.Generate(t.Context(), launch(5), out.issue); err != nil {
				t.Fatal(err)
			}
			order := launch(8)
			test.change(&order)
			result, err := g.Generate(t.Context(), order, func(voucher.Voucher) error {
				t.Error("issued a voucher")
				return nil
			})
			if !test.want(err) || result != (voucher.BatchResult{}) || len(store.vouchers) != 5 {
				t.Errorf("Generate = %+v, %v; %d vouchers are stored, want 5", result, err, len(store.vouchers))
			}
		})
	}
}

func TestGenerate_BatchWithAnEditedVoucher_IsCompleted(t *testing.T) {
	limit := func(n voucher.Limit) *voucher.Limit { return &n }
	begun := voucher.Terms{
		Reward: voucher.Reward{Kind: voucher.RewardPercentOff, PercentOff: 20}, Batch: "launch", MaxUses: limit(100),
	}
	disabled, nick, note, until := true, "Heron", "second letter", time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)
	for name, edit := range map[string]voucher.Edit{
		"disabled":           {Disabled: &disabled},
		"bound to a nick":    {Nick: &nick},
		"with a note":        {Note: &note},
		"ends earlier":       {ValidUntil: &until},
		"begins later":       {ValidFrom: &until},
		"more uses":          {MaxUses: limit(600)},
		"more uses per nick": {MaxUsesPerNick: limit(3)},
	} {
		t.Run(name, func(t *testing.T) {
			var store fakeStore
			order := voucher.BatchRequest{Terms: begun, Count: 3}
			g := generator(&store)
			var first, all issued
			if _, err := g.Generate(t.Context(), order, first.issue); err != nil {
				t.Fatal(err)
			}
			edited, err := store.vouchers[first[0]].Edited(edit)
			if err != nil {
				t.Fatal(err)
			}
			store.vouchers[first[0]] = edited
			order.Count, order.Resume = 5, true
			result, err := g.Generate(t.Context(), order, all.issue)
			if err != nil || result != (voucher.BatchResult{Found: 3, Created: 2}) || len(all) != 5 {
				t.Errorf("%+v, %v, %d issued", result, err, len(all))
			}
		})
	}
}

func resume(change func(*voucher.Terms)) func(*voucher.BatchRequest) {
	return func(o *voucher.BatchRequest) {
		o.Resume = true
		change(&o.Terms)
	}
}

func is(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }

func isFieldError(field string) func(error) bool {
	return func(err error) bool {
		found, is := errors.AsType[*voucher.FieldError](err)
		return is && found.Field == field
	}
}

func differs(field string) func(error) bool {
	return func(err error) bool {
		found, is := errors.AsType[*voucher.OtherTermsError](err)
		return is && found.Field == field
	}
}
