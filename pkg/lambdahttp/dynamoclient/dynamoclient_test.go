package dynamoclient_test

import (
	"io"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/pkg/lambdahttp"
	"shopfront/pkg/lambdahttp/dynamoclient"
)

func environment(variables map[string]string) lambdahttp.Environment {
	return lambdahttp.Environment{Lookup: func(name string) string { return variables[name] }, Now: time.Now, Log: io.Discard}
}

func TestNew_MissingVariable_IsNamed(t *testing.T) {
	variables := make(map[string]string)
	for _, name := range []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		_, err := dynamoclient.New(t.Context(), environment(variables), "vouchers")
		if want := "environment variable " + name + " is not set"; err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
		variables[name] = "local"
	}
}

func TestNew_Client_ReachesTheEndpoint(t *testing.T) {
	env := environment(map[string]string{
		"AWS_REGION": localtest.Region, "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_ENDPOINT_URL_DYNAMODB": localtest.Endpoint(t),
	})
	table := localtest.Table(t, "VouchersTable")
	client, err := dynamoclient.New(t.Context(), env, table)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(table)}); err != nil {
		t.Error(err)
	}
}
