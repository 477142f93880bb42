package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
)

// revalidate lets the client store the response if the client revalidates it each time. If the client already has the
// same bytes, the response becomes 304 (RFC 9110, section 13.1.2). The ETag is a hash of the bytes, so it is a strong
// ETag.
func (resp *response) revalidate(ifNoneMatch []string) {
	sum := sha256.Sum256(resp.body)
	etag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	resp.header.Set("ETag", etag)
	resp.header.Set("Cache-Control", "no-cache")
	if matches(ifNoneMatch, etag) {
		resp.status, resp.body = http.StatusNotModified, nil
		resp.header.Del("Content-Type")
		resp.header.Del("Content-Encoding")
	}
}

// matches compares weakly, as RFC 9110 demands for If-None-Match: a proxy may have made the ETag weak.
func matches(ifNoneMatch []string, etag string) bool {
	for candidate := range strings.SplitSeq(strings.Join(ifNoneMatch, ","), ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == etag {
			return true
		}
	}
	return false
}
