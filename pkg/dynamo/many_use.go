package dynamo

import (
	"sync"

	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// maxManyUseCodes bounds how many codes one process remembers. A function's process handles far fewer codes at a time.
const maxManyUseCodes = 4096

type manyUseCode struct {
	shop catalog.ShopID
	code voucher.Code
}

// manyUseCodes remembers which codes have many uses, and nothing else about them. An edit never changes whether a code
// has many uses. Only deleting a voucher and creating its code again can change it.
type manyUseCodes struct {
	mu    sync.Mutex
	codes map[manyUseCode]struct{}
}

func newManyUseCodes() *manyUseCodes { return &manyUseCodes{codes: make(map[manyUseCode]struct{})} }

func (m *manyUseCodes) has(code manyUseCode) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, found := m.codes[code]
	return found
}

func (m *manyUseCodes) add(code manyUseCode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.codes) >= maxManyUseCodes {
		clear(m.codes)
	}
	m.codes[code] = struct{}{}
}
