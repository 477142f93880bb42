package localtest_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/dynamolocal/localtest"
)

func TestClient_OtherClients_ShareItsServer(t *testing.T) {
	const table = "vouchers"
	_, err := localtest.Client(t).CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:   aws.String(table),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("customer"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("customer"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	tables, err := localtest.Client(t).ListTables(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(tables.TableNames, table) {
		t.Errorf("another client sees %q, want %q", tables.TableNames, table)
	}
}

func TestEndpoint_WithoutJava_FailsTheTest(t *testing.T) {
	localtest.Endpoint(t) // which fetches DynamoDB Local if it is missing
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestClient_OtherClients_ShareItsServer$", "-test.v")
	cmd.Env = []string{"PATH="}
	output, err := cmd.CombinedOutput()
	if err == nil || strings.Contains(string(output), "SKIP") {
		t.Errorf("want a failure, got %v:\n%s", err, output)
	}
	if !strings.Contains(string(output), "install Java 17") {
		t.Errorf("does not say what to install:\n%s", output)
	}
}
