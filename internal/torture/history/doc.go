// Package history records what was asked of one voucher and what was answered, and judges by linearizability whether a
// voucher that keeps what docs/interface.md promises could have answered so: recorder.go and operation.go are the record,
// terms.go says which terms a request may have been judged by, voucher.go is the voucher as it should be, judge.go hands
// both to the checker.
//
// It knows the interface alone. It must import no package of this module, so that it shares no mistake with them.
package history
