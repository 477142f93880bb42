package dynamolocal_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/dynamolocal/localtest"
)

// java17 is a script that reports version 17 of Java.
const java17 = `[ "$1" != -version ] || { echo 'openjdk version "17.0.15" 2025-04-15' >&2; exit; }
`

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
	for name, test := range map[string]struct{ java, want string }{
		"no Java":            {"", "install Java 17"},
		"a stub called java": {`echo "Unable to locate a Java Runtime." >&2; exit 1`, "Unable to locate"},
		"Java 11":            {`echo 'openjdk version "11.0.22" 2024-01-16' >&2`, "is Java 11"},
		"the server crashes": {
			java17 + `echo "Error: could not find or load main class" >&2; exit 3`,
			"could not find or load main class",
		},
	} {
		t.Run(name, func(t *testing.T) {
			scratch := t.TempDir()
			t.Setenv("TMPDIR", scratch)
			if test.java != "" {
				fakeCommand(t, "java", test.java)
			} else {
				t.Setenv("PATH", "")
			}
			_, err := dynamolocal.Start(t.Context(), dynamolocal.Options{LibDir: libDir})
			wantError(t, err, nil, test.want)
			if left, err := os.ReadDir(scratch); err != nil || len(left) != 0 {
				t.Errorf("the server left %v behind, %v", left, err)
			}
		})
	}
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
