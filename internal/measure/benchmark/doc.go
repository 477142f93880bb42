// Package benchmark measures the built functions as Lambda runs them, beside reference functions: internal/measure/reference/hello, the
// smallest there is, and internal/measure/reference/redeem and its like, the smallest that make the same DynamoDB calls (package bare). All of it
// is for `make bench`, `make oracle` and tests; no function may link it.
//
// Times on a busy machine say little by themselves. So everything is measured in rounds, in each of which every subject has
// its turn, in another order; figures that matter are ratios of two subjects within one round, and are reported as the median
// of the rounds with the least and the greatest.
package benchmark
