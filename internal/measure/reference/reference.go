// Package reference holds the reference functions. Each is the smallest function that decodes the event of an HTTP API
// and makes the same DynamoDB calls as a function of Shopfront, with the same SDK client, wired by hand. They do not
// check, decide or log anything. So the difference between a function and its reference is the cost of Shopfront's own
// work.
//
// The package imports no other package of this module.
package reference

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log"
	"maps"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Handler handles an event.
type Handler func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// EnvTable is the environment variable that names the table.
const EnvTable = "TABLE"

// Start wires a client from the environment, opens its connection and serves the handler.
func Start(lookup func(string) string, wire func(*dynamodb.Client, string) Handler) {
	credentials := aws.Credentials{
		AccessKeyID:     lookup("AWS_ACCESS_KEY_ID"),
		SecretAccessKey: lookup("AWS_SECRET_ACCESS_KEY"),
	}
	client := dynamodb.New(dynamodb.Options{
		Region:       lookup("AWS_REGION"),
		BaseEndpoint: aws.String(lookup("AWS_ENDPOINT_URL_DYNAMODB")),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return credentials, nil
		}),
	})
	table := lookup(EnvTable)
	if _, err := client.GetItem(context.Background(),
		&dynamodb.GetItemInput{TableName: aws.String(table), Key: key("warm", "warm")}); err != nil {
		log.Fatal(err)
	}
	lambda.Start(wire(client, table))
}

// request is the body of a redemption. Its code is in canonical form.
type request struct{ Code, Nick string }

// redemption returns a Handler for redemptions. Its argument call calls DynamoDB and returns how many items or
// attributes it read.
func redemption(call func(ctx context.Context, shop string, asked request) (int, error)) Handler {
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		var asked request
		if err := json.Unmarshal([]byte(event.Body), &asked); err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
		return respond(call(ctx, event.PathParameters["customer"], asked))
	}
}

// Redeem redeems a single-use code in one UpdateItem.
func Redeem(client *dynamodb.Client, table string) Handler {
	return redemption(func(ctx context.Context, shop string, asked request) (int, error) {
		now := number(time.Now().UnixMilli())
		out, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName:        aws.String(table),
			Key:              VoucherKey(shop, asked.Code),
			UpdateExpression: aws.String("SET #record = :record, #used = :one"),
			ConditionExpression: aws.String("#maxUses = :one AND attribute_not_exists(#used)" +
				" AND #disabled = :false AND #from <= :at AND #until > :at AND (attribute_not_exists(#nickHash) OR " +
				"#nickHash = :nick)"),
			ExpressionAttributeNames: map[string]string{
				"#record": "b#" + rand.Text(), "#used": "used", "#maxUses": "maxUses",
				"#disabled": "disabled", "#from": "from", "#until": "until", "#nickHash": "nickHash",
			},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":record": text(rand.Text() + "|" + asked.Nick), ":one": number(1),
				":false": &types.AttributeValueMemberBOOL{}, ":at": now, ":nick": text(asked.Nick),
			},
			ReturnValues:                        types.ReturnValueAllNew,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		if err != nil {
			return 0, err
		}
		return len(out.Attributes), nil
	})
}

// RedeemManyUses takes one use of a code with a limit. It reads the code. Then one transaction records the redemption
// with the nick and takes the use from a counter.
func RedeemManyUses(client *dynamodb.Client, table string) Handler {
	return redemption(func(ctx context.Context, shop string, asked request) (int, error) {
		read, err := client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: aws.String(table), Key: VoucherKey(shop, asked.Code), ConsistentRead: aws.Bool(true),
		})
		if err != nil {
			return 0, err
		}
		name := "b#" + rand.Text()
		_, err = client.TransactWriteItems(ctx,
			&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				{Update: &types.Update{
					TableName:        aws.String(table),
					Key:              key(bucket(shop, asked.Code+"#"+asked.Nick), asked.Code+"#n#"+asked.Nick),
					UpdateExpression: aws.String("SET #record = :record, #code = :code ADD #taken :one"),
					ConditionExpression: aws.String("attribute_not_exists(#record) AND (attribute_not_exists(#taken) " +
						"OR #taken < :limit)"),
					ExpressionAttributeNames: map[string]string{
						"#record": name, "#code": "code", "#taken": "taken",
					},
					ExpressionAttributeValues: map[string]types.AttributeValue{
						":record": text(rand.Text() + "|" + asked.Nick), ":code": text(asked.Code), ":one": number(1),
						":limit": number(1),
					},
					ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
				}},
				{Update: &types.Update{
					TableName: aws.String(table),
					// Always use the first counter: no other request uses it at the same time.
					Key:                      key(bucket(shop, asked.Code), asked.Code+"#c#00"),
					UpdateExpression:         aws.String("ADD #left :less, #used :one"),
					ConditionExpression:      aws.String("#left >= :one"),
					ExpressionAttributeNames: map[string]string{"#left": "left", "#used": "used"},
					ExpressionAttributeValues: map[string]types.AttributeValue{
						":less": number(-1), ":one": number(1),
					},
					ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
				}},
			}})
		if err != nil {
			return 0, err
		}
		return len(read.Item), nil
	})
}

// Area reads the shop's profile and queries the products, both with eventual consistency.
func Area(client *dynamodb.Client, table string) Handler {
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		shop := event.PathParameters["customer"]
		_, err := client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: aws.String(table), Key: key(shop, "customer"),
		})
		if err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
		out, err := client.Query(ctx, &dynamodb.QueryInput{
			TableName: aws.String(table), Limit: aws.Int32(1000),
			KeyConditionExpression: aws.String("customer = :customer AND begins_with(sk, :product)"),
			FilterExpression:       aws.String("attribute_not_exists(offSale)"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":customer": text(shop), ":product": text("product#"),
			},
		})
		if err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
		return respond(len(out.Items), nil)
	}
}

// Checkout reads the shop's profile and a product in one BatchGetItem, and puts a checkout. Unlike Shopfront's
// function, it uses one table for both calls.
func Checkout(client *dynamodb.Client, table string) Handler {
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		shop, product := event.PathParameters["customer"], event.PathParameters["product"]
		found, err := client.BatchGetItem(ctx,
			&dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{table: {
				ConsistentRead: aws.Bool(true),
				Keys: []map[string]types.AttributeValue{
					key(shop, "customer"),
					key(shop, "product#"+product),
				},
			}}})
		if err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
		now := time.Now().UnixMilli()
		id := rand.Text()
		item := key(shop, id)
		maps.Copy(item, map[string]types.AttributeValue{
			"id": text(id), "product": text(product), "variant": text(event.PathParameters["variant"]),
			"amount": number(1),
			"data":   text(event.QueryStringParameters["data"]), "object": &types.AttributeValueMemberBOOL{Value: true},
			"currency":  text("EUR"),
			"unitPrice": number(799), "subtotal": number(799), "discount": number(0), "total": number(799),
			"status":  text("open"),
			"created": number(now), "expires": number(now), "expiresAt": number(now / 1000),
		})
		_, err = client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: aws.String(table), Item: item,
			ConditionExpression:      aws.String("attribute_not_exists(sk) OR #expires <= :at AND #status = :open"),
			ExpressionAttributeNames: map[string]string{"#expires": "expires", "#status": "status"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":at": number(now), ":open": text("open"),
			},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		if err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
		return respond(len(found.Responses[table]), nil)
	}
}

// respond returns a response that says how much was read, so that the benchmark detects a reference that reads nothing.
func respond(read int, err error) (events.APIGatewayV2HTTPResponse, error) {
	return events.APIGatewayV2HTTPResponse{
		StatusCode: 200, Headers: map[string]string{"Content-Type": "application/json"},
		Body: `{"read":` + strconv.Itoa(read) + `}`,
	}, err
}

// VoucherKey returns the primary key of a code in canonical form.
func VoucherKey(shop, code string) map[string]types.AttributeValue {
	return key(bucket(shop, code), code)
}

func key(partition, sort string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"customer": text(partition), "sk": text(sort)}
}

// bucket returns the partition key of the item about subject in the vouchers table.
func bucket(shop, subject string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(subject)) // never fails
	return fmt.Sprintf("%s#%02d", shop, hash.Sum32()%64)
}

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func number(value int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(value, 10)}
}
