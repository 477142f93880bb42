package backoffice

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
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/reconciliation"
	"shopfront/pkg/voucher"
)

// attributeType is the type of an attribute, as messages of findings name it.
type attributeType string

const (
	typeText   attributeType = "text"
	typeNumber attributeType = "a whole number"
	typeTruth  attributeType = "true or false"
)

// typeOf returns the type that the attribute with the given name must have. For a name that is not listed here, such as one that begins
// with RecordPrefix, it returns "".
func typeOf(name string) attributeType {
	switch name {
	case table.AttrCode, table.AttrReward, table.AttrCurrency, table.AttrNick, table.AttrNickHash, table.AttrBatch, table.AttrNote,
		table.AttrRedemption, table.AttrToken, table.AttrRedeemedBy,
		table.AttrRedeemPolicy, table.AttrCheckOutPolicy, table.AttrName,
		table.AttrID, table.AttrProduct, table.AttrVariant, table.AttrData, table.AttrStatus,
		table.AttrOrdered, table.AttrPayment, table.AttrReason, table.AttrUse, table.AttrBuyer, table.AttrHolder, table.AttrUndoneBy:
		return typeText
	case table.AttrMaxUses, table.AttrPerNick, table.AttrFrom, table.AttrUntil, table.AttrCreated, table.AttrVersion,
		table.AttrCounters, table.AttrEditing, table.AttrEditor, table.AttrRedeemed, table.AttrLeft, table.AttrUsed, table.AttrTaken,
		table.AttrRefusalLimit, table.AttrRefusalWindow, table.AttrKeysCreated, table.AttrKeyExpires, table.AttrRevoked,
		table.AttrAmount, table.AttrUnitPrice, table.AttrSubtotal, table.AttrDiscount, table.AttrTotal, table.AttrExpires, table.AttrExpiresAt,
		table.AttrFulfilled, table.AttrCancelled,
		table.AttrHeldUntil, table.AttrFullUntil, table.AttrFullVersion, table.AttrOver, table.AttrReturns, table.AttrLapse, table.AttrUndone, table.AttrImported:
		return typeNumber
	case table.AttrDisabled, table.AttrObject, table.AttrPausedAll:
		return typeTruth
	default:
		return ""
	}
}

// check returns an error if a required attribute is missing or an attribute has the wrong type. All other code reads items leniently,
// because only Shopfront writes them.
func check(it table.Item, required ...string) error {
	for _, name := range required {
		if !it.Has(name) {
			return fmt.Errorf("the attribute %s is missing", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(it)) {
		if wanted := typeOf(name); wanted != "" && !isOf(wanted, it[name]) {
			return fmt.Errorf("the attribute %s is not %s", name, wanted)
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

// accountReader reads the items of a customer's vouchers strictly.
type accountReader struct {
	table    string
	customer catalog.CustomerID
}

func (r accountReader) newAccount(code voucher.Code) *reconciliation.Account {
	return reconciliation.NewAccount(code, placeOf(r.table, table.VoucherKey(r.customer, code)))
}

func (r accountReader) place(it table.Item) reconciliation.Place {
	return placeOf(r.table, table.KeyOf(it))
}

func placeOf(name string, key table.Key) reconciliation.Place {
	return reconciliation.Place{Table: name, Partition: key.Partition, Sort: key.Sort}
}

// isCode reports whether a string is a normalized code.
func isCode(code voucher.Code) bool {
	parsed, err := voucher.ParseCode(string(code))
	return err == nil && parsed == code
}

// These errors determine the kind of a finding. Any other error means that the item is malformed.
var (
	errMisplaced  = errors.New("the item has the wrong key")
	errIncomplete = errors.New("the redemption is incomplete")
)

// add adds an item to the account of its code.
func (r accountReader) add(account *reconciliation.Account, it table.Item) {
	rest := strings.TrimPrefix(table.KeyOf(it).Sort, string(account.Code))
	var err error
	switch {
	case rest == "":
		err = r.addVoucher(account, it)
	case strings.HasPrefix(rest, table.CounterInfix):
		err = r.addCounter(account, it, strings.TrimPrefix(rest, table.CounterInfix))
	case strings.HasPrefix(rest, table.HoldInfix):
		err = r.addHold(account, it)
	case strings.HasPrefix(rest, table.NickInfix):
		err = r.addNick(account, it, strings.TrimPrefix(rest, table.NickInfix))
	case strings.HasPrefix(rest, table.RedemptionInfix):
		err = r.addRedemption(account, it, idempotency.Token(strings.TrimPrefix(rest, table.RedemptionInfix)))
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

// belongs returns errMisplaced if the key of the item is not the given key.
func belongs(it table.Item, key table.Key) error {
	if table.KeyOf(it) != key {
		return fmt.Errorf("%w: it belongs to %s", errMisplaced, key.Partition)
	}
	return nil
}

func (r accountReader) addVoucher(account *reconciliation.Account, it table.Item) error {
	err := cmp.Or(
		belongs(it, table.VoucherKey(r.customer, account.Code)),
		check(it, table.AttrCode, table.AttrReward, table.AttrFrom, table.AttrUntil, table.AttrDisabled, table.AttrCreated, table.AttrVersion),
	)
	if err != nil {
		return err
	}
	v, err := table.DecodeVoucher(it)
	if err != nil {
		return err
	}
	if code, err := voucher.ParseCode(v.Written); err != nil || code != v.Code {
		return fmt.Errorf("%w: its code differs from the one in the sort key", errMisplaced)
	}
	if hash := it.Str(table.AttrNickHash); (hash == "") != (v.Nick.Written == "") || hash != "" && !table.IsHashOf(v.Nick, hash) {
		return errors.New("the voucher's nick does not match the hash of the nick")
	}
	if err := wholeRedemption(it); err != nil {
		return err
	}
	if it.Has(table.AttrFullUntil) && !it.Has(table.AttrFullVersion) {
		return errors.New("the attribute " + table.AttrFullVersion + " is missing")
	}
	account.AddVoucher(reconciliation.Voucher{
		Standing: voucher.Standing{Voucher: v.Voucher, Editing: v.Editing}, LacksOver: !it.Has(table.AttrOver),
	})
	return nil
}

// wholeRedemption returns errIncomplete if a single-use voucher has only a part of a redemption or hold.
func wholeRedemption(it table.Item) error {
	parts := []string{table.AttrRedemption, table.AttrToken, table.AttrRedeemed}
	missing := slices.DeleteFunc(slices.Clone(parts), it.Has)
	if len(missing) == 0 || len(missing) == len(parts) && !it.Has(table.AttrRedeemedBy) && !it.Has(table.AttrHeldUntil) {
		return nil
	}
	return fmt.Errorf("%w: %s is missing", errIncomplete, strings.Join(missing, ", "))
}

func (r accountReader) addCounter(account *reconciliation.Account, it table.Item, rest string) error {
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 || n >= voucher.MaxCounters {
		return errors.New("the sort key does not name a counter")
	}
	err = cmp.Or(
		belongs(it, table.CounterKey(r.customer, account.Code, n)),
		check(it, table.AttrLeft, table.AttrUsed, table.AttrVersion),
	)
	if err != nil {
		return err
	}
	counter := table.DecodeCounter(n, it)
	account.AddCounter(r.place(it), reconciliation.Counter{
		Number: n, Left: counter.Left, Used: counter.Used, Edit: counter.Version / writesPerEdit, Lapse: counter.Lapse,
	})
	return nil
}

func (r accountReader) addHold(account *reconciliation.Account, it table.Item) error {
	hold, holder, err := table.DecodeHoldItem("", it)
	if err != nil {
		return err
	}
	key := table.HoldKey(r.customer, account.Code, hold)
	if key.Sort != table.KeyOf(it).Sort || hold.Counter < 0 || hold.Counter >= voucher.MaxCounters {
		return errors.New("the sort key does not name a hold")
	}
	if err := cmp.Or(belongs(it, key), check(it)); err != nil {
		return err
	}
	account.AddHold(r.place(it), hold, holder)
	return nil
}

func (r accountReader) addNick(account *reconciliation.Account, it table.Item, hash string) error {
	if err := cmp.Or(belongs(it, table.NickKey(r.customer, account.Code, hash)), check(it, table.AttrTaken)); err != nil {
		return err
	}
	records, err := recordsOf(it)
	if err != nil {
		return err
	}
	uses, err := table.DecodeNickUses("", it)
	if err != nil {
		return err
	}
	for _, record := range records {
		if nick, err := voucher.ParseNick(record.Nick); err != nil || !table.IsHashOf(nick, hash) {
			return fmt.Errorf("%w: it holds a redemption of another nick", errMisplaced)
		}
	}
	account.AddNick(r.place(it), reconciliation.Nick{
		Holder: hash, Compared: comparedNick(it), Taken: uses.Taken, Undone: uses.Undone, Redemptions: records, Holds: uses.Holds,
	})
	return nil
}

// comparedNick returns the compared form of an item's nick. If the item has no spelling of the nick, it returns "".
func comparedNick(it table.Item) string {
	for name := range it {
		if !strings.HasPrefix(name, table.SpellingPrefix) {
			continue
		}
		if nick, err := voucher.ParseNick(it.Str(name)); err == nil {
			return nick.Compared
		}
	}
	return ""
}

func (r accountReader) addRedemption(account *reconciliation.Account, it table.Item, token idempotency.Token) error {
	if err := cmp.Or(belongs(it, table.RedemptionKey(r.customer, account.Code, token)), check(it)); err != nil {
		return err
	}
	records, err := recordsOf(it)
	if err != nil {
		return err
	}
	if len(records) != 1 || !it.Has(table.RecordPrefix+string(token)) {
		return errors.New("the item does not hold exactly the redemption that its sort key names")
	}
	if _, err := voucher.ParseUndoReason(it.Str(table.AttrReason)); err != nil || it.Has(table.AttrUndone) != it.Has(table.AttrReason) {
		return errors.New("an undone redemption must have a valid " + table.AttrReason + ", and any other redemption must not have one")
	}
	if it.Has(table.AttrUndone) {
		records[0].Undone, records[0].Imported = it.Time(table.AttrUndone), it.Has(table.AttrImported)
	}
	account.AddRedemption(r.place(it), records[0])
	return nil
}

// recordsOf reads all redemptions in an item.
func recordsOf(it table.Item) ([]voucher.Redemption, error) {
	var records []voucher.Redemption
	for name := range it {
		if !strings.HasPrefix(name, table.RecordPrefix) {
			continue
		}
		record, spelling, err := table.DecodeRecord(it.Str(name))
		if err != nil {
			return nil, err
		}
		record.Nick = it.Str(table.SpellingPrefix + spelling)
		if spelling != "" && record.Nick == "" {
			return nil, errors.New("the nick of a redemption is missing")
		}
		records = append(records, record)
	}
	return records, nil
}
