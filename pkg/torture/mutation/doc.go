// Package mutation proves that the checkers of package torture can fail. It has tests only: each builds the programs with one
// guard of the store removed, by go build's -overlay, so that nothing that ships has a switch for it; plays a scene in which
// that guard is what keeps a promise; and wants the checkers to tell that the promise was broken. The programs as they are
// play every scene too, and nothing is found: so what is found is the mutation's.
//
// A mutation replaces texts of the source. Each must be there exactly once: where the source moved on, the test fails, and
// the mutation has to follow.
//
// What cannot be caught, because nothing tells it:
//
//   - Reads that are not consistent: DynamoDB Local has one copy of the data and reads no other.
//   - A token without the customer or the code: a redemption's record stands at its code's own items, where no other
//     customer's or code's token is looked up. These parts of the token guard against records that are moved elsewhere.
//
// Nothing that ships may import it.
package mutation
