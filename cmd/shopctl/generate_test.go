package main

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newLetters returns a Shopfront in which the batch letters has one voucher, whose code an operator chose.
func newLetters(t *testing.T) *shopfront {
	t.Helper()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.must(t, "voucher", "create", "emberforge", "Tenth Visit", "--reward", "5.00", "--batch", "letters",
		"--valid-until", "2026-12-24")
	return s
}

func TestGenerate_CSV_HasALinkForEachCode(t *testing.T) {
	t.Parallel()
	got := newLetters(t).must(t, "voucher", "generate", "emberforge", "--count", "2", "--reward", "5.00", "--resume",
		"letters",
		"--format", "csv", "--prefix", "XMAS", "--length", "20", "--group", "10", "--link",
		"https://shop.example/{code}?from=letter")
	const want = "code,reward,valid-until,link\r\n" +
		"Tenth Visit,5.00,2026-12-25T00:00:00.000Z,https://shop.example/Tenth%20Visit?from=letter\r\n" +
		"XMAS-S7YEDPACTF-1Y677BVVZ3,5.00,,https://shop.example/XMAS-S7YEDPACTF-1Y677BVVZ3?from=letter\r\n"
	if got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

func TestGenerate_RefusedCSV_PrintsNothing(t *testing.T) {
	t.Parallel()
	got := newLetters(t).shopctl(t.Context(), "--local", "voucher", "generate", "emberforge", "--count", "2",
		"--reward", "5.00", "--batch", "letters",
		"--format", "csv")
	if got.exit != exitRefused || got.stdout != "" {
		t.Errorf("%+v", got)
	}
}

func TestGenerate_QR_WritesAFileForEachCode(t *testing.T) {
	t.Parallel()
	s := newLetters(t)
	for _, test := range []struct {
		format string
		opens  func(file []byte) bool
	}{
		{"png", func(file []byte) bool { _, err := png.Decode(bytes.NewReader(file)); return err == nil }},
		{"svg", func(file []byte) bool { return bytes.HasPrefix(file, []byte("<svg ")) }},
	} {
		folder := filepath.Join(t.TempDir(), "posters", "winter")
		printed := s.must(t, "voucher", "generate", "emberforge", "--count", "3", "--reward", "5.00", "--resume",
			"letters",
			"--qr", folder, "--qr-format", test.format)
		files, err := os.ReadDir(folder)
		if err != nil || len(files) != 3 {
			t.Errorf("%v, %v", files, err)
		}
		for code := range strings.Lines(printed) {
			name := strings.TrimSuffix(code, "\n") + "." + test.format
			file, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil || !test.opens(file) {
				t.Errorf("%s: %v, %.40q", name, err, file)
			}
		}
	}
}

func TestGenerate_QR_ContainsTheLink_OrTheCodeWithoutALink(t *testing.T) {
	t.Parallel()
	s := newLetters(t)
	for _, test := range []struct {
		content string
		flags   []string
	}{
		{"Tenth Visit", nil},
		{"https://shop.example/Tenth%20Visit", []string{"--link", "https://shop.example/{code}"}},
	} {
		got, want := t.TempDir(), t.TempDir()
		s.must(t, append([]string{
			"voucher", "generate", "emberforge", "--count", "1", "--reward", "5.00", "--resume",
			"letters", "--qr", got,
		}, test.flags...)...)
		if err := (qrFolder{want, "png"}).write("Tenth Visit", test.content); err != nil {
			t.Fatal(err)
		}
		gotFile, gotErr := os.ReadFile(filepath.Join(got, "Tenth Visit.png"))
		wantFile, wantErr := os.ReadFile(filepath.Join(want, "Tenth Visit.png"))
		if gotErr != nil || wantErr != nil || !bytes.Equal(gotFile, wantFile) {
			t.Errorf("the QR code is not %q: %v, %v", test.content, gotErr, wantErr)
		}
	}
}

func TestGenerate_UnwritableQRFolder_CreatesNothing(t *testing.T) {
	t.Parallel()
	s := newLetters(t)
	file := filepath.Join(t.TempDir(), "posters")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := s.shopctl(t.Context(), "--local", "voucher", "generate", "emberforge", "--count", "2", "--reward", "5.00",
		"--qr", file)
	if got.exit != exitFailed || !strings.Contains(got.stderr, file) || strings.Contains(got.stderr, "batch") {
		t.Errorf("%+v", got)
	}
	if vouchers := s.must(t, "voucher", "list", "emberforge", "--json"); strings.Contains(vouchers, "generated-") {
		t.Errorf("a batch exists: %s", vouchers)
	}
}
