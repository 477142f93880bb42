// Package localstate is the file by which a local run tells shopctl --local where it is: the run writes it when it serves
// and removes it when it ends, shopctl finds and checks it.
//
// It imports the standard library only.
package localstate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrNotRunning says that there is no local run: none was started here, or it has ended.
var ErrNotRunning = errors.New("no local run")

const (
	dirName  = ".shopfront" // beside go.mod; git ignores it
	fileName = "state.json"
	// dialTimeout bounds the look whether the run answers, on this machine.
	dialTimeout = 2 * time.Second
)

// State says where a local run is.
type State struct {
	BaseURL          string `json:"baseUrl"`          // such as http://127.0.0.1:3000
	DynamoDBEndpoint string `json:"dynamoDBEndpoint"` // such as http://127.0.0.1:8000, always on this machine
	Region           string `json:"region"`
	Tables           Tables `json:"tables"`
	PID              int    `json:"pid"`     // of the process that serves
	Version          string `json:"version"` // as template.yaml has it; may be empty
}

// Tables are the names of a local run's tables.
type Tables struct {
	Catalogue string `json:"catalogue"`
	Vouchers  string `json:"vouchers"`
	Checkouts string `json:"checkouts"`
}

// Path is where the state of the checkout at root is kept.
func Path(root string) string { return filepath.Join(root, dirName, fileName) }

// Write keeps the state for the checkout at root, at once or not at all, readable by its owner only.
func (s State) Write(root string) error {
	if err := s.validate(); err != nil {
		return err
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := Path(root)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), fileName+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// Remove removes the state of the checkout at root, if there is one.
func Remove(root string) error {
	err := os.Remove(Path(root))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Live returns the state of the local run of the checkout that dir is in, or ErrNotRunning where there is none, its
// process is gone or its DynamoDB Local does not answer.
func Live(ctx context.Context, dir string) (State, error) {
	root, err := Root(dir)
	if err != nil {
		return State{}, err
	}
	state, err := read(root)
	if err != nil {
		return State{}, err
	}
	return state, state.checkAlive(ctx)
}

// Root is the checkout that dir is in: the nearest directory upwards that has a .shopfront or a go.mod. Without one it
// returns ErrNotRunning.
func Root(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		for _, name := range []string{dirName, "go.mod"} {
			_, err := os.Stat(filepath.Join(at, name))
			if err == nil {
				return at, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%w: %s is in no checkout of Shopfront", ErrNotRunning, dir)
		}
	}
}

func read(root string) (State, error) {
	text, err := os.ReadFile(Path(root))
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, fmt.Errorf("%w in %s", ErrNotRunning, root)
	}
	if err != nil {
		return State{}, err
	}
	var state State
	if err := json.Unmarshal(text, &state); err != nil {
		return State{}, fmt.Errorf("%s: %w", Path(root), err)
	}
	if err := state.validate(); err != nil {
		return State{}, fmt.Errorf("%s: %w", Path(root), err)
	}
	return state, nil
}

// validate makes sure that a state is whole, and that what is done to the local run stays on this machine.
func (s State) validate() error {
	for name, value := range map[string]string{
		"baseUrl": s.BaseURL, "dynamoDBEndpoint": s.DynamoDBEndpoint, "region": s.Region,
		"tables.catalogue": s.Tables.Catalogue, "tables.vouchers": s.Tables.Vouchers, "tables.checkouts": s.Tables.Checkouts,
	} {
		if value == "" {
			return fmt.Errorf("local state: %s is missing", name)
		}
	}
	if s.PID <= 0 {
		return errors.New("local state: pid is missing")
	}
	endpoint, err := url.Parse(s.DynamoDBEndpoint)
	if err != nil {
		return fmt.Errorf("local state: dynamoDBEndpoint: %w", err)
	}
	address, err := netip.ParseAddrPort(endpoint.Host)
	if err != nil || endpoint.Scheme != "http" || !address.Addr().IsLoopback() {
		return fmt.Errorf("local state: dynamoDBEndpoint %q is not of the form http://127.0.0.1:8000", s.DynamoDBEndpoint)
	}
	return nil
}

func (s State) checkAlive(ctx context.Context) error {
	process, err := os.FindProcess(s.PID)
	if err != nil {
		return fmt.Errorf("find process %d: %w", s.PID, err)
	}
	// Signal 0 only asks whether the process is there (kill(2)); EPERM: it is, as another user's.
	if err := process.Signal(syscall.Signal(0)); err != nil && !errors.Is(err, syscall.EPERM) {
		return fmt.Errorf("%w: process %d, which served %s, is gone", ErrNotRunning, s.PID, s.BaseURL)
	}
	endpoint, err := url.Parse(s.DynamoDBEndpoint)
	if err != nil {
		return err
	}
	connection, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", endpoint.Host)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%w: nothing answers on %s", ErrNotRunning, s.DynamoDBEndpoint)
	}
	return connection.Close()
}
