package eventsource

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Positions stores in a file how far each source has got in each shard. It is safe for concurrent use.
type Positions struct {
	path string
	mu   sync.Mutex
	// sources has the sequence number of the last record that was processed or discarded. The outer key is the source's function and
	// stream, the inner key is the shard.
	sources map[string]map[string]string
}

// OpenPositions reads the file if it exists.
func OpenPositions(path string) (*Positions, error) {
	p := &Positions{path: path, sources: make(map[string]map[string]string)}
	text, err := os.ReadFile(path) //nolint:gosec // the developer's own file
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p.sources)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func (p *Positions) get(source, shard string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sources[source][shard]
}

// set replaces the positions of a source. If the process is killed during set, the file contains either the old or the new positions.
func (p *Positions) set(source string, shards map[string]string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sources[source] = shards
	text, err := json.Marshal(p.sources, json.Deterministic(true), jsontext.Multiline(true))
	if err != nil {
		return err
	}
	unfinished := p.path + ".new"
	if err := os.WriteFile(unfinished, text, 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, p.path)
}
