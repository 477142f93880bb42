package samtemplate

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"shopfront/pkg/dynamo"
)

// What only a deployed stack has, the local run cannot show: that it is there is tested here.

func loadReal(t *testing.T, parameters map[string]string) *stack {
	t.Helper()
	overrides := make(map[string]value)
	for name, text := range parameters {
		overrides[name] = scalar(position{file: File}, text)
	}
	s, err := loadStack(os.DirFS("../.."), File, "", overrides, map[string]string{
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

func TestRolesAllowExactlyWhatIsCalled(t *testing.T) {
	const tables = "arn:aws:dynamodb:eu-central-1:123456789012:table/"
	want := map[string]map[string][]string{
		"RedeemVoucher": {
			"${Tables.Vouchers}": {"BatchGetItem", "GetItem", "UpdateItem"},
		},
		"CheckoutArea": {
			"${Tables.Catalogue}": {"GetItem", "Query"},
		},
		"Checkout": {
			"${Tables.Catalogue}": {"BatchGetItem"},
			"${Tables.Checkouts}": {"GetItem", "PutItem"},
		},
		"CheckoutVariant": {
			"${Tables.Catalogue}": {"BatchGetItem"},
			"${Tables.Checkouts}": {"GetItem", "PutItem"},
		},
		"RemovedPayment": {},
		"Contract":       {},
	}
	s := loadReal(t, nil)
	functions, err := s.all(typeFunction)
	if err != nil {
		t.Fatal(err)
	}
	if len(functions) != len(want) {
		t.Errorf("%d functions, want %d", len(functions), len(want))
	}
	for _, f := range functions {
		t.Run(f.name, func(t *testing.T) {
			role := f.name + "Role"
			if got, want := plain(s.under(t, f.name, "Role")), "${"+role+".Arn}"; got != want {
				t.Fatalf("the function has the role %s, want %s", got, want)
			}
			checkTrust(t, s, role)
			got := allowed(t, s.under(t, role, "Policies"))
			expected := map[string][]string{"${" + f.name + "Logs.Arn}": {"logs:CreateLogStream", "logs:PutLogEvents"}}
			for table, calls := range want[f.name] {
				for _, call := range calls {
					expected[tables+table] = append(expected[tables+table], "dynamodb:"+call)
				}
			}
			if !maps.EqualFunc(got, expected, slices.Equal) {
				t.Errorf("the role allows %v, want %v", got, expected)
			}
		})
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

// What the functions' stores may call and what their roles allow is the same. A transaction needs the actions of its parts.
func TestRolesAllowWhatTheStoresCall(t *testing.T) {
	s := loadReal(t, nil)
	functions, err := s.all(typeFunction)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string][]string)
	for _, f := range functions {
		for resource, actions := range allowed(t, s.under(t, f.name+"Role", "Policies")) {
			_, table, _ := strings.Cut(resource, ":table/")
			got[table] = append(got[table], actions...)
		}
	}
	for table, store := range map[string]reflect.Type{
		"${Tables.Catalogue}": reflect.TypeFor[dynamo.CatalogueAPI](),
		"${Tables.Checkouts}": reflect.TypeFor[dynamo.CheckoutsAPI](),
		"${Tables.Vouchers}":  reflect.TypeFor[dynamo.RedeemAPI](),
	} {
		var want []string
		for method := range store.Methods() {
			if !strings.HasPrefix(method.Name, "Transact") {
				want = append(want, "dynamodb:"+method.Name)
			}
		}
		slices.Sort(want)
		slices.Sort(got[table])
		if actions := slices.Compact(got[table]); !slices.Equal(actions, want) {
			t.Errorf("roles allow %v on %s, its store calls %v", actions, table, want)
		}
	}
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
	if len(tables) != 3 {
		t.Fatalf("%d tables, want 3", len(tables))
	}
	for _, table := range tables {
		resources, err := s.entries(sections["Resources"])
		if err != nil {
			t.Fatal(err)
		}
		attributes, err := s.entries(resources[table.name])
		if err != nil {
			t.Fatal(err)
		}
		for _, policy := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
			if n := attributes[policy]; n == nil || n.Value != "Retain" {
				t.Errorf("%s: %s is not Retain", table.name, policy)
			}
		}
		for _, keys := range [][]string{
			{"DeletionProtectionEnabled"},
			{"PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled"},
			{"SSESpecification", "SSEEnabled"},
		} {
			if got := plain(s.under(t, table.name, keys...)); got != "true" {
				t.Errorf("%s: %s is %q", table.name, strings.Join(keys, "."), got)
			}
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
