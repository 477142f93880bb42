package backoffice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/voucher"
)

// CatalogueEntry returns a shop in the form of a catalogue file. The result has all products, including those off sale,
// but no vouchers. If the shop does not exist, it returns catalog.ErrNotFound.
func (d *Deployment) CatalogueEntry(ctx context.Context, id catalog.ShopID) (catalogfile.Entry, error) {
	shop := d.Open(catalog.Profile{ID: id})
	stored, err := shop.Catalogue(ctx)
	if err != nil {
		return catalogfile.Entry{}, err
	}
	settings, err := shop.Settings(ctx)
	said := catalogfile.Access{
		Redeem: settings.Redeem, CheckOut: settings.CheckOut, Refusals: &settings.Refusals,
		Redemptions: &settings.Redemptions,
	}
	return catalogfile.Entry{Shop: stored, Access: said}, err
}

// CataloguePlan lists what loading catalogue files will change, shop by shop.
type CataloguePlan []ShopPlan

// ShopPlan lists what will change for one shop. It does not change vouchers that exist.
type ShopPlan struct {
	Catalogue  catalog.Plan      // its changes include those of the settings
	Vouchers   []voucher.Voucher // to create
	OtherTerms []OtherTerms
	// Unguarded are codes of the file with several uses, all of which one stranger can redeem by inventing nicks: the
	// shop lets anyone redeem, without a limit of redemptions.
	Unguarded []string

	shop     *Shop
	settings *access.Settings // the settings to write; nil: they stay unchanged
}

// OtherTerms is a voucher that already exists, but with other terms than in the file.
type OtherTerms struct {
	Stored voucher.Voucher // stays as it is
	Fields []string        // the fields that differ, named as in voucher.FieldError
}

// PlanCatalogue reads catalogue files and compares them with the store. It writes nothing. If prune is set, the plan
// takes off sale what the files leave out: products and variants of the shops in the files. Other shops stay as they
// are.
//
// Faults in the files are returned as one or more *catalogfile.Error, joined. After these are fixed, further faults may
// appear, because PlanCatalogue checks in three steps: the files themselves, then each shop's products, then the
// rewards of the shop's vouchers.
func (d *Deployment) PlanCatalogue(
	ctx context.Context, files []catalogfile.File, prune bool, now time.Time,
) (CataloguePlan, error) {
	entries, err := catalogfile.Parse(files...)
	if err != nil {
		return nil, err
	}
	var plan CataloguePlan
	var errs []error
	for _, entry := range entries {
		ofShop, err := d.Open(entry.Profile).plan(ctx, entry, prune, now)
		errs = append(errs, err)
		plan = append(plan, ofShop)
	}
	return plan, errors.Join(errs...)
}

func (s *Shop) plan(ctx context.Context, entry catalogfile.Entry, prune bool, now time.Time) (ShopPlan, error) {
	var stored *catalog.Shop
	read, err := s.Catalogue(ctx)
	if err == nil {
		stored = &read
	} else if !errors.Is(err, catalog.ErrNotFound) {
		return ShopPlan{}, fmt.Errorf("read shop %s: %w", s.Profile.ID, err)
	}
	changes, err := catalog.NewPlan(stored, entry.Shop, prune)
	if errs := placed(err, entry.Place); errs != nil {
		return ShopPlan{}, errs
	}
	if err != nil {
		return ShopPlan{}, err
	}
	if err := entry.MissingRewards(read); err != nil {
		return ShopPlan{}, err
	}
	plan := ShopPlan{Catalogue: changes, shop: s}
	settings, err := plan.addSettings(ctx, entry.Access)
	if err != nil {
		return ShopPlan{}, err
	}
	for _, wanted := range entry.Vouchers {
		v, err := plan.addVoucher(ctx, wanted, now)
		if err != nil {
			return ShopPlan{}, err
		}
		if v.Limited() && settings.Redeem == access.Anyone && settings.Redemptions == (access.SourceLimit{}) {
			plan.Unguarded = append(plan.Unguarded, v.Written)
		}
	}
	return plan, nil
}

// addVoucher adds a voucher of the file if it does not exist. It returns the voucher that will then exist.
func (p *ShopPlan) addVoucher(
	ctx context.Context, wanted catalogfile.Voucher, now time.Time,
) (voucher.Voucher, error) {
	v, err := voucher.New(wanted.Terms, now)
	if err != nil {
		return voucher.Voucher{}, fmt.Errorf("%s: %w", wanted.Place, err)
	}
	stored, found, err := p.shop.find(ctx, v.Code)
	if err != nil {
		return voucher.Voucher{}, err
	}
	if !found {
		p.Vouchers = append(p.Vouchers, v)
		return v, nil
	}
	if fields := differingFields(wanted.Terms, v, stored); len(fields) > 0 {
		p.OtherTerms = append(p.OtherTerms, OtherTerms{stored, fields})
	}
	return stored, nil
}

// addSettings adds the changes that the file makes to the access settings, and returns the settings that the shop will
// have. A new shop gets the default limit on refused codes.
func (p *ShopPlan) addSettings(ctx context.Context, said catalogfile.Access) (access.Settings, error) {
	before, err := p.shop.Settings(ctx)
	if err != nil {
		return access.Settings{}, err
	}
	isNew := before.Version == 0
	if isNew {
		before.Refusals = access.DefaultRefusals()
	}
	after := said.Over(before)
	var changes []catalog.Change
	for _, field := range []struct{ name, from, to string }{
		{"access.redeem", string(before.Redeem), string(after.Redeem)},
		{"access.check-out", string(before.CheckOut), string(after.CheckOut)},
		{"refusals", before.Refusals.String(), after.Refusals.String()},
		{"redemptions", before.Redemptions.String(), after.Redemptions.String()},
	} {
		if field.from != field.to {
			changes = append(changes, catalog.Change{
				Shop: p.shop.Profile.ID, Action: catalog.Updated, Field: field.name, From: field.from,
				To: field.to,
			})
		}
	}
	if isNew || len(changes) > 0 {
		p.settings = &after
	}
	all := p.Catalogue.Changes
	ofProducts := slices.IndexFunc(all, func(c catalog.Change) bool { return c.Product != "" })
	if ofProducts < 0 {
		ofProducts = len(all)
	}
	p.Catalogue.Changes = slices.Insert(all, ofProducts, changes...)
	return after, nil
}

// differingFields names the fields in which the stored voucher differs from the file. A field that the file leaves out
// does not count, because an edit may have set it. Reward and max-uses always count: a file always says the reward, and
// no edit changes max-uses from or to 1, which is what a file without max-uses means.
func differingFields(said voucher.Terms, wanted, stored voucher.Voucher) []string {
	var fields []string
	for _, term := range []struct {
		field        string
		isSaid, same bool
	}{
		{"reward", true, wanted.Reward == stored.Reward},
		{"max-uses", true, wanted.MaxUses == stored.MaxUses},
		{"max-uses-per-nick", said.MaxUsesPerNick != nil, wanted.MaxUsesPerNick == stored.MaxUsesPerNick},
		{"valid-from", !said.ValidFrom.IsZero(), wanted.ValidFrom.Equal(stored.ValidFrom)},
		{"valid-until", !said.ValidUntil.IsZero(), wanted.ValidUntil.Equal(stored.ValidUntil)},
		{"disabled", said.Disabled, stored.Disabled},
		{"nick", said.Nick != "", wanted.Nick.Compared == stored.Nick.Compared},
		{"batch", said.Batch != "", wanted.Batch == stored.Batch},
		{"note", said.Note != "", wanted.Note == stored.Note},
	} {
		if term.isSaid && !term.same {
			fields = append(fields, term.field)
		}
	}
	return fields
}

// placed turns each *catalog.FieldError in err into a *catalogfile.Error with the place of the shop, and joins
// them. If err has no *catalog.FieldError, it returns nil.
func placed(err error, place catalogfile.Place) error {
	fields, _ := errors.AsType[catalog.FieldErrors](err)
	if field, is := errors.AsType[*catalog.FieldError](err); is && fields == nil {
		fields = catalog.FieldErrors{field}
	}
	var faults []error
	for _, field := range fields {
		faults = append(faults, &catalogfile.Error{Place: place, Message: field.Error()})
	}
	return errors.Join(faults...)
}

// Writes returns an upper bound of the number of items that Apply writes.
func (p CataloguePlan) Writes() int {
	writes := 0
	for _, plan := range p {
		writes += plan.Catalogue.Writes() + len(plan.Vouchers)
		if plan.settings != nil {
			writes++
		}
	}
	return writes
}

var errCreatedMeanwhile = errors.New("it was created meanwhile: apply again")

// Apply carries out the plan and calls the function wrote after each write. If Apply ends early, each shop is
// consistent, and a new plan of the same files completes the work. If another operator has changed a catalogue
// (catalog.ErrChanged) or created one of the vouchers since the plan was made, the error says to apply again.
func (p CataloguePlan) Apply(ctx context.Context, wrote func()) error {
	for _, plan := range p {
		if err := plan.apply(ctx, wrote); err != nil {
			return err
		}
	}
	return nil
}

// apply writes the settings before the shop itself: a new shop must not be open before its policies and its limit
// apply.
func (p *ShopPlan) apply(ctx context.Context, wrote func()) error {
	id := p.shop.Profile.ID
	if p.settings != nil {
		if err := p.shop.PutSettings(ctx, *p.settings); err != nil {
			return fmt.Errorf("shop %s, settings: %w", id, err)
		}
		wrote()
	}
	if err := p.Catalogue.Apply(ctx, p.shop, wrote); err != nil {
		return err
	}
	for _, v := range p.Vouchers {
		err := p.shop.Create(ctx, v)
		if errors.Is(err, voucher.ErrCodeTaken) { // another operator created it, perhaps with other terms
			err = errCreatedMeanwhile
		}
		if err != nil {
			return fmt.Errorf("shop %s, voucher %s: %w", id, v.Written, err)
		}
		wrote()
	}
	return nil
}
