package samtemplate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shopfront/internal/local/samtemplate"
)

// write writes the files to a new source tree and returns its root. The tree has an empty folder for the function that
// the tests declare.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"infra", "functions/gift-card"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// giftTemplate is a template with a function that declares the variable GIFT. Tests append the variable's value.
const giftTemplate = `Transform: AWS::Serverless-2016-10-31
Parameters:
  Pack: {Type: String, Default: coins}
  Subnet: {Type: 'AWS::EC2::Subnet::Id'}
Conditions:
  Coins: !Equals [!Ref Pack, coins]
  Ranks: !Equals [ranks, !Ref Pack]
  Neither: !Not [!Or [!Condition Coins, !Condition Ranks]]
  Both: !And [!Condition Coins, !Condition Ranks]
Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: customer, AttributeType: S}]
      KeySchema: [{AttributeName: customer, KeyType: HASH}]
  Log: {Type: AWS::Logs::LogGroup}
  RankLog: {Type: AWS::Logs::LogGroup, Condition: Ranks}
  Bonus: {Type: AWS::SQS::Queue}
  GiftCard:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: provided.al2023
      Handler: bootstrap
      CodeUri: .
      Environment:
        Variables:
          PACK: !Ref Pack
          GIFT: `

const giftOutputs = "\nOutputs:\n  OrdersTable: {Value: !Ref Orders}\n"

// evaluate returns the value of the variable GIFT, and whether it exists.
func evaluate(t *testing.T, expression string, parameters map[string]string) (string, bool, error) {
	t.Helper()
	template, err := samtemplate.Load(write(t,
		map[string]string{"template.yaml": giftTemplate + expression + giftOutputs}), parameters)
	if err != nil {
		return "", false, err
	}
	text, exists := template.Functions[0].Environment["GIFT"]
	return text, exists, nil
}

func TestVariable_Expression_IsEvaluated(t *testing.T) {
	for expression, want := range map[string]string{
		"plain":                     "plain",
		"!Ref Pack":                 "coins",
		"!Ref AWS::Region":          "us-east-1",
		"!Ref Orders":               "OrdersTable",
		"!Sub ${Pack} in ${Orders}": "coins in OrdersTable",
		"!Sub [\"${Pack} for ${Nick}\", {Nick: !Ref Pack}]": "coins for coins",
		"!Select ['0', !Split ['-', gift-card]]":            "gift",
		"!If [Coins, !Ref Pack, !Ref AWS::NoValue]":         "coins",
		"!If [Ranks, ranks, no ranks]":                      "no ranks",
		"!If [Neither, a T-shirt, coins or ranks]":          "coins or ranks",
		"!If [Both, both, not both]":                        "not both",
		"!If [Ranks, !Ref Missing, coins]":                  "coins",
		// The address stands for a resource that exists only in the cloud.
		"!Ref Bonus":                    "Bonus",
		"!Ref GiftCard.Version":         "GiftCard.Version", // the serverless transform adds this resource
		"!GetAtt Bonus.Arn":             "Bonus.Arn",
		"!Sub '${Bonus.QueueName}/new'": "Bonus.QueueName/new",
	} {
		got, _, err := evaluate(t, expression, nil)
		if err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", expression, got, err, want)
		}
	}
	root := write(t, map[string]string{"template.yaml": giftTemplate + "!Ref Bonus" + giftOutputs})
	if template, err := samtemplate.Load(root, nil); err != nil || len(template.Ignored) != 1 ||
		template.Ignored[0] != "template.yaml: ignored on this machine: value of a variable (GiftCard GIFT: Bonus)" {
		t.Errorf("got %+v, %v, want one ignored line, about the variable GIFT", template, err)
	}
	if _, exists, err := evaluate(t, "!If [Ranks, coins, !Ref AWS::NoValue]", nil); exists || err != nil {
		t.Errorf("the variable with AWS::NoValue exists: %t, %v; want false", exists, err)
	}
}

func TestVariable_InvalidExpression_IsRejected(t *testing.T) {
	const at = "template.yaml:29: "
	for expression, want := range map[string]string{
		"!ImportValue shop":            at + "this machine cannot evaluate the function ImportValue",
		"!Ref Subnet":                  at + "the parameter Subnet has no value",
		"!Ref Shop":                    at + "there is no parameter or resource Shop",
		"!Ref RankLog":                 at + "the stack does not create RankLog, because its condition is false",
		"!GetAtt Shop.Arn":             at + "there is no parameter or resource Shop",
		"!If [Coins, a]":               at + "If takes 3 arguments",
		"!If [Coin, a, b]":             at + `there is no condition "Coin"`,
		"!Select [2, !Split [',', a]]": at + `there is no item "2" in a list of 1`,
		"{coins: 1, coins: 2}":         `mapping key "coins" already defined`,
	} {
		_, _, err := evaluate(t, expression, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %s", expression, err, want)
		}
	}
}

func TestLoad_Mistake_IsRejected(t *testing.T) {
	const function = "Resources:\n  GiftCard:\n    Type: AWS::Serverless::Function\n    Properties:\n      "
	const event = function + "Events:\n        Sold:\n          "
	for template, want := range map[string]string{
		"Resources: [":              "template.yaml: yaml: ",
		"# a comment\n":             "template.yaml: the template is empty",
		"Resources:\n  Queue: {}\n": "template.yaml:2: the resource Queue has no type",
		"Conditions:\n  Open: true\nResources:\n  Api: {Type: AWS::Serverless::HttpApi, Condition: Open}\n": "" +
			"template.yaml:2: this machine cannot evaluate this as a condition",
		strings.Replace(function, "GiftCard", "TShirt", 1) + "Timeout: 3\n": "template.yaml:2: TShirt has no code: " +
			"there is no folder functions/t-shirt",
		function + "Timeout: short\n":                                  "template.yaml:2: a property has the wrong form",
		event + "Type: HttpApi\n          Properties: {Method: GET}\n": "template.yaml:6: the event Sold needs Method",
		event + "Type: DynamoDB\n          Properties: {Stream: !GetAtt Receipts.StreamArn}\n" +
			"  Receipts:\n    Type: AWS::DynamoDB::Table\n": "template.yaml:6: the event Sold needs a stream",
		function + "Handler: !ImportValue handler\n": "template.yaml:5: this machine cannot evaluate the function",
	} {
		_, err := samtemplate.Load(write(t, map[string]string{"template.yaml": template}), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error that says %s", template, err, want)
		}
	}
}

func TestLoad_TableWithoutAnOutput_IsNamedAfterItsLogicalID(t *testing.T) {
	root := write(t, map[string]string{"template.yaml": giftTemplate + "!Ref Orders\n"})
	template, err := samtemplate.Load(root, nil)
	if err != nil || template.Tables[0].Name != "Orders" || template.Functions[0].Environment["GIFT"] != "Orders" {
		t.Errorf("unexpected template %+v, error %v", template, err)
	}
}

func TestLoad_UnknownParameterOrMissingTemplate_IsRejected(t *testing.T) {
	if _, err := samtemplate.Load(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "template.yaml") {
		t.Errorf("got %v, want an error about template.yaml", err)
	}
	if _, err := samtemplate.Load(repository, map[string]string{"Currency": "EUR"}); err == nil ||
		err.Error() != "template.yaml has no parameter Currency" {
		t.Errorf("got %v, want an error about Currency", err)
	}
}
