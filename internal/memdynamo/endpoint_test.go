package memdynamo_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo"
)

// wantUnknown fails the test unless a call fails because memdynamo does not know what it uses.
func wantUnknown(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "memdynamo: ") {
		t.Errorf("%s: %v; want an error that says what memdynamo does not know", what, err)
	}
}

// A test must not pass because a call, which would fail in reality, means something else here.
func TestEndpoint_UnknownSyntax_Fails(t *testing.T) {
	t.Parallel()
	client, name := clientOf(memdynamo.New().Endpoint(memdynamo.Dials{})), aws.String("vouchers")
	item := summer("").Attributes()
	maps.Copy(item, counterItem())
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: name, Item: item}); err != nil {
		t.Fatal(err)
	}
	update := func(expression, condition string, names map[string]string, values memdynamo.Item) error {
		in := &dynamodb.UpdateItemInput{
			TableName: name, Key: summer("").Attributes(), UpdateExpression: &expression,
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		}
		if condition != "none" {
			in.ConditionExpression = &condition
		}
		_, err := client.UpdateItem(t.Context(), in)
		return err
	}
	for _, condition := range []string{
		"", "#left", "#left =", "#left == :n3", "size(#left) = :n3", "attribute_type(#left, :sN)",
		"contains(#code, :sS)", "#left = :n3 AND", "#left = :n3 XOR #left = :n4", "(#left = :n3", "#left = :n3)",
		"#left.#used = :n3", "#left[0] = :n3", "#left = #", "#left and :n3", "#left BETWEEN :n3 OR :n4", "#left IN :n3",
		"begins_with(#code)", "attribute_exists(:n3)",
	} {
		names, values := bind(condition)
		wantUnknown(t, condition, update("REMOVE absent", condition, names, values))
	}
	for _, expression := range []string{
		"", "#left = :n1", "SET #left :n1", "SET #left = ", "SET #left = list_append(#left, :n1)", "DELETE #left :n1",
		"ADD #left = :n1", "SET #left = :n1 SET #used = :n1", "SET #left = :n1 REMOVE #left", "SET sk = :n1",
		"SET #left = :n1,", "SET #left.#used = :n1", "SET #left = :n1 + :n2 + :n3",
	} {
		names, values := bind(expression)
		wantUnknown(t, expression, update(expression, "none", names, values))
	}
	for _, keys := range []string{
		"sk = :s1", "customer > :s1", "customer = :s1 OR sk = :s2", "customer = :s1 AND #left = :n1",
		"customer = :s1 AND sk <> :s2", "customer = :s1 AND NOT sk = :s2", "customer = :s1 AND sk = :s2 AND sk = :s3",
		"customer = :s1 AND sk IN (:s2)",
	} {
		names, values := bind(keys)
		_, err := client.Query(t.Context(), &dynamodb.QueryInput{
			TableName: name, KeyConditionExpression: &keys, ExpressionAttributeNames: names,
			ExpressionAttributeValues: values,
		})
		wantUnknown(t, keys, err)
	}
	wantUnknown(t, "undeclared value", update("SET #left = :n1", "none", map[string]string{"#left": "left"}, nil))
	wantUnknown(t, "undeclared name", update("SET #left = :n1", "none", nil, memdynamo.Item{":n1": num(1)}))
	wantUnknown(t, "unused value", update("REMOVE absent", "none", nil, memdynamo.Item{":n1": num(1)}))
	wantUnknown(t, "unused name", update("REMOVE absent", "none", map[string]string{"#left": "left"}, nil))
	_, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: name, Key: summer("").Attributes(), ProjectionExpression: aws.String("sk"),
	})
	wantUnknown(t, "projection", err)
	_, err = client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{
			*name: {{DeleteRequest: &types.DeleteRequest{Key: summer("").Attributes()}}},
		},
	})
	wantUnknown(t, "an operation", err)
}
