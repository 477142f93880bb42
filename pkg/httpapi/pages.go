package httpapi

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Page is a rendered document, the same for every client.
type Page struct {
	Path        string // one segment, such as /docs
	ContentType string
	Content     string
	// Origin is the placeholder for the deployment's address in the content's absolute URLs; empty if there are none.
	Origin string
}

// Pages serves pages. Policy is their Content-Security-Policy.
func (s Service) Pages(policy string, pages ...Page) http.Handler {
	published := make(map[string]publishedPage, len(pages))
	for _, page := range pages {
		published[page.Path] = publishedPage{page, sync.OnceValues(func() ([]byte, error) { return compress(page.Content) })}
	}
	return s.handler(endpoint{
		path: "/{page}", methods: []string{http.MethodGet, http.MethodHead}, notFound: problemNotFound.new,
		answer: func(c *call) (answer, error) {
			page, found := published[c.URL.Path]
			if !found {
				return answer{}, problemNotFound.new()
			}
			if _, err := parseQuery(c.Request); err != nil {
				return answer{}, err
			}
			a, err := page.show(c.Request)
			if err != nil {
				return answer{}, err
			}
			a.header.Set("Content-Type", page.ContentType)
			a.header.Set("Content-Security-Policy", policy)
			a.header.Set("Referrer-Policy", "no-referrer")
			a.header.Set("X-Content-Type-Options", "nosniff")
			c.record.note("shown")
			return revalidated(c.Request, a), nil
		},
	})
}

// publishedPage is a page that is compressed once per process, for the first request that accepts gzip.
type publishedPage struct {
	Page
	compressed func() ([]byte, error)
}

func (p publishedPage) show(r *http.Request) (a answer, err error) {
	a = answer{status: http.StatusOK, header: http.Header{}}
	if p.Origin != "" {
		origin, valid := originOf(r)
		if !valid {
			return answer{}, problemMalformedRequest.because("The Host must be a name or an address, with an optional port.")
		}
		a.body = []byte(strings.ReplaceAll(p.Content, p.Origin, origin))
		return a, nil
	}
	a.header.Set("Vary", "Accept-Encoding")
	if !acceptsGzip(r.Header.Values("Accept-Encoding")) {
		a.body = []byte(p.Content)
		return a, nil
	}
	a.header.Set("Content-Encoding", "gzip")
	a.body, err = p.compressed()
	return a, err
}

func compress(content string) ([]byte, error) {
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	_, err := io.WriteString(writer, content)
	if err := errors.Join(err, writer.Close()); err != nil {
		return nil, fmt.Errorf("compress page: %w", err)
	}
	return compressed.Bytes(), nil
}

// originOf returns the scheme and authority of a request, or false if its Host cannot be part of a URL. API Gateway only gets
// requests for its own hosts, but the local run may be called by any name.
func originOf(r *http.Request) (origin string, valid bool) {
	if r.Host == "" || strings.Trim(r.Host, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-:[]") != "" {
		return "", false
	}
	return r.URL.Scheme + "://" + r.Host, true
}

// acceptsGzip parses Accept-Encoding (RFC 9110, section 12.5.3). A client gets gzip only if it names gzip.
func acceptsGzip(acceptEncoding []string) bool {
	for _, value := range acceptEncoding {
		for item := range strings.SplitSeq(value, ",") {
			coding, parameter, _ := strings.Cut(item, ";")
			if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
				return isAccepted(parameter)
			}
		}
	}
	return false
}

func isAccepted(parameter string) bool {
	_, weight, found := strings.Cut(strings.ToLower(parameter), "q=")
	if !found {
		return true
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
	return err == nil && q > 0
}
