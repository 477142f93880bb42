package contract_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shopfront/internal/contract"
)

// releasesSum is the SHA-256 of api/releases/SHA256SUMS. Without a git history, as in an unpacked archive, only this
// constant proves that the released documents are unchanged. Change it only after `make release`.
const releasesSum = "788dcb890f5bab2a5debb13ddb33e1ea0de3610d4d048e73ce18ff01aadfb3de"

func TestReleases_Sums_ArePinned(t *testing.T) {
	sums, err := os.ReadFile(root + "/api/releases/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(sums)); got != releasesSum {
		t.Errorf("after `make release`, and only then, set releasesSum to %s; otherwise restore api/releases from git",
			got)
	}
}

const (
	first  = "api/releases/0001-undated.yaml"
	second = "api/releases/0002-undated.yaml"
	third  = "api/releases/0003-2026-11-21.yaml"
)

// committed returns a repository with three releases, each in its own commit.
func committed(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	git(t, root, "init", "-q", "-b", "main")
	for i, text := range []string{
		shop, edited(t, "Voucher not found", "No such voucher"),
		edited(t, "Redeemed", "It is redeemed"),
	} {
		write(t, root, []string{first, second, third}[i], text)
		commit(t, root, "api/openapi.yaml", shop)
	}
	return root
}

func git(t *testing.T, root string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git",
		append([]string{"-C", root, "-c", "user.name=Shopfront", "-c", "user.email=shop@example.com"}, args...)...)
	// Ignore the machine's Git settings. If a Git hook runs the tests, ignore the hook's repository too.
	command.Env = slices.DeleteFunc(os.Environ(),
		func(variable string) bool { return strings.HasPrefix(variable, "GIT_") })
	command.Env = append(command.Env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
}

// commit writes a file and the sums of the released documents, and commits everything.
func commit(t *testing.T, root, name, text string) {
	t.Helper()
	write(t, root, name, text)
	sum(t, root)
	git(t, root, "add", "-A")
	git(t, root, "commit", "-q", "--allow-empty", "-m", "Work on the shop")
}

// beginMerge makes the next commit a merge.
func beginMerge(t *testing.T, root string) {
	t.Helper()
	git(t, root, "switch", "-q", "-c", "coins", "HEAD~1")
	commit(t, root, "README.md", "A shop.\n")
	git(t, root, "switch", "-q", "main")
	git(t, root, "merge", "-q", "--no-commit", "--no-ff", "coins")
}

func TestCheckHistory_EditedOrRemovedRelease_IsReported(t *testing.T) {
	for name, test := range map[string]struct {
		harm func(root string)
		want []string // a part of each problem
	}{
		"unchanged": {func(string) {}, nil},
		"edited, sum updated": {func(root string) {
			write(t, root, second, shop)
			sum(t, root)
		}, []string{second + " is not what was released"}},
		"edited, sum updated, committed": {
			func(root string) { commit(t, root, second, shop) }, []string{second + " is not what was released"},
		},
		"edited, then another commit": {func(root string) {
			commit(t, root, first, edited(t, "Redeemed", "Used"))
			commit(t, root, "README.md", "A shop.\n")
		}, []string{first + " is not what was released"}},
		"edited, then restored": {func(root string) {
			commit(t, root, first, edited(t, "Redeemed", "Used"))
			commit(t, root, first, shop)
		}, nil},
		"the last release deleted, with its sum": {func(root string) {
			remove(t, root, third)
			sum(t, root)
		}, []string{third + " was released and does not exist any more"}},
		"the last release deleted, with its sum, committed": {func(root string) {
			remove(t, root, third)
			commit(t, root, "README.md", "A shop.\n")
		}, []string{third + " was released and does not exist any more"}},
		"the first release deleted, the others renamed": {
			func(root string) {
				remove(t, root, first)
				git(t, root, "mv", second, first)
				git(t, root, "mv", third, strings.Replace(third, "0003", "0002", 1))
				commit(t, root, "README.md", "A shop.\n")
			}, []string{
				first + " is not what was released", second + " was released and does not exist any more",
				third + " was released and does not exist any more",
			},
		},
		"deleted, then replaced by another release": {func(root string) {
			remove(t, root, third)
			commit(t, root, "README.md", "A shop.\n")
			commit(t, root, third, shop)
		}, []string{third + " is not what was released"}},
		"edited by a merge": {func(root string) {
			beginMerge(t, root)
			commit(t, root, second, shop)
		}, []string{second + " is not what was released"}},
		"added by a merge, and edited": {func(root string) {
			beginMerge(t, root)
			commit(t, root, "api/releases/0004-2026-12-01.yaml", shop)
			commit(t, root, "api/releases/0004-2026-12-01.yaml", edited(t, "Redeemed", "Used"))
		}, []string{"0004-2026-12-01.yaml is not what was released"}},
		"a new release, not committed": {func(root string) {
			write(t, root, "api/releases/0004-2026-12-01.yaml", shop)
			sum(t, root)
		}, nil},
		"edited on a branch": {func(root string) {
			git(t, root, "switch", "-q", "-c", "coins")
			commit(t, root, third, shop)
		}, []string{third + " is not what was released"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := committed(t)
			test.harm(root)
			problems, err := open(t, root).CheckHistory(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) != len(test.want) {
				t.Fatalf("the problems are %q, want %q", problems, test.want)
			}
			for i, want := range test.want {
				if !strings.Contains(problems[i], want) {
					t.Errorf("the problem is %q, want %q in it", problems[i], want)
				}
			}
		})
	}
}

func TestCheckHistory_WithoutFullHistory_IsAnError(t *testing.T) {
	clone := t.TempDir()
	full := committed(t)
	git(t, full, "clone", "-q", "--depth=1", "file://"+full, clone)
	inAnother := t.TempDir()
	git(t, inAnother, "init", "-q")
	git(t, inAnother, "commit", "-q", "--allow-empty", "-m", "Open the shop")
	for name, test := range map[string]struct{ root, want string }{
		"a shallow clone":                  {clone, "git fetch --unshallow"},
		"an unpacked archive":              {t.TempDir(), "not a git repository"},
		"an archive in another repository": {inAnother, "has no commit that added a released document"},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, test.root, "api/openapi.yaml", shop)
			write(t, test.root, first, shop)
			sum(t, test.root)
			problems, err := open(t, test.root).CheckHistory(t.Context())
			if !errors.Is(err, contract.ErrNoHistory) || !strings.Contains(err.Error(), test.want) || problems != nil {
				t.Errorf("the problems are %q, the error is %v, want an error with %q", problems, err, test.want)
			}
		})
	}
}

// A git hook or a shell may set variables that point git to another repository.
func TestCheckHistory_GitVariables_AreIgnored(t *testing.T) {
	root, other := committed(t), t.TempDir()
	git(t, other, "init", "-q")
	commit(t, root, second, shop)
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	t.Setenv("GIT_WORK_TREE", other)
	problems, err := open(t, root).CheckHistory(t.Context())
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0], second+" is not what was released") {
		t.Errorf("the problems are %q, %v, want the edited release", problems, err)
	}
}

// template routes the operations of the shop.
const template = `Transform: AWS::Serverless-2016-10-31
Resources:
  Api: {Type: AWS::Serverless::HttpApi}
  Voucher:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: .
      Handler: bootstrap
      Runtime: provided.al2023
      Events:
        Post: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: POST, Path: "/shop/{customer}/voucher"}}
  CheckoutArea:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: .
      Handler: bootstrap
      Runtime: provided.al2023
      Events:
        Get: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: GET, Path: "/shop/{customer}/checkout"}}
        Head: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: HEAD, Path: "/shop/{customer}/checkout"}}
`

// Run reports a missing history, edited releases, and what is left to do after a release.
func TestRun_HistoryAndReleases_AreChecked(t *testing.T) {
	const document, field = "api/openapi.yaml", "                nick: "
	shop := edited(t, get, get+"      operationId: showArea\n      tags: [Vouchers]\n")
	root := keep(t, shop, [2]string{"0001-undated", shop})
	write(t, root, "template.yaml", template)
	for _, function := range []string{"voucher", "checkout-area"} {
		write(t, root, "functions/"+function+"/main.go", "package main\n")
	}
	run := func(command string) (output string, err error) {
		var out strings.Builder
		err = contract.Run(t.Context(), []string{command}, root, &out, time.Now())
		return out.String(), err
	}
	if _, err := run("render"); err != nil {
		t.Fatal(err)
	}
	if out, err := run("check"); err != nil || !strings.Contains(out, "!!! the history of the released documents") {
		t.Errorf("without history: %v, %q", err, out)
	}
	git(t, root, "init", "-q")
	commit(t, root, document, shop)
	if out, err := run("check"); err != nil || strings.Contains(out, "!!!") {
		t.Errorf("with history: %v, %q", err, out)
	}
	write(t, root, document, strings.Replace(shop, field, "                till: {type: string}\n"+field, 1))
	for _, command := range []string{"render", "release", "check"} {
		out, err := run(command)
		if err != nil {
			t.Fatalf("%s with a new field: %v", command, err)
		}
		if command == "release" && !strings.Contains(out, "api/summaries.yaml as\n    2: ") {
			t.Errorf("the release does not say how to summarise it: %q", out)
		}
	}
	appendTo(t, filepath.Join(root, first), "# edited\n")
	sum(t, root)
	for _, command := range []string{"check", "release"} {
		_, err := run(command)
		if red := (*contract.RedError)(nil); !errors.As(err, &red) ||
			!strings.Contains(err.Error(), first+" is not what was released") {
			t.Errorf("%s with an edited release: %v", command, err)
		}
	}
	if _, err := run("publish"); err == nil || !strings.Contains(err.Error(), "name one command") {
		t.Errorf("an unknown command: %v", err)
	}
}

func appendTo(t *testing.T, name, text string) {
	t.Helper()
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Dir(name), filepath.Base(name), string(before)+text)
}
