package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"shopfront/internal/local/localrun"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo"
	"shopfront/pkg/voucher"
)

func TestLocal_NoLocalRun_IsReported(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	if err := localrun.RemoveState(s.dir); err != nil {
		t.Fatal(err)
	}
	want := result{stderr: "error: no local run in " + s.dir + ": start one with make run\n", exit: exitFailed}
	if got := s.shopctl(t.Context(), "--local", "status"); got != want {
		t.Errorf("got %v want %v", got, want)
	}
	var document struct{ Error struct{ Kind string } }
	got := s.shopctl(t.Context(), "--local", "voucher", "list", "emberforge", "--json")
	if err := json.Unmarshal([]byte(got.stderr), &document); err != nil || document.Error.Kind != kindNotRunning {
		t.Errorf("%v, %v", got, err)
	}
}

// cloud imitates AWS for a deployed stack: a fake CloudFormation, and DynamoDB Local.
func (s *shopfront) cloud(t *testing.T) {
	t.Helper()
	endpoint, err := url.Parse(s.state.DynamoDBEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	tables := s.state.Tables
	stacks := map[string]map[string]string{
		"shopfront-prod": {
			"BaseUrl": "https://r3pmxmplak.execute-api.eu-central-1.amazonaws.com", "Version": "1.0.0",
			"CatalogueTable": tables.Catalogue, "VouchersTable": tables.Vouchers, "CheckoutsTable": tables.Checkouts,
		},
		"newsletter": {"BaseUrl": "https://newsletter.example.com"},
	}
	for name, days := range map[string]string{"shopfront-events": "365", "shopfront-forever": "forever"} {
		stacks[name] = maps.Clone(stacks["shopfront-prod"])
		stacks[name]["EventsTable"], stacks[name]["EventRetentionDays"] = tables.Events, days
	}
	database := httputil.NewSingleHostReverseProxy(endpoint)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Target") != "" {
			database.ServeHTTP(w, r)
			return
		}
		status, document := describeStack(stacks, r.FormValue("StackName"))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, document) //nolint:gosec // only the SDK reads it, not a browser
	}))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
		"AWS_SECRET_ACCESS_KEY": "example",
		"AWS_CONFIG_FILE":       os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_PROFILE": "",
		"AWS_DEFAULT_REGION":        "",
		"AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
}

// describeStack returns CloudFormation's response to DescribeStacks, with only the parts that shopctl reads.
func describeStack(stacks map[string]map[string]string, name string) (status int, document string) {
	outputs, found := stacks[name]
	if !found {
		return http.StatusBadRequest, `<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code>` +
			`<Message>Stack with id ` + name + ` does not exist</Message></Error></ErrorResponse>`
	}
	document = `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><Outputs>`
	for key, value := range outputs {
		document += `<member><OutputKey>` + key + `</OutputKey><OutputValue>` + value + `</OutputValue></member>`
	}
	return http.StatusOK, document + `</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`
}

func TestStack_IsFoundByItsName(t *testing.T) {
	s := newShopfront(t)
	s.cloud(t)
	got := s.shopctl(t.Context(), "status", "--stack", "shopfront-prod")
	want := `target    stack shopfront-prod
base URL  https://r3pmxmplak.execute-api.eu-central-1.amazonaws.com
region    eu-central-1
version   1.0.0
table     CatalogueTable  active
table     VouchersTable  active
table     CheckoutsTable  active
`
	if s.withoutRandomNames(got.stdout) != want || got.exit != exitOK || got.stderr != "" {
		t.Errorf("got %v want\n%s", got, want)
	}
	// The variable selects the stack. In this test, the stack and the local run have the same tables.
	s.variables[stackVariable] = "shopfront-prod"
	if got := s.shopctl(t.Context(), "catalog", "apply", "testdata/emberforge.yaml"); got.exit != exitOK {
		t.Fatal(got)
	}
	if got := s.must(t, "catalog", "list"); !strings.Contains(got, "emberforge") {
		t.Errorf("after the catalogue was applied to the stack, its tables have these shops:\n%s", got)
	}
	if got := s.shopctl(t.Context(), "status", "--stack", "newsletter"); got.exit != exitRefused {
		t.Errorf("the flag does not override the variable: %v", got)
	}
}

func TestStack_EventsRebuild_GoesBackAsFarAsTheRetention(t *testing.T) {
	s := newShopfront(t)
	s.cloud(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	s.redeem(t, "emberforge", "WINTER-10", "Heron")
	s.clock = s.clock.Add(100 * 24 * time.Hour)
	if got := s.must(t, "events", "rebuild", "emberforge"); got != "added   0\nunread  0\n" {
		t.Errorf("with 90 days: %s", got)
	}
	if got := s.shopctl(t.Context(), "--stack", "shopfront-events", "events", "rebuild",
		"emberforge"); got != (result{stdout: "added   1\nunread  0\n"}) {
		t.Errorf("with 365 days: %v", got)
	}
	if got := s.shopctl(t.Context(), "--stack", "shopfront-events",
		"status"); !strings.Contains(s.withoutRandomNames(got.stdout), "table     EventsTable  active\n") {
		t.Errorf("status: %v", got)
	}
	want := "error: stack \"shopfront-forever\" in eu-central-1: the output EventRetentionDays is not a number of " +
		"days\n"
	if got := s.shopctl(t.Context(), "--stack", "shopfront-forever",
		"status"); got != (result{stderr: want, exit: exitFailed}) {
		t.Errorf("without a number of days: %v", got)
	}
	if got := s.shopctl(t.Context(), "--stack", "shopfront-prod", "events", "parked"); got.exit != exitFailed ||
		!strings.Contains(got.stderr, "no events") {
		t.Errorf("without events: %v", got)
	}
}

func TestStack_Missing_IsReported(t *testing.T) {
	s := newShopfront(t)
	s.cloud(t)
	for name, test := range map[string]struct {
		stack, region string
		want          result
	}{
		"unknown": {"shopfront-test", "eu-central-1", result{
			stderr: "error: no Shopfront found: there is no stack \"shopfront-test\" in eu-central-1: check the " +
				"name, AWS_REGION and AWS_PROFILE\n", exit: exitRefused,
		}},
		"not a Shopfront": {"newsletter", "eu-central-1", result{
			stderr: "error: no Shopfront found: the stack \"newsletter\" in eu-central-1 is another application, " +
				"or its deployment is incomplete:" +
				" it has no output CatalogueTable: check the name, AWS_REGION and AWS_PROFILE\n", exit: exitRefused,
		}},
		"no region": {"shopfront-prod", "", result{
			stderr: "error: no AWS region is set: set AWS_REGION, or set AWS_PROFILE to a profile that has a region\n",
			exit:   exitFailed,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_REGION", test.region)
			if got := s.shopctl(t.Context(), "voucher", "list", "emberforge", "--stack", test.stack); got != test.want {
				t.Errorf("got %v want %v", got, test.want)
			}
		})
	}
}

func TestStore_Refusal_IsReportedInOneLine(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.through(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		// fails only if the client has disconnected
		_, _ = io.WriteString(w, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"User: `+
			`clerk is not authorized to perform: dynamodb:GetItem"}`)
	}))
	got := s.shopctl(t.Context(), "--local", "voucher", "list", "emberforge")
	if got.exit != exitFailed || strings.Count(got.stderr, "\n") != 1 ||
		!strings.Contains(got.stderr, "not authorized to perform: dynamodb:GetItem") {
		t.Error(got)
	}
}

func TestCredentials_MissingOrRefused_AreReportedBriefly(t *testing.T) {
	const next = ": set AWS_PROFILE, or sign in with aws configure or aws sso login\n"
	for name, test := range map[string]struct {
		variables map[string]string
		code      string // AWS's error code for DescribeStacks
		want      result
	}{
		"no credentials": {
			map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
			"",
			result{stderr: "error: no valid AWS credentials" + next, exit: exitFailed},
		},
		"unknown profile": {
			map[string]string{"AWS_PROFILE": "emberforge"},
			"",
			result{stderr: "error: no such AWS profile: \"emberforge\": set AWS_PROFILE to another profile, or " +
				"create it with aws configure\n", exit: exitFailed},
		},
		"expired": {nil, "ExpiredToken", result{
			stderr: "error: no valid AWS credentials: CloudFormation refuses: ExpiredToken: as AWS says it" + next,
			exit:   exitFailed,
		}},
		"not allowed": {nil, "AccessDenied", result{
			stderr: "error: CloudFormation refuses: AccessDenied: as AWS says it\n", exit: exitFailed,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShopfront(t)
			s.cloud(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusForbidden)
				_, _ = io.WriteString(w, `<ErrorResponse><Error><Type>Sender</Type><Code>`+test.code+
					`</Code><Message>as AWS says it</Message></Error></ErrorResponse>`)
			}))
			t.Cleanup(server.Close)
			t.Setenv("AWS_ENDPOINT_URL", server.URL)
			for variable, value := range test.variables {
				t.Setenv(variable, value)
			}
			if got := s.shopctl(t.Context(), "--stack", "shopfront-prod", "status"); got != test.want {
				t.Errorf("got %v want %v", got, test.want)
			}
		})
	}
}

// nobody is an address where nothing listens. The port of a closed listener could be lent to another test.
const nobody = "127.0.0.1:1"

func TestStack_EndpointOutOfReach_IsUnavailable(t *testing.T) {
	s := newShopfront(t)
	s.cloud(t)
	t.Setenv("AWS_ENDPOINT_URL", "http://"+nobody)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	got := s.shopctl(t.Context(), "--stack", "shopfront-prod", "status", "--json")
	want := result{
		stderr: `{"error":{"kind":"unavailable","message":"AWS or the local run cannot be reached: dial tcp ` +
			nobody +
			`: connect: connection refused; the command may have taken effect: check, and run it again"}}` + "\n",
		exit: exitFailed,
	}
	if got != want {
		t.Errorf("got %v want %v", got, want)
	}
}

func TestLocal_OutsideAClone_SaysToChangeIntoOne(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	s.dir = t.TempDir()
	want := result{stderr: "error: no local run: there is no template.yaml in " + s.dir +
		" or above it: change into a clone of Shopfront\n", exit: exitFailed}
	if got := s.shopctl(t.Context(), "--local", "status"); got != want {
		t.Errorf("got %v want %v", got, want)
	}
}

func TestSuggestedCommands_HaveTheTarget(t *testing.T) {
	s := newShopfront(t)
	s.cloud(t)
	s.must(t, "catalog", "apply", "testdata/emberforge.yaml")
	for name, test := range map[string]struct {
		flags    []string
		variable string
		want     string
	}{
		"local run": {[]string{"--local"}, "", "shopctl --local voucher list emberforge\n"},
		"stack": {
			[]string{"--stack", "shopfront-prod"},
			"",
			"shopctl --stack shopfront-prod voucher list emberforge\n",
		},
		"stack, by variable": {nil, "shopfront-prod", "shopctl --stack shopfront-prod voucher list emberforge\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s.variables[stackVariable] = test.variable
			got := s.shopctl(t.Context(), append(test.flags, "voucher", "show", "emberforge", "NO-SUCH-CODE")...)
			if !strings.HasSuffix(got.stderr, ": see "+test.want) || got.exit != exitRefused {
				t.Errorf("got %v want %s", got, test.want)
			}
		})
	}
}

func TestApply_ReadsStandardInput(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	text, err := os.ReadFile("testdata/sakura-goods.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.stdin = bytes.NewReader(text)
	s.must(t, "catalog", "apply", "-")
	shown := s.must(t, "catalog", "show", "sakura-goods")
	s.stdin = strings.NewReader(shown)
	if got := s.shopctl(t.Context(), "--local", "catalog", "apply", "-"); got.stderr != "nothing to change\n" {
		t.Errorf("applying the shown catalogue again: %v", got)
	}
}

func TestExplain_Error_BecomesOneProblemForEachFault(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want []problem
	}{
		"the outcome is unknown": {
			fmt.Errorf("shop emberforge: %w", &dynamo.UnavailableError{Err: errors.New("throttled")}),
			[]problem{{
				exitFailed, kindUnavailable, "shop emberforge: store unavailable: throttled",
				"the command may have taken effect: check, and run it again",
			}},
		},
		"several faults": {
			errors.Join(&voucher.FieldError{Field: "note", Err: errors.New("too long")}, nil,
				errors.Join(&voucher.FieldError{Field: "nick", Err: errors.New("too long")})),
			[]problem{
				{exitRefused, kindInvalid, "note: too long", ""},
				{exitRefused, kindInvalid, "nick: too long", ""},
			},
		},
		"an apply that another apply overtook": {
			fmt.Errorf("shop emberforge, after 1 of 3 writes: %w", catalog.ErrChanged),
			[]problem{{
				exitFailed, kindFailed,
				"shop emberforge, after 1 of 3 writes: " + catalog.ErrChanged.Error(), "",
			}},
		},
		"unknown": {errors.New("disk on fire"), []problem{{exitFailed, kindFailed, "disk on fire", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := (&session{}).explain(test.err)
			if len(got) != len(test.want) {
				t.Fatalf("%d problems, want %d", len(got), len(test.want))
			}
			for i := range got {
				if *got[i] != test.want[i] {
					t.Errorf("got %+v want %+v", *got[i], test.want[i])
				}
			}
		})
	}
}
