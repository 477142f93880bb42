package localrun_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
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
	if err := state.Write(root); err != nil {
		t.Fatal(err)
	}
	if got, err := localrun.Find(t.Context(), inside); err != nil || got != state {
		t.Errorf("Find from %s returns %+v, %v", inside, got, err)
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
	for name, prepare := range map[string]func(t *testing.T, root string) error{
		"outside a source tree": func(_ *testing.T, root string) error {
			return os.Remove(filepath.Join(root, samtemplate.File))
		},
		"never started": func(*testing.T, string) error { return nil },
		"the run was killed": func(t *testing.T, root string) error {
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
