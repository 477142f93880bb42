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

// Document is a file that the service publishes. Every client gets the same content.
type Document struct {
	Path        string // one segment, such as /docs
	ContentType string
	Content     string
	// Origin is what the absolute URLs in Content begin with, such as https://deployment.invalid. In each response it
	// is replaced by the address that the client called. Empty: Content has no such URLs.
	Origin string
}

// Documents serves documents at their paths. The parameter policy is their Content-Security-Policy.
func (s Service) Documents(policy string, documents ...Document) http.Handler {
	published := make(map[string]publishedDocument, len(documents))
	for _, document := range documents {
		published[document.Path] = publish(document)
	}
	return s.handler(endpoint{
		path: "/{page}", revalidates: true,
		respond: func(c *call) (response, error) {
			document, found := published[c.URL.Path]
			if !found {
				return response{}, problemNotFound.new()
			}
			if err := c.parseQuery(); err != nil {
				return response{}, err
			}
			resp, err := document.show(c.Request)
			if err != nil {
				return response{}, err
			}
			resp.setDocument(document.ContentType, policy)
			c.record.note("shown")
			return resp, nil
		},
	})
}

// publishedDocument is compressed once per process, for the first request that accepts gzip.
type publishedDocument struct {
	Document
	compressed func() ([]byte, error)
}

func publish(document Document) publishedDocument {
	return publishedDocument{document, sync.OnceValues(func() ([]byte, error) { return compress(document.Content) })}
}

// setDocument sets the headers of a document or a page for browsers. The parameter policy is its
// Content-Security-Policy.
func (resp *response) setDocument(contentType, policy string) {
	resp.header.Set("Content-Type", contentType)
	resp.header.Set("Content-Security-Policy", policy)
	resp.header.Set("Referrer-Policy", "no-referrer")
	resp.header.Set("X-Content-Type-Options", "nosniff")
}

func (d publishedDocument) show(r *http.Request) (response, error) {
	if d.Origin == "" {
		return encoded(r, d.Content, d.compressed)
	}
	origin, valid := originOf(r)
	if !valid {
		return response{}, problemMalformedRequest.because(
			"The Host must be a name or an address, with an optional port.",
		)
	}
	return response{http.StatusOK, http.Header{}, []byte(strings.ReplaceAll(d.Content, d.Origin, origin))}, nil
}

// encoded makes a response with the content, compressed if the client accepts gzip.
func encoded(r *http.Request, content string, compressed func() ([]byte, error)) (resp response, err error) {
	resp = response{status: http.StatusOK, header: http.Header{"Vary": {"Accept-Encoding"}}}
	if !acceptsGzip(r.Header.Values("Accept-Encoding")) {
		resp.body = []byte(content)
		return resp, nil
	}
	resp.header.Set("Content-Encoding", "gzip")
	resp.body, err = compressed()
	return resp, err
}

func compress(content string) ([]byte, error) {
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	_, err := io.WriteString(writer, content)
	if err := errors.Join(err, writer.Close()); err != nil {
		return nil, fmt.Errorf("compress document: %w", err)
	}
	return compressed.Bytes(), nil
}

// originOf returns the scheme and authority of a request, or false if its Host cannot be part of a URL. API Gateway
// only gets requests for its own hosts, but clients may call the local run by any name.
func originOf(r *http.Request) (origin string, valid bool) {
	if r.Host == "" || strings.Trim(r.Host,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-:[]") != "" {
		return "", false
	}
	return r.URL.Scheme + "://" + r.Host, true
}

// acceptsGzip parses Accept-Encoding (RFC 9110, section 12.5.3). A client gets gzip only if it names gzip.
func acceptsGzip(acceptEncoding []string) bool {
	for item := range strings.SplitSeq(strings.ToLower(strings.Join(acceptEncoding, ",")), ",") {
		coding, parameter, _ := strings.Cut(item, ";")
		if strings.TrimSpace(coding) != "gzip" {
			continue
		}
		_, weight, hasWeight := strings.Cut(parameter, "q=")
		q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		return !hasWeight || err == nil && q > 0
	}
	return false
}
