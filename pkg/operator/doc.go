// Package operator does the work behind shopctl. It finds the tables of a deployed stack or of the local run (deployment.go), loads
// catalogues (catalogue.go), and works on the vouchers, redemptions, checkouts and orders of one customer (shop.go and the files that are
// named after them).
//
// It imports the rules, the store and the AWS SDK. It prints nothing and reads no flags. No Lambda function may link it.
package operator
