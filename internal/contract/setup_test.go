package contract_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shopfront/internal/contract"
	"shopfront/internal/contract/changelog"
	"shopfront/internal/local/gateway"
)

// shop is a small interface that the tests edit.
const shop = `openapi: 3.1.0
info: {title: Shop, version: 1.0.0}
tags: [{name: Vouchers}]
servers: [{url: /}]
paths:
  /shop/{customer}/voucher:
    post:
      operationId: redeem
      tags: [Vouchers]
      summary: Redeem a voucher
      parameters:
        - {name: customer, in: path, required: true, schema: {type: string}}
        - {name: channel, in: query, schema: {type: string, default: web}}
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [code]
              properties:
                code: {type: string}
                nick: {type: string, description: The shopper's handle}
      responses:
        "200":
          description: Redeemed
          headers:
            Request-Id: {schema: {type: string}}
          content:
            application/json:
              schema: {$ref: "#/components/schemas/Redemption"}
        "404": {description: Voucher not found}
  /shop/{customer}/checkout:
    get:
      parameters:
        - {name: customer, in: path, required: true, schema: {type: string}}
      responses:
        "200": {description: What is on sale}
components:
  schemas:
    Redemption:
      type: object
      required: [id, reward]
      properties:
        id: {type: string}
        note: {type: string}
        reward: {type: object, properties: {coins: {type: integer}}}
`

var today = time.Date(2027, time.March, 1, 9, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a date cannot be a constant

// edited returns the shop after replacements, given in pairs of old and new text. The old text must exist.
func edited(t *testing.T, oldNew ...string) string {
	t.Helper()
	text := shop
	for pair := range slices.Chunk(oldNew, 2) {
		if !strings.Contains(text, pair[0]) {
			t.Fatalf("%q is not in the document", pair[0])
		}
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text
}

// keep writes a working document and its releases, given by name and text. It returns the root of the source tree.
func keep(t *testing.T, working string, releases ...[2]string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "api", "pages"), 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, root, "api/openapi.yaml", working)
	for _, release := range releases {
		write(t, root, "api/releases/"+release[0]+".yaml", release[1])
	}
	sum(t, root)
	return root
}

// sum writes the sums of the released documents.
func sum(t *testing.T, root string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "api/releases/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var sums strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), filepath.Base(file))
	}
	write(t, root, "api/releases/SHA256SUMS", sums.String())
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// page renders stand-ins for the pages.
func page(openAPI []byte, releases []changelog.Release) (map[string][]byte, error) {
	return map[string][]byte{"docs.html": openAPI, "changelog.html": []byte(strconv.Itoa(len(releases)))}, nil
}

func open(t *testing.T, root string) *contract.Contract {
	t.Helper()
	c, err := contract.Open(root, page)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rendered returns a contract with one release, a working document, and the rendered files.
func rendered(t *testing.T, base, working string) *contract.Contract {
	t.Helper()
	c := open(t, keep(t, working, [2]string{"0001-2026-11-21", base}))
	if err := c.Render(); err != nil {
		t.Fatal(err)
	}
	return c
}

func routes(more ...gateway.Route) []gateway.Route {
	return append([]gateway.Route{
		route("voucher", "POST", "/shop/{customer}/voucher"),
		route("checkout-area", "GET", "/shop/{customer}/checkout"),
		route("checkout-area", "HEAD", "/shop/{customer}/checkout"),
	}, more...)
}

func route(function, method, path string) gateway.Route {
	return gateway.Route{Method: method, Path: path, Function: function}
}
