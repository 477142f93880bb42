package rollout

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"
)

// Settings are what is deployed, and how.
type Settings struct {
	Stack        string            // its name
	Template     string            // as `sam package` leaves it, at most 51,200 bytes
	Parameters   map[string]string // those that are set; another keeps its value, or gets its default
	Capabilities []string
	Tags         map[string]string
	Policy       string // JSON: what an update may not do to the stack of the tables
	Confirm      bool   // whether to ask before anything is changed
}

// The most that CloudFormation takes in a call:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html.
const maxTemplate = 51_200

// Read reads the settings of an environment from samconfig.toml, the section of `sam deploy`, and the files that it names, with
// further parameters over those. The packaged template has a path of its own.
func Read(files fs.FS, environment, template string, parameters map[string]string) (Settings, error) {
	var environments map[string]toml.Primitive
	text, err := fs.ReadFile(files, "samconfig.toml")
	if err != nil {
		return Settings{}, fmt.Errorf("settings: %w", err)
	}
	meta, err := toml.Decode(string(text), &environments)
	if err != nil {
		return Settings{}, fmt.Errorf("samconfig.toml: %w", err)
	}
	var section struct {
		Deploy struct {
			Parameters struct {
				StackName          string   `toml:"stack_name"`
				Capabilities       []string `toml:"capabilities"`
				ParameterOverrides []string `toml:"parameter_overrides"`
				ConfirmChangeset   bool     `toml:"confirm_changeset"`
				Tags               []string `toml:"tags"`
			} `toml:"parameters"`
		} `toml:"deploy"`
	}
	if err := meta.PrimitiveDecode(environments[environment], &section); err != nil {
		return Settings{}, fmt.Errorf("samconfig.toml: %w", err)
	}
	deploy := section.Deploy.Parameters
	if deploy.StackName == "" {
		return Settings{}, fmt.Errorf("samconfig.toml has no [%s.deploy.parameters] with a stack_name", environment)
	}
	s := Settings{
		Stack: deploy.StackName, Capabilities: deploy.Capabilities, Confirm: deploy.ConfirmChangeset,
		Parameters: make(map[string]string), Tags: make(map[string]string),
	}
	for _, override := range deploy.ParameterOverrides {
		if err := s.override(files, override); err != nil {
			return Settings{}, err
		}
	}
	maps.Copy(s.Parameters, parameters)
	for _, tag := range deploy.Tags {
		key, value, ok := strings.Cut(tag, "=")
		if !ok {
			return Settings{}, fmt.Errorf("samconfig.toml: the tag %q is not KEY=VALUE", tag)
		}
		s.Tags[key] = value
	}
	policy, err := fs.ReadFile(files, "infra/stack-policy.json")
	if err != nil {
		return Settings{}, fmt.Errorf("settings: %w", err)
	}
	packaged, err := fs.ReadFile(files, template)
	if err != nil {
		return Settings{}, fmt.Errorf("the packaged template: %w", err)
	}
	if len(packaged) > maxTemplate {
		return Settings{}, fmt.Errorf("%s has %d bytes, and CloudFormation takes %d", template, len(packaged), maxTemplate)
	}
	s.Policy, s.Template = string(policy), string(packaged)
	return s, nil
}

// override sets parameters from file://PATH, a YAML file of them, or from NAME=VALUE.
func (s *Settings) override(files fs.FS, text string) error {
	path, isFile := strings.CutPrefix(text, "file://")
	if !isFile {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("samconfig.toml: the parameter %q is neither a file:// nor NAME=VALUE", text)
		}
		s.Parameters[name] = value
		return nil
	}
	content, err := fs.ReadFile(files, path)
	if err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	var parameters map[string]yaml.Node // read as written: 007 and on are texts here, as they are for the SAM CLI
	if err := yaml.Unmarshal(content, &parameters); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		value := parameters[name]
		if value.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s:%d: the parameter %s is not one value", path, value.Line, name)
		}
		s.Parameters[name] = value.Value
	}
	return nil
}
