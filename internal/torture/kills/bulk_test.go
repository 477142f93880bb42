package kills_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shopfront/internal/torture/testshop"
)

// soldText is a file to import. CODE and BATCH stand for the code and the batch of the subject. Three of the codes were
// used in another system.
const soldText = `code,reward,batch,max-uses,parts,redeemed_at,redeemed_by,uses
CODE-A,20%,BATCH,,,,,
CODE-B,20%,BATCH,,,2026-02-03T11:00:00Z,Alder,
CODE-C,20%,BATCH,10,2,,,7
CODE-D,20%,BATCH,none,,,,3
`

// withFile writes a CSV file about the subject and returns its name.
func withFile(r *round, s subject, name, text string) string {
	r.t.Helper()
	file := filepath.Join(r.Dir, s.batch+name)
	if err := os.WriteFile(file, []byte(strings.NewReplacer("CODE", s.code, "BATCH", s.batch).Replace(text)),
		0o600); err != nil {
		r.t.Fatal(err)
	}
	return file
}

// importSold imports codes. How many codes the second run finds depends on where the first run was killed.
func importSold() command {
	return command{
		kind: "import", late: true, mask: mask{ids: true},
		args: func(r *round, s subject) []string {
			return []string{"voucher", "import", s.shop, withFile(r, s, ".csv", soldText)}
		},
		again: func(r *round, s subject, _ *process) {
			var result struct{ Created, Existed, OtherTerms, Rejected int }
			p := r.must(r.t, r.command.args(r, s)...)
			if err := json.Unmarshal(p.stdout.Bytes(), &result); err != nil || result.Created+result.Existed != 4 ||
				result.OtherTerms+result.Rejected != 0 {
				r.violation(r.t, "the second import does not report all 4 codes, %v: %s", err, p)
			}
		},
	}
}

// unusedText has codes of each kind. All are deleted with their batch, except for CODE-B, which was used.
const unusedText = `code,reward,batch,max-uses,max-uses-per-nick,parts,redeemed_at
CODE-A,20%,BATCH,,,,
CODE-B,20%,BATCH,,,,2026-02-03T11:00:00Z
CODE-C,20%,BATCH,10,none,2,
CODE-D,20%,BATCH,10,1,1,
CODE-E,20%,BATCH,none,1,,
CODE-F,20%,BATCH,none,none,,
`

// deleteBatch deletes a batch, and is killed at one kind of write only. The command makes so many reads that killing it
// at every read would take hours.
func deleteBatch(kind, write string) command {
	return command{
		kind: "delete --batch, " + kind, only: write, late: true, mask: mask{ids: true},
		args: ofBatch("delete", "--yes"),
		prepare: func(r *round, s subject) {
			r.must(r.t, "voucher", "import", s.shop, withFile(r, s, ".csv", unusedText))
		},
		again: func(r *round, s subject, _ *process) {
			var result struct{ Vouchers, Deleted, Kept int }
			p := r.must(r.t, r.command.args(r, s)...)
			if err := json.Unmarshal(p.stdout.Bytes(), &result); err != nil || result.Kept != 1 ||
				result.Deleted != result.Vouchers-1 {
				r.violation(r.t, "the second deletion does not delete all codes but one, %v: %s", err, p)
			}
		},
	}
}

func deletions() []command {
	return []command{
		deleteBatch("single-use", "DeleteItem"), deleteBatch("disabling first", "UpdateItem"),
		deleteBatch("with parts", "TransactWriteItems"),
	}
}

// impatient builds a shopctl that edits and deletes codes without waiting. The command need not wait, because no request
// for these codes is in flight.
func impatient(t *testing.T) testshop.Programs {
	t.Helper()
	overlay := testshop.Overlay(t,
		testshop.Replacement{
			File: "pkg/dynamo/codes.go", Old: "const RulesAge = 10 * time.Second",
			New: "const RulesAge = time.Millisecond",
		},
		testshop.Replacement{
			File: "pkg/backoffice/delete.go", Old: "const Draining = RulesAge + 15*time.Second",
			New: "const Draining = RulesAge",
		},
	)
	return testshop.BuildChanged(t, overlay, "cmd/shopctl")
}
