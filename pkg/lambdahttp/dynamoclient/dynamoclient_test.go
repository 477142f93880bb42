package dynamoclient_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
)

func TestNew_Client_ReachesTheEndpoint(t *testing.T) {
	variables := map[string]string{
		"AWS_REGION": dynamotest.Region, "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_ENDPOINT_URL_DYNAMODB": dynamotest.Endpoint(t),
	}
	env := lambdahttp.Environment{Lookup: func(name string) string { return variables[name] }}
	table := dynamotest.Table(t, "VouchersTable")
	client := dynamoclient.Connect(t.Context(), env, table)
	if _, err := client.DescribeTable(t.Context(),
		&dynamodb.DescribeTableInput{TableName: aws.String(table)}); err != nil {
		t.Error(err)
	}
}
