package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/dynamo/backoffice"
	"shopfront/pkg/voucher"
)

// Customers lists the customers, in ID order.
func (d *Deployment) Customers(ctx context.Context) ([]catalog.Customer, error) {
	return d.shops().Customers(ctx)
}

// Catalogue returns a customer in the form of a catalogue file. The result has all products, including those off sale, but no vouchers. If
// the customer does not exist, it returns catalog.ErrNotFound.
func (d *Deployment) Catalogue(ctx context.Context, id catalog.CustomerID) (catalogfile.Entry, error) {
	shop, err := d.shops().Shop(ctx, id)
	if err != nil {
		return catalogfile.Entry{}, err
	}
	settings, err := d.access().Settings(ctx, id)
	said := catalogfile.Access{Redeem: settings.Redeem, CheckOut: settings.CheckOut, Refusals: &settings.Refusals}
	return catalogfile.Entry{Shop: shop, Access: said}, err
}

func (d *Deployment) shops() *backoffice.Catalogue {
	return backoffice.NewCatalogue(d.client, d.Tables.Catalogue, d.random)
}

func (d *Deployment) access() *backoffice.Access {
	return backoffice.NewAccess(d.client, d.Tables.Catalogue, d.random)
}

// CataloguePlan lists what loading catalogue files will change, customer by customer.
type CataloguePlan struct {
	Shops []ShopPlan

	catalogue *backoffice.Catalogue
	access    *backoffice.Access
	vouchers  *backoffice.Vouchers
}

// ShopPlan lists what will change for one customer. It does not change vouchers that exist.
type ShopPlan struct {
	Catalogue  catalog.Plan      // its changes include those of the settings
	Vouchers   []voucher.Voucher // to create
	OtherTerms []OtherTerms

	settings *access.Settings // the settings to write; nil: they stay unchanged
}

// OtherTerms is a voucher that already exists, but with other terms than in the file.
type OtherTerms struct {
	Kept   voucher.Voucher // the stored voucher, which stays as it is
	Fields []string        // the fields that differ, named as in voucher.FieldError
}

// PlanCatalogue reads catalogue files and compares them with the store. It writes nothing. If prune is set, the plan takes off sale what
// the files leave out: products and variants of the customers in the files. Other customers stay as they are.
//
// Faults in the files are returned as one or more *catalogfile.Error, joined. After these are fixed, further faults may appear, because
// PlanCatalogue checks in three steps: the files themselves, then each customer's products, then the rewards of the customer's vouchers.
func (d *Deployment) PlanCatalogue(ctx context.Context, files []catalogfile.File, prune bool, now time.Time) (CataloguePlan, error) {
	shops, err := catalogfile.Parse(files...)
	if err != nil {
		return CataloguePlan{}, err
	}
	plan := CataloguePlan{catalogue: d.shops(), access: d.access(), vouchers: backoffice.NewVouchers(d.client, d.Tables.Vouchers, d.random)}
	var errs []error
	for _, shop := range shops {
		ofShop, err := plan.planShop(ctx, shop, prune, now)
		errs = append(errs, err)
		plan.Shops = append(plan.Shops, ofShop)
	}
	return plan, errors.Join(errs...)
}

func (p CataloguePlan) planShop(ctx context.Context, shop catalogfile.Entry, prune bool, now time.Time) (ShopPlan, error) {
	stored, readErr := p.catalogue.Shop(ctx, shop.Customer.ID)
	changes, err := catalog.NewPlan(ctx, storedShop{p.catalogue, stored, readErr}, shop.Shop, prune)
	if errs := placed(err, shop.Place); errs != nil {
		return ShopPlan{}, errs
	}
	if err != nil {
		return ShopPlan{}, err
	}
	if err := shop.MissingRewards(stored); err != nil {
		return ShopPlan{}, err
	}
	planned := ShopPlan{Catalogue: changes}
	if err := p.planSettings(ctx, &planned, shop.Access, errors.Is(readErr, catalog.ErrNotFound)); err != nil {
		return ShopPlan{}, err
	}
	for _, wanted := range shop.Vouchers {
		v, err := voucher.New(wanted.Terms, now)
		if err != nil {
			return ShopPlan{}, fmt.Errorf("%s: %w", wanted.Place, err)
		}
		standing, err := p.vouchers.Show(ctx, shop.Customer.ID, wanted.Code, now)
		if err == nil {
			if fields := differingFields(wanted.Terms, v, standing.Voucher); len(fields) > 0 {
				planned.OtherTerms = append(planned.OtherTerms, OtherTerms{Kept: standing.Voucher, Fields: fields})
			}
			continue
		}
		if _, unknown := voucher.IsRefusal(err); !unknown {
			return ShopPlan{}, err
		}
		planned.Vouchers = append(planned.Vouchers, v)
	}
	return planned, nil
}

// planSettings adds the changes that the file makes to the access settings. A new shop gets the default limit on refused codes. A shop that
// was stored before shops had settings still has no limit.
func (p CataloguePlan) planSettings(ctx context.Context, planned *ShopPlan, said catalogfile.Access, isNew bool) error {
	before, err := p.access.Settings(ctx, planned.Catalogue.Customer)
	if err != nil {
		return err
	}
	isUnset := isNew && before.Version == 0
	if isUnset {
		before.Refusals = access.DefaultRefusals()
	}
	after := said.Over(before)
	var changes []catalog.Change
	for _, field := range []struct{ name, from, to string }{
		{"access.redeem", string(before.Redeem), string(after.Redeem)},
		{"access.check-out", string(before.CheckOut), string(after.CheckOut)},
		{"refusals", before.Refusals.String(), after.Refusals.String()},
	} {
		if field.from != field.to {
			changes = append(changes, catalog.Change{
				Customer: planned.Catalogue.Customer, Action: catalog.Updated, Field: field.name, From: field.from, To: field.to,
			})
		}
	}
	if isUnset || len(changes) > 0 {
		planned.settings = &after
	}
	all := planned.Catalogue.Changes
	ofProducts := slices.IndexFunc(all, func(c catalog.Change) bool { return c.Product != "" })
	if ofProducts < 0 {
		ofProducts = len(all)
	}
	planned.Catalogue.Changes = slices.Insert(all, ofProducts, changes...)
	return nil
}

// storedShop is a catalogue that returns one shop that was already read, without reading it again.
type storedShop struct {
	catalog.ApplyStore

	shop catalog.Shop
	err  error
}

func (s storedShop) Shop(context.Context, catalog.CustomerID) (catalog.Shop, error) {
	return s.shop, s.err
}

// differingFields names the fields in which the stored voucher differs from the file. A field that the file leaves out does not count,
// because an edit may have set it. Reward and max-uses always count: no edit changes a reward, and none changes max-uses from or to 1, which
// is what a file without max-uses means.
func differingFields(said voucher.Terms, wanted, kept voucher.Voucher) []string {
	var fields []string
	for _, term := range []struct {
		field        string
		isSaid, same bool
	}{
		{"reward", true, wanted.Reward == kept.Reward},
		{"max-uses", true, wanted.MaxUses == kept.MaxUses},
		{"max-uses-per-nick", said.MaxUsesPerNick != nil, wanted.MaxUsesPerNick == kept.MaxUsesPerNick},
		{"valid-from", !said.ValidFrom.IsZero(), wanted.ValidFrom.Equal(kept.ValidFrom)},
		{"valid-until", !said.ValidUntil.IsZero(), wanted.ValidUntil.Equal(kept.ValidUntil)},
		{"disabled", said.Disabled, kept.Disabled},
		{"nick", said.Nick != "", wanted.Nick.Compared == kept.Nick.Compared},
		{"batch", said.Batch != "", wanted.Batch == kept.Batch},
		{"note", said.Note != "", wanted.Note == kept.Note},
	} {
		if term.isSaid && !term.same {
			fields = append(fields, term.field)
		}
	}
	return fields
}

// placed turns each *catalog.FieldError in err into a *catalogfile.Error with the place of the customer, and joins them. If err has no
// *catalog.FieldError, it returns nil.
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
	for _, shop := range p.Shops {
		writes += shop.Catalogue.Writes() + len(shop.Vouchers)
		if shop.settings != nil {
			writes++
		}
	}
	return writes
}

var errCreatedMeanwhile = errors.New("it was created meanwhile: apply again")

// Apply carries out the plan and calls the function wrote after each write. If Apply ends early, each shop is consistent, and a new plan of
// the same files completes the work. If another operator has changed a catalogue (catalog.ErrChanged) or created one of the vouchers since
// the plan was made, the error says to apply again.
func (p CataloguePlan) Apply(ctx context.Context, wrote func()) error {
	for _, shop := range p.Shops {
		if shop.settings != nil { // written before the shop itself: a new shop must not be open before its policies and its limit apply
			if err := p.access.PutSettings(ctx, shop.Catalogue.Customer, *shop.settings); err != nil {
				return fmt.Errorf("customer %s, settings: %w", shop.Catalogue.Customer, err)
			}
			wrote()
		}
		if err := shop.Catalogue.Apply(ctx, p.catalogue, wrote); err != nil {
			return err
		}
		for _, v := range shop.Vouchers {
			err := p.vouchers.Create(ctx, shop.Catalogue.Customer, v)
			if errors.Is(err, voucher.ErrCodeTaken) { // another operator created it, perhaps with other terms
				err = errCreatedMeanwhile
			}
			if err != nil {
				return fmt.Errorf("customer %s, voucher %s: %w", shop.Catalogue.Customer, v.Written, err)
			}
			wrote()
		}
	}
	return nil
}
