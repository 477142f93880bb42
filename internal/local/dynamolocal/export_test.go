package dynamolocal

// Relay gives the tests access to relay.
var Relay = relay //nolint:gochecknoglobals // for the test
