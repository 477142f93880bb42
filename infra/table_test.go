package infra_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// If the key of a table changes, CloudFormation replaces the table with an empty one.
func TestTables_Keys_NeverChange(t *testing.T) {
	tables := load(t, nil).Tables
	want := []struct{ id, output, ttl string }{
		{"Catalogue", "CatalogueTable", ""},
		{"Vouchers", "VouchersTable", ""},
		{"Checkouts", "CheckoutsTable", "expiresAt"},
		{"Refusals", "RefusalsTable", "expiresAt"},
		{"EventLog", "EventsTable", "expiresAt"},
	}
	if len(tables) != len(want) {
		t.Fatalf("%d tables, want %d", len(tables), len(want))
	}
	for i, table := range tables {
		if table.LogicalID != want[i].id || table.Name != want[i].output {
			t.Errorf("table %s with the output %s; want %s with %s", table.LogicalID, table.Name, want[i].id,
				want[i].output)
		}
		attributes := []types.AttributeDefinition{
			{AttributeName: aws.String("customer"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
		}
		keys := []types.KeySchemaElement{
			{AttributeName: aws.String("customer"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		}
		var indexes []types.GlobalSecondaryIndex
		if table.LogicalID == "Checkouts" {
			for _, name := range []string{"ordered", "shelf"} {
				attributes = append(attributes, types.AttributeDefinition{
					AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS,
				})
			}
			indexes = []types.GlobalSecondaryIndex{{
				IndexName: aws.String("orders"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
				KeySchema: []types.KeySchemaElement{
					{AttributeName: aws.String("shelf"), KeyType: types.KeyTypeHash},
					{AttributeName: aws.String("ordered"), KeyType: types.KeyTypeRange},
				},
			}}
		}
		if !reflect.DeepEqual(table.Indexes, indexes) {
			t.Errorf("%s has the indexes %v, want %v", table.LogicalID, table.Indexes, indexes)
		}
		if !reflect.DeepEqual(table.Attributes, attributes) || !reflect.DeepEqual(table.Keys, keys) {
			t.Errorf("%s has the attributes %v and the keys %v, want %v and %v", table.LogicalID, table.Attributes,
				table.Keys, attributes, keys)
		}
		if table.TTL != want[i].ttl {
			t.Errorf("items of %s expire by %q, want %q", table.LogicalID, table.TTL, want[i].ttl)
		}
	}
}

func TestTables_NamedByParameter_AreNotCreated(t *testing.T) {
	template := load(t, map[string]string{"VouchersTable": "vouchers-restored"})
	var created []string
	for _, table := range template.Tables {
		created = append(created, table.Name)
	}
	if want := []string{"CatalogueTable", "CheckoutsTable", "RefusalsTable", "EventsTable"}; !slices.Equal(created,
		want) {
		t.Errorf("the stack creates %q, want %q", created, want)
	}
	if got := template.Functions[0].Environment["VOUCHERS_TABLE"]; got != "vouchers-restored" {
		t.Errorf("redeem-voucher uses %q, want vouchers-restored", got)
	}
}

func TestTables_AllNamedByParameter_NothingIsCreated(t *testing.T) {
	template := load(t, map[string]string{
		"CatalogueTable": "catalogue-restored", "VouchersTable": "vouchers-restored",
		"CheckoutsTable": "checkouts-restored",
		"RefusalsTable":  "refusals-shared", "EventsTable": "events-restored", "Events": "off",
	})
	if tables := template.Tables; len(tables) != 0 {
		t.Errorf("the stack creates %v, want no table", tables)
	}
	if len(template.Ignored) > 0 {
		t.Errorf("the local run ignores %q, want nothing", template.Ignored)
	}
}

func TestTables_AreProtectedAgainstLoss(t *testing.T) {
	s := deploy(t, nil)
	declared := source(t, "template.yaml")["Resources"]
	// Under a new logical ID, CloudFormation would create an empty table. TestTables_Keys_NeverChange checks names and
	// keys.
	if want := []string{
		"Catalogue", "Vouchers", "Checkouts", "Refusals",
		"EventLog",
	}; !slices.Equal(s.byType[typeTable], want) {
		t.Errorf("the tables are %q, want %q", s.byType[typeTable], want)
	}
	for _, id := range []string{"Catalogue", "Vouchers", "Checkouts", "EventLog"} {
		table := s.properties[id]
		if name := text(table, "TableName"); name != "" {
			t.Errorf("%s is named %s, so only one stack in the account could have it", id, name)
		}
		for _, policy := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
			if got := text(declared, id, policy); got != "Retain" {
				t.Errorf("%s: %s is %q, want Retain", id, policy, got)
			}
		}
		// The event log has no backups, because it can be rebuilt.
		for _, keys := range [][]string{
			{"DeletionProtectionEnabled"},
			{"PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"},
			{"SSESpecification", "SSEEnabled"},
		} {
			if got := text(table, keys...); got != "true" &&
				(id != "EventLog" || keys[0] != "PointInTimeRecoverySpecification") {
				t.Errorf("%s: %v is %q, want true", id, keys, got)
			}
		}
	}
}

func TestTables_UnitLimits_FollowTheParameters(t *testing.T) {
	for _, test := range []struct{ parameters, want map[string]string }{
		{nil, nil},
		{map[string]string{"TableMaxReadUnits": "500"}, map[string]string{"MaxReadRequestUnits": "500"}},
		{map[string]string{"TableMaxWriteUnits": "90"}, map[string]string{"MaxWriteRequestUnits": "90"}},
		{
			map[string]string{"TableMaxReadUnits": "500", "TableMaxWriteUnits": "90"},
			map[string]string{"MaxReadRequestUnits": "500", "MaxWriteRequestUnits": "90"},
		},
	} {
		s := deploy(t, test.parameters)
		for _, table := range []string{"Catalogue", "Vouchers", "Checkouts", "Refusals", "EventLog"} {
			if got := texts(s.properties[table], "OnDemandThroughput"); !maps.Equal(got, test.want) {
				t.Errorf("%v: the unit limits of %s are %v, want %v", test.parameters, table, got, test.want)
			}
		}
		for _, index := range under(s.properties["Checkouts"], "GlobalSecondaryIndexes").([]any) { //nolint:errcheck,forcetypeassert // it is a list
			if got := texts(index, "OnDemandThroughput"); !maps.Equal(got, test.want) {
				t.Errorf("%v: the unit limits of the index are %v, want %v", test.parameters, got, test.want)
			}
		}
	}
}

// texts returns the strings under a key.
func texts(v any, key string) map[string]string {
	all := make(map[string]string)
	dict, _ := under(v, key).(map[string]any)
	for name := range dict {
		all[name] = text(dict, name)
	}
	return all
}

func TestTables_WarmThroughput_FollowsTheParameters(t *testing.T) {
	for _, test := range []struct {
		parameters          map[string]string
		vouchers, checkouts map[string]string
	}{
		{nil, nil, nil},
		{map[string]string{"VouchersWarmReadUnits": "24000"}, map[string]string{"ReadUnitsPerSecond": "24000"}, nil},
		{map[string]string{"VouchersWarmWriteUnits": "9000"}, map[string]string{"WriteUnitsPerSecond": "9000"}, nil},
		{
			map[string]string{
				"VouchersWarmReadUnits": "24000", "VouchersWarmWriteUnits": "9000",
				"CheckoutsWarmWriteUnits": "8000",
			},
			map[string]string{"ReadUnitsPerSecond": "24000", "WriteUnitsPerSecond": "9000"},
			map[string]string{"WriteUnitsPerSecond": "8000"},
		},
	} {
		s := deploy(t, test.parameters)
		for table, want := range map[string]map[string]string{
			"Catalogue": nil, "Vouchers": test.vouchers, "Checkouts": test.checkouts, "Refusals": nil, "EventLog": nil,
		} {
			if got := texts(s.properties[table], "WarmThroughput"); !maps.Equal(got, want) {
				t.Errorf("%v: the warm throughput of %s is %v, want %v", test.parameters, table, got, want)
			}
		}
	}
}
