package stubstore

import (
	"bytes"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
)

// Do answers a request in this process, without a connection: a Store can be an SDK client's HTTPClient.
func (s *Store) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	status, answer := s.Answer(r.Header.Get("X-Amz-Target"), body)
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{
			"Content-Type": {"application/x-amz-json-1.0"},
			"X-Amz-Crc32":  {strconv.FormatUint(uint64(crc32.ChecksumIEEE(answer)), 10)},
		},
		ContentLength: int64(len(answer)), Body: io.NopCloser(bytes.NewReader(answer)),
	}, nil
}
