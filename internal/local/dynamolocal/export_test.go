package dynamolocal

import "syscall"

// Signal sends a signal to the server's process without telling the Server.
func (s *Server) Signal(signal syscall.Signal) error { return s.cmd.Process.Signal(signal) }

// Relay gives the tests access to relay.
var Relay = relay //nolint:gochecknoglobals // for the test
