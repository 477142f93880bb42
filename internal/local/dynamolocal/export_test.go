package dynamolocal

import "syscall"

// Signal sends a signal to the server's process, behind the back of the Server.
func (s *Server) Signal(signal syscall.Signal) error { return s.cmd.Process.Signal(signal) }
