package kills_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"shopfront/internal/torture"
	"shopfront/internal/torture/testshop"
	"shopfront/pkg/access"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
)

// Exit codes of shopctl.
const (
	exitRefused     = 3
	exitInterrupted = 130
)

// command is a kind of shopctl command.
type command struct {
	kind string
	// isWhole says that each run is about a whole shop.
	isWhole bool
	// only is the operation at which the command is ended. If it is empty, the command is ended at every operation.
	only string
	// late says to end the command also at calls that are applied only after the command ran again.
	late bool
	// prepare sets up what the command needs. If it is nil, the command needs only a shop with coins.
	prepare func(r *round, s subject)
	args    func(r *round, s subject) []string
	// again runs the command again after the process ended, and checks the output. If it is nil, the output must equal
	// that of an undisturbed run.
	again func(r *round, s subject, ended *process)
	// check makes additional checks of the items stored in the end. It may be nil. In any case, the items must equal
	// those of an undisturbed run.
	check func(r *round, s subject, kept []keptItem)
	mask  mask
}

// ending is a way to end processes.
type ending struct {
	kind    string
	fates   []fate
	signals []syscall.Signal // used in turn
	exit    int              // the expected exit code; -1 if the process was killed
	// brief says to end the command only at writes, once at each write.
	brief bool
}

func killed() ending {
	return ending{
		kind: "killed", fates: []fate{lost, unanswered, late}, signals: []syscall.Signal{syscall.SIGKILL},
		exit: -1,
	}
}

func interrupted() ending {
	return ending{
		kind: "interrupted", fates: []fate{lost, unanswered}, brief: true,
		signals: []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}, exit: exitInterrupted,
	}
}

// round ends a command at each of its steps, each time with a new subject, and then runs it again for every subject.
type round struct {
	*bench
	recorder
	killed  map[fate]int // how often the command was killed, by the fate of the call
	t       *testing.T
	command command
	ending  ending
	prefix  string // of its shops' IDs
	shop    *backoffice.Shop
	// between holds the items stored after all processes had ended, before any command ran again.
	between []keptItem
	printed map[subject][]string // the output of the commands that ran again
	whole   *process             // the undisturbed run
}

// endCommand ends the command at each of its steps, and with each fate of a call as often as wantedKills says.
func endCommand(t *testing.T, programs testshop.Programs, c command, e ending) []torture.Row {
	t.Helper()
	wanted := wantedKills(t)
	if e.exit >= 0 { // not a kill
		wanted = 0
	}
	r := newRound(t, newBench(t, programs), c, e)
	steps := r.steps(r.playUndisturbed())
	if wantedKills(t) == 0 {
		steps = representative(steps)
	}
	steps = repeated(steps, wanted)
	r.completeAll(steps, r.endAll(steps))
	return r.rows()
}

// representative returns the first, the middle and the last step of each fate.
func representative(steps []step) []step {
	byFate := make(map[fate][]step)
	for _, s := range steps {
		byFate[s.fate] = append(byFate[s.fate], s)
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s step) bool {
		same := byFate[s.fate]
		return s != same[0] && s != same[len(same)/2] && s != same[len(same)-1]
	})
}

// repeated returns the steps, and repeats the steps of each fate until there are as many as wanted.
func repeated(steps []step, wanted int) []step {
	all := slices.Clone(steps)
	counts := make(map[fate]int)
	for _, s := range steps {
		counts[s.fate]++
	}
	for slices.Min(slices.Collect(maps.Values(counts))) < wanted {
		for _, s := range steps {
			if counts[s.fate] < wanted {
				all = append(all, s)
				counts[s.fate]++
			}
		}
	}
	return all
}

// rows returns a row for each fate of a call, with the number of kills. The first row also has the violations.
func (r *round) rows() (rows []torture.Row) {
	if r.ending.exit >= 0 {
		return nil
	}
	for _, fate := range r.ending.fates {
		if r.killed[fate] > 0 {
			rows = append(rows, torture.Row{Fault: r.ending.kind + ": " + r.command.kind + ", " +
				fate.relativeTo("a call"), Injected: r.killed[fate]})
		}
	}
	if len(rows) > 0 {
		rows[0].Add(r.row)
	}
	return rows
}

func newRound(t *testing.T, b *bench, c command, e ending) *round {
	t.Helper()
	r := &round{bench: b, killed: make(map[fate]int), t: t, command: c, ending: e, printed: make(map[subject][]string)}
	r.prefix = idForm.ReplaceAllString(e.kind+"-"+c.kind, "-") + "-0"
	if !c.isWhole {
		r.shop = r.open(t, catalog.ShopID(r.prefix))
	}
	return r
}

// idForm matches characters that a shop's ID cannot contain.
var idForm = regexp.MustCompile(`[^a-z]+`)

func (r *round) subject(number int) subject {
	s := subject{
		shop: r.prefix, isWhole: r.command.isWhole,
		code: fmt.Sprintf("SUMMER-%03d", number), batch: fmt.Sprintf("summer-%03d", number),
	}
	if s.isWhole {
		s.shop = fmt.Sprintf("%s-%03d", r.prefix, number)
	}
	return s
}

// playUndisturbed runs the command to its end, and returns the calls that it makes.
func (r *round) playUndisturbed() []string {
	r.t.Helper()
	s := r.subject(0)
	r.prepare(s)
	r.trap.reset()
	r.whole = r.must(r.t, r.command.args(r, s)...)
	return r.trap.calls()
}

// completeAll runs the ended commands again, and compares the stored items with those of the undisturbed run.
func (r *round) completeAll(steps []step, ended []*process) {
	r.t.Helper()
	r.between = r.readKept(r.t, r.prefix)
	for i := range steps {
		s := r.subject(i + 1)
		if r.command.again == nil {
			r.runAgain(s)
		} else {
			r.command.again(r, s, ended[i])
		}
	}
	if err := r.trap.letGo(); err != nil {
		r.t.Fatal(err)
	}
	r.judge(steps)
}

// endAll runs the command once for each step, and ends it at that step.
func (r *round) endAll(steps []step) []*process {
	r.t.Helper()
	ended := make([]*process, len(steps))
	for i, at := range steps {
		s := r.subject(i + 1)
		r.prepare(s)
		ended[i] = r.endAt(s, at, i)
		if r.verifiesAt(i, len(steps)) {
			r.settle()
			wantVerified(r.t, &r.recorder, r.bench, catalog.ShopID(r.prefix), r.command.mask.shares)
		}
	}
	r.settle()
	return ended
}

// judge compares the items stored in the end with those of the undisturbed run.
func (r *round) judge(steps []step) {
	r.t.Helper()
	kept := r.readKept(r.t, r.prefix)
	want := r.subject(0).state(r.t, kept, r.command.mask)
	for i, at := range steps {
		s := r.subject(i + 1)
		// all shops have the same items, so a sample is enough
		if i == 0 || r.command.isWhole && wantedKills(r.t) > 0 && i%10 == 0 {
			wantVerified(r.t, &r.recorder, r.bench, catalog.ShopID(s.shop), false)
		}
		if got := s.state(r.t, kept, r.command.mask); got != want {
			r.violation(r.t, "%s, ended at %s and run again: the stored items are\n%s\nwant\n%s", r.command.kind, at,
				got, want)
		}
		if r.command.check != nil {
			r.command.check(r, s, kept)
		}
	}
}

// settle waits until no call of an ended process is in flight, and disarms the trap.
func (r *round) settle() {
	r.t.Helper()
	if err := r.trap.settle(); err != nil {
		r.t.Fatal(err)
	}
	r.trap.reset()
}

// verifiesAt reports whether to verify the shop after step i: its items must add up, or belong to an edit in
// progress. Verifying is slow, so only one step does it. If each subject is a whole shop, there may be nothing to
// verify yet.
func (r *round) verifiesAt(i, steps int) bool {
	switch {
	case r.command.isWhole:
		return false
	case wantedKills(r.t) > 0:
		return i == steps-1
	default:
		return r.command.mask.shares && !r.ending.brief && i == steps/3
	}
}

func (r *round) prepare(s subject) {
	if r.command.prepare != nil {
		r.command.prepare(r, s)
	}
}

// steps returns the points at which a run that makes these calls can be ended.
func (r *round) steps(calls []string) []step {
	counts := make(map[string]int)
	for _, operation := range calls {
		counts[operation]++
	}
	var steps []step
	for _, operation := range slices.Sorted(maps.Keys(counts)) {
		if r.command.only != "" && r.command.only != operation {
			continue
		}
		for n := 1; n <= counts[operation]; n++ {
			for _, fate := range r.fates(operation, n) {
				steps = append(steps, step{operation, n, fate})
			}
		}
	}
	return steps
}

// fates returns the fates to test for a call. For a read the fate makes no difference, so the short form tests only one
// fate per read.
func (r *round) fates(operation string, n int) []fate {
	fates := slices.Clone(r.ending.fates)
	if !r.command.late || !isWrite(operation) {
		fates = slices.DeleteFunc(fates, func(f fate) bool { return f == late })
	}
	switch hasTime := wantedKills(r.t) > 0; {
	case r.ending.brief && !isWrite(operation):
		return nil
	case r.ending.brief, !hasTime && !isWrite(operation):
		return fates[n%len(fates):][:1]
	default:
		return fates
	}
}

// endAt sets the trap for the step, runs the command, and checks that it ended at the step.
func (r *round) endAt(s subject, at step, number int) *process {
	r.t.Helper()
	p := r.process(r.t, r.command.args(r, s)...)
	signals := r.ending.signals
	r.trap.set(at, func() { p.end(signals[number%len(signals)]) })
	p.run(r.t)
	switch {
	case !r.trap.hasSprung():
		r.violation(r.t, "%s never reached %s: %s", r.command.kind, at, p)
	case p.exit() != r.ending.exit || r.ending.exit < 0 && !p.isKilled():
		r.violation(r.t, "%s (%s at %s) ended with the wrong exit code: %s", r.command.kind, r.ending.kind, at, p)
	default:
		r.killed[at.fate]++
	}
	return p
}

var times = regexp.MustCompile(`"(created|revoked|ordered|fulfilled|cancelled|redeemed|undone)At":"[^"]*"`)

// runAgain runs the command again, and expects the output of the undisturbed run.
func (r *round) runAgain(s subject) {
	r.t.Helper()
	p := r.must(r.t, r.command.args(r, s)...)
	want := times.ReplaceAllString(r.subject(0).plain(r.t, r.whole.stdout.String()), "")
	if got := times.ReplaceAllString(s.plain(r.t, p.stdout.String()), ""); got != want {
		r.violation(r.t, "the second run prints\n%s\nwant\n%s", got, want)
	}
}

// isKept reports whether the ended process left any item of the subject behind.
func (r *round) isKept(s subject) bool { return len(s.of(r.t, r.between)) > 0 }

// created runs create again. If the voucher exists, create refuses, because another operator may have created it.
func created(r *round, s subject, _ *process) {
	if !r.isKept(s) {
		r.runAgain(s)
		return
	}
	p := r.process(r.t, r.command.args(r, s)...)
	if p.run(r.t); p.exit() != exitRefused || !strings.Contains(p.stderr.String(), `"kind":"exists"`) {
		r.violation(r.t, "creating an existing voucher was not refused: %s", p)
	}
}

// generated completes a batch. Every code printed before must be stored, and every stored code must be printed again.
func generated(r *round, s subject, ended *process) {
	before := codes(s.of(r.t, r.between))
	for _, code := range printedCodes(r.t, ended) {
		if !slices.Contains(before, code) {
			r.violation(r.t, "%s was printed, but is not stored", code)
		}
	}
	args := resume(r.command.args(r, s))
	p := r.process(r.t, args...)
	if p.run(r.t); len(before) == 0 { // there is nothing to complete
		if p.exit() != exitRefused || !strings.Contains(p.stderr.String(), `"kind":"not_found"`) {
			r.violation(r.t, "resuming a batch without codes was not refused: %s", p)
		}
		p = r.must(r.t, r.command.args(r, s)...)
	} else if p.exit() != 0 {
		r.violation(r.t, "the batch was not completed: %s", p)
	}
	r.printed[s] = printedCodes(r.t, p)
	for _, code := range before {
		if !slices.Contains(r.printed[s], code) {
			r.violation(r.t, "%s was stored, but the run that completes the batch does not print it", code)
		}
	}
}

// resume returns the arguments that complete the batch instead of beginning it.
func resume(args []string) []string {
	resumed := slices.Clone(args)
	for i, arg := range resumed {
		if arg == "--batch" {
			resumed[i] = "--resume"
		}
	}
	return resumed
}

var codeLine = regexp.MustCompile(`^\{"code":"([^"]+)","batch":"[^"]+"\}\n$`)

// printedCodes returns the codes on stdout, sorted.
func printedCodes(t *testing.T, p *process) []string {
	t.Helper()
	var codes []string
	for line := range strings.Lines(p.stdout.String()) {
		match := codeLine.FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("%q is not a complete line with a code: %s", line, p)
		}
		codes = append(codes, match[1])
	}
	slices.Sort(codes)
	return codes
}

// wantAllPrinted checks that the last run printed every stored code once.
func wantAllPrinted(r *round, s subject, kept []keptItem) {
	if all := codes(s.of(r.t, kept)); !slices.Equal(r.printed[s], all) {
		r.violation(r.t, "the codes %q were printed, but the codes %q are stored", r.printed[s], all)
	}
}

// keyCreated creates another key, because nobody knows the key that a killed process created.
func keyCreated(r *round, s subject, _ *process) {
	p := r.must(r.t, r.command.args(r, s)...)
	var created struct{ Key string }
	if err := json.Unmarshal(p.stdout.Bytes(), &created); err != nil {
		r.t.Fatal(p)
	}
	r.printed[s] = []string{created.Key}
}

// wantKeysKept expects the key that was printed last, and at most one key that was stored before. A late write creates
// no key, because another key was created meanwhile.
func wantKeysKept(r *round, s subject, kept []keptItem) {
	key, _ := access.ParseKey(r.printed[s][0])
	ofKeys := func(kept []keptItem) []keptItem {
		return slices.DeleteFunc(s.of(r.t, kept), func(it keptItem) bool { return !isKey(it) })
	}
	before, after := ofKeys(r.between), ofKeys(kept)
	isPrinted := func(it keptItem) bool { return it.text("digest") == fmt.Sprintf("%x", key.Digest()) }
	if len(after) != len(before)+1 || len(before) > 1 || !slices.ContainsFunc(after, isPrinted) {
		r.violation(r.t, "keys before the second run: %+v, after: %+v; want one more key, and the printed one "+
			"among them", before, after)
	}
}

// applied applies a catalogue again. Then nothing may be left to change. A new shop must not have opened before it was
// complete, nor have existed before its settings.
func applied(r *round, s subject, _ *process) {
	r.t.Helper()
	before := s.of(r.t, r.between)
	hasItem := func(sort string) bool {
		return slices.ContainsFunc(before, func(it keptItem) bool { return it.sort == sort })
	}
	if hasItem("customer") && !hasItem("settings") {
		r.violation(r.t, "the shop existed without its settings")
	}
	if r.command.prepare == nil && slices.ContainsFunc(before, isOpenShop) {
		for _, product := range []string{"product#coins", "product#t-shirt"} {
			if !hasItem(product) {
				r.violation(r.t, "the shop was open without %s", product)
			}
		}
	}
	r.must(r.t, r.command.args(r, s)...)
	plan, err := r.Calm.PlanCatalogue(r.t.Context(), catalogueFiles(s), true, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	if plan.Writes() != 0 {
		r.violation(r.t, "after applying again, %d writes are left", plan.Writes())
	}
}

func isOpenShop(it keptItem) bool {
	offSale, _ := it.attributes["offSale"].(bool)
	return it.sort == "customer" && !offSale
}

// switched disables a batch again. The run must report all vouchers of the batch.
func switched(r *round, s subject, _ *process) {
	if p := r.must(r.t, r.command.args(r, s)...); !strings.Contains(p.stdout.String(),
		fmt.Sprintf(`"vouchers":%d,`, switchedSize)) {
		r.violation(r.t, "the second run does not report %d vouchers: %s", switchedSize, p)
	}
}
