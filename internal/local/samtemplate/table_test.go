package samtemplate_test

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/samtemplate"
	"shopfront/internal/memdynamo/dynamotest"
)

func TestTable_ExistingWithOtherKeysIndexOrStream_IsRejected(t *testing.T) {
	client := dynamotest.Client(t)
	template, err := samtemplate.Load(repository, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkouts := template.Tables[slices.IndexFunc(template.Tables,
		func(t samtemplate.Table) bool { return t.LogicalID == "Checkouts" })]
	for what, change := range map[string]func(*samtemplate.Table){
		"a key of another type": func(other *samtemplate.Table) {
			other.Attributes[1].AttributeType = types.ScalarAttributeTypeN
		},
		"an index of another name": func(other *samtemplate.Table) { other.Indexes[0].IndexName = aws.String("sales") },
		"no stream":                func(other *samtemplate.Table) { other.Stream = "" },
	} {
		other, name := checkouts, "checkouts-"+rand.Text()
		other.Indexes, other.Attributes = slices.Clone(other.Indexes), slices.Clone(other.Attributes)
		change(&other)
		for range 2 {
			if err := other.Create(t.Context(), client, name); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		if err := checkouts.Create(t.Context(), client, name); err == nil || !strings.Contains(err.Error(), "differ") {
			t.Errorf("%s: got %v, want an error about the difference", what, err)
		}
	}
}
