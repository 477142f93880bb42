// Package memdynamo is a DynamoDB in memory, for tests, simulations and measurements. It knows nothing about the shop,
// and imports no other package of this module. What it does not simulate fails and says so. The suite in local_test.go
// compares its responses with DynamoDB Local's.
//
// Every read sees the newest committed items: eventually consistent reads are not simulated. Items never expire. It
// does not know DynamoDB's reserved words, so the tests of the store also run on DynamoDB Local once in each build. It
// accepts sets of numbers or bytes, and nested sets, even if they are empty or have duplicates.
//
// A Store has the tables. There are two ways to reach it:
//
//   - An Endpoint speaks DynamoDB's JSON protocol: to other processes as an http.Handler, and to a client of the SDK as
//     its HTTPClient, without a network. Its Dials say what goes wrong, what is measured, and how long calls take.
//     Several endpoints may share a store: one prepares a shop and judges it, and another one, over which the requests
//     go, has faults.
//   - A Client calls the store without JSON. With Steps, a simulation decides in which order calls take effect.
//
// Store.Drop drops one conjunct of the conditions, so that a test can prove that its simulations need the conjunct.
//
// This is what tests usually want (package dynamotest has the shared store, tables, and servers):
//
//	store.Endpoint(Dials{})                                             // a plain DynamoDB
//	store.Endpoint(Dials{Fault: func(operation string, n int) Fault {   // the second update's response is lost
//		if operation == "UpdateItem" && n == 2 {
//			return LostResponse
//		}
//		return ""
//	}})
//	store.Endpoint(Dials{Seed: 7, Rates: Rates{Throttle: 0.1}, Burst: 3}) // a tenth of the calls begin a burst
//	store.Endpoint(Dials{Hold: 20 * time.Millisecond})                  // transactions conflict, as in the service
//	store.Endpoint(Dials{Rates: Rates{Halves: 1}, Watch: pause})        // stop while a transaction is half visible
//	store.Endpoint(Dials{WriteUnits: 1000, Reserve: 1})                 // a partition's throughput
//	store.Endpoint(Dials{Metered: true})                                // what AWS bills: Endpoint.Take
//	store.Endpoint(Dials{Latency: time.Millisecond, Sealed: true})      // for benchmarks
package memdynamo
