package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"shopfront/pkg/access"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/catalogfile"
	"shopfront/pkg/wire"
)

func newCatalogCommand(s *session) *cobra.Command {
	return newGroup("catalog", "Load and show shops with their products", newCatalogApplyCommand(s),
		newCatalogListCommand(s), newCatalogShowCommand(s))
}

type applyJSON struct {
	DryRun   bool             `json:"dryRun"` // nothing was changed
	Changes  []catalog.Change `json:"changes"`
	Vouchers []voucherJSON    `json:"vouchers"` // the created ones; with dryRun those that would be created
	// OtherTerms are vouchers that exist with terms other than the file's. They stay as they are.
	OtherTerms []otherTermsJSON `json:"otherTerms"`
}

type otherTermsJSON struct {
	Shop   string   `json:"customer"`
	Code   string   `json:"code"`   // as written at creation
	Fields []string `json:"fields"` // the fields that differ
}

func newCatalogApplyCommand(s *session) *cobra.Command {
	var dryRun, prune, yes bool
	command := &cobra.Command{
		Use: "apply FILE...", Short: "Create and update shops from YAML files", Args: atLeastOne("FILE"),
		ValidArgsFunction: cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
		Long: `Create and update shops, with their products, variants and vouchers, from YAML files; - is standard input.
examples/demo.yaml shows every field; examples/catalogue.schema.json lets an editor check them.

All files are checked before anything is changed. Shops, products, variants and vouchers that the files leave out stay as
they are; --prune takes products and variants off sale. But a shop, product or variant in a file is replaced: a field
that it lacks goes back to its default, such as page, page.payment-url, data or sale; without off-sale, it is on sale
again. Only access, refusals and redemptions stay as they are. A voucher is created if its code does not exist yet. An
existing voucher is never changed: if its terms differ from the file's, the command applies everything else, reports the
voucher and exits with 3. Applying the same files again changes nothing, or completes an interrupted apply. A shop's
currency never changes, and nothing is ever deleted.

Changes of access, refusals and redemptions take effect within 15 seconds. Create a key (shopctl key create) before
you let only the shop's server redeem or check out.

A field other than off-sale that goes back to its default is probably a mistake. So is a price of zero, a price that
becomes ten times higher or lower, and a sale at a tenth of the price or less. With such a change the command changes
nothing and exits with 3, unless --yes accepts it.`,
		Example: `  shopctl --local catalog apply examples/demo.yaml --dry-run
  shopctl --local catalog apply examples/demo.yaml`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			files, err := s.readFiles(args)
			if err != nil {
				return err
			}
			deployment, err := s.deployment(ctx)
			if err != nil {
				return err
			}
			plan, err := deployment.PlanCatalogue(ctx, files, prune, s.now())
			if err != nil {
				return err
			}
			slips := unlikelyChanges(plan)
			if yes {
				slips = nil
			}
			if !dryRun {
				if slips != nil {
					return slips
				}
				if err := s.apply(ctx, plan); err != nil {
					return err
				}
			}
			if err := s.showPlan(plan, dryRun); err != nil {
				return err
			}
			if slips != nil {
				return slips
			}
			return s.differingVouchers(plan)
		}),
	}
	flags := command.Flags()
	flags.BoolVar(&dryRun, "dry-run", false, "show what would change, and change nothing")
	flags.BoolVar(&yes, "yes", false, "accept changes that are probably mistakes")
	flags.BoolVar(&prune, "prune", false, "take products and variants off sale that the files leave out")
	return command
}

func atLeastOne(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s is missing", name)
		}
		return nil
	}
}

// readFiles reads each file up to one byte past the size limit, so that PlanCatalogue can tell that a file is too long.
func (s *session) readFiles(names []string) ([]catalogfile.File, error) {
	files := make([]catalogfile.File, len(names))
	for i, name := range names {
		text, err := s.readFile(name)
		if err != nil {
			return nil, misused("read catalogue: %s", err)
		}
		files[i] = catalogfile.File{Name: name, Text: text}
	}
	return files, nil
}

func (s *session) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(s.stdin, catalogfile.MaxFileBytes+1))
	}
	file, err := os.Open(name) //nolint:gosec // the file that the operator names
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, catalogfile.MaxFileBytes+1))
	return text, errors.Join(err, file.Close())
}

func (s *session) apply(ctx context.Context, plan backoffice.CataloguePlan) error {
	bar := s.newProgress("applied", plan.Writes())
	defer bar.end()
	return plan.Apply(ctx, bar.step)
}

// unlikelyChanges returns an error that lists the changes that are probably mistakes, or nil.
func unlikelyChanges(plan backoffice.CataloguePlan) error {
	var changes []string
	for _, shop := range plan {
		for _, change := range shop.Catalogue.Changes {
			if change.Unlikely {
				changes = append(changes, change.String())
			}
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return refused(kindInvalid, "these changes may be mistakes, so nothing was changed: correct the files, or accept "+
		"the changes with --yes:\n%s", strings.Join(changes, "\n"))
}

// differingVouchers returns an error if the store has vouchers with other terms than the files. These vouchers stay as
// they are.
func (s *session) differingVouchers(plan backoffice.CataloguePlan) error {
	differing := 0
	for _, shop := range plan {
		differing += len(shop.OtherTerms)
	}
	if differing == 0 {
		return nil
	}
	return refused(kindExists, "not applied: %s with other terms in the store: run %s, or correct the files",
		countOf(differing, "voucher"), s.commandLine("voucher edit"))
}

func (s *session) showPlan(plan backoffice.CataloguePlan, dryRun bool) error {
	document := applyJSON{
		DryRun: dryRun, Changes: []catalog.Change{}, Vouchers: []voucherJSON{},
		OtherTerms: []otherTermsJSON{},
	}
	var lines []string
	for _, shop := range plan {
		document.Changes = append(document.Changes, shop.Catalogue.Changes...)
		for _, change := range shop.Catalogue.Changes {
			lines = append(lines, change.String())
		}
		for _, v := range shop.Vouchers {
			document.Vouchers = append(document.Vouchers, representVoucher(shop.Catalogue.Shop, v))
			lines = append(lines, fmt.Sprintf("%s: voucher %s: new, %s", shop.Catalogue.Shop, v.Written,
				formatReward(v.Reward)))
		}
		if len(shop.Unguarded) > 0 {
			s.warn(fmt.Sprintf("%s: one person who invents nicks can redeem every use of %s: set redemptions, or "+
				"access: {redeem: server}", shop.Catalogue.Shop, strings.Join(shop.Unguarded, ", ")))
		}
		for _, other := range shop.OtherTerms {
			document.OtherTerms = append(document.OtherTerms,
				otherTermsJSON{string(shop.Catalogue.Shop), other.Stored.Written, other.Fields})
			s.note(fmt.Sprintf("%s: voucher %s: exists with other terms (%s) and stays as it is: see %s",
				shop.Catalogue.Shop, other.Stored.Written, strings.Join(other.Fields, ", "),
				s.commandLine("voucher edit")))
		}
	}
	if s.json {
		return writeJSON(s.stdout, document)
	}
	for _, text := range lines {
		if _, err := fmt.Fprintln(&visible{to: s.stdout}, text); err != nil {
			return err
		}
	}
	switch {
	case len(lines) == 0:
		s.note("nothing to change")
	case dryRun:
		s.note(countOf(len(lines), "change") + " to make; nothing was changed")
	default:
		s.note(countOf(len(lines), "change") + " made")
	}
	return nil
}

type profileJSON struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Currency string `json:"currency"`
	OffSale  bool   `json:"offSale"`
	TimeZone string `json:"timeZone"` // UTC if none is set

	Page *pageJSON `json:"page"` // null: off
}

type pageJSON struct {
	Accent      string    `json:"accent,omitempty"`
	Logo        string    `json:"logo,omitempty"`
	Imprint     *linkJSON `json:"imprint,omitempty"`
	Privacy     *linkJSON `json:"privacy,omitempty"`
	PaymentURL  string    `json:"paymentUrl,omitempty"`
	PaymentText string    `json:"paymentText,omitempty"`
}

type linkJSON struct {
	URL  string `json:"url"`
	Text string `json:"text,omitempty"`
}

func (c profileJSON) cells() []string {
	onSale := "yes"
	if c.OffSale {
		onSale = "no"
	}
	return []string{c.ID, c.Name, c.Currency, onSale}
}

func representProfile(c catalog.Profile) profileJSON {
	return profileJSON{
		ID: string(c.ID), Name: c.Name, Currency: string(c.Currency), OffSale: c.OffSale,
		TimeZone: cmp.Or(c.TimeZone, "UTC"), Page: representPage(c.Page),
	}
}

func representPage(p catalog.Page) *pageJSON {
	if p.Off {
		return nil
	}
	return &pageJSON{
		Accent: p.Accent, Logo: p.Logo, Imprint: representLink(p.Imprint), Privacy: representLink(p.Privacy),
		PaymentURL: p.PaymentURL, PaymentText: p.PaymentText,
	}
}

func representLink(l catalog.Link) *linkJSON {
	if l == (catalog.Link{}) {
		return nil
	}
	return &linkJSON{l.URL, l.Text}
}

func newCatalogListCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List shops", Args: exactly(),
		Example: "  shopctl --local catalog list",
		RunE: s.command(func(ctx context.Context, _ []string) error {
			deployment, err := s.deployment(ctx)
			if err != nil {
				return err
			}
			shops, err := deployment.Shops(ctx)
			if err != nil {
				return err
			}
			rows := represent(shops, representProfile)
			return list(&s.output, "shops", []string{"SHOP", "NAME", "CURRENCY", "ON SALE"}, rows)
		}),
	}
}

type shopJSON struct {
	profileJSON
	policiesJSON

	Products []productJSON `json:"products"`
}

// policiesJSON holds the policies of a shop. The values of access are those of catalogue files.
type policiesJSON struct {
	Access      accessJSON `json:"access"`
	Refusals    *limitJSON `json:"refusals"`    // null: off
	Redemptions *limitJSON `json:"redemptions"` // null: off
}

type accessJSON struct {
	Redeem   string `json:"redeem"` // anyone or server
	CheckOut string `json:"checkOut"`
}

type limitJSON struct {
	Limit      int `json:"limit"`
	PerSeconds int `json:"perSeconds"`
}

func representPolicies(redeem, checkOut access.Policy, refusals, redemptions access.SourceLimit) policiesJSON {
	return policiesJSON{
		accessJSON{string(redeem), string(checkOut)}, representSourceLimit(refusals), representSourceLimit(redemptions),
	}
}

func representSourceLimit(limit access.SourceLimit) *limitJSON {
	if limit == (access.SourceLimit{}) {
		return nil
	}
	return &limitJSON{limit.Limit, int(limit.Per / time.Second)}
}

type productJSON struct {
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Description string        `json:"description,omitempty"`
	Image       string        `json:"image,omitempty"`
	Category    string        `json:"category,omitempty"`
	Position    int64         `json:"position,omitempty"`
	OffSale     bool          `json:"offSale"`
	NickFrom    string        `json:"nickFrom,omitempty"`
	Variants    []variantJSON `json:"variants"`
}

type variantJSON struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Price      *wire.Money     `json:"price"`
	Sale       *saleJSON       `json:"sale,omitempty"`
	MinAmount  int64           `json:"minAmount"`
	MaxAmount  int64           `json:"maxAmount"`
	DataSchema json.RawMessage `json:"dataSchema,omitempty"`
	OffSale    bool            `json:"offSale"`
}

type saleJSON struct {
	Price *wire.Money `json:"price"`
	From  string      `json:"from,omitempty"`
	Until string      `json:"until,omitempty"`
}

func newCatalogShowCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show SHOP", Short: "Print a shop's catalogue as a file for apply", Args: exactly("SHOP"),
		Long: "Print a shop's whole catalogue, including what is off sale, as YAML that apply reads. Vouchers " +
			"are not included.",
		Example: `  shopctl --local catalog show emberforge > emberforge.yaml
  shopctl --local catalog apply emberforge.yaml`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			id, err := parseShop(args[0])
			if err != nil {
				return err
			}
			deployment, err := s.deployment(ctx)
			if err != nil {
				return err
			}
			shop, err := deployment.CatalogueEntry(ctx, id)
			if err != nil {
				return s.describeNoShop(err, id)
			}
			if s.json {
				return writeJSON(s.stdout, shopJSON{
					representProfile(shop.Profile),
					representPolicies(shop.Access.Redeem, shop.Access.CheckOut, *shop.Access.Refusals,
						*shop.Access.Redemptions),
					represent(shop.Products, representProduct),
				})
			}
			return catalogfile.Write(s.file(), shop)
		}),
	}
}

func representProduct(p catalog.Product) productJSON {
	return productJSON{
		ID: string(p.ID), Name: p.Name, Description: p.Description, Image: p.Image, Category: p.Category,
		Position: p.Position,
		OffSale:  p.OffSale, NickFrom: p.NickFrom, Variants: represent(p.Variants, representVariant),
	}
}

func representVariant(v catalog.Variant) variantJSON {
	represented := variantJSON{
		ID: string(v.ID), Name: v.Name, Price: wire.OfMoney(v.Price), MinAmount: v.MinAmount, MaxAmount: v.MaxAmount,
		DataSchema: json.RawMessage(v.DataSchema), OffSale: v.OffSale,
	}
	if v.Sale != (catalog.Sale{}) {
		represented.Sale = &saleJSON{wire.OfMoney(v.Sale.Price), wire.Time(v.Sale.From), wire.Time(v.Sale.Until)}
	}
	return represented
}
