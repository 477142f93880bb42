// Package mutation proves that the checkers of package torture can fail. It has tests only. Each test removes one guard of the
// store and builds the programs with go build's -overlay, so the shipped code needs no switch. It then plays a scene in which
// that guard keeps a promise, and the checkers must report the broken promise. The unchanged programs play every scene too, and
// the checkers must find nothing. One mutation of each kind is also left to the random requests of package torture.
//
// An undocumented response counts as wrong, and so does an unfinished edit although no edit was killed. But these alone do not
// count as finding a mutation, because a crash can cause them without breaking a promise.
//
// A mutation replaces texts of the source. Each text must occur exactly once. If the source has changed, the test fails and the
// mutation must be updated.
//
// Some guards stand behind others, so that the absence of one alone breaks no promise. Their mutations remove both, and the
// one behind is shown to suffice:
//
//   - judging the record before the counter: a look at what is recorded follows every refusal that it could have led to
//   - that look, of a request without a key, and knowing a write that is the request's own: only after an attempt was lost, and
//     then a refusal is not answered as one
//
// These mutations cannot be found, because they have no visible effect:
//
//   - reads that are not consistent: DynamoDB Local has only one copy of the data
//   - a token without the customer or the code: a record stands with its own code's items, where no other token is looked for
//   - a write to a counter that does not know itself when its answer was lost: the edit begins again, and ends the same
//
// Nothing that ships may import it.
package mutation
