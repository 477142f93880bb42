package backoffice

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TableStatus is a table's status, such as ACTIVE or CREATING (DynamoDB's TableStatus).
type TableStatus struct {
	Name, Status string
	Stream       string // StreamEnabled, StreamDisabled or StreamOther; empty: the table needs no stream
}

// The status of a stream from which events are recorded.
const (
	StreamEnabled  = "ENABLED"
	StreamDisabled = "DISABLED"
	StreamOther    = "WITHOUT_IMAGES" // enabled, but without the images that show what happened
)

// TableStatuses returns the status of the tables of the catalogue, the vouchers, the checkouts and the events, in this
// order. A deployment without events has no table of events.
func (d *Deployment) TableStatuses(ctx context.Context) ([]TableStatus, error) {
	var statuses []TableStatus
	for _, name := range []string{d.Tables.Catalogue, d.Tables.Vouchers, d.Tables.Checkouts, d.Tables.Events} {
		if name == "" {
			continue // the deployment has no events
		}
		out, err := d.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		status := TableStatus{Name: name, Status: string(out.Table.TableStatus)}
		if d.Tables.Events != "" && (name == d.Tables.Vouchers || name == d.Tables.Checkouts) {
			status.Stream = streamStatus(out.Table.StreamSpecification)
		}
		statuses = append(statuses, status)
	}
	return statuses, nil
}

func streamStatus(stream *types.StreamSpecification) string {
	switch {
	case stream == nil || !aws.ToBool(stream.StreamEnabled):
		return StreamDisabled
	case stream.StreamViewType != types.StreamViewTypeNewAndOldImages:
		return StreamOther
	default:
		return StreamEnabled
	}
}
