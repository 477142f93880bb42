package catalog

import (
	"errors"
	"fmt"
	"strings"
)

// Page says how the shop's page, GET /shop/{customer}, looks and how shoppers pay. The zero Page is the default. All
// texts of a Page together have at most MaxPageBytes.
type Page struct {
	Off     bool   // the shop has no page, and no other field is set
	Accent  string // #rrggbb in lower case; empty: the page's own colour
	Logo    string // an https URL of at most MaxImageBytes; empty: the shop's name as text
	Imprint Link   // zero: no link
	Privacy Link   // zero: no link
	// PaymentURL is the shop's own payment page: an https URL of at most MaxImageBytes with {checkout}, and perhaps
	// {return}. The page replaces them with the checkout's ID and the address to come back to. Empty: the shop has no
	// payment page.
	PaymentURL string
	// PaymentText says in the shop's own words how to pay. It is plain text of at most MaxDescriptionBytes, in which
	// the page replaces {number} with the checkout's number. Empty: no text.
	PaymentText string
}

// Link is a link to a page of the shop.
type Link struct {
	URL  string // an https URL of at most MaxImageBytes; empty: no link
	Text string // one line of at most MaxCategoryBytes; empty: the page's own words
}

// String formats the link for people: https://emberforge.example/imprint (Impressum).
func (l Link) String() string {
	if l.Text == "" {
		return l.URL
	}
	return l.URL + " (" + l.Text + ")"
}

func (p Page) validate(add func(field string, err error)) {
	if p.Off && p != (Page{Off: true}) {
		add(fieldPage, errors.New("a page that is off cannot have other fields"))
	}
	if p.Accent != "" && !isColour(p.Accent) {
		add(fieldAccent, errors.New(`must be a colour such as "#c2410c"`))
	}
	if p.Logo != "" {
		add(fieldLogo, checkURL(p.Logo, "https://cdn.example/logo.png", isURL))
	}
	p.Imprint.validate(fieldImprint, add)
	p.Privacy.validate(fieldPrivacy, add)
	if p.PaymentURL != "" {
		add(fieldPaymentURL, checkURL(p.PaymentURL,
			"https://pay.example/?checkout={checkout}&return={return}, with {checkout} once and {return} at most "+
				"once, both after the host", isPaymentURL))
	}
	if p.PaymentText != "" && strings.TrimSpace(p.PaymentText) == "" {
		add(fieldPaymentText, errors.New("is blank: write how to pay, or leave it out"))
	} else {
		add(fieldPaymentText, checkText(p.PaymentText, MaxDescriptionBytes))
	}
	if bytes := p.bytes(); bytes > MaxPageBytes {
		add(fieldPage, fmt.Errorf("has %d bytes, and at most %d are allowed", bytes, MaxPageBytes))
	}
}

// bytes returns the length of all texts together, in bytes.
func (p Page) bytes() int {
	return len(p.Accent) + len(p.Logo) + len(p.Imprint.URL) + len(p.Imprint.Text) +
		len(p.Privacy.URL) + len(p.Privacy.Text) +
		len(p.PaymentURL) + len(p.PaymentText)
}

func (l Link) validate(field string, add func(field string, err error)) {
	if l.URL != "" {
		add(field, checkURL(l.URL, "https://shop.example/imprint", isURL))
	} else if l.Text != "" {
		add(field+".url", errors.New("is missing"))
	}
	if l.Text != "" {
		add(field+".text", checkLine(l.Text, MaxCategoryBytes))
	}
}

func isColour(text string) bool {
	digits, found := strings.CutPrefix(text, "#")
	return found && len(digits) == 6 && strings.Trim(digits, "0123456789abcdef") == ""
}

// isPaymentURL accepts URLs with one {checkout} and at most one {return}. Both come after the host, so that no value
// can change the host.
func isPaymentURL(template string) bool {
	before, _, _ := strings.Cut(template, "{")
	_, host, _ := strings.Cut(before, "://")
	example := strings.Replace(strings.Replace(template, "{checkout}", "x", 1), "{return}", "x", 1)
	return strings.ContainsAny(host, "/?#") && strings.Contains(template, "{checkout}") && isURL(example)
}
