package catalog

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"sort"
	"sync"
	"time"
)

// Bounds of what an Area holds in memory.
const (
	// MaxAge is how long an Area uses what it has read.
	MaxAge = 5 * time.Second
	// MaxAreaBytes bounds all shops together, in bytes of text. Above it, the shop that was read longest ago is
	// dropped.
	MaxAreaBytes = 16 << 20
	// MaxShopBytes bounds one shop. A function would need seconds to read a larger catalogue, so it reads the products
	// of such a catalogue from the store for each page.
	MaxShopBytes = MaxAreaBytes / 4
	// oversizeFor is how long an Area remembers that a catalogue was too large.
	oversizeFor = 10 * time.Minute
	// structBytes is added to the bytes of text of each shop, product and variant.
	structBytes = 256
)

// AreaStore is the part of the stored catalogue that the checkout area reads. Its results may be slightly stale. It
// returns the errors named here, or the store's own if a read failed.
type AreaStore interface {
	// Profile returns ErrNotFound for an unknown shop.
	Profile(ctx context.Context, id ShopID) (Profile, error)
	// ProductsOnSale yields the shop's products on sale in ID order, starting after the given ID, or with the first
	// product if the ID is empty. The number want says roughly how many products the caller will read. The sequence
	// ends at the first error.
	ProductsOnSale(ctx context.Context, shop ShopID, after ProductID, want int) iter.Seq2[Product, error]
}

// Area finds the products that the checkout area shows. It reads all products of a shop and uses them for MaxAge, so
// that nobody can use up the read capacity by requesting pages. It also remembers shops that do not exist. Checkouts do
// not use an Area, so their prices are current. Create it with NewArea.
type Area struct {
	store AreaStore
	now   func() time.Time

	mu    sync.Mutex
	shops map[ShopID]*list.Element
	order *list.List // of *shopOnSale, in the order in which they were read
	bytes int
}

// shopOnSale holds what an Area has read about a shop.
type shopOnSale struct {
	id      ShopID
	profile Profile // empty: unknown or off sale
	byID    []Product
	// byPosition has the same products, sorted by position, then ID. It is nil if no product has a position.
	byPosition []Product
	readAt     time.Time
	oversize   time.Time // when the products were found too large; zero: they are not
	bytes      int
}

// NewArea returns an Area that has read nothing yet.
func NewArea(store AreaStore, now func() time.Time) *Area {
	return &Area{store: store, now: now, shops: make(map[ShopID]*list.Element), order: list.New()}
}

// Place is the point in a list of products where one page ended and the next page begins. The zero Place is before the
// first product.
type Place struct {
	// Position is the position of the product that the page ended with, or MaxPosition+1 if that product has none. If
	// the products are listed by ID alone, Position is 0.
	Position int64
	ID       ProductID
}

func (p Place) compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Position, other.Position), cmp.Compare(p.ID, other.ID))
}

// Listing is what the checkout area shows of a shop.
type Listing struct {
	Profile Profile
	// Products yields the products on sale. It leaves out variants off sale, and products whose variants are all off
	// sale. The caller must not modify the products.
	Products iter.Seq2[Product, error]
	// ByID reports whether Products are sorted by ID alone. Otherwise they are sorted by position, then ID.
	ByID bool
}

// Place returns the place of a product in the listing.
func (l Listing) Place(p Product) Place {
	if l.ByID {
		return Place{ID: p.ID}
	}
	return Place{cmp.Or(p.Position, MaxPosition+1), p.ID}
}

// OnSale lists a shop's products after a place, or returns ErrNotFound if the shop is unknown or off sale. The number
// want says roughly how many products the caller will read.
//
// If each page begins at the place where the previous page ended, a product that keeps its position is listed once,
// even if other products change between two pages. All pages have the order of the first page. That order is by ID
// alone if no product had a position, or if the catalogue was too large to sort. There is one exception: if the
// catalogue becomes too large between two pages of a list that is sorted by position, that list starts again from the
// beginning, by ID. Then products can be listed twice.
func (a *Area) OnSale(ctx context.Context, id ShopID, after Place, want int) (Listing, error) {
	shop, err := a.shop(ctx, id)
	switch {
	case err != nil:
		return Listing{}, err
	case shop.profile.ID == "":
		return Listing{}, ErrNotFound
	case shop.oversize.IsZero():
		return shop.after(after), nil
	case after.Position != 0:
		after = Place{}
	}
	return Listing{shop.profile, a.stored(ctx, id, after.ID, want), true}, nil
}

func (s *shopOnSale) after(place Place) Listing {
	listing, products := Listing{
		Profile: s.profile,
		ByID:    place.Position == 0 && (place.ID != "" || s.byPosition == nil),
	}, s.byID
	if !listing.ByID && s.byPosition != nil {
		products = s.byPosition
	}
	first := sort.Search(len(products), func(i int) bool { return listing.Place(products[i]).compare(place) > 0 })
	listing.Products = func(yield func(Product, error) bool) {
		for _, product := range products[first:] {
			if !yield(product, nil) {
				return
			}
		}
	}
	return listing
}

// shop returns what was read about a shop within MaxAge, or reads the shop now.
func (a *Area) shop(ctx context.Context, id ShopID) (*shopOnSale, error) {
	now := a.now().Round(0) // the wall clock, because the monotonic clock may stop while a function is frozen
	before := &shopOnSale{}
	a.mu.Lock()
	if at := a.shops[id]; at != nil {
		before, _ = at.Value.(*shopOnSale)
	}
	a.mu.Unlock()
	if age := now.Sub(before.readAt); 0 <= age && age < MaxAge {
		return before, nil
	}
	shop := &shopOnSale{id: id, readAt: now, bytes: len(id) + structBytes}
	if now.Sub(before.oversize) < oversizeFor {
		shop.oversize = before.oversize
	}
	if err := a.read(ctx, shop); err != nil {
		return nil, err
	}
	a.hold(shop)
	return shop, nil
}

func (a *Area) read(ctx context.Context, shop *shopOnSale) error {
	profile, err := a.store.Profile(ctx, shop.id)
	if errors.Is(err, ErrNotFound) || err == nil && profile.OffSale {
		return nil
	}
	if err != nil {
		return err
	}
	shop.profile = profile
	shop.bytes += len(profile.Name) + profile.Page.bytes()
	if !shop.oversize.IsZero() {
		return nil
	}
	bytes := 0
	for product, err := range a.stored(ctx, shop.id, "", math.MaxInt) {
		if err != nil {
			return err
		}
		shop.byID = append(shop.byID, product)
		if bytes += product.bytes(); bytes > MaxShopBytes {
			shop.byID, shop.oversize = nil, shop.readAt
			return nil
		}
	}
	if slices.ContainsFunc(shop.byID, func(p Product) bool { return p.Position > 0 }) {
		order := Listing{}
		shop.byPosition = slices.SortedFunc(slices.Values(shop.byID),
			func(a, b Product) int { return order.Place(a).compare(order.Place(b)) })
	}
	shop.bytes += bytes
	return nil
}

// hold stores what was read about a shop, in place of what was read before. If the memory is full, it drops other
// shops.
func (a *Area) hold(shop *shopOnSale) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := a.shops[shop.id]; at != nil {
		a.drop(at)
	}
	a.shops[shop.id] = a.order.PushBack(shop)
	a.bytes += shop.bytes
	for a.bytes > MaxAreaBytes {
		a.drop(a.order.Front())
	}
}

func (a *Area) drop(at *list.Element) {
	shop, _ := a.order.Remove(at).(*shopOnSale)
	delete(a.shops, shop.id)
	a.bytes -= shop.bytes
}

// stored yields the same products as OnSale, but reads them from the store, in the order of their IDs.
func (a *Area) stored(ctx context.Context, shop ShopID, after ProductID, want int) iter.Seq2[Product, error] {
	return func(yield func(Product, error) bool) {
		for product, err := range a.store.ProductsOnSale(ctx, shop, after, want) {
			product.Variants = onSale(product.Variants)
			if err == nil && len(product.Variants) == 0 {
				continue
			}
			if !yield(product, err) || err != nil {
				return
			}
		}
	}
}

// bytes estimates how much memory the product takes.
func (p Product) bytes() int {
	size := len(p.ID) + len(p.Name) + len(p.Description) + len(p.Image) + len(p.Category) + len(p.NickFrom) +
		structBytes
	for _, v := range p.Variants {
		size += len(v.ID) + len(v.Name) + len(v.DataSchema) + structBytes
	}
	return size
}
