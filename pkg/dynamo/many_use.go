package dynamo

import "sync"

// maxManyUseCodes bounds what one process remembers; a function's process is busy with far fewer codes at a time.
const maxManyUseCodes = 4096

// manyUseCodes remembers which codes are of many uses. That never changes, so it never has to be forgotten; nothing else
// about a voucher is remembered.
type manyUseCodes struct {
	mu   sync.Mutex
	keys map[voucherKey]struct{}
}

func newManyUseCodes() *manyUseCodes { return &manyUseCodes{keys: make(map[voucherKey]struct{})} }

func (m *manyUseCodes) has(key voucherKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, found := m.keys[key]
	return found
}

func (m *manyUseCodes) add(key voucherKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.keys) >= maxManyUseCodes {
		clear(m.keys)
	}
	m.keys[key] = struct{}{}
}
