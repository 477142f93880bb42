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

// These errors determine the kind of a finding. Any other error means that the item is malformed.
var (
	errMisplaced  = errors.New("the item has the wrong key")
	errIncomplete = errors.New("the redemption is incomplete")
)

// add adds an item to the account of its code.
func (r accountReader) add(account *audit.Account, it table.Item) {
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
	kind := audit.KindMalformed
	switch {
	case errors.Is(err, errMisplaced):
		kind = audit.KindMisplaced
	case errors.Is(err, errIncomplete):
		kind = audit.KindIncomplete
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
	if err := wholeRedemption(it, v.Voucher); err != nil {
		return err
	}
	if it.Has(table.AttrFullUntil) && !it.Has(table.AttrFullVersion) {
		return errors.New("the attribute " + table.AttrFullVersion + " is missing")
	}
	account.AddVoucher(voucher.Standing{Voucher: v.Voucher, Editing: v.Editing})
	return nil
}

// wholeRedemption returns errIncomplete if a voucher has only a part of a redemption or hold.
func wholeRedemption(it table.Item, v voucher.Voucher) error {
	switch records, err := table.Records(it); {
	case err != nil:
		return err
	case len(records) > 1 || len(records) == 1 && v.Held != nil:
		return errors.New("the voucher has more than one redemption or hold")
	case v.SingleUse() && it.Num(table.AttrUsed) != int64(len(records)):
		return fmt.Errorf("%w: the attribute %s is %d, but the voucher has %d redemptions", errIncomplete,
			table.AttrUsed, it.Num(table.AttrUsed), len(records))
	case it.Has(table.AttrHold) != it.Has(table.AttrHeldUntil), it.Has(table.AttrHeldBy) && !it.Has(table.AttrHold):
		return fmt.Errorf("%w: %s or %s is missing", errIncomplete, table.AttrHold, table.AttrHeldUntil)
	default:
		return nil
	}
}

func (r accountReader) addCounter(account *audit.Account, it table.Item, rest string) error {
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 || n >= voucher.MaxCounters {
		return errors.New("the sort key does not name a counter")
	}
	key := table.CounterKey(r.Profile.ID, account.Code, n)
	if err := checkAt(key, it, table.AttrLeft, table.AttrUsed, table.AttrVersion); err != nil {
		return err
	}
	counter := table.DecodeCounter(n, it)
	account.AddCounter(r.place(it), audit.Counter{
		Number: n, Left: counter.Left, Used: counter.Used, Edit: counter.Version / writesPerEdit, Lapse: counter.Lapse,
	})
	return nil
}

func (r accountReader) addHold(account *audit.Account, it table.Item) error {
	hold, holder, err := table.DecodeHoldItem("", it)
	if err != nil {
		return err
	}
	key := table.HoldKey(r.Profile.ID, account.Code, hold)
	if key.Sort != table.KeyOf(it).Sort || hold.Counter < 0 || hold.Counter >= voucher.MaxCounters {
		return errors.New("the sort key does not name a hold")
	}
	if err := checkAt(key, it); err != nil {
		return err
	}
	account.AddHold(r.place(it), hold, holder)
	return nil
}

func (r accountReader) addNick(account *audit.Account, it table.Item, nick string) error {
	if err := checkAt(table.NickKey(r.Profile.ID, account.Code, nick), it, table.AttrTaken); err != nil {
		return err
	}
	records, err := recordsOf(account, it)
	if err != nil {
		return err
	}
	uses, err := table.DecodeNickUses("", it)
	if err != nil {
		return err
	}
	for _, record := range records {
		if r.nickID(account, record) != nick {
			return fmt.Errorf("%w: it holds a redemption of another nick", errMisplaced)
		}
	}
	account.AddNick(r.place(it), audit.Nick{
		Holder: nick, Taken: uses.Taken, Undone: uses.Undone, Redemptions: records, Holds: uses.Holds,
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
	records, err := recordsOf(account, it)
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

// recordsOf reads all redemptions in an item. Each must name the code.
func recordsOf(account *audit.Account, it table.Item) ([]voucher.Redemption, error) {
	records, err := table.Records(it)
	if code, _ := voucher.ParseCode(it.Str(table.AttrCode)); err == nil && len(records) > 0 && code != account.Code {
		err = errors.New("the attribute " + table.AttrCode + " is not the code of the redemptions")
	}
	return records, err
}
