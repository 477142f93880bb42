package localtest_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"shopfront/internal/local/dynamolocal/localtest"
)

func TestClient_SeveralClients_ShareOneServer(t *testing.T) {
	table := localtest.Table(t, "VouchersTable")
	tables, err := localtest.Client(t).ListTables(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(tables.TableNames, table) {
		t.Errorf("another client sees the tables %q, want %q among them", tables.TableNames, table)
	}
}

func TestEndpoint_WithoutJava_FailsTheTest(t *testing.T) {
	localtest.Endpoint(t) // fetches DynamoDB Local if it is missing
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestClient_SeveralClients_ShareOneServer$",
		"-test.v")
	cmd.Env = []string{"PATH="}
	output, err := cmd.CombinedOutput()
	if err == nil || strings.Contains(string(output), "SKIP") {
		t.Errorf("want a failure, got %v:\n%s", err, output)
	}
	if !strings.Contains(string(output), "install Java 17") {
		t.Errorf("the error does not say what to install:\n%s", output)
	}
}
