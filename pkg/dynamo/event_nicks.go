package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/voucher"
)

// Index implements event.Nicks. If the index already has a redemption, only a change that undoes the redemption
// replaces the entry. So an earlier change that arrives late cannot make an undone redemption look as if it were not
// undone.
func (l *EventLog) Index(ctx context.Context, shop catalog.ShopID, redemptions []voucher.Redemption) error {
	return table.Outcome(atOnce(redemptions, func(r voucher.Redemption) error {
		it, isIndexed := table.EncodeIndexed(shop, r)
		if !isIndexed {
			return nil
		}
		put := &dynamodb.PutItemInput{TableName: aws.String(l.tableName), Item: it}
		if r.Undone.IsZero() {
			put.ConditionExpression = aws.String("attribute_not_exists(" + table.SortKey + ")")
		}
		_, err := l.api.PutItem(ctx, put)
		if _, exists := table.OldItem(err); exists {
			return nil
		}
		return err
	}))
}
