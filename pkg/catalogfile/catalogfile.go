// Package catalogfile reads and writes the files in which an operator keeps a catalogue: YAML with customers, their
// products and variants, and vouchers to create. examples/demo.yaml is one, and shows every field.
//
// A file is read strictly and as a whole: unknown and repeated keys, wrong types and everything that the rules of the
// catalogue and of vouchers refuse are errors, each with its file and line. Numbers are taken as they are written and
// never go through a float.
//
// It may be imported by commands only, never by a function.
package catalogfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// MaxFileBytes bounds one file.
const MaxFileBytes = 16 << 20

// File is a catalogue file's content, with the name that errors call it by.
type File struct {
	Name string
	Text []byte
}

// Place is where something stands.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1
}

func (p Place) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Shop is a customer as it stands in a file.
type Shop struct {
	catalog.Shop           // valid, its products in ID order
	Vouchers     []Voucher // in the order of the file, no code twice
	Place        Place
}

// Voucher is one that is to be created where its code is not there yet.
type Voucher struct {
	Terms voucher.Terms // of which voucher.New makes a voucher
	Code  voucher.Code  // as it is compared
	Place Place
}

// Error is one thing that is wrong in a file.
type Error struct {
	Place

	Message string `json:"message"`
}

func (e *Error) Error() string { return e.String() + ": " + e.Message }

// Errors are all that is wrong, in the order of the files and their lines.
type Errors []*Error

func (e Errors) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap lets errors.As find each of them.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}

// Parse reads the customers of all files, in their order. A customer stands in one place only. Each file may have several
// YAML documents. What is wrong is returned as Errors, all of it, and then there are no shops.
func Parse(files ...File) ([]Shop, error) {
	var shops []Shop
	var errs Errors
	places := map[catalog.CustomerID]Place{}
	for _, file := range files {
		r := reader{file: file.Name}
		inFile := r.shops(file.Text)
		for _, shop := range inFile {
			id := shop.Customer.ID
			if earlier, found := places[id]; found && id != "" {
				r.fail(shop.Place.Line, "customer %q is already in %s: write it in one place only", id, earlier)
			}
			places[id] = shop.Place
		}
		slices.SortStableFunc(r.errs, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
		shops, errs = append(shops, inFile...), append(errs, r.errs...)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return shops, nil
}

// MissingRewards are the vouchers whose reward is a product or variant that neither the shop nor what is kept of it has,
// as Errors; nil if there are none.
func (s Shop) MissingRewards(kept catalog.Shop) error {
	var errs Errors
	for _, v := range s.Vouchers {
		reward := v.Terms.Reward
		if reward.Kind != voucher.RewardProduct || hasVariant(s.Products, reward) || hasVariant(kept.Products, reward) {
			continue
		}
		errs = append(errs, &Error{v.Place, fmt.Sprintf("reward: customer %s has no variant %s/%s", s.Customer.ID, reward.Product, reward.Variant)})
	}
	if len(errs) == 0 {
		return nil
	}
	return errs
}

func hasVariant(products []catalog.Product, reward voucher.Reward) bool {
	return slices.ContainsFunc(products, func(p catalog.Product) bool {
		return p.ID == reward.Product &&
			slices.ContainsFunc(p.Variants, func(v catalog.Variant) bool { return v.ID == reward.Variant })
	})
}
