package dynamo

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"strings"

	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

const (
	partitionKey = "customer"
	sortKey      = "sk"
)

// buckets is over how many partition key values a customer's vouchers are spread. It is in the keys and never changes.
const buckets = 64

// primaryKey is what names an item within its table.
type primaryKey struct{ partition, sort string }

// attributes is the key as a call to DynamoDB takes it.
func (k primaryKey) attributes() item {
	return item{partitionKey: str(k.partition), sortKey: str(k.sort)}
}

// keyOf reads the key of an item.
func keyOf(it item) primaryKey {
	return primaryKey{partition: it.str(partitionKey), sort: it.str(sortKey)}
}

type customerKey struct{ customer catalog.CustomerID }

const customerSort = "customer"

func (k customerKey) primary() primaryKey { return primaryKey{string(k.customer), customerSort} }

type productKey struct {
	customer catalog.CustomerID
	product  catalog.ProductID
}

const productPrefix = "product#"

func (k productKey) primary() primaryKey {
	return primaryKey{string(k.customer), productPrefix + string(k.product)}
}

type voucherKey struct {
	customer catalog.CustomerID
	code     voucher.Code
}

func (k voucherKey) primary() primaryKey {
	return primaryKey{bucketOf(k.customer, bucket(string(k.code))), string(k.code)}
}

type counterKey struct {
	customer catalog.CustomerID
	code     voucher.Code
	number   int // from 0
}

const counterInfix = "#c#"

func (k counterKey) primary() primaryKey {
	return primaryKey{
		bucketOf(k.customer, (bucket(string(k.code))+k.number)%buckets),
		fmt.Sprintf("%s%s%02d", k.code, counterInfix, k.number),
	}
}

type nickKey struct {
	customer catalog.CustomerID
	code     voucher.Code
	nick     voucher.Nick
}

const nickInfix = "#n#"

func (k nickKey) primary() primaryKey {
	hash := hashNick(k.nick)
	return primaryKey{
		bucketOf(k.customer, bucket(string(k.code), hash)),
		string(k.code) + nickInfix + hash,
	}
}

type redemptionKey struct {
	customer catalog.CustomerID
	code     voucher.Code
	token    idempotency.Token
}

const redemptionInfix = "#r#"

func (k redemptionKey) primary() primaryKey {
	return primaryKey{
		bucketOf(k.customer, bucket(string(k.code), string(k.token))),
		string(k.code) + redemptionInfix + string(k.token),
	}
}

// hashNick stands for a nick, as it is compared, in keys and conditions: 22 characters whatever the nick's length.
func hashNick(nick voucher.Nick) string {
	sum := sha256.Sum256([]byte(nick.Compared))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// codeOf is the code that an item of the vouchers table belongs to.
func codeOf(k primaryKey) voucher.Code {
	code, _, _ := strings.Cut(k.sort, "#")
	return voucher.Code(code)
}

func bucketOf(customer catalog.CustomerID, number int) string {
	return fmt.Sprintf("%s#%02d", customer, number)
}

// bucket hashes what an item is about; a # stands between the parts, which have none.
func bucket(parts ...string) int {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(strings.Join(parts, "#"))) // never fails, says hash.Hash
	return int(hash.Sum32() % buckets)
}

type checkoutKey struct {
	customer catalog.CustomerID
	hash     string // the first half of the checkout's ID
}

func (k checkoutKey) primary() primaryKey { return primaryKey{string(k.customer), k.hash} }
