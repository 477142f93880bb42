// Package mutation proves that the checkers of package torture can fail. It has only tests. Each test removes one guard of the
// store and builds the programs with go build's -overlay, so the shipped code needs no switch. It then plays a scene in which
// that guard keeps a promise, and the checkers must report the broken promise. The unchanged programs play every scene too, and
// the checkers must find nothing. The random requests of package torture must also find one mutation of each kind.
//
// Other mutations (those of packages_test.go) must make a test of a package fail. They remove a guard of access, orders, holds, undo, events,
// the catalogue, the shop's page, imports or deletions, or the customer from one kind of stored key. For holds that is the simulation of
// package dynamo if it finds the mutation in its usual number of trials, and otherwise a test of the one moment at which the guard decides.
//
// An undocumented response counts as wrong, and so does an unfinished edit if no edit was killed. But neither counts as finding a
// mutation, because a crash can cause them without breaking a promise.
//
// A mutation replaces strings in the source. Each string must occur exactly once. If the source has changed, the test fails and
// the mutation must be updated.
//
// Some guards have a second guard behind them, so that removing only the first breaks no promise. Their mutations remove both. A
// test also removes only the second, and the checkers must find nothing:
//
//   - The record is judged before the counter, and no half of a transaction is judged. As a second guard, the record
//     is looked up before every refusal.
//   - That lookup is also made without an Idempotency-Key, and the request recognises its own write. Both matter only after a
//     lost attempt.
//     As a second guard, a refusal after a lost attempt becomes a 503.
//
// These mutations cannot be found, because they have no visible effect:
//
//   - Reads are not consistent: DynamoDB Local has only one copy of the data.
//   - A token lacks the customer or the code: the record is stored with its code's items, where no other token is looked up.
//   - An edit does not recognise its own write to a counter after a lost response: it starts over, with the same result.
//   - A lapsed hold is removed from its nick's item without a look at its value: the hold's own item, which is deleted in the same
//     transaction, names it too.
//   - A counted hold is shared within the tick in which it was made without a check that it still exists: only an order or a newer
//     checkout could have ended it, and both also end the checkout that is replaced.
//   - Undoing does not check that a record under the redemption's token is absent, or that the voucher is not held: the redemption itself,
//     which is removed in the same transaction, is compared.
//
// Nothing that ships may import this package.
package mutation
