package endtoend_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shopfront/internal/local/localrun"
	"shopfront/internal/local/localrun/localruntest"
)

// dev is a running `shopctl dev`.
type dev struct {
	root    string
	state   localrun.State
	stderr  localruntest.Output
	command *exec.Cmd
	ended   chan error
}

// devTree returns the root of a new source tree.
func devTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := localruntest.CopyTree(t.Context(), root, t.Output()); err != nil {
		t.Fatal(err)
	}
	return root
}

// startDev starts `shopctl dev` and waits until it serves.
func startDev(t *testing.T, shopctl, root string) *dev {
	t.Helper()
	d := &dev{root: root, ended: make(chan error, 1)}
	d.command = exec.Command(shopctl, "dev", "--port", "0", "--json") //nolint:noctx // the tests end it with signals
	d.command.Dir = filepath.Join(root, "functions")                  // any directory of the source tree will do
	d.command.Stderr = io.MultiWriter(&d.stderr, t.Output())
	stdout, err := d.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.command.Process.Kill() })
	if err := json.NewDecoder(stdout).Decode(&d.state); err != nil {
		t.Fatalf("shopctl dev does not print its state: %v", err)
	}
	go func() { d.ended <- d.command.Wait() }()
	return d
}

func (d *dev) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := d.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// wait waits until the command has ended, at most for patience, and returns its error.
func (d *dev) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-d.ended:
		return err
	case <-time.After(patience):
		t.Fatalf("shopctl dev has not ended after %s", patience)
		return nil
	}
}

// wantNothingLeft fails if a process of the run still exists after a minute.
func (d *dev) wantNothingLeft(t *testing.T) {
	t.Helper()
	var left []string
	for range 600 {
		var err error
		if left, err = localruntest.Processes(t.Context(), d.root); err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("left running: %q", left)
}

func TestShopctlDev_Signals_EndEveryProcess(t *testing.T) {
	t.Parallel()
	root := devTree(t)
	shopctl := filepath.Join(localrun.BinDir(root), "shopctl")
	r := request{
		method: http.MethodPost, target: "/shop/emberforge/voucher",
		header: []string{"Content-Type: application/json", key("order-1")}, body: body("WELCOME-COINS", ""),
	}

	t.Run("Ctrl-C", func(t *testing.T) {
		d := startDev(t, shopctl, root)
		send(t, d.state.BaseURL, r).wantRedeemed(t, false)
		wantOneLine(t, shopctl, root, "serves this source tree at "+d.state.BaseURL)
		d.signal(t, os.Interrupt)
		if err := d.wait(t); err != nil {
			t.Errorf("shopctl dev ends with %v, want exit code 0", err)
		}
		d.wantNothingLeft(t)
		for _, name := range []string{"state.json", "env-vars.json"} {
			if _, err := os.Stat(filepath.Join(root, ".shopfront", name)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s still exists: %v", name, err)
			}
		}
	})
	t.Run("SIGTERM, while a request is in flight", func(t *testing.T) {
		d := startDev(t, shopctl, root)
		send(t, d.state.BaseURL, r).wantRedeemed(t, true)
		halfway := request{
			method: http.MethodPost, target: r.target,
			header: append([]string{"Content-Length: 1000"}, r.header...),
		}
		hangUp(t, d.state.BaseURL, halfway.raw())
		d.signal(t, syscall.SIGTERM)
		if err := d.wait(t); err != nil {
			t.Errorf("shopctl dev ends with %v, want exit code 0", err)
		}
		d.wantNothingLeft(t)
	})
	t.Run("a second Ctrl-C forces the end", func(t *testing.T) {
		d := startDev(t, shopctl, root)
		send(t, d.state.BaseURL, r).wantRedeemed(t, true)
		d.stopStore(t)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			// fails, because the connection is cut off
			_, _ = tryExchange(t.Context(), d.state.BaseURL, r.method, r.raw())
		}()
		time.Sleep(300 * time.Millisecond)
		d.signal(t, os.Interrupt)
		for !strings.Contains(d.stderr.String(), "Stopping") {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond)
		d.signal(t, os.Interrupt)
		if err := d.wait(t); err == nil {
			t.Error("shopctl dev ends with exit code 0, want a failure")
		}
		d.wantNothingLeft(t)
		<-ended
	})
	t.Run("SIGKILL", func(t *testing.T) {
		d := startDev(t, shopctl, root)
		send(t, d.state.BaseURL, r).wantRedeemed(t, true)
		d.signal(t, os.Kill)
		_ = d.wait(t) // always an error: "signal: killed"
		d.wantNothingLeft(t)
	})
}

// stopStore suspends DynamoDB Local, so that requests hang.
func (d *dev) stopStore(t *testing.T) {
	t.Helper()
	processes, err := localruntest.Processes(t.Context(), filepath.Join(d.root, ".shopfront", "data"))
	if err != nil || len(processes) != 1 {
		t.Fatalf("the processes of DynamoDB Local are %q, %v, want one", processes, err)
	}
	pid, err := strconv.Atoi(strings.Fields(processes[0])[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// wantOneLine starts `shopctl dev`. The command must fail with exit code 1, and print one line that contains the text.
func wantOneLine(t *testing.T, shopctl, root, text string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), shopctl, "dev", "--port", "0")
	command.Dir = root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	err := command.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("shopctl dev ends with %v, want exit code 1", err)
	}
	if line := strings.TrimSpace(stderr.String()); !strings.Contains(line, text) || strings.Contains(line, "\n") {
		t.Errorf("stderr is %q, want one line with %q", line, text)
	}
}
