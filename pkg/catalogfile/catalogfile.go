// Package catalogfile reads and writes catalogue files: YAML with shops, their products and variants, and vouchers to
// create. examples/demo.yaml shows every field; examples/catalogue.schema.json is the format's JSON Schema.
//
// A file is read strictly and as a whole. Unknown keys, repeated keys, wrong types, and violations of the rules for
// catalogues and vouchers are errors, each with its file and line. Numbers are taken as written and never become
// floats.
//
// Only commands may import this package, never a Lambda function.
package catalogfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	_ "time/tzdata" // so that a shop's time zone does not depend on the machine; functions need no time zones

	"go.yaml.in/yaml/v3"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// MaxFileBytes bounds one file.
const MaxFileBytes = 16 << 20

// File is a catalogue file's content, with the name that errors use for it.
type File struct {
	Name string
	Text []byte
}

// Place is a line of a file.
type Place struct {
	File string
	Line int // from 1
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Entry is one shop of a file.
type Entry struct {
	catalog.Shop // valid, its products in ID order
	Access       Access
	Vouchers     []Voucher // in the order of the file, no code twice
	Place        Place
}

// Access is what a file says about access to a shop. Fields that the file leaves out are empty.
type Access struct {
	Redeem, CheckOut      access.Policy
	Refusals, Redemptions *access.SourceLimit
}

// Over replaces the settings that the file specifies, and returns the result.
func (a Access) Over(settings access.Settings) access.Settings {
	settings.Redeem = cmp.Or(a.Redeem, settings.Redeem)
	settings.CheckOut = cmp.Or(a.CheckOut, settings.CheckOut)
	if a.Refusals != nil {
		settings.Refusals = *a.Refusals
	}
	if a.Redemptions != nil {
		settings.Redemptions = *a.Redemptions
	}
	return settings
}

// Voucher is a voucher to create if its code does not exist yet.
type Voucher struct {
	Terms voucher.Terms // valid: voucher.New accepts them
	Code  voucher.Code  // normalized
	Place Place
}

// Error is one fault in a file.
type Error struct {
	Place

	Message string
}

func (e *Error) Error() string { return e.String() + ": " + e.Message }

// Parse reads the shops of all files, in their order. A file may have several YAML documents, but a shop must not
// appear twice. If anything is wrong, Parse returns no entries and every *Error, joined in the order of the files and
// lines.
func Parse(files ...File) ([]Entry, error) {
	format, err := newFormat()
	if err != nil {
		return nil, err
	}
	var entries []Entry
	var faults []error
	places := map[catalog.ShopID]Place{}
	for _, file := range files {
		r := reader{format: format, file: file.Name, open: map[*yaml.Node]bool{}, found: map[mistake]bool{}}
		inFile := r.entries(file.Text)
		for _, entry := range inFile {
			id := entry.Profile.ID
			if earlier, found := places[id]; found && id != "" {
				r.fail(entry.Place.Line, "shop %q is already in %s: write it in one place only", id, earlier)
			}
			places[id] = entry.Place
		}
		slices.SortStableFunc(r.faults, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
		entries = append(entries, inFile...)
		for _, fault := range r.faults {
			faults = append(faults, fault)
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return entries, nil
}

// MissingRewards checks the goods in the rewards of the entry's vouchers. It returns joined *Errors, one for each good
// whose variant is neither in the entry nor in the stored shop.
func (e Entry) MissingRewards(stored catalog.Shop) error {
	known := map[string]bool{}
	for _, product := range slices.Concat(e.Products, stored.Products) {
		for _, variant := range product.Variants {
			known[fmt.Sprintf("%s/%s", product.ID, variant.ID)] = true
		}
	}
	var missing []error
	for _, v := range e.Vouchers {
		for _, good := range v.Terms.Reward.Goods() {
			if variant := fmt.Sprintf("%s/%s", good.Product, good.Variant); !known[variant] {
				missing = append(missing, &Error{
					v.Place,
					fmt.Sprintf("reward: shop %s has no variant %s", e.Profile.ID, variant),
				})
			}
		}
	}
	return errors.Join(missing...)
}
