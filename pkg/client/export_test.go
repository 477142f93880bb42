package client

// ProblemTypes are the names of problemTypes with their statuses.
func ProblemTypes() map[string]int {
	statuses := make(map[string]int)
	for _, t := range problemTypes() {
		statuses[t.name] = t.status
	}
	return statuses
}
