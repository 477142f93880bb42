package kills_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/local/dynamolocal/localtest"
	"shopfront/pkg/voucher"
)

// subject is what one run of a work is about: a voucher, a batch, or a customer as a whole.
type subject struct {
	customer string
	isWhole  bool
	code     string // as written
	batch    string
}

// plain replaces the subject's names in a text, so that texts about different subjects can be compared.
func (s subject) plain(t *testing.T, text string) string {
	t.Helper()
	return strings.NewReplacer(s.customer, "CUSTOMER", s.code, "CODE", string(compared(t, s.code)), "CODE", s.batch, "BATCH").Replace(text)
}

func compared(t *testing.T, written string) voucher.Code {
	t.Helper()
	code, err := voucher.ParseCode(written)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// keptItem is an item of one of the three tables.
type keptItem struct {
	table, customer, sort string
	attributes            map[string]any
}

// code is the voucher's that the item belongs to, or in the other tables something else.
func (it keptItem) code() voucher.Code {
	code, _, _ := strings.Cut(it.sort, "#")
	return voucher.Code(code)
}

func (it keptItem) text(name string) string {
	text, _ := it.attributes[name].(string)
	return text
}

func (it keptItem) number(t *testing.T, name string) int64 {
	t.Helper()
	number, is := it.attributes[name].(json.Number)
	if !is {
		t.Fatalf("%s has no number %s", it.sort, name)
	}
	n, err := number.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// readKept reads every item of the customers whose IDs begin with the prefix.
func (b *bench) readKept(t *testing.T, prefix string) []keptItem {
	t.Helper()
	var kept []keptItem
	for _, table := range []string{b.Calm.Tables.Catalogue, b.Calm.Tables.Vouchers, b.Calm.Tables.Checkouts} {
		pages := dynamodb.NewScanPaginator(localtest.Client(t), &dynamodb.ScanInput{
			TableName: aws.String(table), ConsistentRead: aws.Bool(true), FilterExpression: aws.String("begins_with(customer, :prefix)"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":prefix": &types.AttributeValueMemberS{Value: prefix}},
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, attributes := range page.Items {
				it := keptItem{table: table, attributes: make(map[string]any)}
				for name, value := range attributes {
					it.attributes[name] = plainValue(t, value)
				}
				it.customer, _, _ = strings.Cut(it.text("customer"), "#")
				it.sort = it.text("sk")
				kept = append(kept, it)
			}
		}
	}
	return kept
}

func plainValue(t *testing.T, value types.AttributeValue) any {
	t.Helper()
	switch value := value.(type) {
	case *types.AttributeValueMemberS:
		return value.Value
	case *types.AttributeValueMemberN:
		return json.Number(value.Value)
	case *types.AttributeValueMemberBOOL:
		return value.Value
	case *types.AttributeValueMemberL:
		list := make([]any, len(value.Value))
		for i, element := range value.Value {
			list[i] = plainValue(t, element)
		}
		return list
	case *types.AttributeValueMemberM:
		members := make(map[string]any)
		for name, member := range value.Value {
			members[name] = plainValue(t, member)
		}
		return members
	default:
		t.Fatalf("an attribute of type %T", value)
		return nil
	}
}

// of picks the items that belong to the subject.
func (s subject) of(t *testing.T, kept []keptItem) []keptItem {
	t.Helper()
	inBatch := make(map[voucher.Code]bool)
	for _, it := range kept {
		if it.customer == s.customer && it.text("batch") == s.batch {
			inBatch[it.code()] = true
		}
	}
	var picked []keptItem
	for _, it := range kept {
		if it.customer == s.customer && (s.isWhole || it.code() == compared(t, s.code) || inBatch[it.code()]) {
			picked = append(picked, it)
		}
	}
	return picked
}

// codes are the codes of the vouchers among the items, as written, in order.
func codes(kept []keptItem) []string {
	var codes []string
	for _, it := range kept {
		if written := it.text("code"); written != "" {
			codes = append(codes, written)
		}
	}
	slices.Sort(codes)
	return codes
}

// mask is how much of what is kept may differ from what an undisturbed run keeps.
type mask struct {
	// codes are random.
	codes bool
	// versions: an edit that was interrupted has taken some, and one that had ended is written again by the next.
	versions bool
	// shares: an edit of a limit spreads over the counters what is missing when it begins, so that one which goes on from
	// another leaves the same uses in other places.
	shares bool
}

// state returns all stored items of the subject, in a form that is the same for every subject with the same history. It leaves out
// the time at which a voucher was created. If codes are random, it also leaves out the buckets: they follow from the sort keys, and
// `shopctl verify` checks them.
func (s subject) state(t *testing.T, kept []keptItem, m mask) string {
	t.Helper()
	var lines []string
	left, used := int64(0), int64(0)
	for _, it := range s.of(t, kept) {
		without := []string{"sk", "created"}
		if !s.isWhole {
			without = append(without, "customer")
		}
		if m.versions {
			without = append(without, "version", "editor")
		}
		sort := it.sort
		if m.codes {
			without = append(without, "code")
			sort = strings.Replace(sort, string(it.code()), "RANDOM", 1)
		}
		if m.shares && strings.Contains(it.sort, "#c#") {
			left, used = left+it.number(t, "left"), used+it.number(t, "used")
			without = append(without, "left", "used")
		}
		attributes := maps.Clone(it.attributes)
		for _, name := range without {
			delete(attributes, name)
		}
		text, err := json.Marshal(attributes)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, s.plain(t, it.table+" "+sort+" "+string(text)))
	}
	slices.Sort(lines)
	return fmt.Sprintf("%s\ncounters moved: %d left, %d used", strings.Join(lines, "\n"), left, used)
}
