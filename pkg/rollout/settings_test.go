package rollout_test

import (
	"maps"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"shopfront/pkg/rollout"
)

// What the environments of samconfig.toml are deployed with.
func TestEnvironments(t *testing.T) {
	for environment, confirm := range map[string]bool{"dev": false, "staging": false, "prod": true} {
		s, err := rollout.Read(os.DirFS("../.."), environment, "template.yaml", map[string]string{"Architecture": "arm64"})
		if err != nil {
			t.Fatal(err)
		}
		if s.Stack != "shopfront-"+environment || s.Confirm != confirm || len(s.Capabilities) != 2 {
			t.Errorf("%s: stack %s, asks %v, capabilities %q", environment, s.Stack, s.Confirm, s.Capabilities)
		}
		if want := map[string]string{"application": "shopfront", "environment": environment}; !maps.Equal(s.Tags, want) {
			t.Errorf("%s: tags %v, want %v", environment, s.Tags, want)
		}
		if s.Parameters["Architecture"] != "arm64" || s.Parameters["LogRetentionDays"] == "" {
			t.Errorf("%s: parameters %v", environment, s.Parameters)
		}
	}
}

func TestSettingsInError(t *testing.T) {
	const config = "[prod.deploy.parameters]\nstack_name = \"market\"\nparameter_overrides = [\"file://prod.yaml\", \"ThrottleRate=20\"]\n"
	valid := map[string]string{
		"samconfig.toml": config, "prod.yaml": "Alarms: on\nThrottleRate: 0500\n", "infra/stack-policy.json": "{}", "packaged.yaml": "Parameters: {}",
	}
	for name, test := range map[string]struct{ file, text, want string }{
		"as it should be":       {},
		"no settings":           {"samconfig.toml", "", "no [prod.deploy.parameters] with a stack_name"},
		"no TOML":               {"samconfig.toml", "[prod", "samconfig.toml: "},
		"a tag without a value": {"samconfig.toml", config + "tags = [\"shop\"]\n", `the tag "shop" is not KEY=VALUE`},
		"an odd parameter":      {"samconfig.toml", strings.Replace(config, "ThrottleRate=20", "ThrottleRate", 1), "neither a file:// nor NAME=VALUE"},
		"a list":                {"prod.yaml", "Shops:\n  - market\n", "prod.yaml:2: the parameter Shops is not one value"},
		"a large template":      {"packaged.yaml", strings.Repeat("#", 51_201), "has 51201 bytes, and CloudFormation takes 51200"},
	} {
		files := fstest.MapFS{}
		for path, text := range valid {
			files[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if test.file != "" {
			files[test.file] = &fstest.MapFile{Data: []byte(test.text)}
		}
		s, err := rollout.Read(files, "prod", "packaged.yaml", nil)
		switch {
		case test.want == "" && (err != nil || s.Parameters["Alarms"] != "on" || s.Parameters["ThrottleRate"] != "20"):
			t.Errorf("%s: %v, parameters %v", name, err, s.Parameters)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}
