// Package mutation proves that the checkers of package torture can fail. It has only tests. Each test removes one guard
// of the store, such as a check or a step, and builds the programs with go build's -overlay, so the shipped code needs
// no switch. It then plays a scene in which that guard keeps a promise, and the checkers must report the broken promise.
// The unchanged programs play every scene too, and the checkers must find nothing. The random requests of package
// torture must also find one mutation of each kind.
//
// The conditions of writes have a proof of their own in package dynamo, which drops each part of each condition.
//
// An undocumented response counts as wrong, and so does an unfinished edit. But a crash can cause both without breaking
// a promise. So they do not count as finding a mutation.
//
// A mutation replaces strings in the source. Each string must occur exactly once. If the source has changed, the test
// fails and the mutation must be updated.
//
// Some guards have a second guard behind them. Removing only the first guard breaks no promise. The mutations of these
// guards remove both. A test also removes only the second guard, and the checkers must find nothing:
//
//   - A record outweighs everything else, no half of a transaction is judged, and a request recognises its own write. As
//     a second guard, the record is looked up before every refusal with an Idempotency-Key or after a lost attempt.
//   - After a lost attempt, a refusal becomes a 503, even if that lookup found nothing.
//
// These mutations cannot be found, because they have no visible effect:
//
//   - Reads are not consistent. This has no effect, because the database in memory has only one copy of the data.
//   - A token lacks the shop or the code. The record is stored with its code's items, and no other code's token is
//     looked up there.
//
// Nothing that ships may import this package.
package mutation
