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

// Texts of the shop's template. An addition is inserted after one of them.
const (
	inSections  = "Transform: AWS::Serverless-2016-10-31\n"
	inResources = "\nResources:\n"
	inOutputs   = "\nOutputs:\n"
	inGlobals   = "\nGlobals:\n  Function:\n"
	inAPI       = "    Type: AWS::Serverless::HttpApi\n    Properties:\n"
	inFunction  = "  RedeemVoucher:\n    Type: AWS::Serverless::Function\n    Metadata:\n      BuildMethod: " +
		"makefile\n    Properties:\n"
	inEvents = "      Events:\n"
	inEvent  = inEvents + "        Post:\n          Type: HttpApi\n          Properties:\n"
	inTable  = "  Vouchers:\n    Type: AWS::DynamoDB::Table\n    Condition: CreatesVouchers\n    " +
		"DeletionPolicy: Retain\n" +
		"    UpdateReplacePolicy: Retain\n    Properties:\n"
)

// addition is a part that a production shop may add to its template.
type addition struct {
	place, text string
	// ignored is the text that the local run reports after "ignored on this machine: ". It is empty if the run reports
	// nothing.
	ignored string
}

func additions() map[string]addition {
	resource := func(kind, properties string) addition {
		return addition{
			inResources, "  Added:\n    Type: " + kind + "\n    Properties: {" + properties + "}\n",
			kind + " (Added)",
		}
	}
	property := func(place, kind, name, of, value string) addition {
		return addition{place, "      " + name + ": " + value + "\n", kind + " " + name + " (" + of + ")"}
	}
	const function, api, table = "AWS::Serverless::Function", "AWS::Serverless::HttpApi", "AWS::DynamoDB::Table"
	return map[string]addition{
		"a domain": resource("AWS::ApiGatewayV2::DomainName",
			"DomainName: shop.example, DomainNameConfigurations: [{CertificateArn: !ImportValue certificate}]"),
		"a domain of the API": property(inAPI, api, "Domain", "Api",
			"{DomainName: shop.example, CertificateArn: !ImportValue certificate}"),
		"an authorizer": property(inAPI, api, "Auth", "Api",
			"{DefaultAuthorizer: Shops, Authorizers: {Shops: {JwtConfiguration: {issuer: !ImportValue issuer}}}}"),
		"an event's authorizer": {inEvent, "            Auth: {Authorizer: NONE}\n", ""},
		"an alias":              property(inFunction, function, "AutoPublishAlias", "RedeemVoucher", "live"),
		"tags":                  property(inFunction, function, "Tags", "RedeemVoucher", "{team: shop}"),
		"a global property": {
			inGlobals, "    AutoPublishAlias: live\n",
			function + " AutoPublishAlias (RedeemVoucher, CheckoutArea, Storefront, Checkout, CheckoutVariant, " +
				"ShowCheckout, PlaceOrder, ListOrders, ShowOrder, FulfilOrder, CancelOrder, ListRedemptions, " +
				"UndoRedemption, ListEvents, RecordEvents, RemovedPayment, ApiDocs)",
		},
		"a schedule with an input": {
			inEvents,
			"        Nightly:\n          Type: Schedule\n          Properties: {Schedule: rate(1 day), Input: " +
				"!ImportValue input}\n", "event of type Schedule (redeem-voucher Nightly)",
		},
		"an event of a queue": {
			inEvents,
			"        Sold:\n          Type: SQS\n          Properties: {Queue: !ImportValue queue}\n",
			"event of type SQS (redeem-voucher Sold)",
		},
		"another stack's stream": {
			inEvents,
			"        Sold:\n          Type: DynamoDB\n          Properties: {Stream: !Ref AWS::StackName, " +
				"StartingPosition: LATEST}\n", "event of type DynamoDB (redeem-voucher Sold)",
		},
		"a table's tags": property(inTable, table, "Tags", "Vouchers", "[{Key: team, Value: shop}]"),
		"a queue": {
			inResources,
			"  Added: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 60}}\n", "",
		},
		"an event bus": resource("AWS::Events::EventBus", "Name: shop"),
		"a key":        resource("AWS::KMS::Key", "KeyPolicy: {Statement: !FindInMap [a, b, c]}"),
		"an alarm":     resource("AWS::CloudWatch::Alarm", "Dimensions: !Transform {Name: Widgets}"),
		"a resource's attributes": {
			inResources,
			"  Added: {Type: AWS::SNS::Topic, DependsOn: Api, CreationPolicy: {}, Metadata: {a: b}}\n",
			"AWS::SNS::Topic (Added)",
		},
		"an output with an export": {
			inOutputs,
			"  Added: {Value: !ImportValue shop, Export: {Name: !Sub '${AWS::StackName}-shop'}}\n", "",
		},
		"mappings": {inSections, "Mappings: {Regions: {eu-central-1: {Zone: a}}}\n", ""},
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
