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
	"net/url"
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

// java11 and java17 are scripts that report version 11 or 17 of Java.
const (
	java11 = `echo 'openjdk version "11.0.22" 2024-01-16' >&2`
	java17 = `[ "$1" != -version ] || { echo 'openjdk version "17.0.15" 2025-04-15' >&2; exit; }
`
)

// doomedParent is an environment variable. A process that has it starts a server and is then killed. The value is the
// library's directory.
const doomedParent = "DYNAMOLOCAL_TEST_LIBRARY_OF_DOOMED_PARENT"

func TestMain(m *testing.M) {
	if libDir := os.Getenv(doomedParent); libDir != "" {
		server, err := dynamolocal.Start(context.Background(), dynamolocal.Options{LibDir: libDir})
		fmt.Println(server.Endpoint(), err)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	m.Run()
}

func TestServer_DataDirectory_TablesSurviveARestart(t *testing.T) {
	t.Parallel()
	options := dynamolocal.Options{LibDir: library(t), DataDir: filepath.Join(t.TempDir(), "data")}

	first := start(t, options)
	coins := newCatalogue(t, first)
	coins.put(t, "coins-500")

	for range 2 {
		if err := first.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Err(); err != nil {
		t.Errorf("after Stop, Err is %v", err)
	}
	wantRefused(t, first.Endpoint())

	second := start(t, options)
	coins.client = dynamolocal.NewClient(second.Endpoint())
	coins.wantStored(t, "coins-500")
}

func TestServer_OtherAddressesOfTheMachine_RefuseConnections(t *testing.T) {
	t.Parallel()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(localtest.Endpoint(t), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	others := []string{"127.0.0.2", "::1"}
	for _, address := range addresses {
		if ip, ok := address.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
			others = append(others, ip.IP.String())
		}
	}
	dialer := &net.Dialer{}
	for _, other := range others {
		connection, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort(other, port))
		if err == nil {
			_ = connection.Close()
			t.Errorf("the server listens on %s", other)
		}
	}
	connection, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		t.Fatal(err)
	}
	_ = connection.Close()
}

func TestServer_KilledFromOutside_IsReported(t *testing.T) {
	t.Parallel()
	server := start(t, dynamolocal.Options{LibDir: library(t)})
	if err := server.Err(); err != nil {
		t.Errorf("while it runs, Err is %v", err)
	}
	if err := server.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-server.Done()
	wantError(t, server.Err(), nil, "signal: killed")
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

func TestServer_ParentIsKilled_ServerEndsToo(t *testing.T) {
	t.Parallel()
	libDir, scratch := library(t), t.TempDir()
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
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	wantRefused(t, endpoint)
	left, err := filepath.Glob(filepath.Join(scratch, "dynamodb-local-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("the server left %q behind, %v", left, err)
	}
}

func TestRelay_RequestFromAnotherNetwork_IsRefused(t *testing.T) {
	t.Parallel()
	store := httptest.NewServer(http.NotFoundHandler())
	defer store.Close()
	endpoint, err := url.Parse(store.URL)
	if err != nil {
		t.Fatal(err)
	}
	for network, want := range map[string]int{
		"127.0.0.0/8":   http.StatusNotFound,
		"172.17.0.0/16": http.StatusForbidden,
	} {
		_, subnet, err := net.ParseCIDR(network)
		if err != nil {
			t.Fatal(err)
		}
		recorder := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		request.RemoteAddr = "127.0.0.1:50000"
		dynamolocal.Relay(subnet, endpoint).ServeHTTP(recorder, request)
		if recorder.Code != want {
			t.Errorf("a request from 127.0.0.1 to the relay of %s: status %d, want %d", network, recorder.Code, want)
		}
	}
}

func TestStart_Failure_SaysWhatToDo(t *testing.T) {
	libDir := library(t)
	for name, test := range map[string]struct {
		java   string
		libDir string
		is     error
		want   string
	}{
		"no Java":            {"", libDir, nil, "install Java 17"},
		"a stub called java": {`echo "Unable to locate a Java Runtime." >&2; exit 1`, libDir, nil, "Unable to locate"},
		"Java 11":            {java11, libDir, nil, "is Java 11"},
		"the server crashes": {
			java17 + `echo "Error: could not find or load main class" >&2; exit 3`, libDir, nil,
			"could not find or load main class",
		},
		"nothing is fetched": {java17, t.TempDir(), os.ErrNotExist, "fetch it first"},
	} {
		t.Run(name, func(t *testing.T) {
			scratch := t.TempDir()
			t.Setenv("TMPDIR", scratch)
			if test.java != "" {
				fakeCommand(t, "java", test.java)
			} else {
				t.Setenv("PATH", "")
			}
			_, err := dynamolocal.Start(t.Context(), dynamolocal.Options{LibDir: test.libDir})
			wantError(t, err, test.is, test.want)
			if left, err := os.ReadDir(scratch); err != nil || len(left) != 0 {
				t.Errorf("the server left %v behind, %v", left, err)
			}
		})
	}
}

func TestStart_DamagedData_IsReported(t *testing.T) {
	dataDir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dataDir, "shared-local-instance.db"), []byte(strings.Repeat("damaged", 1000)),
		0o600); err != nil {
		t.Fatal(err)
	}
	_, err := dynamolocal.Start(t.Context(), dynamolocal.Options{LibDir: library(t), DataDir: dataDir})
	wantError(t, err, nil, "not a database")
}

func TestStart_Cancelled_LeavesNothingRunning(t *testing.T) {
	libDir := library(t)
	home := t.TempDir()
	fakeCommand(t, "java", java17+`sleep 60 & echo $! > '`+home+`/child'; echo $$ > '`+home+`/parent'; wait`)
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

// library returns the directory that contains DynamoDB Local. It fetches the library first if necessary.
func library(t *testing.T) string {
	t.Helper()
	pomDir, libDir := dynamolocal.Dirs(filepath.Join("..", "..", ".."))
	if err := dynamolocal.Fetch(t.Context(), pomDir, libDir, os.Stderr); err != nil {
		t.Fatal(err)
	}
	return libDir
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

// catalogue is a table with which tests check that a server stores items.
type catalogue struct{ client *dynamodb.Client }

const catalogueTable = "catalogue"

func newCatalogue(t *testing.T, server *dynamolocal.Server) *catalogue {
	t.Helper()
	client := dynamolocal.NewClient(server.Endpoint())
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

// fakeCommand puts a shell script first in PATH. The script finds other commands in the rest of PATH.
func fakeCommand(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// readPID waits until a script has written a process ID to a file, and returns it.
func readPID(t *testing.T, path string) int {
	t.Helper()
	var content []byte
	eventually(t, path+" is written", func() bool {
		content, _ = os.ReadFile(path)
		return strings.HasSuffix(string(content), "\n")
	})
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// wantGone waits until a process has ended. A zombie, for which the parent has not waited yet, counts as ended.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, fmt.Sprint("process ", pid, " is gone"), func() bool {
		state, _ := exec.CommandContext(t.Context(), "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
		return len(state) == 0 || state[0] == 'Z'
	})
}

// wantRefused waits until nothing listens at the endpoint.
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

// wantError checks the text of an error and, unless target is nil, that the error wraps target.
func wantError(t *testing.T, err, target error, says string) {
	t.Helper()
	if err == nil {
		t.Fatal("want an error")
	}
	if target != nil && !errors.Is(err, target) {
		t.Errorf("error is %q, want one that wraps %q", err, target)
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("error is %q, want one that says %q", err, says)
	}
}
