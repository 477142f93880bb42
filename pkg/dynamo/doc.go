// Package dynamo keeps the catalogue, the vouchers and the checkouts in three DynamoDB tables.
//
// Every table has the partition key "customer" and the sort key "sk". What stands in them, and the Go type of each key
// (keys.go):
//
//	table      customer  sk              type           holds
//	catalogue  ID        customer        customerKey    the customer's profile
//	catalogue  ID        product#P       productKey     a product with its variants
//	vouchers   ID#bb     CODE            voucherKey     a voucher; if single-use, also its redemption
//	vouchers   ID#bb     CODE#c#NN       counterKey     a counter of a code with a limit above one: uses left and taken
//	vouchers   ID#bb     CODE#n#HASH     nickKey        the redemptions of one nick, of a code with a limit per nick
//	vouchers   ID#bb     CODE#r#TOKEN    redemptionKey  one redemption, of a code of many uses without a limit per nick
//	checkouts  ID        HASH            checkoutKey    a checkout
//
// bb is one of 64 buckets, from a hash of what the item is about (of the code; of the code and the nick; of the code and
// the token): one partition key value starts on one partition, and that takes 1,000 write units a second
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html). Counter NN is in the
// bucket of its code plus NN, so that no two counters of a code share one.
//
// Every write carries what its repetition is recognised by: the SDK sends a call again when its answer was lost, and a
// condition that then fails is answered with the item as it is.
//
// The package imports the nouns and the AWS SDK; it may import neither net/http handlers nor an HTTP package of Shopfront.
package dynamo
