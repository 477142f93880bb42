package localrun

// GoBuild is goBuild, for the test that compares it with the Makefile.
func GoBuild(output, pkg string) []string { return goBuild(output, pkg) }
