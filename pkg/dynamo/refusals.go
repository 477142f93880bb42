package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/table"
)

// refusalRetention is how long a count is stored after its window has ended. By then only operators may still want to
// see it.
const refusalRetention = 48 * time.Hour

// RefusalsAPI lists the DynamoDB operations that Refusals calls.
type RefusalsAPI interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput,
		error)
}

// Refusals counts refused codes in a table. It implements access.RefusalStore. Create it with NewRefusals.
type Refusals struct {
	api       RefusalsAPI
	tableName string
}

// NewRefusals returns a store of the counts in a refusals table.
func NewRefusals(api RefusalsAPI, tableName string) *Refusals {
	return &Refusals{api: api, tableName: tableName}
}

// Count adds a refusal in one call. The item of an IPv6 network, a /48, has an attribute for each /64 subnet, so that
// one call counts the refusal for the network and for the subnet. With up to about 150 subnets the item takes one write
// unit.
//
// If a response is lost, the SDK's retry counts the refusal twice. That is harmless: at worst, the source is blocked
// one refusal early.
func (s *Refusals) Count(
	ctx context.Context, shop catalog.ShopID, source access.Source, window access.Window,
) (access.RefusalCount, error) {
	update := table.Update{Key: table.RefusalKey(shop, source, window.Start)}
	update.Add(table.AttrRefusals, 1)
	if source.Subnet != "" {
		update.Add(source.Subnet, 1)
	}
	update.Set(table.AttrExpiresAt, table.Num(window.End.Add(refusalRetention).Unix()))
	out, err := s.api.UpdateItem(ctx, update.Input(s.tableName, types.ReturnValueUpdatedNew))
	if err != nil {
		return access.RefusalCount{}, table.Outcome(err)
	}
	counted := table.Item(out.Attributes)
	total := int(counted.Num(table.AttrRefusals))
	if source.Subnet == "" {
		return access.RefusalCount{Source: total}, nil
	}
	return access.RefusalCount{Source: int(counted.Num(source.Subnet)), Network: total}, nil
}
