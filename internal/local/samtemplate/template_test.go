package samtemplate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shopfront/internal/local/samtemplate"
)

// write writes the files to a new source tree and returns its root. The tree has an empty folder for the function that the tests declare.
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
  Sizes: {Type: CommaDelimitedList, Default: "500, 1200"}
  Subnet: {Type: 'AWS::EC2::Subnet::Id'}
Mappings:
  Prices:
    coins: {small: "5"}
Conditions:
  Coins: !Equals [!Ref Pack, coins]
  Ranks: !Equals [ranks, !Ref Pack]
  Neither: !Not [!Or [!Condition Coins, Condition: Ranks]]
  Both: !And [!Condition Coins, !Condition Ranks]
  Circle: !Not [!Condition Circle]
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
          PACK: &pack !Ref Pack
          GIFT: `

const giftOutputs = "\nOutputs:\n  OrdersTable: {Value: !Ref Orders}\n"

// evaluate returns the value of the variable GIFT, and whether it exists.
func evaluate(t *testing.T, expression string, parameters map[string]string) (string, bool, error) {
	t.Helper()
	template, err := samtemplate.Load(write(t, map[string]string{"template.yaml": giftTemplate + expression + giftOutputs}), parameters)
	if err != nil {
		return "", false, err
	}
	text, exists := template.Functions[0].Environment["GIFT"]
	return text, exists, nil
}

func TestVariable_Expression_IsEvaluated(t *testing.T) {
	for expression, want := range map[string]string{
		"plain":            "plain",
		`"${Pack}"`:        "${Pack}",
		"*pack":            "coins",
		"!Ref Pack":        "coins",
		"{Ref: Pack}":      "coins",
		"!Ref AWS::Region": "us-east-1",
		"!Ref Orders":      "OrdersTable",
		"!Sub ${Pack} in ${Orders} cost ${!Price}":          "coins in OrdersTable cost ${Price}",
		"!Sub [\"${Pack} for ${Nick}\", {Nick: !Ref Pack}]": "coins for coins",
		"{'Fn::Sub': '${AWS::Partition}'}":                  "aws",
		"!Join ['/', [gift, !Ref Pack, !Ref Orders]]":       "gift/coins/OrdersTable",
		"!Join ['', !Ref Sizes]":                            "5001200",
		"!Select [1, !Ref Sizes]":                           "1200",
		"!Select ['0', !Split ['-', gift-card]]":            "gift",
		"!FindInMap [Prices, !Ref Pack, small]":             "5",
		"!If [Coins, !Ref Pack, !Ref AWS::NoValue]":         "coins",
		"!If [Ranks, ranks, no ranks]":                      "no ranks",
		"!If [Neither, a T-shirt, coins or ranks]":          "coins or ranks",
		"!If [Both, both, not both]":                        "not both",
		"!If [Ranks, !Ref Missing, coins]":                  "coins",
		// A placeholder stands for a resource that exists only in the cloud.
		"!Ref Bonus":                    "Bonus",
		"!Ref GiftCard.Version":         "GiftCard.Version", // the serverless transform adds this resource
		"!GetAtt Bonus.Arn":             "arn:aws:local:us-east-1:123456789012:Bonus",
		"!GetAtt [Bonus, Arn]":          "arn:aws:local:us-east-1:123456789012:Bonus",
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

func TestVariable_Condition_DependsOnTheParameter(t *testing.T) {
	for pack, want := range map[string]string{"coins": "coins", "ranks": "ranks", "T-shirt": "neither"} {
		got, _, err := evaluate(t, "!If [Coins, coins, !If [Ranks, ranks, !If [Neither, neither, unknown]]]",
			map[string]string{"Pack": pack})
		if err != nil || got != want {
			t.Errorf("with Pack %s, GIFT is %q, %v, want %q", pack, got, err, want)
		}
	}
}

func TestVariable_InvalidExpression_IsRejected(t *testing.T) {
	const at = "template.yaml:34: "
	for expression, want := range map[string]string{
		"!ImportValue shop":               at + "this machine cannot evaluate the function ImportValue",
		"{'Fn::Cidr': [a, b, c]}":         at + "this machine cannot evaluate the function Cidr",
		"!Equals [a, b]":                  at + "this machine cannot evaluate the function Equals",
		"!FindInMap [Prices, shoes, big]": at + "Mappings has no Prices.shoes.big",
		"!Ref Subnet":                     at + "the parameter Subnet has no value",
		"!Ref Shop":                       at + "there is no parameter or resource Shop",
		"!Ref AWS::Currency":              at + "there is no parameter or resource AWS::Currency",
		"!Ref RankLog":                    at + "the stack does not create RankLog, because its condition is false",
		"!GetAtt Shop.Arn":                at + "there is no parameter or resource Shop",
		"!GetAtt Log":                     at + `GetAtt takes Resource.Attribute, not "Log"`,
		"!Sub ${Shop}":                    at + "there is no parameter or resource Shop",
		"!Sub '${GiftCardX.Arn}'":         at + "there is no parameter or resource GiftCardX",
		"!Sub ${Pack":                     at + "${ is not closed in \"${Pack\"",
		"!Sub ${Sizes}":                   at + "want a string, not a list or a mapping",
		"!Sub [a, {b: c}, d]":             at + "Sub takes 2 arguments",
		"!If [Coins, a]":                  at + "If takes 3 arguments",
		"!If [Coin, a, b]":                at + `there is no condition "Coin"`,
		"!If [Circle, a, b]":              "template.yaml:14: the condition Circle depends on itself",
		"!Join [a, b]":                    at + "want a list",
		"!Join [a, [[b]]]":                at + "want a string, not a list or a mapping",
		"!Select [2, !Ref Sizes]":         at + `there is no item "2" in a list of 2`,
		"!Select [-1, !Ref Sizes]":        at + `there is no item "-1" in a list of 2`,
		"[coins]":                         at + "want a string, not a list or a mapping",
		"{coins: 1, coins: 2}":            `mapping key "coins" already defined`,
	} {
		_, _, err := evaluate(t, expression, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that says %s", expression, err, want)
		}
	}
}

func TestLoad_UnsupportedTemplate_IsRejected(t *testing.T) {
	const function = `Resources:
  Api: {Type: AWS::Serverless::HttpApi}
  GiftCard:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: provided.al2023
      Handler: bootstrap
      CodeUri: .
`
	const api = "Resources:\n  Api:\n    Type: AWS::Serverless::HttpApi\n    Properties:\n"
	const table = "Resources:\n  Orders:\n    Type: AWS::DynamoDB::Table\n    Properties:\n"
	const keys = "      KeySchema: [{AttributeName: customer, KeyType: HASH}]\n"
	for name, test := range map[string]struct{ template, want string }{
		"invalid YAML":                         {"Resources: [", "template.yaml: yaml: "},
		"an empty template":                    {"# a comment\n", "template.yaml: the template is empty"},
		"a list instead of a mapping":          {"- Resources\n", "template.yaml: yaml: "},
		"a resource without a type":            {"Resources:\n  Queue: {}\n", "template.yaml:2: the resource Queue has no type"},
		"a loop over resources":                {"Resources:\n  Fn::ForEach::Shops: [Shop, [a, b], {}]\n", "template.yaml:2: the resource Fn::ForEach::Shops has no type"},
		"an unknown condition":                 {"Resources:\n  Api: {Type: AWS::Serverless::HttpApi, Condition: Open}\n", `template.yaml:2: there is no condition "Open"`},
		"a condition without an expression":    {"Conditions:\n  Open: true\nResources:\n  Api: {Type: AWS::Serverless::HttpApi, Condition: Open}\n", "template.yaml:2: this machine cannot evaluate this as a condition"},
		"Equals with a resource":               {"Conditions:\n  Open: !Equals [!Ref Log, a]\nResources:\n  Log: {Type: AWS::Logs::LogGroup}\n  Api: {Type: AWS::Serverless::HttpApi, Condition: Open}\n", "template.yaml:2: Equals takes two strings"},
		"Equals with three arguments":          {"Conditions:\n  Open: !Equals [a, b, c]\nResources:\n  Api: {Type: AWS::Serverless::HttpApi, Condition: Open}\n", "template.yaml:2: Equals takes two strings"},
		"two HTTP APIs":                        {"Resources:\n  Api: {Type: AWS::Serverless::HttpApi}\n  Api2: {Type: AWS::Serverless::HttpApi}\n", "template.yaml:3: Api2 is a second HTTP API"},
		"a named stage":                        {api + "      StageName: v1\n", `template.yaml:5: this machine supports only ["$default"], not "v1"`},
		"a string instead of origins":          {api + "      CorsConfiguration:\n        AllowOrigins: https://shop.example\n", "template.yaml:6: want a list"},
		"a string instead of CORS settings":    {api + "      CorsConfiguration: https://shop.example\n", "template.yaml:5: want a mapping with the key AllowOrigins"},
		"a function without code":              {strings.Replace(function, "GiftCard", "TShirt", 1), "template.yaml:3: TShirt has no code: there is no folder functions/t-shirt"},
		"another runtime":                      {strings.Replace(function, "provided.al2023", "go1.x", 1), `template.yaml:6: this machine supports only ["provided.al2023"], not "go1.x"`},
		"another folder to build":              {strings.Replace(function, "CodeUri: .", "CodeUri: functions", 1), `template.yaml:8: this machine supports only ["."], not "functions"`},
		"two architectures":                    {function + "      Architectures: [arm64, x86_64]\n", "template.yaml:3: GiftCard has more than one architecture"},
		"one more architecture in the Globals": {"Globals:\n  Function:\n    Architectures: [arm64]\n" + function + "      Architectures: [x86_64]\n", "template.yaml:6: GiftCard has more than one architecture"},
		"a timeout that is not a number":       {function + "      Timeout: short\n", `template.yaml:9: want a whole number, not "short"`},
		"variables in a list":                  {function + "      Environment:\n        Variables: [A]\n", "template.yaml:10: want a mapping of variables"},
		"a string instead of a mapping":        {function + "      Environment: none\n", "template.yaml:9: want a mapping with the key Variables"},
		"an event without an HTTP API":         {function + "      Events:\n        Get:\n          Type: HttpApi\n          Properties: {Method: GET, Path: /gift}\n", "template.yaml:10: the event Get does not name an HTTP API of this template"},
		"an event without a path":              {function + "      Events:\n        Get:\n          Type: HttpApi\n          Properties: {ApiId: !Ref Api, Method: GET}\n", "template.yaml:10: the event Get needs Method and Path"},
		"a path that refers to a resource":     {function + "      Events:\n        Get:\n          Type: HttpApi\n          Properties: {ApiId: !Ref Api, Method: GET, Path: !Ref Api}\n", "template.yaml:12: want a string that is known before the deployment"},
		"the older payload format":             {function + "      Events:\n        Get:\n          Type: HttpApi\n          Properties:\n            PayloadFormatVersion: '1.0'\n", `template.yaml:13: this machine supports only ["2.0"], not "1.0"`},
		"a table without keys":                 {table + "      BillingMode: PAY_PER_REQUEST\n", "template.yaml:2: the table Orders needs a KeySchema"},
		"a local secondary index":              {table + keys + "      LocalSecondaryIndexes: [{IndexName: byNick}]\n", "template.yaml:2: the table Orders has a local secondary index"},
		"an index that has only the keys":      {table + keys + "      GlobalSecondaryIndexes: [{IndexName: byNick, Projection: {ProjectionType: KEYS_ONLY}}]\n", `template.yaml:6: this machine supports only ["ALL"], not "KEYS_ONLY"`},
		"an attribute of an unknown type":      {table + keys + "      AttributeDefinitions: [{AttributeName: customer, AttributeType: X}]\n", `template.yaml:6: this machine supports only ["S" "N" "B"], not "X"`},
		"an expression in a table":             {table + "      KeySchema: !ImportValue keys\n", "template.yaml:5: this machine cannot evaluate the function ImportValue"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := samtemplate.Load(write(t, map[string]string{"template.yaml": test.template}), nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error that says %s", err, test.want)
			}
		})
	}
}

func TestLoad_TableWithoutAnOutput_IsNamedAfterItsLogicalID(t *testing.T) {
	root := write(t, map[string]string{"template.yaml": giftTemplate + "!Ref Orders\n"})
	template, err := samtemplate.Load(root, nil)
	if err != nil || template.Tables[0].Name != "Orders" || template.Functions[0].Environment["GIFT"] != "Orders" {
		t.Errorf("unexpected template %+v, error %v", template, err)
	}
}

func TestLoad_GlobalTable_IsATable(t *testing.T) {
	root := write(t, map[string]string{"template.yaml": strings.Replace(giftTemplate, "DynamoDB::Table", "DynamoDB::GlobalTable", 1) + "!Ref Orders" + giftOutputs})
	template, err := samtemplate.Load(root, nil)
	if err != nil || len(template.Tables) != 1 || template.Functions[0].Environment["GIFT"] != "OrdersTable" {
		t.Errorf("unexpected template %+v, error %v", template, err)
	}
}

func TestLoad_UnknownParameterOrMissingTemplate_IsRejected(t *testing.T) {
	if _, err := samtemplate.Load(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "template.yaml") {
		t.Errorf("got %v, want an error about template.yaml", err)
	}
	if _, err := samtemplate.Load(repository, map[string]string{"Currency": "EUR"}); err == nil || err.Error() != "template.yaml has no parameter Currency" {
		t.Errorf("got %v, want an error about Currency", err)
	}
}
