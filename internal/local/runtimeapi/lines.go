package runtimeapi

import "bytes"

// maxLine is the length at which a line is cut, in bytes.
const maxLine = 64 << 10

// lineWriter hands on what is written to it line by line. It is not safe for concurrent use.
type lineWriter struct {
	emit    func(line string)
	partial []byte
}

// Write never fails.
func (w *lineWriter) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		if end := bytes.IndexByte(b, '\n'); end >= 0 && len(w.partial)+end <= maxLine {
			w.partial = append(w.partial, b[:end]...)
			w.emit(string(bytes.TrimSuffix(w.partial, []byte{'\r'})))
			w.partial, b = w.partial[:0], b[end+1:]
			continue
		}
		room := min(maxLine-len(w.partial), len(b))
		w.partial, b = append(w.partial, b[:room]...), b[room:]
		if len(w.partial) == maxLine {
			w.flush()
		}
	}
	return n, nil
}

// flush hands on what has no end of line yet.
func (w *lineWriter) flush() {
	if len(w.partial) > 0 {
		w.emit(string(w.partial))
		w.partial = w.partial[:0]
	}
}
