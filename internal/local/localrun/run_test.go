package localrun_test

import (
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shopfront/internal/local/localrun"
	"shopfront/internal/local/localrun/localruntest"
)

// patience bounds how long a test waits on a slow machine.
const patience = 2 * time.Minute

// copyTree copies the source tree to a temporary directory of the test, and returns its root.
func copyTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := localruntest.CopyTree(t.Context(), root, t.Output()); err != nil {
		t.Fatal(err)
	}
	return root
}

// edit replaces a string in a file of the source tree. The string must exist.
func edit(t *testing.T, root, name, old, replacement string) {
	t.Helper()
	path := filepath.Join(root, name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(old)) {
		t.Fatalf("%s has no %q", name, old)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(replacement), 1), 0o600); err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, root string, fresh bool) *localruntest.Run {
	t.Helper()
	run, err := localruntest.Start(root, fresh)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Stop() })
	return run
}

// stop ends a run and checks that it leaves nothing behind.
func stop(t *testing.T, run *localruntest.Run) {
	t.Helper()
	if err := run.Stop(); err != nil {
		t.Error(err)
	}
	wantNothingLeft(t, run.Root())
}

func wantNothingLeft(t *testing.T, root string) {
	t.Helper()
	processes, err := localruntest.Processes(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if len(processes) > 0 {
		t.Errorf("left running: %q", processes)
	}
	for _, name := range []string{"state.json", "env-vars.json"} {
		if _, err := os.Stat(filepath.Join(root, ".shopfront", name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s still exists: %v", name, err)
		}
	}
}

// curls returns the curl commands that a run printed.
func curls(run *localruntest.Run) []string {
	var lines []string
	for line := range strings.Lines(run.Output()) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "curl ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// execute runs a printed curl command in a shell. It replaces $BASE with the run's address, and returns the status and
// the rest of the response.
func execute(t *testing.T, run *localruntest.Run, line string) (status, rest string) {
	t.Helper()
	line = strings.ReplaceAll(line, "$BASE", run.State.BaseURL)
	out, err := exec.CommandContext(t.Context(), "sh", "-c",
		line+" --silent --show-error --max-time 120").CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
	status, rest, _ = strings.Cut(string(out), "\r\n")
	return strings.TrimPrefix(status, "HTTP/1.1 "), rest
}

// The subtests share a source tree, because starting DynamoDB Local and building the functions take most of the time.
// They depend on their order: each subtest leaves the tree as the next one needs it.
func TestLocalRun(t *testing.T) {
	root := copyTree(t)
	t.Run("a port in use is reported before any other step", func(t *testing.T) { testPortInUse(t, root) })
	first := start(t, root, false)
	redeem := strings.ReplaceAll(curls(first)[0], first.State.BaseURL, "$BASE")
	t.Run("every printed command works, once KEY and ID are replaced",
		func(t *testing.T) { testPrintedLines(t, first) })
	t.Run("a redemption reaches the feed through the stream", func(t *testing.T) { testFeed(t, first) })
	t.Run("README.md shows only commands that the run prints", func(t *testing.T) { testReadme(t, first) })
	t.Run("each request is printed and logged with the same ID", func(t *testing.T) { testRequestLine(t, first) })
	t.Run("the list of shops links to the shops and shows codes to try", func(t *testing.T) { testIndex(t, first) })
	t.Run("the demo payment page places orders", func(t *testing.T) { testPayment(t, first) })
	t.Run("a checkout with a total of zero is ordered without a payment",
		func(t *testing.T) { testFreeOrder(t, first) })
	t.Run("the demo payment page refuses payments from outside the run's shops",
		func(t *testing.T) { testRefusedPayments(t, first) })
	t.Run("the run writes its state and the functions' variables", func(t *testing.T) { testStateFiles(t, first) })
	stop(t, first)
	t.Run("data survive a restart", func(t *testing.T) { testRestart(t, root, redeem) })
	t.Run("a mistake in the source is shown", func(t *testing.T) { testMistakes(t, root) })
	t.Run("an interrupt during the build ends the run", func(t *testing.T) { testInterruptedBuild(t, root) })
	t.Run("fresh deletes data, edits take effect, and the run ends when DynamoDB Local ends",
		func(t *testing.T) { testFresh(t, root) })
	t.Run("damaged data are reported", func(t *testing.T) { testDamagedData(t, root) })
}

// server is the demo shop's server. In printed commands, it replaces KEY with its key, and ID with the ID of its last
// open checkout or last redemption.
type server struct{ key, checkout, redemption string }

func newServer(t *testing.T, run *localruntest.Run) *server {
	t.Helper()
	shop, err := run.State.Deployment(rand.Int64N).Shop(t.Context(), "emberforge")
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := shop.CreateKey(t.Context(), "server", time.Time{}, cryptorand.Reader, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &server{key.Secret(), "no checkout yet", "no redemption yet"}
}

func (s *server) execute(t *testing.T, run *localruntest.Run, line string) (status, rest string) {
	t.Helper()
	status, rest = execute(t, run, strings.NewReplacer(
		"Bearer KEY", "Bearer "+s.key, "/redemptions/ID", "/redemptions/"+s.redemption, `"ID"`, `"`+s.checkout+`"`,
		"/ID", "/"+s.checkout,
	).Replace(line))
	opened := regexp.MustCompile(`"id":"([\w-]{44})","number":"[^"]*","status":"open"`)
	if made := opened.FindStringSubmatch(rest); made != nil {
		s.checkout = made[1]
	}
	if made := regexp.MustCompile(`"id":"([\w-]{22})","status":"redeemed"`).FindStringSubmatch(rest); made != nil {
		s.redemption = made[1]
	}
	return status, rest
}

func testPrintedLines(t *testing.T, run *localruntest.Run) {
	server := newServer(t, run)
	lines := curls(run)
	if want := 20; len(lines) != want {
		t.Fatalf("the run printed %d commands, want %d", len(lines), want)
	}
	for i, line := range lines {
		want := "200 OK"
		if i == 1 {
			want = "404 Not Found" // the first command redeemed the code, and this one has another idempotency key
		}
		if status, rest := server.execute(t, run, line); status != want {
			t.Errorf("%s: %s %s, want %s", line, status, rest, want)
		}
	}
}

// testFeed waits until the feed contains the redemption that the first printed command made, and the event that it was
// undone.
func testFeed(t *testing.T, run *localruntest.Run) {
	server := newServer(t, run)
	lines := curls(run)
	line := lines[slices.IndexFunc(lines,
		func(line string) bool { return strings.Contains(line, "/shop/emberforge/events") })]
	for until := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		status, rest := server.execute(t, run, line)
		if strings.Contains(rest, `"type":"redemption.created"`) &&
			strings.Contains(rest, `"type":"redemption.undone"`) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the feed lacks an event: %s %s; the run printed %s", status, rest, run.Output())
		}
	}
}

// README.md shows some of the printed commands with their responses. It writes $BASE instead of the address and leaves
// out curl's -i. The responses must be equal except for IDs and times. testReadme uses other idempotency keys, because
// the printed commands have used theirs.
func testReadme(t *testing.T, run *localruntest.Run) {
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	printed := make(map[string]bool)
	for _, line := range curls(run) {
		printed[line] = true
		printed[strings.Replace(line, "curl -i ", "curl ", 1)] = true
	}
	base := regexp.MustCompile(`"\$BASE([^"]*)"`)
	shown := regexp.MustCompile(`(?m)^\$ (curl .*)\n(.*)$`).FindAllStringSubmatch(string(readme), -1)
	varying := regexp.MustCompile(`"(id":"[\w-]{22}|id":"[\w-]{44}|number":"[^"]*|\w+At":"[\d-]{10}T[\d:.]{12}Z)"`)
	server := newServer(t, run)
	if len(shown) == 0 {
		t.Error("README.md shows no curl")
	}
	for _, line := range shown {
		if !printed[base.ReplaceAllString(line[1], "'"+run.State.BaseURL+"$1'")] {
			t.Errorf("the run does not print: %s", line[1])
		}
		_, got := server.execute(t, run,
			"curl -i"+strings.Replace(line[1], "idempotency-key: ", "idempotency-key: 2", 1)[len("curl"):])
		_, got, _ = strings.Cut(got, "\r\n\r\n")
		if varying.ReplaceAllString(got, "") != varying.ReplaceAllString(line[2], "") {
			t.Errorf("%s\nreturns %s\nbut README.md shows %s", line[1], got, line[2])
		}
	}
}

func testRequestLine(t *testing.T, run *localruntest.Run) {
	send(t, http.MethodGet, run.State.BaseURL+"/shop/emberforge/checkout?limit=1", "")
	lines := strings.Split(strings.TrimSpace(run.Output()), "\n")
	last := strings.Fields(lines[len(lines)-1])
	if len(last) != 6 || last[1] != "200" || last[2] != "GET" || last[3] != "/shop/emberforge/checkout" {
		t.Fatalf("the last printed line is %q, want one about the request for the checkout area", last)
	}
	// a function's log may come after its response
	for until := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		log, err := os.ReadFile(filepath.Join(run.Root(), ".shopfront", "functions.log"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(log), last[5]) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("request %s is not in the functions' log", last[5])
		}
	}
}

func testStateFiles(t *testing.T, run *localruntest.Run) {
	state, err := localrun.Find(t.Context(), run.Root())
	if err != nil || state != run.State {
		t.Errorf("the stored state is %+v, %v, want %+v", state, err, run.State)
	}
	text, err := os.ReadFile(filepath.Join(run.Root(), ".shopfront", "env-vars.json"))
	if err != nil {
		t.Fatal(err)
	}
	var variables map[string]map[string]string
	if err := json.Unmarshal(text, &variables); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"STACK_NAME": "shopfront", "CATALOGUE_TABLE": state.Tables.Catalogue, "VOUCHERS_TABLE": state.Tables.Vouchers,
		"REFUSALS_TABLE": "RefusalsTable", "ALLOWED_ORIGINS": "*",
		"AWS_ENDPOINT_URL_DYNAMODB": strings.Replace(state.DynamoDBEndpoint, "127.0.0.1", "host.docker.internal", 1),
	}
	if len(variables) != 18 || !maps.Equal(variables["RedeemVoucher"], want) {
		t.Errorf("the variables are %v, want those of 18 functions, with %v for RedeemVoucher", variables, want)
	}
}

func testRestart(t *testing.T, root, redeem string) {
	run := start(t, root, false)
	if strings.Contains(run.Output(), "Loading") {
		t.Errorf("the run loads the demo shop again: %s", run.Output())
	}
	status, rest := execute(t, run, redeem)
	if status != "409 Conflict" || !strings.Contains(rest, "redemption-undone") {
		t.Errorf("the retry of a redemption that was undone got %s %s, want 409", status, rest)
	}
	stop(t, run)
}

func testMistakes(t *testing.T, root string) {
	for name, test := range map[string]struct {
		file, right, wrong string
		want               []string // parts of the error or of the run's output
	}{
		"a table with other keys": {
			"template.yaml", "- AttributeName: sk\n          AttributeType: S",
			"- AttributeName: sk\n          AttributeType: B",
			[]string{"table CatalogueTable: it exists and differs from the template", "--fresh"},
		},
		"a compile error": {
			"functions/redeem-voucher/main.go", "env.VouchersTable()", "env.CouponsTable()",
			[]string{
				"the functions cannot be built",
				"\nfunctions/redeem-voucher/main.go:", "env.CouponsTable undefined",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			edit(t, root, test.file, test.right, test.wrong)
			defer edit(t, root, test.file, test.wrong, test.right)
			var out localruntest.Output
			err := run(t.Context(), root, 0, &out)
			wantError(t, fmt.Errorf("%w\n%s", err, out.String()), test.want...)
			wantNothingLeft(t, root)
		})
	}
}

// run starts a local run that should fail.
func run(ctx context.Context, root string, port int, out io.Writer) error {
	started, err := localrun.Start(ctx,
		localrun.Options{Root: root, Port: port, Out: out, Warnings: out, Now: time.Now, Random: rand.Int64N})
	if started != nil {
		ended, end := context.WithCancel(ctx)
		end()
		err = errors.Join(errors.New("the run has started"), started.Wait(ended))
	}
	return err
}

func testFresh(t *testing.T, root string) {
	edit(t, root, "template.yaml", "        GetDocs:\n", `        GetManual:
          Type: HttpApi
          Properties:
            ApiId: !Ref Api
            Method: GET
            Path: /manual/{chapter}
        GetDocs:
`)
	edit(t, root, "template.yaml", "\nResources:\n", "\nResources:\n  Late: {Type: AWS::SNS::Topic}\n")
	edit(t, root, "functions/redeem-voucher/event.json", "Alder", "Al'der $HOME")
	run := start(t, root, true)
	status, rest := execute(t, run, curls(run)[0])
	if status != "200 OK" || strings.Contains(rest, "Idempotency-Replayed") ||
		!strings.Contains(rest, `"nick":"Al'der $HOME"`) {
		t.Errorf("the response to the redemption is %s %s, want a new redemption by the nick", status, rest)
	}
	if got := send(t, http.MethodGet, run.State.BaseURL+"/manual/vouchers",
		""); !strings.Contains(got.body, "urn:problem:shopfront:") {
		t.Errorf("the new route returns %d %s, want a problem of the function", got.status, got.body)
	}
	if !strings.Contains(run.Output(), run.State.BaseURL+"/manual/chapter'") {
		t.Errorf("the new route has no example: %s", run.Output())
	}
	if want := "template.yaml: ignored on this machine: AWS::SNS::Topic (Late)\n"; !strings.Contains(run.Output(),
		want) {
		t.Errorf("the run does not print %q", want)
	}
	killStore(t, root)
	wantError(t, run.Wait(t.Context()), "DynamoDB Local ended on its own")
	wantNothingLeft(t, root)
}

func killStore(t *testing.T, root string) {
	t.Helper()
	processes, err := localruntest.Processes(t.Context(), filepath.Join(root, ".shopfront", "data"))
	if err != nil || len(processes) != 1 {
		t.Fatalf("the processes of DynamoDB Local are %q, %v, want one", processes, err)
	}
	pid, err := strconv.Atoi(strings.Fields(processes[0])[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func testDamagedData(t *testing.T, root string) {
	path := filepath.Join(root, ".shopfront", "data", "shared-local-instance.db")
	if err := os.WriteFile(path, bytes.Repeat([]byte("damaged"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := localruntest.Start(root, false)
	wantError(t, err, "does not serve its data", "--fresh")
	wantNothingLeft(t, root)
}

// wantError checks that an error contains all the texts.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error is %q, want one that says %q", err, text)
		}
	}
}

func testPortInUse(t *testing.T, root string) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port //nolint:errcheck,forcetypeassert // it is TCP
	var out localruntest.Output
	wantError(t, run(t.Context(), root, port, &out), "port "+strconv.Itoa(port)+" is in use", "--port")
	if out.String() != "" {
		t.Errorf("the run printed %q, want nothing", out.String())
	}
}

func testInterruptedBuild(t *testing.T, root string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	building := filepath.Join(t.TempDir(), "building")
	t.Setenv("BUILDING", building)
	bin, before := t.TempDir(), os.Getenv("PATH")
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n: > \"$BUILDING\"; exec sleep 600"),
		0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+before)
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(building); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	var out localruntest.Output
	if err := run(ctx, root, 0, &out); err != nil || !strings.HasSuffix(out.String(), "Stopping\n") {
		t.Errorf("the interrupted run returns %v and prints %s; want no error, and Stopping as the last line", err,
			out.String())
	}
	t.Setenv("PATH", before)
	wantNothingLeft(t, root)
}
