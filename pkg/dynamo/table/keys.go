// Package table defines the layout of the five tables: keys, items, and the calls that read and write them. The package
// documentation of dynamo lists every key.
//
// Both dynamo and backoffice import this package. It is part of every function's binary, so it may import only
// the rules, the AWS SDK and the standard library.
package table

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// Names of the key attributes. They are the same in every table.
const (
	PartitionKey = "customer"
	SortKey      = "sk"
)

// Numbers of parts among which the items of a shop are spread. Each part has its own partition key value. Stored keys
// depend on these numbers, so they must never change.
const (
	Buckets = 64 // of vouchers, checkouts, refusals and events
	Shelves = 8  // of OrdersIndex: fewer, because each page of a list reads them all
)

// Parts of sort keys.
const (
	ProfileSort     = "customer"
	SettingsSort    = "settings"
	AccessKeyPrefix = "key#"
	ProductPrefix   = "product#"
	OffSalePrefix   = "offsale#"
	PartInfix       = "#p#"
	NickInfix       = "#n#"
	RedemptionInfix = "#r#"
	PaymentPrefix   = "pay#"
	HoldsPrefix     = "holds#"
	RedeemedPrefix  = "redeemed#"
)

// Key is the primary key of an item.
type Key struct{ Partition, Sort string }

// Attributes returns the key as calls to DynamoDB expect it.
func (k Key) Attributes() Item {
	return Item{PartitionKey: Str(k.Partition), SortKey: Str(k.Sort)}
}

// Code returns the code that an item of the vouchers table belongs to: the sort key before its first #.
func (k Key) Code() voucher.Code {
	code, _, _ := strings.Cut(k.Sort, "#")
	return voucher.Code(code)
}

// ProfileKey is the key of a shop's profile.
func ProfileKey(shop catalog.ShopID) Key { return Key{string(shop), ProfileSort} }

// ProductKey is the key of a product on sale.
func ProductKey(shop catalog.ShopID, product catalog.ProductID) Key {
	return Key{string(shop), ProductPrefix + string(product)}
}

// SettingsKey is the key of a shop's access settings.
func SettingsKey(shop catalog.ShopID) Key { return Key{string(shop), SettingsSort} }

// AccessKeyKey is the key of the record of a secret key.
func AccessKeyKey(shop catalog.ShopID, id access.KeyID) Key {
	return Key{string(shop), AccessKeyPrefix + string(id)}
}

// OffSaleKey is the key of a product off sale. Because of the prefix, the query of the checkout area does not read
// these products: DynamoDB charges for every item that a query reads.
func OffSaleKey(shop catalog.ShopID, product catalog.ProductID) Key {
	return Key{string(shop), OffSalePrefix + string(product)}
}

// PaymentKey is the key of what is left of a payment's stated amount.
func PaymentKey(shop catalog.ShopID, payment checkout.Payment) Key {
	encoded := EncodePayment(payment)
	return Key{Bucket(shop, hashBucket(encoded)), PaymentPrefix + encoded}
}

// VoucherKey is the key of a voucher.
func VoucherKey(shop catalog.ShopID, code voucher.Code) Key {
	return Key{Bucket(shop, hashBucket(string(code))), string(code)}
}

// PartKey is the key of a part of a code's allowance. number starts at 0; Head stands for the voucher itself.
func PartKey(shop catalog.ShopID, code voucher.Code, number int) Key {
	if number == Head {
		return VoucherKey(shop, code)
	}
	return Key{
		Bucket(shop, (hashBucket(string(code))+number+1)%Buckets), fmt.Sprintf("%s%s%02d", code, PartInfix, number),
	}
}

// NickKey is the key of the item that has the redemptions and holds of one nick. nick is the voucher.NickID.
func NickKey(shop catalog.ShopID, code voucher.Code, nick string) Key {
	return Key{Bucket(shop, hashBucket(string(code), nick)), string(code) + NickInfix + nick}
}

// RedemptionKey is the key of the item with one redemption.
func RedemptionKey(shop catalog.ShopID, code voucher.Code, token idempotency.Token) Key {
	return Key{
		Bucket(shop, hashBucket(string(code), string(token))),
		string(code) + RedemptionInfix + string(token),
	}
}

// RecordKey is the key of the item that records a redemption: the smallest item that the redemption takes from, or, if
// that may be one of many redemptions' items, RedemptionKey.
func RecordKey(
	shop catalog.ShopID, v voucher.Voucher, nick voucher.Nick, token idempotency.Token,
) Key {
	switch {
	case v.SingleUse():
		return VoucherKey(shop, v.Code)
	case v.MaxUsesPerNick != voucher.NoLimit:
		return NickKey(shop, v.Code, voucher.NickID(shop, v.Code, nick))
	default:
		return RedemptionKey(shop, v.Code, token)
	}
}

// CheckoutKey is the key of a checkout. token is the first half of the checkout's ID. The first group of the
// checkout's number chooses the bucket and begins the sort key, so that one query finds the number.
func CheckoutKey(shop catalog.ShopID, token idempotency.Token) Key {
	key := NumberedKey(shop, checkout.NumberGroup(token))
	return Key{key.Partition, key.Sort + string(token)}
}

// NumberedKey is the beginning of the CheckoutKey of every checkout whose number begins with the group.
func NumberedKey(shop catalog.ShopID, group string) Key {
	return Key{Bucket(shop, hashBucket(group)), group + "#"}
}

// ShelfOf returns the value of AttrShelf for the order of a checkout.
func ShelfOf(shop catalog.ShopID, token idempotency.Token) string {
	return Bucket(shop, hashBucket(string(token))%Shelves)
}

// RefusalKey is the key of the item that counts a source's refusals in the window that begins at start. An IPv6
// network, a /48, has one item for all of its subnets.
func RefusalKey(shop catalog.ShopID, source access.Source, start time.Time) Key {
	return Key{Bucket(shop, hashBucket(source.Name)), fmt.Sprintf("%s#%d", source.Name, start.Unix())}
}

// QuotaKey is the key of the item that counts a source's redemptions of codes with many uses. It is like RefusalKey.
func QuotaKey(shop catalog.ShopID, quota voucher.Quota) Key {
	key := RefusalKey(shop, access.Source{Name: quota.Source}, quota.Start)
	return Key{key.Partition, RedeemedPrefix + key.Sort}
}

// SourceHoldsKey is the key of the allowance of live holds of a source, or of an IPv6 network, a /48, if the source's
// Subnet is empty.
func SourceHoldsKey(shop catalog.ShopID, source access.Source) Key {
	sort := HoldsPrefix + source.Name
	if source.Subnet != "" {
		sort += "#" + source.Subnet
	}
	return Key{Bucket(shop, hashBucket(source.Name)), sort}
}

// HashNick returns the hash that stands for a nick in conditions and in the index of nicks: 22 characters, made from
// the compared form of the nick.
func HashNick(nick voucher.Nick) string {
	sum := sha256.Sum256([]byte(nick.Compared))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Bucket is the partition key value of one of a shop's buckets, or of one of its shelves.
func Bucket(shop catalog.ShopID, number int) string {
	return fmt.Sprintf("%s#%02d", shop, number)
}

// hashBucket picks a bucket by a hash of the parts. The parts contain no #, so joining them is unambiguous.
func hashBucket(parts ...string) int {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(strings.Join(parts, "#"))) // a hash.Hash never fails
	return int(hash.Sum32() % Buckets)
}
