package samtemplate_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A table whose keys change is replaced by an empty one when it is deployed: nothing here may change once a shop has data.
func TestTables(t *testing.T) {
	tables := load(t, nil).Tables()
	want := []struct{ id, output, ttl string }{
		{"Catalogue", "CatalogueTable", ""}, {"Vouchers", "VouchersTable", ""}, {"Checkouts", "CheckoutsTable", "expiresAt"},
	}
	if len(tables) != len(want) {
		t.Fatalf("%d tables, want %d", len(tables), len(want))
	}
	for i, table := range tables {
		if table.LogicalID != want[i].id || table.Output != want[i].output {
			t.Errorf("table %s, told by %s; want %s, told by %s", table.LogicalID, table.Output, want[i].id, want[i].output)
		}
		create := &dynamodb.CreateTableInput{
			TableName:   aws.String("shop-1"),
			BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{
				{AttributeName: aws.String("customer"), AttributeType: types.ScalarAttributeTypeS},
				{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
			},
			KeySchema: []types.KeySchemaElement{
				{AttributeName: aws.String("customer"), KeyType: types.KeyTypeHash},
				{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
			},
		}
		if got := table.CreateTable("shop-1"); !reflect.DeepEqual(got, create) {
			t.Errorf("%s is created by %+v, want %+v", table.LogicalID, got, create)
		}
		var expire *dynamodb.UpdateTimeToLiveInput
		if want[i].ttl != "" {
			expire = &dynamodb.UpdateTimeToLiveInput{
				TableName: aws.String("shop-1"),
				TimeToLiveSpecification: &types.TimeToLiveSpecification{
					AttributeName: aws.String(want[i].ttl), Enabled: aws.Bool(true),
				},
			}
		}
		if got := table.UpdateTimeToLive("shop-1"); !reflect.DeepEqual(got, expire) {
			t.Errorf("items of %s expire by %+v, want %+v", table.LogicalID, got, expire)
		}
	}
}

func TestExistingTableIsNotCreated(t *testing.T) {
	template := load(t, map[string]string{"VouchersTable": "vouchers-restored"})
	var created []string
	for _, table := range template.Tables() {
		created = append(created, table.Output)
	}
	if want := []string{"CatalogueTable", "CheckoutsTable"}; !slices.Equal(created, want) {
		t.Errorf("created %q, want %q", created, want)
	}
	env, err := template.Functions()[0].Environment(nil)
	if err != nil || env["VOUCHERS_TABLE"] != "vouchers-restored" {
		t.Errorf("redeem-voucher uses %q, %v", env["VOUCHERS_TABLE"], err)
	}
}

func TestAllTablesMayExist(t *testing.T) {
	template := load(t, map[string]string{
		"CatalogueTable": "catalogue-restored", "VouchersTable": "vouchers-restored", "CheckoutsTable": "checkouts-restored",
	})
	if tables := template.Tables(); len(tables) != 0 {
		t.Errorf("created %v", tables)
	}
	for _, f := range template.Functions() {
		if _, err := f.Environment(nil); err != nil {
			t.Error(err)
		}
	}
}
