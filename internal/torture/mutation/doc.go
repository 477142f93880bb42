// Package mutation proves that the checkers of package torture can fail. It has tests only: each builds the programs with one
// guard of the store removed, by go build's -overlay, so that nothing that ships has a switch for it; plays a scene in which
// that guard is what keeps a promise; and wants the checkers to tell that the promise was broken. The programs as they are
// play every scene too, and nothing is found: so what is found is the mutation's. One mutation of each kind is also left to
// the chance of package torture.
//
// An answer that the interface does not have counts as wrong, and so does an edit that is on its way though none was killed,
// but no mutation counts as found by those alone: they may come of a crash, and no promise be broken.
//
// A mutation replaces texts of the source. Each must be there exactly once: where the source moved on, the test fails, and
// the mutation has to follow.
//
// Some guards stand behind others, so that the absence of one alone breaks no promise. Their mutations remove both, and the
// one behind is shown to suffice:
//
//   - judging the record before the counter: a look at what is recorded follows every refusal that it could have led to
//   - that look, of a request without a key, and knowing a write that is the request's own: only after an attempt was lost, and
//     then a refusal is not answered as one
//
// What cannot be found, because nothing tells it:
//
//   - reads that are not consistent: DynamoDB Local has one copy of the data, and reads no other
//   - a token without the customer or the code: a record stands with its own code's items, where no other token is looked for
//   - a write to a counter that does not know itself when its answer was lost: the edit begins again, and ends the same
//
// Nothing that ships may import it.
package mutation
