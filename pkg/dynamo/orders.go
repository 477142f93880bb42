package dynamo

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/catalog"
	"shopfront/pkg/checkout"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/idempotency"
	"shopfront/pkg/money"
)

// OrdersIndex is the name of the index that List reads.
const OrdersIndex = table.OrdersIndex

// Orders stores orders in a table of checkouts: an order is its checkout's item, with more attributes. It implements
// checkout.OrderStore. Each change is one conditional write, so concurrent requests and retries apply it only once. If
// the checkout has a code, placing the order turns the hold into a redemption in the same transaction, and cancelling
// the order undoes that redemption. Create it with NewOrders.
type Orders struct {
	uses

	checkouts string
}

// NewOrders returns a store of the orders in a table of checkouts. Only Place and Cancel need the table of vouchers.
// random is as in NewRedeemer.
func NewOrders(api UsesAPI, checkouts, vouchers string, random func(n int64) int64) *Orders {
	return &Orders{uses{api, vouchers, random}, checkouts}
}

// Place makes a checkout an order. It removes the time to live, because orders are permanent. A checkout without a code
// and a payment without an amount take one call, any other two.
func (s *Orders) Place(
	ctx context.Context, shop catalog.ShopID, id checkout.ID, order checkout.Order, expiresAfter time.Time,
) (c checkout.Checkout, err error) {
	states := order.Payment.Amount != (money.Money{})
	if states {
		c, err = s.Recall(ctx, shop, id.Token()) // the amount must cover its total
	} else {
		call := placement(shop, id, order, expiresAfter)
		call.RequireEqual(table.AttrUse, nil)
		c, err = s.update(ctx, call)
	}
	isOpen := c.ID == id && !c.HasEnded() && c.Expires.After(expiresAfter)
	isPaid := order.Payment != (checkout.Payment{}) || c.Total.Minor == 0
	if err != nil || c.Hold == nil && !states || !isOpen || !isPaid {
		return c, err // the checkout is unchanged so far: continue only if its code or the amount is the sole reason
	}
	c, err = s.placeTogether(ctx, shop, c, order, expiresAfter)
	return c, table.Outcome(err)
}

// placement returns the update that makes an open checkout an order.
func placement(
	shop catalog.ShopID, id checkout.ID, order checkout.Order, expiresAfter time.Time,
) *table.Update {
	call := updateWhile(shop, id, table.StatusOpen)
	call.Set(table.AttrStatus, table.Str(table.StatusOrdered))
	call.Set(table.AttrOrdered, table.Str(table.OrderedAt(order.Placed, id.Token())))
	call.Set(table.AttrShelf, table.Str(table.ShelfOf(shop, id.Token())))
	call.Remove(table.AttrExpiresAt)
	call.Require("#expires > :after")
	call.Name(table.AttrExpires)
	call.Value(":after", table.Millis(expiresAfter))
	if order.Payment == (checkout.Payment{}) {
		call.Require("#total = :zero")
		call.Name(table.AttrTotal)
		call.Value(":zero", table.Num(0))
	} else {
		call.Set(table.AttrPayment, table.Str(table.EncodePayment(order.Payment)))
	}
	if amount := order.Payment.Amount; amount != (money.Money{}) {
		call.Set(table.AttrPaid, table.Num(amount.Minor))
	}
	return call
}

// spending returns the action that adds a total to what was spent of a payment's stated amount. The first order that
// states an amount creates the item. The amount must cover the total.
func (s *Orders) spending(shop catalog.ShopID, payment checkout.Payment, total money.Money) action {
	call := &table.Update{Key: table.PaymentKey(shop, payment)}
	call.Set(table.AttrPaid, table.Num(payment.Amount.Minor))
	call.Set(table.AttrCurrency, table.Str(payment.Amount.Currency))
	call.Add(table.AttrSpent, int(total.Minor))
	call.Require("(attribute_not_exists(#paid) OR #paid = :paid_new AND #currency = :currency_new AND #spent <= :most)")
	call.Value(":most", table.Num(payment.Amount.Minor-total.Minor))
	return updating(s.checkouts, call, func(old table.Item) error {
		err := payment.Cover(total, table.DecodePayment("", old).Amount, old.Num(table.AttrSpent))
		if err != nil {
			return err
		}
		return errLookAgain
	})
}

// Fulfil marks the order as fulfilled.
func (s *Orders) Fulfil(
	ctx context.Context, shop catalog.ShopID, id checkout.ID, at time.Time,
) (checkout.Checkout, error) {
	call := updateWhile(shop, id, table.StatusOrdered)
	call.Set(table.AttrFulfilled, table.Millis(at))
	call.Require("attribute_not_exists(#fulfilled)")
	return s.update(ctx, call)
}

// Cancel marks the order as cancelled. A checkout without a code takes one call.
func (s *Orders) Cancel(
	ctx context.Context, shop catalog.ShopID, id checkout.ID, reason string, at time.Time,
) (checkout.Checkout, error) {
	call := cancellation(shop, id, reason, at)
	call.RequireEqual(table.AttrUse, nil)
	c, err := s.update(ctx, call)
	if err != nil || c.ID != id || c.Hold == nil || c.Order == nil || c.Order.Status() == checkout.OrderCancelled {
		return c, err // as in Place
	}
	c, err = s.cancelHeld(ctx, shop, c, reason, at)
	return c, table.Outcome(err)
}

// cancellation returns the update that cancels an order.
func cancellation(shop catalog.ShopID, id checkout.ID, reason string, at time.Time) *table.Update {
	call := updateWhile(shop, id, table.StatusOrdered)
	call.Set(table.AttrStatus, table.Str(table.StatusCancelled))
	call.Set(table.AttrCancelled, table.Millis(at))
	call.Set(table.AttrReason, table.Str(reason))
	return call
}

// updateWhile begins an update of the checkout with the given ID. The update requires that the checkout has the given
// status. It creates no item, because only an existing item has an #id.
func updateWhile(shop catalog.ShopID, id checkout.ID, status string) *table.Update {
	call := &table.Update{Key: table.CheckoutKey(shop, id.Token())}
	call.Require("#id = :id AND #status = :status")
	call.Name(table.AttrID, table.AttrStatus)
	call.Value(":id", table.Str(id))
	call.Value(":status", table.Str(status))
	return call
}

// update sends the update and returns the checkout as it is stored afterwards. If the condition fails, the checkout is
// unchanged.
func (s *Orders) update(ctx context.Context, call *table.Update) (checkout.Checkout, error) {
	changed, err := s.api.UpdateItem(ctx, call.Input(s.checkouts, types.ReturnValueAllNew))
	old, failed := table.OldItem(err)
	switch {
	case failed && len(old) == 0:
		return checkout.Checkout{}, checkout.ErrNotFound
	case failed:
		return table.DecodeCheckout(old), nil
	case err != nil:
		return checkout.Checkout{}, table.Outcome(err)
	}
	return table.DecodeCheckout(changed.Attributes), nil
}

// maxPageRounds bounds the calls for one page. If a status is rare among many orders, pages get short instead of slow.
const maxPageRounds = 5

// List reads a page of orders from the index. The index is usually less than a second behind. A round of calls reads
// all shelves at once. One round usually fills a page, because each call asks for twice its share of the page.
func (s *Orders) List(
	ctx context.Context, shop catalog.ShopID, filter checkout.OrderFilter,
) (orders []checkout.Checkout, end *checkout.OrderPosition, err error) {
	var shelves [table.Shelves]shelf
	for number := range shelves {
		shelves[number] = shelf{query: s.listing(shop, number, filter), more: true}
	}
	for range maxPageRounds {
		var calls sync.WaitGroup
		for number := range shelves {
			calls.Go(func() { shelves[number].read(ctx, s.api) })
		}
		calls.Wait()
		orders, end, err = merge(shelves[:], filter)
		if err != nil || end == nil || len(orders) == filter.Limit {
			break
		}
	}
	return orders, end, table.Outcome(err)
}

// shelf is a shelf that is being read for a page.
type shelf struct {
	query *dynamodb.QueryInput // starts where the previous call ended
	found []table.Item         // the orders that the filter selects, in order
	more  bool                 // the shelf may have more of them
	err   error
}

func (s *shelf) read(ctx context.Context, api UsesAPI) {
	if !s.more {
		return
	}
	out, err := api.Query(ctx, s.query)
	if s.err = err; err != nil {
		return
	}
	for _, it := range out.Items {
		s.found = append(s.found, it)
	}
	s.query.ExclusiveStartKey, s.more = out.LastEvaluatedKey, len(out.LastEvaluatedKey) > 0
}

// merge returns the page that the shelves make up so far. The page ends where the shelf ends that was read the least
// far: beyond that, the shelf may have orders that come before those of other shelves.
func merge(shelves []shelf, filter checkout.OrderFilter) ([]checkout.Checkout, *checkout.OrderPosition, error) {
	compare := func(a, b table.Item) int {
		if filter.OldestFirst {
			a, b = b, a
		}
		return strings.Compare(b.Str(table.AttrOrdered), a.Str(table.AttrOrdered))
	}
	var found []table.Item
	var last table.Item // where the page ends; nil: every shelf was read to its end
	for _, shelf := range shelves {
		if shelf.err != nil {
			return nil, nil, shelf.err
		}
		found = append(found, shelf.found...)
		if shelf.more && (last == nil || compare(shelf.query.ExclusiveStartKey, last) < 0) {
			last = shelf.query.ExclusiveStartKey
		}
	}
	slices.SortFunc(found, compare)
	if last != nil {
		found = slices.DeleteFunc(found, func(it table.Item) bool { return compare(it, last) > 0 })
	}
	if len(found) > filter.Limit {
		found, last = found[:filter.Limit], found[filter.Limit-1]
	}
	var orders []checkout.Checkout
	for _, it := range found {
		orders = append(orders, table.DecodeCheckout(it))
	}
	if last == nil {
		return orders, nil, nil
	}
	end := table.OrderPosition(last)
	return orders, &end, nil
}

// listing returns the first query for the orders of a shelf that the filter selects.
func (s *Orders) listing(shop catalog.ShopID, number int, filter checkout.OrderFilter) *dynamodb.QueryInput {
	from, until, start := bounds(filter)
	on := table.Str(table.Bucket(shop, number))
	limit := min(filter.Limit, 2*filter.Limit/table.Shelves+6) // 6 more, because small shares differ the most
	query := &dynamodb.QueryInput{
		TableName: aws.String(s.checkouts), IndexName: aws.String(table.OrdersIndex),
		ScanIndexForward:         aws.Bool(filter.OldestFirst),
		Limit:                    aws.Int32(int32(limit)), //nolint:gosec // at most checkout.MaxOrdersPerPage
		KeyConditionExpression:   aws.String("#shelf = :shelf AND #ordered BETWEEN :from AND :until"),
		ExpressionAttributeNames: map[string]string{"#shelf": table.AttrShelf, "#ordered": table.AttrOrdered},
		ExpressionAttributeValues: table.Item{
			":shelf": on, ":from": table.Str(from), ":until": table.Str(until),
		},
	}
	if start != "" {
		query.ExclusiveStartKey = table.CheckoutKey(shop, filter.After.Token).Attributes()
		query.ExclusiveStartKey[table.AttrShelf], query.ExclusiveStartKey[table.AttrOrdered] = on, table.Str(start)
	}
	var conditions []string
	require := func(attribute string, value types.AttributeValue) {
		conditions = append(conditions, "#"+attribute+" = :"+attribute)
		query.ExpressionAttributeNames["#"+attribute] = attribute
		query.ExpressionAttributeValues[":"+attribute] = value
	}
	if filter.Nick.Compared != "" {
		require(table.AttrBuyer, table.Str(table.HashNick(filter.Nick)))
	}
	if filter.Payment != (checkout.Payment{}) {
		require(table.AttrPayment, table.Str(table.EncodePayment(filter.Payment)))
	}
	switch filter.Status {
	case checkout.OrderCancelled:
		require(table.AttrStatus, table.Str(table.StatusCancelled))
	case checkout.OrderPlaced:
		require(table.AttrStatus, table.Str(table.StatusOrdered))
		conditions = append(conditions, "attribute_not_exists("+table.AttrFulfilled+")")
	case checkout.OrderFulfilled:
		require(table.AttrStatus, table.Str(table.StatusOrdered))
		conditions = append(conditions, "attribute_exists("+table.AttrFulfilled+")")
	}
	if len(conditions) > 0 {
		query.FilterExpression = aws.String(strings.Join(conditions, " AND "))
	}
	return query
}

// bounds returns the range of table.AttrOrdered that the filter selects, and the value after which the page begins. An
// empty start means that the page begins with the newest order. DynamoDB rejects a range whose bounds are not in order,
// and a start outside the range. A client's cursor may come from a list with other times, so bounds never returns such
// a range or start.
func bounds(filter checkout.OrderFilter) (from, until, start string) {
	from, until = table.OrderedBefore(filter.From), table.OrderedEver()
	if !filter.Until.IsZero() {
		until = max(from, table.OrderedBefore(filter.Until)) // no order lies between equal bounds
	}
	if filter.After == nil {
		return from, until, ""
	}
	switch start = table.OrderedAt(filter.After.Placed, filter.After.Token); {
	case start > until: // start is newer than the range: the page begins with the newest order of the range
		return from, until, ""
	case start < from: // start is older than the range: the page is empty
		return from, from, ""
	default:
		return from, until, start
	}
}

// Numbered returns the checkouts whose number begins with the group. A group hardly ever has more than one, so this
// usually takes one call and one read unit.
func (s *Orders) Numbered(
	ctx context.Context, shop catalog.ShopID, group string,
) (found []checkout.Checkout, err error) {
	first := table.NumberedKey(shop, group)
	query := &dynamodb.QueryInput{
		TableName: aws.String(s.checkouts), ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String(table.PartitionKey + " = :customer AND begins_with(" + table.SortKey +
			", :group)"),
		ExpressionAttributeValues: table.Item{":customer": table.Str(first.Partition), ":group": table.Str(first.Sort)},
	}
	for {
		out, err := s.api.Query(ctx, query)
		if err != nil {
			return nil, table.Outcome(err)
		}
		for _, it := range out.Items {
			found = append(found, table.DecodeCheckout(it))
		}
		if query.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return found, nil
		}
	}
}

// Recall reads the checkout that is stored under a token, or returns checkout.ErrNotFound.
func (s *Orders) Recall(
	ctx context.Context, shop catalog.ShopID, token idempotency.Token,
) (checkout.Checkout, error) {
	return readCheckout(ctx, s.api, s.checkouts, shop, token)
}
