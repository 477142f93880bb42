package torture

import "testing"

func TestWatchLog_Secrets_AreFoundOutsideRequestIDs(t *testing.T) {
	for line, logged := range map[string]bool{
		// the ID happens to spell the nick alder
		`{"msg":"request","requestId":"w690y9LoALDeRFg=","status":200}`:   false,
		`{"msg":"request","requestId":"JKJaXmPLvHcESHA=","Nick":"Alder"}`: true,
		`panic: nick Alder`: true,
	} {
		r := &round{}
		r.watchLog("", line)
		if found := len(r.outcome.violations) > 0; found != logged {
			t.Errorf("a secret was found: %t, want %t; in the line %s", found, logged, line)
		}
	}
}
