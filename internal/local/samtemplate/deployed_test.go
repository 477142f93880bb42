package samtemplate

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// What only a deployed stack has, the local run cannot show: that it is there is tested here.

func loadReal(t *testing.T, parameters map[string]string) *stack {
	t.Helper()
	overrides := make(map[string]value)
	for name, text := range parameters {
		overrides[name] = scalar(position{file: File}, text)
	}
	s, err := loadStack(os.DirFS("../../.."), File, "", overrides, map[string]string{
		"AWS::AccountId": "123456789012", "AWS::Partition": "aws", "AWS::Region": "eu-central-1", "AWS::StackName": "market",
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// under gives what is under the keys in a resource's properties.
func (s *stack) under(t *testing.T, resource string, keys ...string) value {
	t.Helper()
	v, err := s.properties(s.resources[resource])
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		v = v.dict[key]
	}
	return v
}

// plain writes a value as Go's maps, slices and strings, with references as ${Address}.
func plain(v value) any {
	switch v.kind {
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range v.list {
			list = append(list, plain(item))
		}
		return list
	case yaml.MappingNode:
		dict := map[string]any{}
		for key, item := range v.dict {
			dict[key] = plain(item)
		}
		return dict
	default:
		parts := strings.Split(v.text, referenceMark)
		for i := 1; i < len(parts); i += 2 {
			parts[i] = "${" + parts[i] + "}"
		}
		return strings.Join(parts, "")
	}
}

// checkTrust wants a role that Lambda alone can take on, and that has no policies but those written in it.
func checkTrust(t *testing.T, s *stack, role string) {
	t.Helper()
	if keys := s.under(t, role).keys; !slices.Equal(keys, []string{"AssumeRolePolicyDocument", "Policies"}) {
		t.Errorf("the role has %q", keys)
	}
	want := []any{map[string]any{
		"Effect": "Allow", "Principal": map[string]any{"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole",
	}}
	if got := plain(s.under(t, role, "AssumeRolePolicyDocument", "Statement")); !reflect.DeepEqual(got, want) {
		t.Errorf("the role can be taken on by %v, want %v", got, want)
	}
}

// allowed gives the sorted actions by resource. Anything but allowed actions on one resource is an error.
func allowed(t *testing.T, policies value) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	for _, policy := range policies.list {
		for _, statement := range policy.dict["PolicyDocument"].dict["Statement"].list {
			d := decoder{}
			parts := d.mapping(statement, "Effect", "Action", "Resource")
			d.oneOf(parts["Effect"], "Allow")
			actions := d.texts(parts["Action"])
			if d.err != nil {
				t.Fatal(d.err)
			}
			resource, ok := plain(parts["Resource"]).(string)
			if !ok {
				t.Fatalf("%s: want one resource", statement.at)
			}
			all[resource] = append(all[resource], actions...)
			slices.Sort(all[resource])
		}
	}
	return all
}

func TestLogsExpire(t *testing.T) {
	s := loadReal(t, map[string]string{"LogRetentionDays": "90"})
	functions, err := s.all(typeFunction)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range functions {
		if got, want := plain(s.under(t, f.name, "LoggingConfig", "LogGroup")), "${"+f.name+"Logs}"; got != want {
			t.Errorf("%s logs to %s, want %s", f.name, got, want)
		}
		if got, want := plain(s.under(t, f.name+"Logs", "LogGroupName")), "/shopfront/market/"+kebab(f.name); got != want {
			t.Errorf("the log group of %s is %s, want %s", f.name, got, want)
		}
		if got := plain(s.under(t, f.name+"Logs", "RetentionInDays")); got != "90" {
			t.Errorf("the logs of %s are kept for %s days, want 90", f.name, got)
		}
	}
}

func TestTablesOutliveMistakes(t *testing.T) {
	s := loadReal(t, nil).stacks["Tables"]
	sections, err := s.read()
	if err != nil {
		t.Fatal(err)
	}
	tables, err := s.all(typeTable)
	if err != nil {
		t.Fatal(err)
	}
	// Another logical ID is another table, an empty one. So is one with another name or key: TestTables.
	var ids []string
	for _, table := range tables {
		ids = append(ids, table.name)
		checkProtection(t, s, table.name, descend(t, s, sections["Resources"], table.name))
	}
	if want := []string{"Catalogue", "Vouchers", "Checkouts"}; !slices.Equal(ids, want) {
		t.Errorf("the tables are %q, and those that are deployed %q", ids, want)
	}
}

// checkProtection wants a table that no stack takes along when it goes, and that can be restored.
func checkProtection(t *testing.T, s *stack, table string, declared *yaml.Node) {
	t.Helper()
	if s.under(t, table, "TableName").exists() {
		t.Errorf("%s has a name of its own: no other stack in the account could have it", table)
	}
	for _, policy := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
		if got := descend(t, s, declared, policy).Value; got != "Retain" {
			t.Errorf("%s: %s is %s", table, policy, got)
		}
	}
	for _, keys := range [][]string{
		{"DeletionProtectionEnabled"},
		{"PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"},
		{"SSESpecification", "SSEEnabled"},
	} {
		if got := plain(s.under(t, table, keys...)); got != "true" {
			t.Errorf("%s: %s is %q", table, strings.Join(keys, "."), got)
		}
	}
}

func TestWarmThroughput(t *testing.T) {
	for _, test := range []struct {
		parameters          map[string]string
		vouchers, checkouts map[string]string
	}{
		{nil, nil, nil},
		{map[string]string{"VouchersWarmReadUnits": "24000"}, map[string]string{"ReadUnitsPerSecond": "24000"}, nil},
		{map[string]string{"VouchersWarmWriteUnits": "9000"}, map[string]string{"WriteUnitsPerSecond": "9000"}, nil},
		{
			map[string]string{"VouchersWarmReadUnits": "24000", "VouchersWarmWriteUnits": "9000", "CheckoutsWarmWriteUnits": "8000"},
			map[string]string{"ReadUnitsPerSecond": "24000", "WriteUnitsPerSecond": "9000"},
			map[string]string{"WriteUnitsPerSecond": "8000"},
		},
	} {
		s := loadReal(t, test.parameters).stacks["Tables"]
		for table, want := range map[string]map[string]string{
			"Catalogue": nil, "Vouchers": test.vouchers, "Checkouts": test.checkouts,
		} {
			got := make(map[string]string)
			for key, v := range s.under(t, table, "WarmThroughput").dict {
				got[key] = v.text
			}
			if !maps.Equal(got, want) {
				t.Errorf("%v: %s is made ready for %v, want %v", test.parameters, table, got, want)
			}
		}
	}
}
