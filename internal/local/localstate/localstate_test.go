package localstate_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"shopfront/internal/local/localstate"
)

// running is the state of a run that is this very test, behind a listener.
func running(t *testing.T) (state localstate.State, listener net.Listener) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return localstate.State{
		BaseURL: "http://127.0.0.1:3000", DynamoDBEndpoint: "http://" + listener.Addr().String(), Region: "eu-central-1",
		Tables: localstate.Tables{Catalogue: "Catalogue", Vouchers: "Vouchers", Checkouts: "Checkouts"},
		PID:    os.Getpid(), Version: "0.1.0",
	}, listener
}

func TestStateIsFoundFromAnywhereInTheCheckout(t *testing.T) {
	state, _ := running(t)
	root := t.TempDir()
	inside := filepath.Join(root, "pkg", "voucher")
	if err := os.MkdirAll(inside, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := state.Write(root); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{root, inside} {
		if got, err := localstate.Live(t.Context(), dir); err != nil || got != state {
			t.Errorf("from %s: %+v, %v", dir, got, err)
		}
	}
	info, err := os.Stat(localstate.Path(root))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want mode 0600", info.Mode(), err)
	}
}

func TestWriteReplacesAndLeavesNothingBeside(t *testing.T) {
	state, _ := running(t)
	root := t.TempDir()
	for _, version := range []string{"0.1.0", "0.2.0"} {
		state.Version = version
		if err := state.Write(root); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := localstate.Live(t.Context(), root); err != nil || got.Version != "0.2.0" {
		t.Errorf("%+v, %v", got, err)
	}
	entries, err := os.ReadDir(filepath.Dir(localstate.Path(root)))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v; want state.json alone", entries, err)
	}
}

func TestNotRunning(t *testing.T) {
	ended := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	for name, prepare := range map[string]func(t *testing.T, root string){
		"no checkout":   func(*testing.T, string) {},
		"never started": func(t *testing.T, root string) { touch(t, filepath.Join(root, "go.mod")) },
		"process is gone": func(t *testing.T, root string) {
			write(t, root, func(s *localstate.State) { s.PID = ended.Process.Pid })
		},
		"nothing answers": func(t *testing.T, root string) {
			state, listener := running(t)
			if err := errors.Join(state.Write(root), listener.Close()); err != nil {
				t.Fatal(err)
			}
		},
		"ended": func(t *testing.T, root string) {
			write(t, root, func(*localstate.State) {})
			if err := errors.Join(localstate.Remove(root), localstate.Remove(root)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			prepare(t, root)
			if _, err := localstate.Live(t.Context(), root); !errors.Is(err, localstate.ErrNotRunning) {
				t.Errorf("%v, want ErrNotRunning", err)
			}
		})
	}
}

func TestStateOfElsewhereOrInPartsIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*localstate.State){
		"another machine's database": func(s *localstate.State) { s.DynamoDBEndpoint = "http://192.0.2.1:8000" },
		"a name for a database":      func(s *localstate.State) { s.DynamoDBEndpoint = "http://localhost:8000" },
		"no table":                   func(s *localstate.State) { s.Tables.Vouchers = "" },
		"no process":                 func(s *localstate.State) { s.PID = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			state, _ := running(t)
			spoil(&state)
			if err := state.Write(t.TempDir()); err == nil {
				t.Error("it was written")
			}
		})
	}
	for name, text := range map[string]string{
		"no JSON": "{", "empty": "{}",
		"another machine's database": `{"baseUrl":"http://127.0.0.1:3000","dynamoDBEndpoint":"http://192.0.2.1:8000","region":"eu-central-1",` +
			`"tables":{"catalogue":"Catalogue","vouchers":"Vouchers","checkouts":"Checkouts"},"pid":1}`,
	} {
		t.Run("read "+name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, func(*localstate.State) {})
			if err := os.WriteFile(localstate.Path(root), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := localstate.Live(t.Context(), root)
			if err == nil || errors.Is(err, localstate.ErrNotRunning) || !strings.Contains(err.Error(), "state.json") {
				t.Errorf("%v, want an error that names the file", err)
			}
		})
	}
}

func write(t *testing.T, root string, change func(*localstate.State)) {
	t.Helper()
	state, _ := running(t)
	change(&state)
	if err := state.Write(root); err != nil {
		t.Fatal(err)
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
