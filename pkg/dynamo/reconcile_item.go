package dynamo

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/reconciliation"
	"shopfront/pkg/voucher"
)

// attributeType is what an attribute holds, in the words of findings.
type attributeType string

const (
	typeText   attributeType = "text"
	typeNumber attributeType = "a whole number"
	typeTruth  attributeType = "true or false"
)

// shape is which attributes an item has. Reading is lenient everywhere else: the shop only reads what it wrote. Attributes
// that a shape does not name do no harm.
type shape struct {
	always    map[string]attributeType
	sometimes map[string]attributeType
}

// check says what is wrong with an item of the shape.
func (s shape) check(it item) error {
	for _, name := range slices.Sorted(maps.Keys(s.always)) {
		if !it.has(name) {
			return fmt.Errorf("the attribute %s is missing", name)
		}
		if !isOf(s.always[name], it[name]) {
			return fmt.Errorf("the attribute %s is not %s", name, s.always[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.sometimes)) {
		if it.has(name) && !isOf(s.sometimes[name], it[name]) {
			return fmt.Errorf("the attribute %s is not %s", name, s.sometimes[name])
		}
	}
	return nil
}

func isOf(wanted attributeType, value types.AttributeValue) bool {
	switch value := value.(type) {
	case *types.AttributeValueMemberS:
		return wanted == typeText
	case *types.AttributeValueMemberBOOL:
		return wanted == typeTruth
	case *types.AttributeValueMemberN:
		_, err := strconv.ParseInt(value.Value, 10, 64)
		return wanted == typeNumber && err == nil
	default:
		return false
	}
}

func voucherShape() shape {
	return shape{
		always: map[string]attributeType{
			attrCode: typeText, attrReward: typeText, attrFrom: typeNumber, attrUntil: typeNumber, attrDisabled: typeTruth, attrCreated: typeNumber, attrVersion: typeNumber,
		},
		sometimes: map[string]attributeType{
			attrCurrency: typeText, attrMaxUses: typeNumber, attrPerNick: typeNumber, attrNick: typeText, attrNickHash: typeText, attrBatch: typeText, attrNote: typeText,
			attrCounters: typeNumber, attrFull: typeTruth, attrEditing: typeNumber, attrEditor: typeNumber,
			attrRedemption: typeText, attrToken: typeText, attrRedeemed: typeNumber, attrRedeemedBy: typeText,
		},
	}
}

func counterShape() shape {
	return shape{always: map[string]attributeType{attrLeft: typeNumber, attrUsed: typeNumber, attrVersion: typeNumber}}
}

func nickShape() shape { return shape{always: map[string]attributeType{attrTaken: typeNumber}} }

// accountReader reads the items of a customer's vouchers strictly.
type accountReader struct {
	table                  string
	customer               catalog.CustomerID
	voucher, counter, nick shape
}

func (s *Vouchers) newAccountReader(customer catalog.CustomerID) accountReader {
	return accountReader{table: s.table, customer: customer, voucher: voucherShape(), counter: counterShape(), nick: nickShape()}
}

func (r accountReader) newAccount(code voucher.Code) *reconciliation.Account {
	return reconciliation.NewAccount(code, placeOf(r.table, voucherKey{r.customer, code}.primary()))
}

func (r accountReader) place(it item) reconciliation.Place { return placeOf(r.table, keyOf(it)) }

func placeOf(table string, key primaryKey) reconciliation.Place {
	return reconciliation.Place{Table: table, Partition: key.partition, Sort: key.sort}
}

// isCode tells whether a code is one as it is compared.
func isCode(code voucher.Code) bool {
	parsed, err := voucher.ParseCode(string(code))
	return err == nil && parsed == code
}

// Errors that say what kind of fault an item has; any other is that it is malformed.
var (
	errMisplaced  = errors.New("the item does not belong where it stands")
	errIncomplete = errors.New("the redemption is incomplete")
)

// add adds an item to the account of its code.
func (r accountReader) add(account *reconciliation.Account, it item) {
	rest := strings.TrimPrefix(keyOf(it).sort, string(account.Code))
	var err error
	switch {
	case rest == "":
		err = r.addVoucher(account, it)
	case strings.HasPrefix(rest, counterInfix):
		err = r.addCounter(account, it, strings.TrimPrefix(rest, counterInfix))
	case strings.HasPrefix(rest, nickInfix):
		err = r.addNick(account, it, strings.TrimPrefix(rest, nickInfix))
	case strings.HasPrefix(rest, redemptionInfix):
		err = r.addRedemption(account, it, idempotency.Token(strings.TrimPrefix(rest, redemptionInfix)))
	default:
		err = errUnknownItem
	}
	if err == nil {
		return
	}
	kind := reconciliation.KindMalformed
	switch {
	case errors.Is(err, errMisplaced):
		kind = reconciliation.KindMisplaced
	case errors.Is(err, errIncomplete):
		kind = reconciliation.KindIncomplete
	}
	account.Fault(r.place(it), kind, err.Error())
}

// belongs is errMisplaced where the item has another key than the given.
func belongs(it item, key primaryKey) error {
	if stands := keyOf(it); stands != key {
		return fmt.Errorf("%w: it belongs to %s", errMisplaced, key.partition)
	}
	return nil
}

func (r accountReader) addVoucher(account *reconciliation.Account, it item) error {
	if err := belongs(it, voucherKey{r.customer, account.Code}.primary()); err != nil {
		return err
	}
	if err := r.voucher.check(it); err != nil {
		return err
	}
	kept, err := decodeVoucher(it)
	if err != nil {
		return err
	}
	if code, err := voucher.ParseCode(kept.Written); err != nil || code != kept.Code {
		return fmt.Errorf("%w: its code was written in another way", errMisplaced)
	}
	if nickCondition(kept.Nick) != it.str(attrNickHash) {
		return errors.New("the nick that it is bound to is not the one that is compared")
	}
	if err := wholeRedemption(it); err != nil {
		return err
	}
	account.AddVoucher(reconciliation.Voucher{Voucher: kept.Voucher, Editing: kept.editing})
	return nil
}

// wholeRedemption wants all of a single-use voucher's redemption, or nothing of it.
func wholeRedemption(it item) error {
	parts := []string{attrRedemption, attrToken, attrRedeemed}
	missing := slices.DeleteFunc(slices.Clone(parts), it.has)
	if len(missing) == 0 || len(missing) == len(parts) && !it.has(attrRedeemedBy) {
		return nil
	}
	return fmt.Errorf("%w: it lacks %s", errIncomplete, strings.Join(missing, ", "))
}

func (r accountReader) addCounter(account *reconciliation.Account, it item, rest string) error {
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 || n >= voucher.MaxCounters {
		return errors.New("the sort key names no counter")
	}
	if err := cmp.Or(belongs(it, counterKey{r.customer, account.Code, n}.primary()), r.counter.check(it)); err != nil {
		return err
	}
	counter := decodeCounter(n, it)
	account.AddCounter(r.place(it), reconciliation.Counter{
		Number: n, Left: counter.left, Used: counter.used, Edit: counter.version / writesPerEdit,
	})
	return nil
}

func (r accountReader) addNick(account *reconciliation.Account, it item, hash string) error {
	if err := belongs(it, primaryKey{bucketOf(r.customer, bucket(string(account.Code), hash)), keyOf(it).sort}); err != nil {
		return err
	}
	if err := r.nick.check(it); err != nil {
		return err
	}
	records, err := recordsOf(it)
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return errors.New("the item of a nick holds no redemption")
	}
	for _, record := range records {
		if nick, err := voucher.ParseNick(record.Nick); err != nil || hashNick(nick) != hash {
			return fmt.Errorf("%w: it holds a redemption of another nick", errMisplaced)
		}
	}
	account.AddNick(r.place(it), int(it.num(attrTaken)), records)
	return nil
}

func (r accountReader) addRedemption(account *reconciliation.Account, it item, token idempotency.Token) error {
	if err := belongs(it, redemptionKey{r.customer, account.Code, token}.primary()); err != nil {
		return err
	}
	records, err := recordsOf(it)
	if err != nil {
		return err
	}
	if len(records) != 1 || !it.has(recordAttrPrefix+string(token)) {
		return errors.New("the item holds not the one redemption that its sort key names")
	}
	account.AddRedemption(r.place(it), records[0])
	return nil
}

// recordsOf reads all redemptions that an item holds.
func recordsOf(it item) ([]reconciliation.Record, error) {
	var records []reconciliation.Record
	for name := range it {
		if !strings.HasPrefix(name, recordAttrPrefix) {
			continue
		}
		record, err := decodeRecord(it.str(name))
		if err != nil {
			return nil, err
		}
		nick := it.str(spellingAttrPrefix + record.spelling)
		if record.spelling != "" && nick == "" {
			return nil, errors.New("the nick of a redemption is missing")
		}
		records = append(records, reconciliation.Record{ID: record.id, At: record.at, Nick: nick})
	}
	return records, nil
}
