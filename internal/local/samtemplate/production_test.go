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
	inFunction  = "  RedeemVoucher:\n    Type: AWS::Serverless::Function\n    Metadata:\n      BuildMethod: makefile\n    Properties:\n"
	inEvents    = "      Events:\n"
	inEvent     = inEvents + "        Post:\n          Type: HttpApi\n          Properties:\n"
	inTable     = "  Vouchers:\n    Type: AWS::DynamoDB::Table\n    Condition: CreatesVouchers\n    DeletionPolicy: Retain\n" +
		"    UpdateReplacePolicy: Retain\n    Properties:\n"
)

// addition is a part that a production shop may add to its template.
type addition struct {
	place, text string
	// ignored is the text that the local run reports after "ignored on this machine: ". It is empty if the run reports nothing.
	ignored string
}

func additions() map[string]addition {
	resource := func(kind, properties string) addition {
		return addition{inResources, "  Added:\n    Type: " + kind + "\n    Properties: {" + properties + "}\n", kind + " (Added)"}
	}
	property := func(place, kind, name, of, value string) addition {
		return addition{place, "      " + name + ": " + value + "\n", kind + " " + name + " (" + of + ")"}
	}
	const function, api, table = "AWS::Serverless::Function", "AWS::Serverless::HttpApi", "AWS::DynamoDB::Table"
	return map[string]addition{
		"a domain":                resource("AWS::ApiGatewayV2::DomainName", "DomainName: shop.example, DomainNameConfigurations: [{CertificateArn: !ImportValue certificate}]"),
		"a domain's mapping":      resource("AWS::ApiGatewayV2::ApiMapping", "ApiId: !Ref Api, DomainName: shop.example, Stage: $default"),
		"a domain of the API":     property(inAPI, api, "Domain", "Api", "{DomainName: shop.example, CertificateArn: !ImportValue certificate}"),
		"stage variables":         property(inAPI, api, "StageVariables", "Api", "{shop: !ImportValue shop}"),
		"route settings":          property(inAPI, api, "RouteSettings", "Api", `{"GET /docs": {ThrottlingRateLimit: 5}}`),
		"an authorizer":           property(inAPI, api, "Auth", "Api", "{DefaultAuthorizer: Shops, Authorizers: {Shops: {JwtConfiguration: {issuer: !ImportValue issuer}}}}"),
		"an event's authorizer":   {inEvent, "            Auth: {Authorizer: NONE}\n", ""},
		"an alias":                property(inFunction, function, "AutoPublishAlias", "RedeemVoucher", "live"),
		"a deployment preference": property(inFunction, function, "DeploymentPreference", "RedeemVoucher", "{Type: Canary10Percent5Minutes}"),
		"policies":                property(inFunction, function, "Policies", "RedeemVoucher", "[AWSXrayWriteOnlyAccess]"),
		"tags":                    property(inFunction, function, "Tags", "RedeemVoucher", "{team: shop}"),
		"layers":                  property(inFunction, function, "Layers", "RedeemVoucher", "[!ImportValue layer]"),
		"VPC settings":            property(inFunction, function, "VpcConfig", "RedeemVoucher", "{SubnetIds: !Split [',', !ImportValue subnets]}"),
		"a dead-letter queue":     property(inFunction, function, "DeadLetterQueue", "RedeemVoucher", "{Type: SQS, TargetArn: !ImportValue queue}"),
		"provisioned concurrency": property(inFunction, function, "ProvisionedConcurrencyConfig", "RedeemVoucher", "{ProvisionedConcurrentExecutions: 5}"),
		"a global property": {inGlobals, "    AutoPublishAlias: live\n", function + " AutoPublishAlias (RedeemVoucher, CheckoutArea, Storefront, Checkout, CheckoutVariant, " +
			"ShowCheckout, PlaceOrder, ListOrders, ShowOrder, FulfilOrder, CancelOrder, ListRedemptions, UndoRedemption, ListEvents, RecordEvents, RemovedPayment, ApiDocs)"},
		"a schedule with an input": {inEvents, "        Nightly:\n          Type: Schedule\n          Properties: {Schedule: rate(1 day), Input: !ImportValue input}\n", "event of type Schedule (redeem-voucher Nightly)"},
		"a schedule with cron":     {inEvents, "        Nightly:\n          Type: Schedule\n          Properties: {Schedule: 'cron(0 4 * * ? *)'}\n", "event of type Schedule (redeem-voucher Nightly)"},
		"an event of a queue":      {inEvents, "        Sold:\n          Type: SQS\n          Properties: {Queue: !ImportValue queue}\n", "event of type SQS (redeem-voucher Sold)"},
		"another stack's stream":   {inEvents, "        Sold:\n          Type: DynamoDB\n          Properties: {Stream: !Ref AWS::StackName, StartingPosition: LATEST}\n", "event of type DynamoDB (redeem-voucher Sold)"},
		"a table's tags":           property(inTable, table, "Tags", "Vouchers", "[{Key: team, Value: shop}]"),
		"a table's policy":         property(inTable, table, "ResourcePolicy", "Vouchers", "{PolicyDocument: !ImportValue policy}"),
		"a queue":                  {inResources, "  Added: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 60}}\n", ""},
		"a queue's policy":         resource("AWS::SQS::QueuePolicy", "Queues: [shop], PolicyDocument: !ImportValue policy"),
		"an event bus":             resource("AWS::Events::EventBus", "Name: shop"),
		"a rule":                   resource("AWS::Events::Rule", "EventBusName: shop, EventPattern: {source: [shop]}"),
		"a pipe":                   resource("AWS::Pipes::Pipe", "Source: !GetAtt Vouchers.StreamArn, RoleArn: !ImportValue role, Target: !ImportValue target"),
		"a scheduled task":         resource("AWS::Scheduler::Schedule", "ScheduleExpression: rate(1 day)"),
		"a web ACL":                resource("AWS::WAFv2::WebACL", "Scope: REGIONAL, DefaultAction: {Allow: {}}"),
		"a distribution":           resource("AWS::CloudFront::Distribution", "DistributionConfig: {Enabled: true}"),
		"a secret":                 resource("AWS::SecretsManager::Secret", "GenerateSecretString: {PasswordLength: 40}"),
		"an SSM parameter":         resource("AWS::SSM::Parameter", "Type: String, Value: open"),
		"a key":                    resource("AWS::KMS::Key", "KeyPolicy: {Statement: !FindInMap [a, b, c]}"),
		"a budget":                 resource("AWS::Budgets::Budget", "Budget: {BudgetType: COST, TimeUnit: MONTHLY}"),
		"a backup plan":            resource("AWS::Backup::BackupPlan", "BackupPlan: {BackupPlanName: shop}"),
		"a log subscription":       resource("AWS::Logs::SubscriptionFilter", "LogGroupName: !Ref RedeemVoucherLogs, FilterPattern: ''"),
		"a metric filter":          resource("AWS::Logs::MetricFilter", "LogGroupName: !Ref RedeemVoucherLogs, FilterPattern: ERROR"),
		"a topic":                  resource("AWS::SNS::Topic", "DisplayName: shop"),
		"a data stream":            resource("AWS::Kinesis::Stream", "ShardCount: 1"),
		"an alarm":                 resource("AWS::CloudWatch::Alarm", "Dimensions: !Transform {Name: Widgets}"),
		"a resource's attributes":  {inResources, "  Added: {Type: AWS::SNS::Topic, DependsOn: Api, CreationPolicy: {}, Metadata: {a: b}}\n", "AWS::SNS::Topic (Added)"},
		"an output with an export": {inOutputs, "  Added: {Value: !ImportValue shop, Export: {Name: !Sub '${AWS::StackName}-shop'}}\n", ""},
		"mappings":                 {inSections, "Mappings: {Regions: {eu-central-1: {Zone: a}}}\n", ""},
		"hooks and metadata":       {inSections, "Hooks: {Shift: {Type: AWS::CodeDeploy::BlueGreen}}\n", ""},
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

// A production template has many parts that do not exist on a developer's machine. The local run ignores them, and reports most of them.
// Routes, functions and tables stay the same.
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
			if !reflect.DeepEqual(after.Routes, before.Routes) || !reflect.DeepEqual(after.Functions, before.Functions) ||
				!reflect.DeepEqual(after.Tables, before.Tables) || !reflect.DeepEqual(after.EventSources, before.EventSources) ||
				!reflect.DeepEqual(after.Schedules, before.Schedules) || !reflect.DeepEqual(after.CORS, before.CORS) {
				t.Errorf("the template is %+v, want %+v", after, before)
			}
		})
	}
}
