package localrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"shopfront/internal/local/samtemplate"
	"shopfront/pkg/backoffice"
)

// ErrNotRunning means that there is no local run: none was started here, or it has ended.
var ErrNotRunning = errors.New("no local run")

// State describes a running local run. The run stores its state in the source tree while it serves, so that shopctl
// --local finds it.
type State struct {
	BaseURL string `json:"baseUrl"` // such as http://127.0.0.1:3000
	// such as http://127.0.0.1:8000, always on this machine
	DynamoDBEndpoint string            `json:"dynamoDBEndpoint"`
	Region           string            `json:"region"`
	Tables           backoffice.Tables `json:"tables"`
	PID              int               `json:"pid"`     // the ID of the process that serves
	Version          string            `json:"version"` // from template.yaml; may be empty
}

// Deployment returns the local run as a deployment for operators. The parameter random is described at
// backoffice.Local.
func (s State) Deployment(random func(n int64) int64) *backoffice.Deployment {
	run := backoffice.Deployment{BaseURL: s.BaseURL, Region: s.Region, Version: s.Version}
	return backoffice.Local(run, s.Tables, s.DynamoDBEndpoint, random)
}

func statePath(root string) string { return filepath.Join(root, stateDir, "state.json") }

// Write stores the state in the source tree at root. If it fails, the old state stays. Only the owner can read the
// file.
func (s State) Write(root string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := statePath(root)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unfinished := path + ".new"
	if err := os.WriteFile(unfinished, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, path)
}

// RemoveState removes the state from the source tree at root, if there is one.
func RemoveState(root string) error { return remove(statePath(root)) }

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Find returns the state of the local run in the source tree that contains dir. It returns ErrNotRunning if dir is not
// in a source tree, if the tree contains no state, or if the run's DynamoDB Local is gone, because the run was killed.
func Find(ctx context.Context, dir string) (State, error) {
	root, err := samtemplate.FindRoot(dir)
	if err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	text, err := os.ReadFile(statePath(root))
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, fmt.Errorf("%w in %s", ErrNotRunning, root)
	}
	var state State
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil {
		return State{}, fmt.Errorf("%s: %w", statePath(root), err)
	}
	address := strings.TrimPrefix(state.DynamoDBEndpoint, "http://")
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: nothing listens on %s", ErrNotRunning, state.DynamoDBEndpoint)
	}
	if err != nil {
		return State{}, err
	}
	return state, connection.Close()
}
