// Package dynamo stores everything in five DynamoDB tables: the catalogue, the vouchers, the checkouts, the refusals
// (how many codes were refused to each source of requests, how many it redeemed, and its live holds), and the events of
// each shop. Functions use this package. Operators use package backoffice.
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
//	vouchers   ID#bb     CODE            VoucherKey     a voucher; if single-use, also its redemption or hold
//	vouchers   ID#bb     CODE#c#NN       CounterKey     a counter of a code with a limit above one: uses left and used
//	vouchers   ID#bb     CODE#h#NN#T#ID  HoldKey        a hold of a use of counter NN, which lapses at T, in
//	                                                    milliseconds
//	vouchers   ID#bb     CODE#n#NICK     NickKey        the redemptions and holds of one nick, for a code with a
//	                                                    limit per nick
//	vouchers   ID#bb     CODE#r#TOKEN    RedemptionKey  one redemption: of a code with many uses and no limit per
//	                                                    nick, or of any code if the redemption was undone
//	checkouts  ID#bb     GROUP#TOKEN     CheckoutKey    a checkout, and its order if there is one
//	checkouts  ID#bb     pay#PAYMENT     PaymentKey     the amount that orders stated for a payment, and what is left
//	                                                    of it
//	refusals   ID#bb     SOURCE#SECONDS  RefusalKey     how many codes were refused to a source in the window that
//	                                                    began then
//	refusals   ID#bb     redeemed#...    QuotaKey       how many codes with many uses a source redeemed in the
//	                                                    window; ... stands for SOURCE#SECONDS
//	refusals   ID#bb     holds#SOURCE    SourceHoldsKey when the live holds of a source lapse
//	events     ID#bb     e#EVENT         EventKey       an event
//	events     ID        p#PAGE          EventPageKey   a page of the log: the IDs of up to 50 events in sequence
//	events     ID#bb     n#HASH#T#ID     NickIndexKey   an entry in the index of nicks: a redemption made at T, in
//	                                                    milliseconds
//	events     #parked   #parked#ID      ParkedShopKey  says that a shop may have parked changes
//	events     #parked#ID TABLE/PK/SK    ParkedKey      the place of a change that could not be recorded
//
// A use of a code with a limit above one is never in two places: it is left in a counter, or it is taken by one
// redemption or one hold. The use of a lapsed hold stays taken until somebody takes it over in a transaction that
// deletes the hold. If a code has no counters, its holds are stored in the item of the voucher or of the nick. If the
// code has no limit at all, no item but the checkout has the hold. A checkout names its hold.
//
// A redemption's ID is its token. If an order made it, that is the first half of the checkout's ID; otherwise the first
// 11 characters are the NICK of its NickKey. So an ID leads to every item that can have the record, and the record says
// everything that its event does.
//
// bb is one of 64 buckets. A hash chooses the bucket: the hash of the code for a voucher, of the code and the NICK for
// a NickKey, of the code and the token for a RedemptionKey, of the first group of its number for a checkout, of the
// payment for a PaymentKey, of the source for refusals, of the event's ID for an event, and of the nick for the index
// of nicks. Counter NN is NN buckets after its voucher, so no two counters of a code share a bucket. A hold is in the
// bucket of its counter. The buckets spread the load, because DynamoDB keeps the items of one partition key value on
// one partition at first, and a partition takes 1,000 write units a second
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
