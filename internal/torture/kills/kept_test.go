package kills_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/internal/memdynamo/dynamotest"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

// subject is what one run is about: a voucher, a batch, or a whole shop.
type subject struct {
	shop    string
	isWhole bool
	code    string // as written
	batch   string
}

// nickID returns the NickID of alder, within the code summer20 of the subject's shop.
func (s subject) nickID(t *testing.T) string {
	t.Helper()
	return voucher.NickID(catalog.ShopID(s.shop), compared(t, summer20), nickOf(t, alder))
}

// plain replaces the subject's names in a string, so that strings about different subjects can be compared.
func (s subject) plain(t *testing.T, text string) string {
	t.Helper()
	return strings.NewReplacer(s.shop, "SHOP", s.code, "CODE", string(compared(t, s.code)), "CODE", s.batch,
		"BATCH", s.nickID(t), "NICK").Replace(text)
}

func compared(t *testing.T, written string) voucher.Code {
	t.Helper()
	code, err := voucher.ParseCode(written)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func nickOf(t *testing.T, written string) voucher.Nick {
	t.Helper()
	nick, err := voucher.ParseNick(written)
	if err != nil {
		t.Fatal(err)
	}
	return nick
}

// keptItem is a stored item.
type keptItem struct {
	table, shop, sort string
	attributes        map[string]any
}

// code returns the code of the item's voucher. For items of other tables it has no meaning.
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

// readKept reads every item of the shops whose IDs begin with the prefix.
func (b *bench) readKept(t *testing.T, prefix string) []keptItem {
	t.Helper()
	var kept []keptItem
	for _, table := range []string{b.Calm.Tables.Catalogue, b.Calm.Tables.Vouchers, b.Calm.Tables.Checkouts} {
		pages := dynamodb.NewScanPaginator(dynamotest.Client(t), &dynamodb.ScanInput{
			TableName: aws.String(table), ConsistentRead: aws.Bool(true),
			FilterExpression:          aws.String("begins_with(customer, :prefix)"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":prefix": &types.AttributeValueMemberS{Value: prefix}},
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, attributes := range page.Items {
				kept = append(kept, readItem(t, table, attributes))
			}
		}
	}
	return kept
}

func readItem(t *testing.T, table string, attributes map[string]types.AttributeValue) keptItem {
	t.Helper()
	it := keptItem{table: table, attributes: make(map[string]any)}
	for name, value := range attributes {
		it.attributes[name] = plainValue(t, value)
	}
	it.shop, _, _ = strings.Cut(it.text("customer"), "#")
	it.sort = it.text("sk")
	for _, name := range []string{"revoked", "expires", "expiresAt", "ordered", "fulfilled", "cancelled"} {
		if it.attributes[name] != nil {
			it.attributes[name] = "at some time"
		}
	}
	for name := range it.attributes {
		if strings.HasPrefix(name, "b#") { // a redemption: its time, and what it says
			_, said, _ := strings.Cut(it.text(name), "|")
			it.attributes[name] = said
		}
	}
	if strings.Contains(it.sort, "#r#") && it.attributes["undone"] != nil { // in other items, undone is a number
		it.attributes["undone"] = "at some time"
	}
	return it
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
	case *types.AttributeValueMemberSS:
		return slices.Sorted(slices.Values(value.Value))
	case *types.AttributeValueMemberB:
		return hex.EncodeToString(value.Value)
	case *types.AttributeValueMemberM:
		members := make(map[string]any)
		for name, member := range value.Value {
			members[name] = plainValue(t, member)
		}
		return members
	default:
		t.Fatalf("this test cannot compare attributes of the type %T", value)
		return nil
	}
}

// of returns the items that belong to the subject.
func (s subject) of(t *testing.T, kept []keptItem) []keptItem {
	t.Helper()
	inBatch := make(map[voucher.Code]bool)
	for _, it := range kept {
		if it.shop == s.shop && it.text("batch") == s.batch {
			inBatch[it.code()] = true
		}
	}
	var picked []keptItem
	for _, it := range kept {
		if it.shop == s.shop && (s.isWhole || it.code() == compared(t, s.code) || inBatch[it.code()]) {
			picked = append(picked, it)
		}
	}
	return picked
}

// codes returns the codes of the vouchers among the items, as written, sorted.
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

// mask says which parts of the stored items may differ from those of an undisturbed run.
type mask struct {
	// codes may differ, because they are random.
	codes bool
	// versions may differ. An interrupted edit uses up versions, and repeating a completed edit writes a new version.
	versions bool
	// shares of a limit's parts may differ. An edit that completes an interrupted edit leaves the same number of uses, but
	// spreads them differently.
	shares bool
	// ids of imported redemptions may differ, because they are random.
	ids bool
	// keys may differ, because an interrupted run may have left an unknown key.
	keys bool
}

// isKey reports whether the item is the record of a key.
func isKey(it keptItem) bool { return strings.HasPrefix(it.sort, "key#") }

// state returns all stored items of the subject, in a form that is the same for every subject with the same history. It
// leaves out the time at which a voucher was created. If codes are random, it also leaves out the buckets. The buckets
// follow from the sort keys, and `shopctl verify` checks them.
func (s subject) state(t *testing.T, kept []keptItem, m mask) string {
	t.Helper()
	var lines []string
	left, used := int64(0), int64(0)
	without := []string{"sk", "created", "keysCreated"}
	if !s.isWhole {
		without = append(without, "customer")
	}
	if m.versions {
		without = append(without, "version", "editor")
	}
	if m.codes {
		without = append(without, "code")
	}
	for _, it := range slices.DeleteFunc(s.of(t, kept), func(it keptItem) bool { return m.keys && isKey(it) }) {
		without := slices.Clone(without)
		sort := it.sort
		if m.codes {
			sort = strings.Replace(sort, string(it.code()), "RANDOM", 1)
		}
		if m.shares && it.attributes["left"] != nil {
			left, used = left+it.number(t, "left"), used+it.number(t, "used")
			without = append(without, "left", "used")
		}
		attributes := maps.Clone(it.attributes)
		if strings.Contains(it.sort, "#n#") || strings.Contains(it.sort, "#r#") { // the bucket depends on the shop
			delete(attributes, "customer")
		}
		maps.DeleteFunc(attributes, func(name string, _ any) bool {
			return slices.Contains(without, name) || m.ids && strings.HasPrefix(name, "b#")
		})
		text, err := json.Marshal(attributes)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, s.plain(t, it.table+" "+sort+" "+string(text)))
	}
	slices.Sort(lines)
	return fmt.Sprintf("%s\nin total: %d left, %d used", strings.Join(lines, "\n"), left, used)
}
