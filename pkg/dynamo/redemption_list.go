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
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

const (
	// maxListCalls bounds the calls for one page. A code with few redemptions in 64 buckets makes pages short, not slow.
	maxListCalls = 64
	// recordsPerCall is how many items one call reads.
	recordsPerCall = 100
)

// errMalformedPosition is the error for a position that no page ended at.
var errMalformedPosition error = &voucher.FieldError{Field: "cursor", Err: errors.New("must be the next of a page of this code")}

// listPosition is a place in the list of a code's redemptions, which is sorted by bucket, item and token.
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

// recordsBetween returns the bounds of the sort keys of the items with a code's redemptions.
func recordsBetween(code voucher.Code) (first, last string) {
	return string(code) + table.NickInfix, string(code) + table.RedemptionInfix + "~"
}

// records asks for the items with a code's redemptions in a bucket, from a position on.
func (s *uses) records(customer catalog.CustomerID, code voucher.Code, from listPosition) *dynamodb.QueryInput {
	first, last := recordsBetween(code)
	return &dynamodb.QueryInput{
		TableName: aws.String(s.table), ConsistentRead: aws.Bool(true), Limit: aws.Int32(recordsPerCall),
		KeyConditionExpression: aws.String(table.PartitionKey + " = :bucket AND " + table.SortKey + " BETWEEN :first AND :last"),
		ExpressionAttributeValues: table.Item{
			":bucket": table.Str(table.Bucket(customer, from.bucket)), ":first": table.Str(max(first, from.sort)), ":last": table.Str(last),
		},
	}
}

// List returns redemptions of a code in the order of their keys, undone ones included.
func (s *RedemptionRecords) List(
	ctx context.Context, customer catalog.CustomerID, code voucher.Code, filter voucher.RedemptionFilter,
) ([]voucher.Redemption, string, error) {
	page, next, err := s.list(ctx, customer, code, filter)
	return page, next, table.Outcome(err)
}

func (s *RedemptionRecords) list(
	ctx context.Context, customer catalog.CustomerID, code voucher.Code, filter voucher.RedemptionFilter,
) (page []voucher.Redemption, next string, err error) {
	it, err := table.Get(ctx, s.api, s.table, table.VoucherKey(customer, code), nil)
	if err != nil || len(it) == 0 {
		return nil, "", err
	}
	v, err := table.DecodeVoucher(it)
	if err != nil {
		return nil, "", err
	}
	var at listPosition
	if filter.After != "" {
		if at, err = parseListPosition(filter.After, code); err != nil {
			return nil, "", err
		}
	} else if v.Redeemed != nil && filter.Selects(*v.Redeemed) {
		page = append(page, *v.Redeemed)
	}
	for calls := 0; calls < maxListCalls && at.bucket < table.Buckets; calls++ {
		out, err := s.api.Query(ctx, s.records(customer, code, at))
		if err != nil {
			return nil, "", err
		}
		for _, it := range out.Items {
			found, err := redemptionsIn(it, v.Voucher)
			if err != nil {
				return nil, "", err
			}
			for _, f := range found {
				switch {
				case f.key.Sort == at.sort && f.token <= at.token: // on an earlier page
				case len(page) == filter.Limit:
					return page, at.String(), nil
				default:
					at.sort, at.token = f.key.Sort, f.token
					if filter.Selects(f.redemption) {
						page = append(page, f.redemption)
					}
				}
			}
		}
		if len(out.LastEvaluatedKey) == 0 {
			at = listPosition{bucket: at.bucket + 1}
		} else {
			at.sort, at.token = table.KeyOf(out.LastEvaluatedKey).Sort, maxToken
		}
	}
	if at.bucket == table.Buckets {
		return page, "", nil
	}
	return page, at.String(), nil
}

// maxToken sorts after every token: the item of the position was read.
const maxToken = "~"
