// Package dynamo stores everything in five DynamoDB tables: the catalogue, the vouchers, the checkouts, the refusals
// (how many codes were refused to each source of requests, how many it redeemed, and its live holds), and the events
// of each shop. Functions use this package. Operators use package backoffice.
//
// Every table has the partition key "customer" and the sort key "sk": stored keys and the interface call a shop a
// customer. Package table has a function for each key:
//
//	table      customer  sk              function       item
//	catalogue  ID        customer        ProfileKey     the shop's profile
//	catalogue  ID        product#P       ProductKey     a product on sale, with its variants
//	catalogue  ID        offsale#P       OffSaleKey     a product off sale
//	catalogue  ID        settings        SettingsKey    policies, the limit on refused codes, pauses, and how many
//	                                                    keys were created
//	catalogue  ID        key#K           AccessKeyKey   the hash of a secret key of the shop's server
//	vouchers   ID#bb     CODE            VoucherKey     a voucher, which is the head of its allowance; if
//	                                                    single-use, also its redemption
//	vouchers   ID#bb     CODE#p#NN       PartKey        a part of the allowance of a code with many uses
//	vouchers   ID#bb     CODE#n#NICK     NickKey        the allowance and the redemptions of one nick, for a code
//	                                                    with a limit per nick
//	vouchers   ID#bb     CODE#r#TOKEN    RedemptionKey  one redemption: of a code with many uses and no limit per
//	                                                    nick, or of any code if the redemption was undone
//	checkouts  ID#bb     GROUP#TOKEN     CheckoutKey    a checkout, and its order if there is one
//	checkouts  ID#bb     pay#PAYMENT     PaymentKey     the allowance of a payment: its limit is the stated amount
//	refusals   ID#bb     SOURCE#SECONDS  RefusalKey     how many codes were refused to a source in the window that
//	                                                    began then
//	refusals   ID#bb     redeemed#...    QuotaKey       how many codes with many uses a source redeemed in the
//	                                                    window; ... stands for SOURCE#SECONDS
//	refusals   ID#bb     holds#SOURCE    SourceHoldsKey the allowance of the live holds of a source
//	events     ID#bb     e#EVENT         EventKey       an event
//	events     ID        p#PAGE          EventPageKey   a page of the log: the IDs of up to 50 events in sequence
//	events     ID#bb     n#HASH#T#ID     NickIndexKey   an entry in the index of nicks: a redemption made at T, in
//	                                                    milliseconds
//	events     #parked   #parked#ID      ParkedShopKey  says that a shop may have parked changes
//	events     #parked#ID TABLE/PK/SK    ParkedKey      the place of a change that could not be recorded
//
// Whatever runs out is in one ledger (ledger.go): the uses of a code, those of a nick, the live holds of a source, and
// the money of a payment. An allowance says how much may be taken of it. A hold reserves some of it until a time. A
// booking, which is a redemption or a checkout, lists what it takes, for good or as a hold. After every write, and
// summed over the items of an allowance,
//
//	left + holds + used = limit, and used = what bookings have taken for good
//
// So a booking and all that it takes change in one transaction, which requires every item to be as it must be. Nothing
// is read first: if an item is not as it must be, DynamoDB returns it, and it decides. A retry finds its booking
// there; an allowance knows nothing of requests.
//
// A busy code has parts, among which its uses are spread. A request takes from a random part, and looks at all of them
// at one moment before it is refused. What is given back goes to the head. If the limit is lowered below what is held
// and taken, the head's left is below zero: a debt, which what comes back pays.
//
// A hold lapses by time alone, and nothing sweeps it: whoever finds too little left takes lapsed holds over. An order
// takes its checkout's hold for good. Undoing and cancelling give back what was taken, and move the record of the
// redemption to an item of its own, where a retry finds that it was undone.
//
// The rules of a code (terms, limit per nick, reward) are remembered for 10 seconds (codes.go), so that a redemption
// is one call.
//
// bb is one of 64 buckets. A hash chooses the bucket: the hash of the code for a voucher, of the code and the nick for
// a NickKey, of the code and the token for a RedemptionKey, of the first group of its number for a checkout, of the
// payment for a PaymentKey, of the source for refusals, of the event's ID for an event, and of the nick for the index
// of nicks. Part NN is NN + 1 buckets after its voucher. The buckets spread the load, because DynamoDB keeps the items
// of one partition key value on one partition at first, and a partition takes 1,000 write units a second
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html).
//
// The table of checkouts has the index "orders", which sorts the orders of a shop by time. Its partition key is the
// shelf, ID#ss: a hash of the token chooses one of 8. A page of a list merges all shelves. A checkout that was not
// ordered lacks the index's keys and is therefore not in the index.
//
// The SDK retries a call whose response was lost. Therefore a write that must not be applied twice carries an
// identifier. If the condition of a retry fails, DynamoDB returns the stored item, whose identifier shows whether the
// first attempt was applied. Two counts carry no identifier, because counting twice does no harm: refused codes, and
// attempts to record a parked change.
//
// The package imports the rules and the AWS SDK. It may import neither the HTTP handlers nor package backoffice.
package dynamo
