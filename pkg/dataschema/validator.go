package dataschema

import (
	"fmt"
	"sync"
)

// maxCompiled bounds how many compiled schemas a Validator caches. A typical one takes about 10 KB.
const maxCompiled = 128

// Validator validates data and caches up to maxCompiled compiled schemas. The zero Validator is ready to use, and safe
// for concurrent use.
type Validator struct {
	mu       sync.Mutex
	compiled map[string]*Schema // by their text
}

// Check validates data like Schema.Check. An empty schema accepts any data. An error other than
// *checkout.ParameterError means that the schema itself cannot be used.
func (v *Validator) Check(schema, data string) error {
	if schema == "" {
		return nil
	}
	compiled, err := v.schema(schema)
	if err != nil {
		return fmt.Errorf("compile the data schema: %w", err)
	}
	return compiled.Check(data)
}

func (v *Validator) schema(text string) (*Schema, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if compiled, found := v.compiled[text]; found {
		return compiled, nil
	}
	compiled, err := Compile(text)
	if err != nil {
		return nil, err
	}
	if v.compiled == nil {
		v.compiled = map[string]*Schema{}
	}
	if len(v.compiled) >= maxCompiled {
		for other := range v.compiled {
			delete(v.compiled, other)
			break
		}
	}
	v.compiled[text] = compiled
	return compiled, nil
}
