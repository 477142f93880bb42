package localrun_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"shopfront/internal/local/localrun"
	"shopfront/internal/local/samtemplate"
	"shopfront/pkg/backoffice"
)

// emptyTree returns the root of a new source tree that contains only an empty template.
func emptyTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, samtemplate.File), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

// running returns the state of a fake run. Its process is this test, and its DynamoDB Local is the listener.
func running(t *testing.T) (state localrun.State, listener net.Listener) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return localrun.State{
		BaseURL: "http://127.0.0.1:3000", DynamoDBEndpoint: "http://" + listener.Addr().String(),
		Region: "eu-central-1",
		Tables: backoffice.Tables{Catalogue: "Catalogue", Vouchers: "Vouchers", Checkouts: "Checkouts"},
		PID:    os.Getpid(), Version: "1.0.0",
	}, listener
}

func TestFind_AnyDirectoryOfTheSourceTree_ReturnsTheState(t *testing.T) {
	state, _ := running(t)
	root := emptyTree(t)
	inside := filepath.Join(root, "pkg", "voucher")
	if err := os.MkdirAll(inside, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1.0.0", "0.2.0"} {
		state.Version = version
		if err := state.Write(root); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{root, inside} {
			if got, err := localrun.Find(t.Context(), dir); err != nil || got != state {
				t.Errorf("Find from %s returns %+v, %v", dir, got, err)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, ".shopfront"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v; want state.json and no other file", entries, err)
	}
	info, err := entries[0].Info()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want mode 0600", info.Mode(), err)
	}
}

func TestFind_NoRun_IsErrNotRunning(t *testing.T) {
	ended := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for name, prepare := range map[string]func(t *testing.T, root string) error{
		"outside a source tree": func(_ *testing.T,
			root string,
		) error {
			return os.Remove(filepath.Join(root, samtemplate.File))
		},
		"never started": func(*testing.T, string) error { return nil },
		"the process is gone": func(t *testing.T, root string) error {
			state, _ := running(t)
			state.PID = ended.Process.Pid
			return state.Write(root)
		},
		"DynamoDB Local does not respond": func(t *testing.T, root string) error {
			state, listener := running(t)
			return errors.Join(state.Write(root), listener.Close())
		},
		"the run has ended": func(t *testing.T, root string) error {
			state, _ := running(t)
			return errors.Join(state.Write(root), localrun.RemoveState(root), localrun.RemoveState(root))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := emptyTree(t)
			if err := prepare(t, root); err != nil {
				t.Fatal(err)
			}
			if _, err := localrun.Find(t.Context(), root); !errors.Is(err, localrun.ErrNotRunning) {
				t.Errorf("got %v, want ErrNotRunning", err)
			}
		})
	}
}

func TestFind_BrokenStateOrForAnotherMachine_IsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"invalid JSON": "{", "empty": "{}",
		"a database on another machine": `{"dynamoDBEndpoint":"http://192.0.2.1:8000","pid":1}`,
		"a database with a host name":   `{"dynamoDBEndpoint":"http://localhost:8000","pid":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			root := emptyTree(t)
			state, _ := running(t)
			if err := state.Write(root); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, ".shopfront", "state.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := localrun.Find(t.Context(), root)
			if err == nil || errors.Is(err, localrun.ErrNotRunning) || !strings.Contains(err.Error(), "state.json") {
				t.Errorf("got %v, want an error that names the file", err)
			}
		})
	}
}
