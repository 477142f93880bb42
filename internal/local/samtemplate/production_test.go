package samtemplate_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"shopfront/internal/local/samtemplate"
)

const repository = "../../.."

// addition is a part that a production shop may add to its template, after a text of the shop's template.
type addition struct {
	place, text string
	ignored     string // what the local run reports as ignored; may be empty
}

func additions() map[string]addition {
	const resources = "\nResources:\n"
	const function = "  RedeemVoucher:\n    Type: AWS::Serverless::Function\n    Metadata:\n      BuildMethod: " +
		"makefile\n    Properties:\n"
	resource := func(kind, properties string) addition {
		return addition{resources, "  Added: {Type: " + kind + ", " + properties + "}\n", kind + " (Added)"}
	}
	event := func(kind, properties string) addition {
		return addition{
			"      Events:\n", "        Sold: {Type: " + kind + ", Properties: {" + properties + "}}\n",
			"event of type " + kind + " (redeem-voucher Sold)",
		}
	}
	return map[string]addition{
		"a domain": resource("AWS::ApiGatewayV2::DomainName",
			"Properties: {DomainNameConfigurations: [{CertificateArn: !ImportValue certificate}]}"),
		"a key":   resource("AWS::KMS::Key", "Properties: {KeyPolicy: {Statement: !FindInMap [a, b, c]}}"),
		"a topic": resource("AWS::SNS::Topic", "DependsOn: Api, CreationPolicy: {}, Metadata: {a: b}"),
		"a queue": {resources, "  Added: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 60}}\n", ""},
		"an authorizer": {
			"    Type: AWS::Serverless::HttpApi\n    Properties:\n",
			"      Auth: {Authorizers: {Shops: {JwtConfiguration: {issuer: !ImportValue issuer}}}}\n", "",
		},
		"an alias":               {function, "      AutoPublishAlias: live\n", ""},
		"a global property":      {"\nGlobals:\n  Function:\n", "    AutoPublishAlias: live\n", ""},
		"an event of a queue":    event("SQS", "Queue: !ImportValue queue"),
		"another stack's stream": event("DynamoDB", "Stream: !Ref AWS::StackName, StartingPosition: LATEST"),
		"a cron schedule":        event("Schedule", "Schedule: 'cron(0 3 * * ? *)'"),
		"an output with an export": {
			"\nOutputs:\n", "  Added: {Value: !ImportValue shop, Export: {Name: !Sub '${AWS::StackName}-shop'}}\n", "",
		},
	}
}

// insert copies the shop's template, inserts the addition, and returns the root of the copy.
func (a addition) insert(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, samtemplate.File))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), a.place) {
		t.Fatalf("the template has no %q", a.place)
	}
	functions, err := filepath.Abs(filepath.Join(repository, "functions"))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	changed := strings.Replace(string(text), a.place, a.place+a.text, 1)
	if err := errors.Join(os.Symlink(functions, filepath.Join(root, "functions")),
		os.WriteFile(filepath.Join(root, samtemplate.File), []byte(changed), 0o600)); err != nil {
		t.Fatal(err)
	}
	return root
}

// A production template has many parts that do not exist on a developer's machine. The local run ignores them, and
// reports most of them. Routes, functions and tables stay the same.
func TestLoad_AdditionForProduction_IsIgnored(t *testing.T) {
	before, err := samtemplate.Load(repository, nil)
	if err != nil || len(before.Ignored) > 0 {
		t.Fatalf("reading the shop's own template: ignored %q, %v; want nothing and no error", before.Ignored, err)
	}
	for name, added := range additions() {
		t.Run(name, func(t *testing.T) {
			after, err := samtemplate.Load(added.insert(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			if added.ignored != "" {
				want = []string{"template.yaml: ignored on this machine: " + added.ignored}
			}
			if !slices.Equal(after.Ignored, want) {
				t.Errorf("reported as ignored: %q, want %q", after.Ignored, want)
			}
			if !reflect.DeepEqual(after.Routes, before.Routes) ||
				!reflect.DeepEqual(after.Functions, before.Functions) ||
				!reflect.DeepEqual(after.Tables, before.Tables) ||
				!reflect.DeepEqual(after.EventSources, before.EventSources) ||
				!reflect.DeepEqual(after.Schedules, before.Schedules) || !reflect.DeepEqual(after.CORS, before.CORS) {
				t.Errorf("the template is %+v, want %+v", after, before)
			}
		})
	}
}
