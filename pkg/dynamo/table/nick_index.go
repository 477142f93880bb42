package table

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
	"shopfront/pkg/money"
	"shopfront/pkg/voucher"
)

const indexPrefix = "n#"

// NickIndexKey is the key of a redemption in the index of nicks. The redemptions of a nick sort by time.
func NickIndexKey(shop catalog.ShopID, nick voucher.Nick, at time.Time, id string) Key {
	hash := HashNick(nick)
	return Key{Bucket(shop, hashBucket(hash)), fmt.Sprintf("%s%s#%015d#%s", indexPrefix, hash, at.UnixMilli(), id)}
}

// NickIndexQuery returns a query for the redemptions of a nick from one time to another, both included, earliest first.
// If until is zero, the query has no end.
func NickIndexQuery(
	table string, shop catalog.ShopID, nick voucher.Nick, from, until time.Time,
) *dynamodb.QueryInput {
	if until.IsZero() {
		until = time.UnixMilli(FarFuture)
	}
	first, last := NickIndexKey(shop, nick, from, ""), NickIndexKey(shop, nick, until, "~")
	return &dynamodb.QueryInput{
		TableName: aws.String(table), ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String(PartitionKey + " = :bucket AND " + SortKey + " BETWEEN :first AND :last"),
		ExpressionAttributeValues: Item{
			":bucket": Str(first.Partition), ":first": Str(first.Sort),
			":last": Str(last.Sort),
		},
	}
}

// EncodeIndexed returns the item of a redemption in the index of nicks. isIndexed is false if the redemption has no
// nick.
func EncodeIndexed(shop catalog.ShopID, r voucher.Redemption) (it Item, isIndexed bool) {
	nick, err := voucher.ParseNick(r.Nick)
	if err != nil || nick == (voucher.Nick{}) {
		return nil, false
	}
	it = NickIndexKey(shop, nick, r.At, r.ID).Attributes()
	it[AttrCode], it[AttrReward], it[AttrNick] = Str(r.Code), Str(r.Reward.String()), Str(r.Nick)
	it.setStr(AttrCurrency, string(r.Reward.AmountOff.Currency))
	it.setTrue(AttrImported, r.Imported)
	if !r.Undone.IsZero() {
		it[AttrUndone] = Millis(r.Undone)
		it.setStr(AttrReason, r.UndoReason)
		it.setStr(AttrUndoneBy, r.UndoneBy)
	}
	return it, true
}

// DecodeIndexed reads what EncodeIndexed wrote.
func DecodeIndexed(it Item) (voucher.Redemption, error) {
	_, timeAndID, _ := strings.Cut(strings.TrimPrefix(it.Str(SortKey), indexPrefix), "#")
	millis, id, _ := strings.Cut(timeAndID, "#")
	at, malformed := strconv.ParseInt(millis, 10, 64)
	reward, err := decodeReward(it.Str(AttrReward), money.Currency(it.Str(AttrCurrency)))
	if err = errors.Join(malformed, err); err != nil {
		return voucher.Redemption{}, fmt.Errorf("indexed redemption: %v", err) //nolint:errorlint // a malformed ID here is not the request's fault
	}
	r := voucher.Redemption{
		ID: id, At: time.UnixMilli(at).UTC(), Code: it.Str(AttrCode), Nick: it.Str(AttrNick), Reward: reward,
		Imported: it.Bool(AttrImported),
	}
	if it.Has(AttrUndone) {
		r.Undone, r.UndoReason, r.UndoneBy = it.Time(AttrUndone), it.Str(AttrReason), it.Str(AttrUndoneBy)
	}
	return r, nil
}
