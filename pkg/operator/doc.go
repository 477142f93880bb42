// Package operator is what an operator does with a Shopfront, the work behind shopctl: it finds the tables of a deployed
// stack or of the local run (deployment.go), loads catalogues (catalogue.go), and works on the vouchers, redemptions and
// checkouts of one customer at a time (shop.go and the files after it).
//
// It imports the nouns, the store and the AWS SDK. It prints nothing and reads no flags; no function may link it.
package operator
