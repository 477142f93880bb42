package rollout_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/rollout"
)

// interrupter ends the context once it is written a text.
type interrupter struct {
	bytes.Buffer
	at        string
	interrupt context.CancelFunc
}

func (w *interrupter) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if w.at != "" && strings.Contains(w.String(), w.at) {
		w.interrupt()
	}
	return n, err
}

// interrupted deploys until a text is written, and is then interrupted. Nobody answers.
func interrupted(t *testing.T, c *cloud, s rollout.Settings, at string) error {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	silence, end := io.Pipe()
	defer end.Close() //nolint:errcheck // it cannot fail
	return rollout.Rollout{
		API: c, Tables: c, Out: &interrupter{at: at, interrupt: interrupt}, In: silence, Now: time.Now,
		Sleep: func(ctx context.Context, _ time.Duration) error { c.stack = &c.after; return ctx.Err() },
	}.Deploy(ctx, s)
}

// Whatever happens while the policy lets a table go, it is set again, and what goes on or remains is said.
func TestInterruptedWhileATableLeaves(t *testing.T) {
	failed := errors.New("no route to host")
	for name, test := range map[string]struct {
		at      string // what is written when it is interrupted; empty for not
		failing map[string]error
		calls   []string
		is      error
		want    []string
	}{
		"by whoever watches": {
			"Deploying", nil,
			[]string{"let go market-Tables", "execute root", "protect market-Tables"},
			context.Canceled,
			[]string{"CloudFormation goes on with market"},
		},
		"by the network": {
			"",
			map[string]error{"UPDATE_IN_PROGRESS": failed},
			[]string{"let go market-Tables", "execute root", "protect market-Tables"},
			failed,
			[]string{"CloudFormation goes on with market"},
		},
		"before it began": {
			"",
			map[string]error{"execute root": failed},
			[]string{"let go market-Tables", "execute root", "protect market-Tables", "discard root"},
			failed, nil,
		},
		"before the policy let it go": {
			"",
			map[string]error{"let go market-Tables": failed},
			[]string{"let go market-Tables", "protect market-Tables", "discard root"},
			failed, nil,
		},
		"for good": {
			"Deploying",
			map[string]error{"protect market-Tables": failed},
			[]string{"let go market-Tables", "execute root", "protect market-Tables"},
			failed,
			[]string{
				"CloudFormation goes on with market",
				"aws cloudformation set-stack-policy --stack-name market-Tables --stack-policy-body file://infra/stack-policy.json",
			},
		},
		"and unanswered": {
			"Deploying",
			map[string]error{"protect market-Tables": errHang},
			[]string{"let go market-Tables", "execute root", "protect market-Tables"},
			context.DeadlineExceeded,
			[]string{"aws cloudformation set-stack-policy"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := inTables(changed(types.ChangeActionRemove, "Vouchers", "AWS::DynamoDB::Table", retained))
				c.tables, c.failing = map[string]*dynamodbtypes.TableDescription{"vouchers-restored": restored(t)}, test.failing
				s := settings(t)
				s.Parameters["VouchersTable"] = "vouchers-restored"
				err := interrupted(t, c, s, test.at)
				if !errors.Is(err, test.is) {
					t.Errorf("%v, want %v", err, test.is)
				}
				for _, want := range test.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%v, want %s", err, want)
					}
				}
				if !slices.Equal(c.calls, test.calls) {
					t.Errorf("called %q, want %q", c.calls, test.calls)
				}
			})
		})
	}
}

func TestInterruptedAtTheQuestion(t *testing.T) {
	c := inTables(changed(types.ChangeActionModify, "Vouchers", "AWS::DynamoDB::Table"))
	s := settings(t)
	s.Confirm = true
	err := interrupted(t, c, s, "[y/N]")
	if !errors.Is(err, rollout.ErrDeclined) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if want := []string{"discard root"}; !slices.Equal(c.calls, want) {
		t.Errorf("called %q, want %q", c.calls, want)
	}
}

func TestInterruptedBeforeTheChangesAreKnown(t *testing.T) {
	c := deployed(nil, nil)
	c.changeSets["root"] = &cloudformation.DescribeChangeSetOutput{Status: types.ChangeSetStatusCreateInProgress}
	ctx, interrupt := context.WithCancel(t.Context())
	err := rollout.Rollout{
		API: c, Tables: c, Out: io.Discard, In: strings.NewReader(""), Now: time.Now,
		Sleep: func(context.Context, time.Duration) error { interrupt(); return ctx.Err() },
	}.Deploy(ctx, settings(t))
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if want := []string{"discard root"}; !slices.Equal(c.calls, want) {
		t.Errorf("called %q, want %q", c.calls, want)
	}
}

// What is asked of CloudFormation when it is interrupted is heard out: it may have begun.
func TestInterruptedWhileCloudFormationIsAsked(t *testing.T) {
	for during, test := range map[string]struct {
		calls []string
		want  string
	}{
		"create":       {[]string{"protect market-Tables", "discard root"}, "context canceled"},
		"execute root": {[]string{"execute root", "protect market-Tables"}, "CloudFormation goes on with market"},
	} {
		c := inTables(changed(types.ChangeActionModify, "Vouchers", "AWS::DynamoDB::Table"))
		ctx, interrupt := context.WithCancel(t.Context())
		c.during = map[string]func(){during: interrupt}
		err := rollout.Rollout{
			API: c, Tables: c, Out: io.Discard, In: strings.NewReader(""), Now: time.Now,
			Sleep: func(context.Context, time.Duration) error { return ctx.Err() },
		}.Deploy(ctx, settings(t))
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", during, err, test.want)
		}
		if !slices.Equal(c.calls, test.calls) {
			t.Errorf("%s: called %q, want %q", during, c.calls, test.calls)
		}
	}
}

// A change set that could not be deleted is named, with what led there.
func TestChangeSetThatStaysIsNamed(t *testing.T) {
	c := deployed([]types.Change{changed(types.ChangeActionRemove, "Tables", "AWS::CloudFormation::Stack")}, nil)
	c.failing = map[string]error{"discard root": errors.New("no route to host")}
	_, err := deploy(t, c, settings(t), "")
	if !errors.Is(err, rollout.ErrTable) || !strings.Contains(err.Error(), "delete the change set root: no route to host") {
		t.Error(err)
	}
}
