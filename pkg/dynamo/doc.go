// Package dynamo stores the catalogue, the vouchers, the checkouts, the refused codes and holds of each source of requests, and the events
// of each shop in five DynamoDB tables. This package is the side that functions use; package backoffice below it is the operator's side.
//
// Every table has the partition key "customer" and the sort key "sk". internal/table has a function for each key:
//
//	table      customer  sk              function       item
//	catalogue  ID        customer        ProfileKey     the customer's profile
//	catalogue  ID        product#P       ProductKey     a product on sale, with its variants
//	catalogue  ID        offsale#P       OffSaleKey     a product off sale; shopctl 0.1.0 stored these under ProductKey, too
//	catalogue  ID        settings        SettingsKey    policies, the limit on refused codes, what is paused, and how many keys were created
//	catalogue  ID        key#K           AccessKeyKey   a secret key of the customer's server, as its hash
//	vouchers   ID#bb     CODE            VoucherKey     a voucher; if single-use, also its redemption or hold
//	vouchers   ID#bb     CODE#c#NN       CounterKey     a counter of a code with a limit above one: uses left and used
//	vouchers   ID#bb     CODE#h#NN#T#ID  HoldKey        a hold of a use of counter NN, which lapses at T, in milliseconds
//	vouchers   ID#bb     CODE#n#HASH     NickKey        the redemptions and holds of one nick, for a code with a limit per nick
//	vouchers   ID#bb     CODE#r#TOKEN    RedemptionKey  one redemption, for a code with many uses without a limit per nick; or one that
//	                                                    was undone, for any code
//	checkouts  ID        HASH            CheckoutKey    a checkout, and its order if there is one
//	refusals   ID#bb     SOURCE#SECONDS  RefusalKey     how many codes were refused to a source in the window that began then
//	refusals   ID#bb     holds#SOURCE    SourceHoldsKey when the live holds of a source lapse
//	events     ID#bb     e#EVENT         EventKey       an event
//	events     ID        p#PAGE          EventPageKey   a page of the log, which names up to 50 events in sequence
//	events     ID#bb     n#HASH#T#ID     NickIndexKey   a redemption by a nick, made at T, in milliseconds: the index of nicks
//	events     ID        nicks           NickNoteKey    the note that the index has all of the customer's redemptions
//	events     #parked   TABLE/PK/SK     ParkedKey      the place of a change that could not be recorded
//
// A use is in one place: left in a counter, or taken by one redemption or hold. The use of a lapsed hold stays taken until somebody takes
// it over, in a transaction that deletes the hold. Holds of a code without a limit above one are in the voucher or in the item of the nick.
// A checkout names its hold. If an order turns the hold into a redemption, the redemption's token is the first half of the checkout's ID.
//
// bb is one of 64 buckets, chosen by a hash of the code, of the code and the nick, of the code and the token, of the source, of the event,
// or, in the index of nicks, of the nick. A hold is in the bucket of its counter. The buckets spread the load: one partition key value
// starts on one partition, which takes 1,000 write units a second
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html). Counter NN is NN buckets
// after its code's, so no two counters of a code share a bucket.
//
// The table of checkouts has the index "orders", which sorts the orders of a customer by time. A checkout that was not ordered lacks
// the index's sort key, so it is not in the index.
//
// The SDK retries a call whose response was lost. Therefore every write carries something that identifies it. If the
// condition of a retry fails, DynamoDB returns the stored item, which shows whether the first attempt was applied. Counts of
// refusals carry none: counting twice is harmless.
//
// The package imports the rules and the AWS SDK. It may import neither the HTTP handlers nor package backoffice.
package dynamo
