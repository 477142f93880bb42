package samtemplate_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/eventsource"
	"shopfront/internal/local/samtemplate"
)

// streamTemplate is a template with a function, and with a table that has a stream. Tests append the function's event.
const streamTemplate = `Transform: AWS::Serverless-2016-10-31
Parameters:
  OrdersTable: {Type: String, Default: ""}
  OrdersStream: {Type: String, Default: ""}
  Events: {Type: String, Default: "on"}
Conditions:
  CreatesOrders: !Equals [!Ref OrdersTable, ""]
  HasEvents: !Equals [!Ref Events, "on"]
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Condition: CreatesOrders
    Properties:
      AttributeDefinitions: [{AttributeName: customer, AttributeType: S}]
      KeySchema: [{AttributeName: customer, KeyType: HASH}]
      StreamSpecification: !If [HasEvents, {StreamViewType: NEW_AND_OLD_IMAGES}, !Ref AWS::NoValue]
  GiftCard:
    Type: AWS::Serverless::Function
    Condition: HasEvents
    Properties:
      Runtime: provided.al2023
      CodeUri: .
      Events:
        Sold:
          Type: `

// loadEvent loads streamTemplate with an event.
func loadEvent(t *testing.T, event string, parameters map[string]string) (*samtemplate.Template, error) {
	t.Helper()
	return samtemplate.Load(write(t, map[string]string{"template.yaml": streamTemplate + event}), parameters)
}

func TestLoad_EventOfAStream_IsAnEventSource(t *testing.T) {
	for event, size := range map[string]int{
		"Stream: !GetAtt Orders.StreamArn, StartingPosition: TRIM_HORIZON": 100,
		`Stream: !If [CreatesOrders, !GetAtt Orders.StreamArn, !Ref OrdersStream], StartingPosition: TRIM_HORIZON, BatchSize: 10,
            MaximumBatchingWindowInSeconds: 1, FunctionResponseTypes: [ReportBatchItemFailures], Enabled: true,
            DestinationConfig: {OnFailure: {Destination: !ImportValue queue}}`: 10,
	} {
		template, err := loadEvent(t, "DynamoDB\n          Properties: {"+event+"}\n", nil)
		want := eventsource.Mapping{Function: "gift-card", Table: "Orders", BatchSize: size}
		if err != nil || !slices.Equal(template.EventSources, []eventsource.Mapping{want}) ||
			len(template.Ignored) > 0 {
			t.Errorf("%s: %+v, %v, want %+v", event, template, err, want)
		}
	}
}

func TestLoad_StreamEventTurnedOffOrOfATableThatIsNotCreated_IsIgnored(t *testing.T) {
	const event = "DynamoDB\n          Properties: {Stream: !If [CreatesOrders, !GetAtt Orders.StreamArn, !Ref " +
		"OrdersStream], Enabled: "
	named := map[string]string{
		"OrdersTable":  "restored",
		"OrdersStream": "arn:aws:dynamodb:us-east-1:123456789012:table/restored/stream/1",
	}
	for enabled, parameters := range map[string]map[string]string{"true}\n": named, "false}\n": nil} {
		template, err := loadEvent(t, event+enabled, parameters)
		want := "template.yaml: ignored on this machine: event of type DynamoDB (gift-card Sold)"
		if err != nil || len(template.EventSources) > 0 || !slices.Equal(template.Ignored, []string{want}) {
			t.Errorf("%+v, %v, want no event source and %q", template, err, want)
		}
	}
}

func TestLoad_FilterOfAStream_IsReported(t *testing.T) {
	template, err := loadEvent(t, "DynamoDB\n          Properties: {Stream: !GetAtt Orders.StreamArn, "+
		"FilterCriteria: !ImportValue filter}\n", nil)
	want := "template.yaml: ignored on this machine: event property FilterCriteria (gift-card Sold)"
	if err != nil || len(template.EventSources) != 1 || !slices.Equal(template.Ignored, []string{want}) {
		t.Errorf("%+v, %v, want an event source and %q", template, err, want)
	}
}

func TestLoad_StreamEventThatCannotRunHere_IsRejected(t *testing.T) {
	const stream = "DynamoDB\n          Properties: {Stream: !GetAtt Orders.StreamArn, "
	for event, want := range map[string]string{
		stream + "BatchSize: many}": `want a whole number, not "many"`,
		"DynamoDB\n          Properties: {Stream: !GetAtt Receipts.StreamArn}": "there is no parameter or resource " +
			"Receipts",
		"DynamoDB\n          Properties: {Stream: !GetAtt Receipts.StreamArn}\n  Receipts:\n    Type: " +
			"AWS::DynamoDB::Table\n    Properties:\n" +
			"      KeySchema: [{AttributeName: customer, KeyType: HASH}]\n": "the event Sold needs a stream, and " +
			"the table Receipts has no StreamSpecification",
	} {
		if _, err := loadEvent(t, event, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %s", event, err, want)
		}
	}
}

func TestLoad_EventAtAFixedRate_IsASchedule(t *testing.T) {
	for rate, want := range map[string]time.Duration{
		"rate(1 minute)": time.Minute, "rate(15 minutes)": 15 * time.Minute, "rate(2 hours)": 2 * time.Hour,
		"rate(1 day)": 24 * time.Hour,
	} {
		template, err := loadEvent(t, "Schedule\n          Properties: {Description: Retries., Schedule: "+rate+"}\n",
			nil)
		schedule := eventsource.Schedule{Function: "gift-card", Name: "Sold", Every: want}
		if err != nil || !slices.Equal(template.Schedules, []eventsource.Schedule{schedule}) ||
			len(template.Ignored) > 0 {
			t.Errorf("%s: %+v, %v, want %+v", rate, template, err, schedule)
		}
	}
}

func TestLoad_ConditionIsFalse_HasNeitherFunctionNorStream(t *testing.T) {
	const event = "DynamoDB\n          Properties: {Stream: !GetAtt Orders.StreamArn}\n"
	with, err := loadEvent(t, event, nil)
	if err != nil || len(with.Functions) != 1 || with.Tables[0].Stream != types.StreamViewTypeNewAndOldImages {
		t.Errorf("%+v, %v, want a function and a stream", with, err)
	}
	without, err := loadEvent(t, event, map[string]string{"Events": "off"})
	if err != nil || len(without.Functions)+len(without.EventSources) > 0 || without.Tables[0].Stream != "" {
		t.Errorf("%+v, %v, want no function and no stream", without, err)
	}
}
