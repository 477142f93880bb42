package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

const (
	// maxListCalls bounds the calls for one page. If a code has few redemptions in its 64 buckets, pages get short
	// instead of slow.
	maxListCalls = 64
	// recordsPerCall is how many items one call reads.
	recordsPerCall = 100
)

// errMalformedPosition is the error for a cursor that no page of this code's redemptions returned.
var errMalformedPosition error = &voucher.FieldError{
	Field: "cursor", Err: errors.New("must be the value of next in a page of this code's redemptions"),
}

// listPosition is a place in the list of a code's redemptions. The list is sorted by bucket, item and token.
type listPosition struct {
	bucket int
	sort   string // of the item; empty: the beginning of the bucket
	token  idempotency.Token
}

func (p listPosition) String() string { return fmt.Sprintf("%02d %s %s", p.bucket, p.sort, p.token) }

func parseListPosition(text string, code voucher.Code) (listPosition, error) {
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return listPosition{}, errMalformedPosition
	}
	bucket, err := strconv.Atoi(parts[0])
	first, last := recordsBetween(code)
	if err != nil || bucket < 0 || bucket >= table.Buckets || parts[1] != "" && (parts[1] < first || parts[1] > last) {
		return listPosition{}, errMalformedPosition
	}
	return listPosition{bucket, parts[1], idempotency.Token(parts[2])}, nil
}

// recordsBetween returns two bounds. The sort key of every item with redemptions of the code is between them, except
// for the voucher's own item.
func recordsBetween(code voucher.Code) (first, last string) {
	return string(code) + table.NickInfix, string(code) + table.RedemptionInfix + "~"
}

// records returns a query for the items with a code's redemptions in a bucket, from a position on.
func (s *RedemptionRecords) records(shop catalog.ShopID, code voucher.Code, from listPosition) *dynamodb.QueryInput {
	first, last := recordsBetween(code)
	return &dynamodb.QueryInput{
		TableName: aws.String(s.vouchers), ConsistentRead: aws.Bool(true), Limit: aws.Int32(recordsPerCall),
		KeyConditionExpression: aws.String(table.PartitionKey + " = :bucket AND " + table.SortKey +
			" BETWEEN :first AND :last"),
		ExpressionAttributeValues: table.Item{
			":bucket": table.Str(table.Bucket(shop, from.bucket)), ":first": table.Str(max(first, from.sort)),
			":last": table.Str(last),
		},
	}
}

// List returns redemptions of a code in the order of their keys, including undone ones. The first page begins with the
// redemption of a single-use voucher.
func (s *RedemptionRecords) List(
	ctx context.Context, shop catalog.ShopID, code voucher.Code, filter voucher.RedemptionFilter,
) (page []voucher.Redemption, next string, err error) {
	defer func() { err = table.Outcome(err) }()
	v, err := table.ReadVoucher(ctx, s.api, s.vouchers, shop, code)
	if _, unknown := voucher.IsRefusal(err); unknown {
		return nil, "", nil
	}
	l := listing{filter: filter}
	if filter.After != "" && err == nil {
		l.at, err = parseListPosition(filter.After, code)
	} else if v.Redeemed != nil && filter.Selects(*v.Redeemed) {
		l.page = append(l.page, *v.Redeemed)
	}
	if err != nil {
		return nil, "", err
	}
	for calls := 0; calls < maxListCalls && l.at.bucket < table.Buckets; calls++ {
		out, err := s.api.Query(ctx, s.records(shop, code, l.at))
		if err != nil {
			return nil, "", err
		}
		for _, it := range out.Items {
			if full, err := l.add(it); full || err != nil {
				return l.page, l.at.String(), err
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			l.at = listPosition{bucket: l.at.bucket + 1}
		} else {
			l.at.sort, l.at.token = table.KeyOf(out.LastEvaluatedKey).Sort, maxToken
		}
	}
	if l.at.bucket == table.Buckets {
		return l.page, "", nil
	}
	return l.page, l.at.String(), nil
}

// listing is a page that is being read. at is where the page ends so far.
type listing struct {
	filter voucher.RedemptionFilter
	page   []voucher.Redemption
	at     listPosition
}

// add adds the redemptions in an item to the page. full reports whether a redemption did not fit.
func (l *listing) add(it table.Item) (full bool, err error) {
	found, err := table.Records(it)
	if err != nil {
		return false, err
	}
	sort := table.KeyOf(it).Sort
	for _, r := range found {
		token := idempotency.Token(r.ID)
		switch {
		case sort == l.at.sort && token <= l.at.token: // already on an earlier page
		case len(l.page) == l.filter.Limit:
			return true, nil
		default:
			l.at.sort, l.at.token = sort, token
			if l.filter.Selects(r) {
				l.page = append(l.page, r)
			}
		}
	}
	return false, nil
}

// maxToken sorts after every token. It marks a position after all redemptions of an item.
const maxToken = "~"
