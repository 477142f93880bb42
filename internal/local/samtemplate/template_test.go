package samtemplate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shopfront/internal/local/samtemplate"
)

// write makes a repository of the files, and of a folder for the function that the tests declare.
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

// evaluated gives the environment of a function that declares the variable GIFT with an expression as its value.
func evaluated(t *testing.T, expression string, parameters map[string]string) (string, error) {
	t.Helper()
	template, err := samtemplate.Load(write(t, map[string]string{
		"template.yaml": `Transform: AWS::Serverless-2016-10-31
Parameters:
  Pack: {Type: String, Default: coins}
  Sizes: {Type: CommaDelimitedList, Default: "500, 1200"}
Conditions:
  Coins: !Equals [!Ref Pack, coins]
  Ranks: !Equals [ranks, !Ref Pack]
  Neither: !Not [!Or [!Condition Coins, Condition: Ranks]]
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
  Nested:
    Type: AWS::CloudFormation::Stack
    Properties:
      TemplateURL: infra/limits.yaml
      Parameters: {Most: "10"}
  GiftCard:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: provided.al2023
      Handler: bootstrap
      CodeUri: .
      Environment:
        Variables:
          GIFT: ` + expression + `
Outputs:
  OrdersTable: {Value: !Ref Orders}
`,
		"infra/limits.yaml": `Parameters:
  Most: {Type: Number}
Resources:
  Placeholder: {Type: AWS::CloudFormation::WaitConditionHandle}
Outputs:
  Limit: {Value: !Sub "${AWS::StackName}: ${Most}"}
`,
	}), parameters)
	if err != nil {
		return "", err
	}
	env, err := template.Functions()[0].Environment(map[string]string{"OrdersTable": "orders-local"})
	return env["GIFT"], err
}

func TestIntrinsicFunctions(t *testing.T) {
	for expression, want := range map[string]string{
		"plain":                           "plain",
		`"${Pack}"`:                       "${Pack}",
		"!Ref Pack":                       "coins",
		"{Ref: Pack}":                     "coins",
		"!Ref AWS::Region":                "us-east-1",
		"!Ref Orders":                     "orders-local",
		"!GetAtt Nested.Outputs.Limit":    "shopfront-Nested: 10",
		"!GetAtt [Nested, Outputs.Limit]": "shopfront-Nested: 10",
		"!Sub ${Pack} in ${Orders} cost ${!Price}":          "coins in orders-local cost ${Price}",
		"!Sub [\"${Pack} for ${Nick}\", {Nick: !Ref Pack}]": "coins for coins",
		"!Sub ${Nested.Outputs.Limit}":                      "shopfront-Nested: 10",
		"{'Fn::Sub': '${AWS::Partition}'}":                  "aws",
		"!Join ['/', [gift, !Ref Pack, !Ref Orders]]":       "gift/coins/orders-local",
		"!Join ['', !Ref Sizes]":                            "5001200",
		"!Select [1, !Ref Sizes]":                           "1200",
		"!Select ['0', !Split ['-', gift-card]]":            "gift",
		"!If [Coins, !Ref Pack, !Ref AWS::NoValue]":         "coins",
		"!If [Ranks, ranks, no ranks]":                      "no ranks",
		"!If [Neither, a T-shirt, coins or ranks]":          "coins or ranks",
		"!If [Both, both, not both]":                        "not both",
		"!If [Ranks, coins, !Ref AWS::NoValue]":             "",
	} {
		got, err := evaluated(t, expression, nil)
		if err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", expression, got, err, want)
		}
	}
}

func TestConditionsFollowParameters(t *testing.T) {
	for pack, want := range map[string]string{"coins": "coins", "ranks": "ranks", "T-shirt": "neither"} {
		got, err := evaluated(t, "!If [Coins, coins, !If [Ranks, ranks, !If [Neither, neither, unknown]]]",
			map[string]string{"Pack": pack})
		if err != nil || got != want {
			t.Errorf("with Pack %s it is %q, %v, want %q", pack, got, err, want)
		}
	}
}

func TestExpressionsInError(t *testing.T) {
	const at = "template.yaml:32: "
	for expression, want := range map[string]string{
		"!ImportValue shop":             at + "the function ImportValue is not supported here",
		"{'Fn::FindInMap': [a, b, c]}":  at + "the function FindInMap is not supported here",
		"!Equals [a, b]":                at + "the function Equals is not supported here",
		"!Ref Shop":                     at + "there is no parameter or resource Shop",
		"!Ref AWS::Currency":            at + "there is no parameter or resource AWS::Currency",
		"!Ref RankLog":                  at + "RankLog is not created under this condition",
		"!GetAtt Shop.Arn":              at + "there is no parameter or resource Shop",
		"!GetAtt Log":                   at + `GetAtt wants Resource.Attribute, not "Log"`,
		"!GetAtt Nested.Outputs.Table":  at + "infra/limits.yaml has no output Table",
		"!Sub ${Shop}":                  at + "there is no parameter or resource Shop",
		"!Sub ${Pack":                   at + "${ is not closed in \"${Pack\"",
		"!Sub ${Sizes}":                 at + "${Sizes} is a list, not a text",
		"!Sub [a, {b: c}, d]":           at + "Sub wants a text, or a text and a mapping",
		"!If [Coins, a]":                at + "If wants a condition and two values",
		"!If [Coin, a, b]":              at + `there is no condition "Coin"`,
		"!Join [a, b]":                  at + `Join of "a" and "b" is not supported here`,
		"!Join [a, [[b]]]":              at + "Join wants a list of texts, not a list in it",
		"!Split ['', a]":                at + `Split of "" and "a" is not supported here`,
		"!Select [2, !Ref Sizes]":       at + `there is no item "2" in a list of 2`,
		"!Select [-1, !Ref Sizes]":      at + `there is no item "-1" in a list of 2`,
		"[coins]":                       at + "the variable GIFT is a list, not a text",
		"!GetAtt Log.Arn":               at + "GIFT of GiftCard needs Log.Arn, which only a deployed stack has",
		"!Sub ${Nested} of ${Orders}":   at + "GIFT of GiftCard needs Nested, which only a deployed stack has",
		"!GetAtt Nested.Outputs":        at + "GIFT of GiftCard needs Nested.Outputs, which only a deployed stack has",
		"&anchor coins":                 at + "anchors and aliases are not supported here",
		"{coins: 1, coins: 2}":          at + "the key coins is there twice",
		"{[coins]: 1}":                  at + "a key must be a text",
		"!Sub '${GiftCardX.Arn}'":       at + "there is no parameter or resource GiftCardX",
		"!If [Ranks, !Ref Shop, coins]": "",
	} {
		_, err := evaluated(t, expression, nil)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", expression, err)
		case want != "" && (err == nil || err.Error() != want):
			t.Errorf("%s: %v, want %s", expression, err, want)
		}
	}
}

func TestTemplatesInError(t *testing.T) {
	const function = `Resources:
  Api: {Type: AWS::Serverless::HttpApi}
  GiftCard:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: provided.al2023
      Handler: bootstrap
      CodeUri: .
`
	const table = `Resources:
  Orders:
    Type: AWS::DynamoDB::Table
    Properties:
`
	for name, test := range map[string]struct{ template, want string }{
		"no YAML":              {"Resources: [", "template.yaml: yaml: "},
		"nothing":              {"# a comment\n", "template.yaml: the template is empty"},
		"a list":               {"- Resources\n", "template.yaml:1: want a mapping"},
		"another transform":    {"Transform: AWS::LanguageExtensions\n", "template.yaml:1: the only transform supported"},
		"an unknown section":   {"Description: A shop\nMappings: {}\n", "template.yaml:2: Mappings is not supported here"},
		"unknown globals":      {"Globals:\n  Api: {}\n", "template.yaml:2: Api is not supported here"},
		"an unknown attribute": {"Resources:\n  Log:\n    CreationPolicy: {}\n", "template.yaml:3: CreationPolicy is not supported"},
		"an unknown type":      {"Resources:\n  Queue:\n    Type: AWS::SQS::Queue\n", `template.yaml:2: Queue has a type that is not supported here: "AWS::SQS::Queue"`},
		"no type":              {"Resources:\n  Queue: {}\n", `template.yaml:2: Queue has a type that is not supported here: ""`},
		"a missing parameter":  {"Parameters:\n  Shop: {Type: String}\n", "template.yaml:2: the parameter Shop needs a value"},
		"a rule that is broken": {
			"Parameters:\n  Shop: {Type: String, Default: a}\nRules:\n  Open:\n    Assertions:\n      - Assert: !Equals [!Ref Shop, b]\n        AssertDescription: The shop is b.\n",
			"template.yaml:6: the rule Open: The shop is b.",
		},
		"a rule that does not apply":  {"Rules:\n  Open:\n    RuleCondition: !Equals [a, b]\n    Assertions:\n      - {Assert: !Equals [a, b], AssertDescription: Never.}\nOutputs: []\n", "template.yaml:6: want a mapping"},
		"a rule without a condition":  {"Rules:\n  Open:\n    Assertions:\n      - Assert: true\n        AssertDescription: It is.\n", "template.yaml:4: a condition is one of the functions"},
		"a rule that asserts nothing": {"Rules:\n  Open: {RuleCondition: !Equals [a, a]}\n", "template.yaml:2: the rule Open asserts nothing"},
		"an assertion without a word": {"Rules:\n  Open:\n    Assertions:\n      - Assert: !Equals [a, a]\n", "template.yaml:4: an assertion of the rule Open wants Assert and AssertDescription"},
		"an odd rule":                 {"Rules:\n  Open: {Assert: !Equals [a, a]}\n", "template.yaml:2: Assert is not supported here"},
		"an odd parameter":            {"Parameters:\n  Shop:\n    Type: AWS::SSM::Name\n    Default: a\n", "template.yaml:3: a parameter of type AWS::SSM::Name"},
		"a secret parameter":          {"Parameters:\n  Shop:\n    NoEcho: true\n", "template.yaml:3: NoEcho is not supported here"},
		"a wrong default":             {"Parameters:\n  Shop:\n    Type: Number\n    Default: a\n", `template.yaml:4: the parameter Shop: "a" is not a number`},
		"a list for a default":        {"Parameters:\n  Shop:\n    Type: String\n    Default: [a]\n", "template.yaml:4: the value of the parameter Shop is a list"},
		"no condition":                {"Conditions:\n  Open: true\n", "template.yaml:2: a condition is one of the functions"},
		"a circle":                    {"Conditions:\n  Open: !Not [!Condition Shut]\n  Shut: !Not [!Condition Open]\n", "template.yaml:3: the condition Open depends on itself"},
		"one alternative":             {"Conditions:\n  Open: !Or [!Equals [a, a]]\n", "template.yaml:2: want 2 to 10 conditions"},
		"Equals of three":             {"Conditions:\n  Open: !Equals [a, b, c]\n", "template.yaml:2: Equals wants two texts"},
		"Equals of a resource":        {"Conditions:\n  Open: !Equals [!Ref Log, a]\nResources:\n  Log: {Type: AWS::Logs::LogGroup}\n", "template.yaml:2: there is no parameter or resource Log"},
		"an exported output":          {"Outputs:\n  Url:\n    Value: a\n    Export: {Name: b}\n", "template.yaml:4: Export is not supported here"},
		"an empty output":             {"Outputs:\n  Url:\n    Description: Where\n", "template.yaml:2: the output Url has no value"},
		"a nested file missing":       {"Resources:\n  Tables:\n    Type: AWS::CloudFormation::Stack\n    Properties:\n      TemplateURL: infra/none.yaml\n", "template.yaml:5: the nested template: stat infra/none.yaml"},
		"a nested file wrong":         {"Resources:\n  Tables:\n    Type: AWS::CloudFormation::Stack\n    Properties:\n      TemplateURL: infra/wrong.yaml\n", "infra/wrong.yaml:3: Queue has a type"},
		"a nested parameter": {
			"Resources:\n  Tables:\n    Type: AWS::CloudFormation::Stack\n    Properties:\n      TemplateURL: infra/wrong.yaml\n      Parameters:\n        Shop: a\n",
			"template.yaml:7: infra/wrong.yaml has no parameter Shop",
		},
		"a nested circle": {
			"Resources:\n  Tables:\n    Type: AWS::CloudFormation::Stack\n    Properties:\n      TemplateURL: infra/wrong.yaml\n      Parameters:\n        Shop: !GetAtt Tables.Outputs.Shop\n",
			"template.yaml:2: the nested stack Tables depends on itself",
		},
		"two HTTP APIs":           {"Resources:\n  Api: {Type: AWS::Serverless::HttpApi}\n  Api2: {Type: AWS::Serverless::HttpApi}\n", "template.yaml:3: Api2 is a second HTTP API"},
		"a named stage":           {"Resources:\n  Api:\n    Type: AWS::Serverless::HttpApi\n    Properties:\n      StageName: v1\n", `template.yaml:5: "v1" is not supported here; supported are $default`},
		"an authorizer":           {"Resources:\n  Api:\n    Type: AWS::Serverless::HttpApi\n    Properties:\n      Auth: {}\n", "template.yaml:5: Auth is not supported here"},
		"a throttle in words":     {"Resources:\n  Api:\n    Type: AWS::Serverless::HttpApi\n    Properties:\n      DefaultRouteSettings:\n        ThrottlingBurstLimit: many\n", `template.yaml:6: want a whole number, not "many"`},
		"origins in a text":       {"Resources:\n  Api:\n    Type: AWS::Serverless::HttpApi\n    Properties:\n      CorsConfiguration:\n        AllowOrigins: https://shop.example\n", `template.yaml:6: want a list, not "https://shop.example"`},
		"a function's folder":     {strings.Replace(function, "GiftCard", "TShirt", 1), "template.yaml:3: TShirt has no folder functions/t-shirt"},
		"another runtime":         {strings.Replace(function, "provided.al2023", "go1.x", 1), `template.yaml:6: "go1.x" is not supported here`},
		"another folder to build": {strings.Replace(function, "CodeUri: .", "CodeUri: functions", 1), `template.yaml:8: "functions" is not supported here`},
		"two architectures":       {function + "      Architectures: [arm64, x86_64]\n", "template.yaml:9: GiftCard has more than one architecture"},
		"globals are joined":      {"Globals:\n  Function:\n    Architectures: [arm64]\n" + function + "      Architectures: [x86_64]\n", "template.yaml:12: GiftCard has more than one architecture"},
		"a layer":                 {function + "      Layers: []\n", "template.yaml:9: Layers is not supported here"},
		"variables in a list":     {function + "      Environment:\n        Variables: [A]\n", "template.yaml:10: want a mapping, not a list"},
		"a text for a mapping":    {function + "      Environment: none\n", `template.yaml:9: want a mapping, not "none"`},
		"a schedule":              {function + "      Events:\n        Daily:\n          Type: Schedule\n", `template.yaml:10: an event of type "Schedule" is not supported here`},
		"an API of its own":       {function + "      Events:\n        Get:\n          Type: HttpApi\n          Properties: {Method: GET, Path: /gift}\n", "template.yaml:10: the event Get is not for an HTTP API of this template"},
		"no path":                 {function + "      Events:\n        Get:\n          Type: HttpApi\n          Properties: {ApiId: !Ref Api, Method: GET}\n", "template.yaml:10: the event Get wants Method and Path"},
		"another payload":         {function + "      Events:\n        Get:\n          Type: HttpApi\n          Properties:\n            PayloadFormatVersion: '1.0'\n", "template.yaml:13: PayloadFormatVersion is not supported here"},
		"provisioned throughput":  {table + "      BillingMode: PROVISIONED\n", `template.yaml:5: "PROVISIONED" is not supported here`},
		"no billing mode":         {table + "      KeySchema: []\n", "template.yaml:2: the table Orders wants BillingMode"},
		"no keys":                 {table + "      BillingMode: PAY_PER_REQUEST\n", "template.yaml:2: the table Orders wants a KeySchema"},
		"an index":                {table + "      GlobalSecondaryIndexes: []\n", "template.yaml:5: GlobalSecondaryIndexes is not supported here"},
		"a table without output":  {table + "      BillingMode: PAY_PER_REQUEST\n      KeySchema: [{AttributeName: customer, KeyType: HASH}]\n", "template.yaml: no output tells the name of the table Orders"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := samtemplate.Load(write(t, map[string]string{
				"template.yaml":    test.template,
				"infra/wrong.yaml": "# Not a table\nResources:\n  Queue: {Type: AWS::SQS::Queue}\n",
			}), nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

func TestNoTemplate(t *testing.T) {
	_, err := samtemplate.Load(t.TempDir(), nil)
	if err == nil || !strings.Contains(err.Error(), "template.yaml") {
		t.Errorf("%v, want an error about template.yaml", err)
	}
}
