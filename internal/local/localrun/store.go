package localrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/dynamolocal"
	"shopfront/internal/local/localstate"
	"shopfront/internal/local/runtimeapi"
	"shopfront/internal/local/samtemplate"
)

// DynamoDB Local takes any region and access key, and shows the same tables in all of them.
const region = "us-east-1"

var local = runtimeapi.Credentials{AccessKeyID: "local", SecretAccessKey: "local"} //nolint:gochecknoglobals // a constant

// Tables names the tables of a local run, by their output (samtemplate.Table.Output).
func Tables(template *samtemplate.Template) map[string]string {
	names := make(map[string]string)
	for _, table := range template.Tables() {
		names[table.Output] = table.Output
	}
	return names
}

// startStore fetches and starts DynamoDB Local, with the data of the run before.
func (r *run) startStore(ctx context.Context) error {
	pomDir, libDir := dynamolocal.Dirs(r.Root)
	if err := dynamolocal.Fetch(ctx, pomDir, libDir, r.out); err != nil {
		return err
	}
	if r.Fresh {
		if err := os.RemoveAll(r.dataDir()); err != nil {
			return err
		}
	}
	r.out.say("Starting DynamoDB Local")
	store, err := dynamolocal.Start(ctx, dynamolocal.Options{LibDir: libDir, DataDir: r.dataDir()})
	if errors.Is(err, dynamolocal.ErrDataUnreadable) {
		return fmt.Errorf("%w in %s: forget what is stored with --fresh", dynamolocal.ErrDataUnreadable, r.dataDir())
	}
	if err != nil {
		return err
	}
	r.store = store
	r.onStop(store.Stop)
	return nil
}

func (r *run) dataDir() string { return filepath.Join(r.dir, "data") }

// makeTables creates the template's tables where they are not there yet.
func (r *run) makeTables(ctx context.Context) error {
	client := dynamodb.New(dynamodb.Options{
		Region: region, BaseEndpoint: aws.String(r.store.Endpoint()),
		Credentials: credentials.NewStaticCredentialsProvider(local.AccessKeyID, local.SecretAccessKey, ""),
	})
	names := Tables(r.template)
	for _, table := range r.template.Tables() {
		if err := makeTable(ctx, client, table, names[table.Output]); err != nil {
			return fmt.Errorf("table %s: %w; --fresh begins anew, and forgets what is stored", names[table.Output], err)
		}
	}
	r.state = localstate.State{
		BaseURL: "http://" + r.listener.Addr().String(), DynamoDBEndpoint: r.store.Endpoint(), Region: region,
		Tables: localstate.Tables{
			Catalogue: names["CatalogueTable"], Vouchers: names["VouchersTable"], Checkouts: names["CheckoutsTable"],
		},
		PID: os.Getpid(), Version: r.template.Version(),
	}
	return nil
}

func makeTable(ctx context.Context, client *dynamodb.Client, table samtemplate.Table, name string) error {
	wanted := table.CreateTable(name)
	kept, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		if _, err := client.CreateTable(ctx, wanted); err != nil {
			return err
		}
	} else if err != nil {
		return err
	} else if describeKeys(kept.Table.KeySchema, kept.Table.AttributeDefinitions) != describeKeys(wanted.KeySchema, wanted.AttributeDefinitions) {
		return errors.New("it has other keys than the template says")
	}
	expiry := table.UpdateTimeToLive(name)
	if expiry == nil {
		return nil
	}
	// An earlier run may have been stopped before it came to this.
	current, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err != nil || current.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled {
		return err
	}
	_, err = client.UpdateTimeToLive(ctx, expiry)
	return err
}

// describeKeys writes a table's keys as text: their names, types and roles, the partition key first.
func describeKeys(keys []types.KeySchemaElement, attributes []types.AttributeDefinition) string {
	kinds := make(map[string]types.ScalarAttributeType)
	for _, attribute := range attributes {
		kinds[aws.ToString(attribute.AttributeName)] = attribute.AttributeType
	}
	var text strings.Builder
	for _, key := range keys {
		name := aws.ToString(key.AttributeName)
		fmt.Fprintf(&text, "%s %s %s;", name, kinds[name], key.KeyType)
	}
	return text.String()
}
