package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/boombuler/barcode/qr"
)

const redeemLink = "https://emberforge.example/redeem?code=XMAS-0Z0Z-0Z0Z-0Z0Z-0Z0Z"

// qrModules returns the QR code that the library draws for redeemLink, with the quiet zone around it. A # is a dark
// module.
func qrModules(t *testing.T) string {
	t.Helper()
	symbol, err := qr.Encode(redeemLink, qr.M, qr.Auto)
	if err != nil {
		t.Fatal(err)
	}
	size := symbol.Bounds().Dx()
	if size != 37 { // version 5, the smallest with room for redeemLink
		t.Fatalf("%d modules", size)
	}
	return drawModules(size+8, func(x, y int) bool {
		return image.Pt(x-4, y-4).In(symbol.Bounds()) && symbol.At(x-4, y-4) == color.Black
	})
}

func drawModules(size int, isDark func(x, y int) bool) string {
	var drawn strings.Builder
	for y := range size {
		for x := range size {
			if isDark(x, y) {
				drawn.WriteByte('#')
			} else {
				drawn.WriteByte('.')
			}
		}
		drawn.WriteByte('\n')
	}
	return drawn.String()
}

// qrFile returns the file that qrFolder writes for redeemLink.
func qrFile(t *testing.T, format string) []byte {
	t.Helper()
	folder := t.TempDir()
	if err := (qrFolder{folder, format}).write("XMAS-0Z0Z-0Z0Z-0Z0Z-0Z0Z", redeemLink); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(folder, "XMAS-0Z0Z-0Z0Z-0Z0Z-0Z0Z."+format))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestQRFolder_PNG_HasTheModulesAndAQuietZone(t *testing.T) {
	t.Parallel()
	picture, err := png.Decode(bytes.NewReader(qrFile(t, "png")))
	if err != nil {
		t.Fatal(err)
	}
	if size := picture.Bounds().Size(); size != image.Pt(45*8, 45*8) {
		t.Fatalf("%v pixels", size)
	}
	isBlack := func(x, y int) bool { return color.GrayModel.Convert(picture.At(x, y)) == color.Gray{} }
	for corner, at := range map[string]int{"first": 0, "last": 7} {
		if got := drawModules(45, func(x, y int) bool { return isBlack(8*x+at, 8*y+at) }); got != qrModules(t) {
			t.Errorf("the %s pixel of each module is wrong; the pixels are\n%s", corner, got)
		}
	}
}

func TestQRFolder_SVG_HasTheModulesAndAQuietZone(t *testing.T) {
	t.Parallel()
	file := string(qrFile(t, "svg"))
	if !strings.Contains(file, `viewBox="0 0 45 45"`) || !strings.Contains(file, `fill="#fff" d="M0 0h45v45H0z"`) {
		t.Errorf("%.300s", file)
	}
	dark := map[image.Point]bool{}
	for _, square := range regexp.MustCompile(`M(\d+) (\d+)h1v1h-1z`).FindAllStringSubmatch(file, -1) {
		x, errX := strconv.Atoi(square[1])
		y, errY := strconv.Atoi(square[2])
		if errX != nil || errY != nil {
			t.Fatal(square)
		}
		dark[image.Pt(x, y)] = true
	}
	if got := drawModules(45, func(x, y int) bool { return dark[image.Pt(x, y)] }); got != qrModules(t) {
		t.Errorf("the squares are\n%s", got)
	}
}

func TestQRFolder_MissingFolderOrLongLink_IsAnError(t *testing.T) {
	t.Parallel()
	if err := (qrFolder{filepath.Join(t.TempDir(), "gone"), "png"}).write("XMAS", redeemLink); err == nil {
		t.Error("no error for a missing folder")
	}
	if err := (qrFolder{t.TempDir(), "png"}).write("XMAS", strings.Repeat(redeemLink, 50)); err == nil {
		t.Error("no error for a link that is too long")
	}
}
