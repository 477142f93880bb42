package backoffice

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"shopfront/pkg/audit"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/voucher"
)

// accountReader reads the items of a shop's vouchers strictly.
type accountReader struct{ *Shop }

func (r accountReader) newAccount(code voucher.Code) *audit.Account {
	return audit.NewAccount(code, placeOf(r.Tables.Vouchers, table.VoucherKey(r.Profile.ID, code)))
}

func (r accountReader) place(it table.Item) audit.Place {
	return placeOf(r.Tables.Vouchers, table.KeyOf(it))
}

func placeOf(name string, key table.Key) audit.Place {
	return audit.Place{Table: name, Partition: key.Partition, Sort: key.Sort}
}

// isCode reports whether a string is a normalized code.
func isCode(code voucher.Code) bool {
	parsed, err := voucher.ParseCode(string(code))
	return err == nil && parsed == code
}

// errMisplaced means that an item is misplaced. Any other error means that it is malformed.
var errMisplaced = errors.New("the item has the wrong key")

// add adds an item to the account of its code.
func (r accountReader) add(account *audit.Account, it table.Item) {
	rest := strings.TrimPrefix(table.KeyOf(it).Sort, string(account.Code))
	var err error
	switch {
	case rest == "":
		err = r.addVoucher(account, it)
	case strings.HasPrefix(rest, table.PartInfix):
		err = r.addPart(account, it, strings.TrimPrefix(rest, table.PartInfix))
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
	kind := audit.KindMalformed
	if errors.Is(err, errMisplaced) {
		kind = audit.KindMisplaced
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

// checkAt returns an error if the key of the item is not the given key, and like check.
func checkAt(key table.Key, it table.Item, required ...string) error {
	if err := belongs(it, key); err != nil {
		return err
	}
	return check(it, required...)
}

func (r accountReader) addVoucher(account *audit.Account, it table.Item) error {
	err := checkAt(table.VoucherKey(r.Profile.ID, account.Code), it, table.AttrCode, table.AttrReward,
		table.AttrFrom, table.AttrUntil, table.AttrDisabled, table.AttrCreated, table.AttrVersion)
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
	if it.Str(table.AttrNickHash) != table.NickCondition(v.Nick) {
		return errors.New("the voucher's nick does not match the hash of the nick")
	}
	if required := []string{table.AttrLeft, table.AttrUsed}; it.Has(table.AttrLimit) {
		err = check(it, required...)
	}
	records, damaged := r.records(account, it)
	if err := errors.Join(err, damaged); err != nil {
		return err
	}
	account.AddVoucher(v.Voucher, auditedItem(v.Allowance), records, v.Apart)
	return nil
}

// auditedItem returns an item of an allowance as the audit reads it.
func auditedItem(a table.Allowance) audit.Item {
	item := audit.Item{Left: a.Left, Used: a.Used, Counted: a.Counted}
	for _, hold := range a.Holds {
		item.Holds = append(item.Holds, audit.Hold{Holder: hold.Holder, Amount: hold.Amount, Until: hold.Until})
	}
	return item
}

func (r accountReader) addPart(account *audit.Account, it table.Item, rest string) error {
	number, err := strconv.Atoi(rest)
	if err != nil || number < 0 || number >= voucher.MaxParts {
		return errors.New("the sort key does not name a part")
	}
	key := table.PartKey(r.Profile.ID, account.Code, number)
	if err := checkAt(key, it, table.AttrLeft, table.AttrUsed); err != nil {
		return err
	}
	part, err := table.DecodeAllowance(it)
	if err == nil {
		account.AddPart(r.place(it), number, auditedItem(part))
	}
	return err
}

func (r accountReader) addNick(account *audit.Account, it table.Item, nick string) error {
	key := table.NickKey(r.Profile.ID, account.Code, nick)
	if err := checkAt(key, it, table.AttrLimit, table.AttrLeft); err != nil {
		return err
	}
	records, err := r.records(account, it)
	if err != nil {
		return err
	}
	a, err := table.DecodeAllowance(it)
	if err != nil {
		return err
	}
	for _, record := range records {
		if r.nickID(account, record) != nick {
			return fmt.Errorf("%w: it holds a redemption of another nick", errMisplaced)
		}
	}
	account.AddNick(r.place(it), audit.Nick{
		Item: auditedItem(a), ID: nick, Limit: a.Limit, Apart: it.Bool(table.AttrApart), Redemptions: records,
	})
	return nil
}

// nickID returns the NickID of a redemption's nick. It is empty if the nick cannot be read.
func (r accountReader) nickID(account *audit.Account, redemption voucher.Redemption) string {
	nick, err := voucher.ParseNick(redemption.Nick)
	if err != nil {
		return ""
	}
	return voucher.NickID(r.Profile.ID, account.Code, nick)
}

func (r accountReader) addRedemption(account *audit.Account, it table.Item, token idempotency.Token) error {
	if err := checkAt(table.RedemptionKey(r.Profile.ID, account.Code, token), it); err != nil {
		return err
	}
	records, err := r.records(account, it)
	if err != nil {
		return err
	}
	if len(records) != 1 || records[0].ID != string(token) {
		return errors.New("the item does not hold exactly the redemption that its sort key names")
	}
	if _, err := voucher.ParseUndoReason(it.Str(table.AttrReason)); err != nil ||
		it.Has(table.AttrUndone) != it.Has(table.AttrReason) {
		return errors.New("an undone redemption must have a valid " + table.AttrReason +
			", and any other redemption must not have one")
	}
	account.AddRedemption(r.place(it), records[0], r.nickID(account, records[0]))
	return nil
}

// records reads all redemptions in an item. Each must name the code.
func (accountReader) records(account *audit.Account, it table.Item) ([]voucher.Redemption, error) {
	records, err := table.Records(it)
	if code, _ := voucher.ParseCode(it.Str(table.AttrCode)); err == nil && len(records) > 0 && code != account.Code {
		err = errors.New("the attribute " + table.AttrCode + " is not the code of the redemptions")
	}
	return records, err
}
