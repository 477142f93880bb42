package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// loseAUse damages WINTER-10: it takes a use without recording a redemption.
func (s *shopfront) loseAUse(t *testing.T) {
	t.Helper()
	items, err := s.client.Scan(t.Context(), &dynamodb.ScanInput{
		TableName: aws.String(s.state.Tables.Vouchers), FilterExpression: aws.String("sk = :sk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":sk": &types.AttributeValueMemberS{Value: "W1NTER10"}},
	})
	if err != nil || len(items.Items) != 1 {
		t.Fatal(items, err)
	}
	_, err = s.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(s.state.Tables.Vouchers), UpdateExpression: aws.String("ADD #left :less, used :more"),
		Key: map[string]types.AttributeValue{
			"customer": items.Items[0]["customer"],
			"sk":       items.Items[0]["sk"],
		},
		ExpressionAttributeNames: map[string]string{"#left": "left"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":less": &types.AttributeValueMemberN{Value: "-1"}, ":more": &types.AttributeValueMemberN{Value: "1"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestVerify_Findings_SayWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.redeem(t, "emberforge", "WINTER-10", "Heron")
	s.loseAUse(t)
	got := s.shopctl(t.Context(), "--local", "verify", "emberforge")
	lines := strings.Split(s.withoutRandomNames(got.stdout), "\n")
	const message = "the code: 2 used, but bookings have taken 1"
	if len(lines) != 3 || strings.Join(strings.Fields(lines[0]), " ") != "KIND TABLE SHOP SK WHAT" ||
		!strings.HasPrefix(lines[1], "allowance_differs  VouchersTable  emberforge#") ||
		!strings.HasSuffix(lines[1], "  W1NTER10  "+message) {
		t.Errorf("prints %s", got.stdout)
	}
	const summary = `2 vouchers, 1 redemption and 0 checkouts read: 1 finding
error: 1 finding about emberforge; nothing was changed; docs/operating/verify.md explains each finding and what to do
`
	if got.exit != exitInconsistent || got.stderr != summary {
		t.Errorf("exit %d: %s", got.exit, got.stderr)
	}

	got = s.shopctl(t.Context(), "--local", "verify", "emberforge", "--json")
	var document verifyJSON
	if err := json.Unmarshal([]byte(got.stdout), &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Findings) != 1 || document.Found != 1 || !strings.Contains(got.stdout, `"inMotion":[]`) {
		t.Fatalf("prints %s", got.stdout)
	}
	want := findingJSON{
		"allowance_differs", "W1NTER10", s.state.Tables.Vouchers, document.Findings[0].Partition, "W1NTER10",
		message,
	}
	if f := document.Findings[0]; f != want || !strings.HasPrefix(f.Partition, "emberforge#") {
		t.Errorf("prints %+v, want %+v", f, want)
	}
	if got.exit != exitInconsistent || !strings.HasPrefix(got.stderr, `{"error":{"kind":"inconsistent",`) ||
		strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("exit %d: %s", got.exit, got.stderr)
	}
}

func TestVerify_InterruptedEdit_SaysHowToCompleteIt(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.must(t, "voucher", "edit", "emberforge", "WINTER-10", "--parts", "3")
	ctx, interrupt := context.WithCancel(t.Context())
	restore := s.through(t, newUnreliable(t, s, "UpdateItem", cutAt(1, interrupt)))
	if got := s.shopctl(ctx, "--local", "voucher", "edit", "emberforge", "WINTER-10", "--max-uses",
		"20"); got.exit != exitInterrupted {
		t.Fatal(got)
	}
	restore()
	const want = `in motion: W1NTER10: more is taken than the limit, but parts still have uses left: an edit of the limit is in flight or was interrupted; run the edit again to complete it: shopctl --local voucher edit emberforge W1NTER10 --max-uses 20
2 vouchers, 0 redemptions and 0 checkouts read: nothing is wrong
`
	if got := s.shopctl(t.Context(), "--local", "verify", "emberforge"); got.exit != exitOK || got.stdout != "" ||
		got.stderr != want {
		t.Errorf("reports %v", got)
	}
	s.must(t, "voucher", "edit", "emberforge", "W1NTER10", "--max-uses", "20")
	const whole = `{"customer":"emberforge","vouchers":2,"redemptions":0,"checkouts":0,"found":0,"findings":[],` +
		`"inMotion":[]}` + "\n"
	if got := s.must(t, "verify", "emberforge", "--json"); got != whole {
		t.Errorf("after completing the edit: %s", got)
	}
}

func TestVerify_FailingStore_IsAnErrorAndNotAFinding(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.state.Tables.Checkouts += "-gone"
	if err := s.state.Write(s.dir); err != nil {
		t.Fatal(err)
	}
	got := s.shopctl(t.Context(), "--local", "verify", "emberforge")
	if got.exit != exitFailed || got.stdout != "" ||
		!strings.HasPrefix(got.stderr, "error: DynamoDB refuses: ResourceNotFoundException") {
		t.Errorf("reports %v", got)
	}
}

func TestProgress_UnknownTotal_Counts(t *testing.T) {
	t.Parallel()
	var terminal bytes.Buffer
	bar := progress{bar: newBar(&terminal, "verify", unknownCount)}
	bar.steps(40)
	bar.steps(2)
	bar.end()
	if shown := terminal.String(); !strings.Contains(shown, "verify") || !strings.Contains(shown, "40/-") {
		t.Errorf("shows %q", shown)
	}
	new(progress).steps(1) // must not panic
}
