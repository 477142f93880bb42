// Package samtemplate reads template.yaml, so that the local run and the tests take routes, functions, variables and
// tables from the same file as a deployment does.
//
// It evaluates only what it needs. Resources, properties and expressions that matter only in the cloud do not stop the
// local run. Template.Ignored names the resources that the shop's own template does not use. Expressions have the short
// form. They may be Ref, GetAtt, Sub, If, Split and Select. Errors name the file and the line. References:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-reference.html,
// https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/sam-specification.html.
//
// No deployed program may import this package. The package imports only two others of this module: gateway for routes
// and CORS, and eventsource for mappings and schedules.
package samtemplate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"shopfront/internal/local/eventsource"
	"shopfront/internal/local/gateway"
)

// File is the name of the template, in the root of the source tree.
const File = "template.yaml"

// The resource types that the local run serves.
const (
	typeAPI      = "AWS::Serverless::HttpApi"
	typeFunction = "AWS::Serverless::Function"
	typeTable    = "AWS::DynamoDB::Table"
)

// Template holds the parts of template.yaml that a local run needs, in the template's order.
type Template struct {
	Functions []Function
	Routes    []gateway.Route
	CORS      *gateway.CORS // may be nil
	// EventSources and Schedules also invoke functions. The table of an event source is one of Tables.
	EventSources []eventsource.Mapping
	Schedules    []eventsource.Schedule
	// Tables are the tables that the stack creates. They do not include tables that a parameter names.
	Tables  []Table
	Version string // the value of the stack's output Version; may be empty
	// Ignored has a line for each resource, event or value that this machine ignores.
	Ignored []string
}

// Function is a Lambda function.
type Function struct {
	// LogicalID is the function's name in the template, such as RedeemVoucher. The file for `sam local invoke
	// --env-vars` uses it as a key.
	LogicalID string
	// Name is the logical ID in kebab case, such as redeem-voucher. The Makefile's build rule uses the same name.
	Name string
	// Package is the path of the function's main package from the source tree's root, with slashes, such as
	// functions/redeem-voucher.
	Package string
	// Handler is the name of the deployed program.
	Handler string
	// Architecture is arm64 or x86_64.
	Architecture string
	Timeout      time.Duration
	MemorySize   int // MB
	// Environment holds the variables that the template declares. A reference to one of Template.Tables becomes that
	// table's Name.
	Environment map[string]string
}

// FindRoot returns the root of the source tree that contains dir. The root is the nearest directory with a
// template.yaml: dir itself or one of its parents.
func FindRoot(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := start; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, File)); !errors.Is(err, fs.ErrNotExist) {
			return at, err
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("there is no %s in %s or above it: change into a clone of Shopfront", File, start)
		}
	}
}

// Load reads template.yaml in the source tree's root. The parameters override the defaults of the template's parameters
// and of the pseudo parameters AWS::AccountId, AWS::Partition, AWS::Region, AWS::StackName and AWS::URLSuffix.
func Load(root string, parameters map[string]string) (*Template, error) {
	document, err := Open(filepath.Join(root, File), "", parameters)
	if err != nil {
		return nil, err
	}
	r := &reader{Document: document, Template: &Template{}, root: root}
	if err := try(r.readResources); err != nil {
		return nil, err
	}
	r.Version = r.textIfPossible(get(r.sections, "Outputs", "Version", "Value"))
	return r.Template, nil
}
