package backoffice

import (
	"errors"
	"fmt"
	"slices"
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
	if err := wholeRedemption(it); err != nil {
		return err
	}
	if it.Has(table.AttrFullUntil) && !it.Has(table.AttrFullVersion) {
		return errors.New("the attribute " + table.AttrFullVersion + " is missing")
	}
	account.AddVoucher(voucher.Standing{Voucher: v.Voucher, Editing: v.Editing})
	return nil
}

// wholeRedemption returns errIncomplete if a single-use voucher has only a part of a redemption or hold.
func wholeRedemption(it table.Item) error {
	parts := []string{table.AttrRedemption, table.AttrToken, table.AttrRedeemed}
	missing := slices.DeleteFunc(slices.Clone(parts), it.Has)
	if len(missing) == 0 || len(missing) == len(parts) && !it.Has(table.AttrRedeemedBy) &&
		!it.Has(table.AttrHeldUntil) {
		return nil
	}
	return fmt.Errorf("%w: %s is missing", errIncomplete, strings.Join(missing, ", "))
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

func (r accountReader) addNick(account *audit.Account, it table.Item, hash string) error {
	if err := checkAt(table.NickKey(r.Profile.ID, account.Code, hash), it, table.AttrTaken); err != nil {
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
		if nick, err := voucher.ParseNick(record.Nick); err != nil || hash != table.HashNick(nick) {
			return fmt.Errorf("%w: it holds a redemption of another nick", errMisplaced)
		}
	}
	account.AddNick(r.place(it), audit.Nick{
		Holder: hash, Compared: comparedNick(it), Taken: uses.Taken, Undone: uses.Undone, Redemptions: records,
		Holds: uses.Holds,
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

func (r accountReader) addRedemption(account *audit.Account, it table.Item, token idempotency.Token) error {
	if err := checkAt(table.RedemptionKey(r.Profile.ID, account.Code, token), it); err != nil {
		return err
	}
	records, err := recordsOf(it)
	if err != nil {
		return err
	}
	if len(records) != 1 || !it.Has(table.RecordPrefix+string(token)) {
		return errors.New("the item does not hold exactly the redemption that its sort key names")
	}
	if _, err := voucher.ParseUndoReason(it.Str(table.AttrReason)); err != nil ||
		it.Has(table.AttrUndone) != it.Has(table.AttrReason) {
		return errors.New("an undone redemption must have a valid " + table.AttrReason +
			", and any other redemption must not have one")
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
