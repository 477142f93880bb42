package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
)

// revalidated lets the client store a response if it revalidates each time. If the client has the same bytes already, the
// response becomes 304 (RFC 9110, section 13.1.2). The ETag is a hash of the bytes, so it is a strong one.
func revalidated(r *http.Request, a answer) answer {
	sum := sha256.Sum256(a.body)
	etag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	a.header.Set("ETag", etag)
	a.header.Set("Cache-Control", "no-cache")
	if matches(r.Header.Values("If-None-Match"), etag) {
		a.status, a.body = http.StatusNotModified, nil
		a.header.Del("Content-Type")
		a.header.Del("Content-Encoding")
	}
	return a
}

// matches uses the weak comparison of If-None-Match, because a proxy may have made the ETag weak.
func matches(ifNoneMatch []string, etag string) bool {
	for _, value := range ifNoneMatch {
		for candidate := range strings.SplitSeq(value, ",") {
			candidate = strings.TrimSpace(candidate)
			if candidate == "*" || strings.TrimPrefix(candidate, "W/") == etag {
				return true
			}
		}
	}
	return false
}
