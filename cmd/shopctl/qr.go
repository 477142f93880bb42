package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/boombuler/barcode/qr"
)

const (
	quietZone    = 4 // the width of the margin around a QR code in modules, as the standard demands
	pixelsPerDot = 8 // the width of a module in a PNG
)

// qrFolder is the folder for the QR codes of vouchers.
type qrFolder struct{ path, format string }

// write writes a QR code with the given content to a file with the name of the voucher's code. Codes have only letters,
// digits, spaces and dashes, so each code is a valid file name.
func (f qrFolder) write(code, content string) error {
	symbol, err := qr.Encode(content, qr.M, qr.Auto)
	if err != nil {
		return fmt.Errorf("QR code of %s: %w", code, err)
	}
	var file bytes.Buffer
	if f.format == "svg" {
		writeSVG(&file, symbol)
	} else if err := png.Encode(&file, enlarge(symbol)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.path, code+"."+f.format), file.Bytes(), 0o600)
}

func isDark(symbol image.Image, x, y int) bool {
	return image.Pt(x, y).In(symbol.Bounds()) && symbol.At(x, y) == color.Black
}

// enlarge draws a QR code with a margin, and with modules of pixelsPerDot. In symbol, each module is one pixel.
func enlarge(symbol image.Image) image.Image {
	size := (symbol.Bounds().Dx() + 2*quietZone) * pixelsPerDot
	picture := image.NewPaletted(image.Rect(0, 0, size, size), color.Palette{color.White, color.Black})
	for y := range size {
		for x := range size {
			if isDark(symbol, x/pixelsPerDot-quietZone, y/pixelsPerDot-quietZone) {
				picture.SetColorIndex(x, y, 1)
			}
		}
	}
	return picture
}

// writeSVG draws each dark module of a QR code as a square.
func writeSVG(w io.Writer, symbol image.Image) {
	var squares strings.Builder
	modules := symbol.Bounds().Dx()
	for y := range modules {
		for x := range modules {
			if isDark(symbol, x, y) {
				fmt.Fprintf(&squares, "M%d %dh1v1h-1z", x+quietZone, y+quietZone)
			}
		}
	}
	_, _ = fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[1]d" `+
		`shape-rendering="crispEdges">`+
		`<path fill="#fff" d="M0 0h%[1]dv%[1]dH0z"/><path d="%[2]s"/></svg>`+"\n", modules+2*quietZone,
		squares.String())
}
