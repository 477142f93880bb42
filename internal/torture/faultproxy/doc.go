// Package faultproxy puts a hostile DynamoDB in front of DynamoDB Local: a reverse proxy that does what the service does and
// Local does not, and what networks do to both. It is for tests only; nothing that ships may import it, and it imports none
// of this module's packages.
//
// Two rules of the service hold at all times, where the settings ask for them:
//
//   - transactions exclude each other: while one is under way, writes that share an item with it are refused
//     (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-conflict-handling),
//     and so is a second one under its client token
//   - a partition key value takes a number of units a second, with a reserve for bursts
//     (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html)
//
// On top of that come faults, each drawn for a share of the calls that it can befall. They are drawn from the seed, the
// operation, the kind of item and how many such calls there were: so a seed repeats its faults, call by call of each kind,
// though not which of several racing clients they meet.
package faultproxy
