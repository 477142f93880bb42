package client

// ProblemTypes returns the names of the problem types with their statuses.
func ProblemTypes() map[string]int {
	statuses := make(map[string]int)
	for name, t := range problemTypes() {
		statuses[name] = t.status
	}
	return statuses
}
