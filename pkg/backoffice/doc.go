// Package backoffice does the owner's work on shops: what shopctl offers, and what management over HTTP will. It finds
// the tables of a deployed stack or of the local run (deployment.go), loads catalogues (catalogue.go), and works on the
// vouchers, redemptions, checkouts and orders of one shop (shop.go and the files that are named after them). For
// verification it reads every item strictly, so that damaged items are found. The package documentation of dynamo lists
// every key.
//
// It imports the rules, the store and the AWS SDK. It prints nothing and reads no flags. No Lambda function that serves
// shoppers may link it.
package backoffice
