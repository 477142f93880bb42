package dynamolocal_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/dynamolocal/localtest"
)

// java11 and java17 are scripts that say that they are that Java.
const (
	java11 = `echo 'openjdk version "11.0.22" 2024-01-16' >&2`
	java17 = `[ "$1" != -version ] || { echo 'openjdk version "17.0.15" 2025-04-15' >&2; exit; }
`
)

// doomedParent is set in the environment of a process that starts a server and is then killed. Its value is the
// directory of the library.
const doomedParent = "DYNAMOLOCAL_TEST_LIBRARY_OF_DOOMED_PARENT"

func TestMain(m *testing.M) {
	if libDir := os.Getenv(doomedParent); libDir != "" {
		server, err := dynamolocal.Start(context.Background(), dynamolocal.Options{LibDir: libDir})
		fmt.Println(server.Endpoint(), err)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	localtest.Main(m)
}

func TestTablesInADataDirectorySurviveARestart(t *testing.T) {
	t.Parallel()
	options := dynamolocal.Options{LibDir: localtest.Library(t), DataDir: filepath.Join(t.TempDir(), "data")}

	first := start(t, options)
	coins := newCatalogue(t, first)
	coins.put(t, "coins-500")

	_, err := dynamolocal.Start(t.Context(), options)
	wantError(t, err, dynamolocal.ErrDataDirInUse, options.DataDir)

	for range 2 {
		if err := first.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Err(); err != nil {
		t.Errorf("after Stop, Err is %v", err)
	}
	wantRefused(t, first.Endpoint())

	var log strings.Builder
	options.Log = &log
	second := start(t, options)
	coins.client = localtest.NewClient(second.Endpoint())
	coins.wantStored(t, "coins-500")
	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}
	if want := strconv.Itoa(second.Port()); !strings.Contains(log.String(), want) {
		t.Errorf("the log does not name port %s: %q", want, log.String())
	}
}

func TestAServerThatIsKilledIsReported(t *testing.T) {
	t.Parallel()
	server := start(t, dynamolocal.Options{LibDir: localtest.Library(t)})
	if err := server.Err(); err != nil {
		t.Errorf("while it runs, Err is %v", err)
	}
	if err := server.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-server.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("Done is not closed")
	}
	wantError(t, server.Err(), nil, "signal: killed")
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

func TestStopKillsAServerThatDoesNotListen(t *testing.T) {
	t.Parallel()
	server := start(t, dynamolocal.Options{LibDir: localtest.Library(t)})
	// A stopped process takes note of no signal but SIGKILL.
	if err := server.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, server.Endpoint())
	if err := server.Err(); err != nil {
		t.Errorf("after Stop, Err is %v", err)
	}
}

func TestAServerEndsWithItsParent(t *testing.T) {
	t.Parallel()
	libDir, scratch := localtest.Library(t), t.TempDir()
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), doomedParent+"="+libDir, "TMPDIR="+scratch)
	if _, err := parent.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	endpoint, started := strings.CutSuffix(line, " <nil>\n")
	if !started {
		t.Fatal(line)
	}
	if err := errors.Join(parent.Process.Kill(), ignoreExit(parent.Wait())); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, endpoint)
	left, err := filepath.Glob(filepath.Join(scratch, "dynamodb-local-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %q %v", left, err)
	}
}

func TestStartOnAPortInUse(t *testing.T) {
	libDir := localtest.Library(t)

	t.Run("from before", func(t *testing.T) {
		listener := listen(t, "127.0.0.1:0")
		_, err := dynamolocal.Start(t.Context(), dynamolocal.Options{LibDir: libDir, Port: portOf(t, listener)})
		wantError(t, err, dynamolocal.ErrPortInUse, strconv.Itoa(portOf(t, listener)))
	})

	t.Run("taken before the server takes it", func(t *testing.T) {
		home := fakeJava(t, `echo >> "$home/started"; exec sleep 60`)
		free := listen(t, "127.0.0.1:0")
		_ = free.Close()
		result := make(chan error, 1)
		go func() {
			_, err := dynamolocal.Start(t.Context(), dynamolocal.Options{LibDir: libDir, Port: portOf(t, free)})
			result <- err
		}()
		readFile(t, filepath.Join(home, "started"))
		other := httptest.NewUnstartedServer(http.NotFoundHandler())
		_ = other.Listener.Close()
		other.Listener = listen(t, free.Addr().String())
		other.Start()
		defer other.Close()
		wantError(t, <-result, dynamolocal.ErrPortInUse, "answered by another server")
	})

	t.Run("again and again", func(t *testing.T) {
		home := fakeJava(t, `echo >> "$home/starts"; echo 'Caused by: java.net.BindException: Address already in use' >&2; exit 1`)
		_, err := dynamolocal.Start(t.Context(), dynamolocal.Options{LibDir: libDir})
		wantError(t, err, dynamolocal.ErrPortInUse, "5 attempts")
		if starts := readFile(t, filepath.Join(home, "starts")); len(starts) != 5 {
			t.Errorf("%d starts, want 5", len(starts))
		}
	})
}

func TestStartTellsWhatToDo(t *testing.T) {
	libDir := localtest.Library(t)
	for name, test := range map[string]struct {
		java   string
		libDir string
		port   int
		is     error
		want   string
	}{
		"no Java":                {"", libDir, 0, dynamolocal.ErrJavaMissing, "install Java 17"},
		"a java that is a stub":  {`echo "Unable to locate a Java Runtime." >&2; exit 1`, libDir, 0, dynamolocal.ErrJavaMissing, "Unable to locate"},
		"Java 11":                {java11, libDir, 0, dynamolocal.ErrJavaTooOld, "is Java 11"},
		"Java 8":                 {`echo 'java version "1.8.0_391"' >&2`, libDir, 0, dynamolocal.ErrJavaTooOld, "is Java 8"},
		"it dies at the start":   {java17 + `echo "Error: could not find or load main class" >&2; exit 3`, libDir, 0, nil, "could not find or load main class"},
		"it ends at the start":   {java17, libDir, 0, nil, "exit status 0"},
		"nothing fetched":        {java17, t.TempDir(), 0, os.ErrNotExist, "fetch it first"},
		"a port that is no port": {java17, libDir, 70000, nil, "0 to 65535"},
	} {
		t.Run(name, func(t *testing.T) {
			scratch := t.TempDir()
			t.Setenv("TMPDIR", scratch)
			if test.java != "" {
				fakeCommand(t, "java", test.java)
			} else {
				t.Setenv("PATH", "")
			}
			_, err := dynamolocal.Start(t.Context(), dynamolocal.Options{LibDir: test.libDir, Port: test.port})
			wantError(t, err, test.is, test.want)
			if left, err := os.ReadDir(scratch); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

func TestStartOnDamagedData(t *testing.T) {
	dataDir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dataDir, "shared-local-instance.db"), []byte(strings.Repeat("damaged", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := dynamolocal.Start(t.Context(), dynamolocal.Options{LibDir: localtest.Library(t), DataDir: dataDir})
	wantError(t, err, dynamolocal.ErrDataUnreadable, "not a database")
}

func TestStartThatIsCancelledLeavesNothingRunning(t *testing.T) {
	libDir := localtest.Library(t)
	home := fakeJava(t, `sleep 60 & echo $! > "$home/child"; echo $$ > "$home/parent"; wait`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := dynamolocal.Start(ctx, dynamolocal.Options{LibDir: libDir, DataDir: t.TempDir()})
		result <- err
	}()
	parent, child := readPID(t, filepath.Join(home, "parent")), readPID(t, filepath.Join(home, "child"))
	cancel()
	wantError(t, <-result, context.Canceled, "interrupted")
	wantGone(t, parent)
	wantGone(t, child)
}

func start(t *testing.T, options dynamolocal.Options) *dynamolocal.Server {
	t.Helper()
	server, err := dynamolocal.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// catalogue is a table to see whether a server keeps what it is given.
type catalogue struct{ client *dynamodb.Client }

const catalogueTable = "catalogue"

func newCatalogue(t *testing.T, server *dynamolocal.Server) *catalogue {
	t.Helper()
	client := localtest.NewClient(server.Endpoint())
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:   aws.String(catalogueTable),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("product"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("product"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &catalogue{client: client}
}

func (c *catalogue) put(t *testing.T, product string) {
	t.Helper()
	_, err := c.client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: aws.String(catalogueTable),
		Item:      map[string]types.AttributeValue{"product": &types.AttributeValueMemberS{Value: product}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (c *catalogue) wantStored(t *testing.T, product string) {
	t.Helper()
	stored, err := c.client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(catalogueTable),
		Key:       map[string]types.AttributeValue{"product": &types.AttributeValueMemberS{Value: product}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(stored.Item) == 0 {
		t.Errorf("%s is not stored", product)
	}
}

// fakeCommand puts a shell script first in PATH. The rest of PATH has what scripts need.
func fakeCommand(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// fakeJava puts a Java 17 in PATH that runs script instead of a server, and returns the directory that it knows as $home.
func fakeJava(t *testing.T, script string) (home string) {
	t.Helper()
	home = t.TempDir()
	fakeCommand(t, "java", java17+`home='`+home+"'\n"+script)
	return home
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func portOf(t *testing.T, listener net.Listener) int {
	t.Helper()
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("%s is no TCP address", listener.Addr())
	}
	return address.Port
}

// eventually waits at most 10 s for something to become true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 1000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("still not so: %s", what)
}

// readFile waits for a line in a file that a script writes.
func readFile(t *testing.T, path string) string {
	t.Helper()
	var content []byte
	eventually(t, path+" is written", func() bool {
		content, _ = os.ReadFile(path)
		return strings.HasSuffix(string(content), "\n")
	})
	return string(content)
}

func readPID(t *testing.T, path string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(readFile(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// wantGone checks that a process has ended. Whoever inherited it may not have noticed yet.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, fmt.Sprint("process ", pid, " is gone"), func() bool {
		state, _ := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
		return len(state) == 0 || state[0] == 'Z'
	})
}

// wantRefused checks that nothing listens at the endpoint, or soon does not.
func wantRefused(t *testing.T, endpoint string) {
	t.Helper()
	eventually(t, endpoint+" refuses connections", func() bool {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(endpoint, "http://"))
		if err == nil {
			_ = connection.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
}

// wantError checks an error by what it is, unless that is nil, and by what it says.
func wantError(t *testing.T, err, is error, says string) {
	t.Helper()
	if err == nil {
		t.Fatal("want an error")
	}
	if is != nil && !errors.Is(err, is) {
		t.Errorf("error is %q, want one that is %q", err, is)
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("error is %q, want one that says %q", err, says)
	}
}

func ignoreExit(err error) error {
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		return nil
	}
	return err
}
