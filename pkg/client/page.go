package client

import (
	"encoding/json"
	"net/url"
	"strconv"
	"time"
)

// eachPage yields the pages of a list, beginning with the page for the given query. The function get returns the page
// for a query, and the query for the next page, which is empty after the last page. The first error ends the list.
func eachPage[P any](query string, yield func(P, error) bool, get func(query string) (page P, next string, err error)) {
	for more := true; more; more = query != "" {
		page, next, err := get(query)
		if !yield(page, err) || err != nil {
			return
		}
		query = next
	}
}

// pageEnd says where the next page of a list is.
type pageEnd struct {
	Next json.RawMessage `json:"next"` // a path or null; if it is missing, the response may be incomplete

	next string // the query of the next page; empty on the last page
}

// readNext reads where the next page is. The request r is the one for this page. readNext reports whether Next is null,
// or the path of another page of the same list.
func (p *pageEnd) readNext(r request) (understood bool) {
	p.next, understood = r.nextQuery(p.Next)
	return understood && (p.next == "" || p.next != r.query)
}

// nextQuery returns the query in the path of the next page. If text is null, the query is empty.
func (r request) nextQuery(text json.RawMessage) (query string, understood bool) {
	var path *string
	if json.Unmarshal(text, &path) != nil {
		return "", false
	}
	if path == nil {
		return "", true
	}
	next, err := url.Parse(*path)
	if err != nil || next.RawQuery == "" || *path != r.path+"?"+next.RawQuery {
		return "", false
	}
	return next.RawQuery, true
}

// listQuery returns the query for the first page of a list. Empty and zero values select all.
func listQuery(selected map[string]string, from, until time.Time, pageSize int) string {
	query := url.Values{}
	for name, value := range selected {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"from": from, "to": until} {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	if pageSize != 0 {
		query.Set("limit", strconv.Itoa(pageSize))
	}
	return query.Encode()
}
