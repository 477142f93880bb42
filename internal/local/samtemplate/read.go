package samtemplate

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.yaml.in/yaml/v3"

	"shopfront/internal/local/eventsource"
	"shopfront/internal/local/gateway"
)

// reader fills a Template. Its methods report errors with fail, like those of Document.
type reader struct {
	*Document
	*Template

	root string
}

func (r *reader) ignore(kind, name string) {
	r.Ignored = append(r.Ignored, fmt.Sprintf("%s: ignored on this machine: %s (%s)", File, kind, name))
}

// decode evaluates the properties that have the names of the fields of a struct, and stores them there. It does not
// evaluate other properties.
func (r *reader) decode(into any, at int, properties, globals *yaml.Node) {
	values := make(map[string]any)
	for field := range reflect.TypeOf(into).Elem().Fields() {
		name := field.Name
		values[name] = merge(r.evaluate(get(globals, name)), r.evaluate(get(properties, name)))
	}
	maps.DeleteFunc(values, func(_ string, value any) bool { return value == nil })
	text, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		r.fail(&yaml.Node{Line: at}, "a property has the wrong form: %w", err)
	}
}

// readResources reads the resources that exist on this machine, and reports all others as ignored.
func (r *reader) readResources() {
	var functions []Resource
	for each := range r.resources() {
		switch each.Type {
		case typeAPI:
			var api struct{ CorsConfiguration *gateway.CORS }
			r.decode(&api, each.Line, each.properties, nil)
			r.CORS = api.CorsConfiguration
		case typeTable:
			r.readTable(each)
		case typeFunction:
			functions = append(functions, each)
		case "AWS::IAM::Role", "AWS::Logs::LogGroup", "AWS::SQS::Queue":
			// The shop's own template has these, but the local run does not need them.
		default:
			r.ignore(each.Type, each.Name)
		}
	}
	for _, each := range functions { // last, because they refer to the tables
		r.readFunction(each)
	}
}

func (r *reader) readFunction(each Resource) {
	properties := struct {
		Handler             string
		Architectures       []string
		Timeout, MemorySize int `json:",string"`
		Environment         struct{ Variables map[string]string }
	}{Timeout: 3, MemorySize: 128}
	r.decode(&properties, each.Line, each.properties, r.globals(each.Type))
	f := Function{
		LogicalID:    each.Name,
		Name:         kebab(each.Name),
		Package:      "functions/" + kebab(each.Name),
		Handler:      properties.Handler,
		Architecture: strings.Join(properties.Architectures, ","),
		Timeout:      time.Duration(properties.Timeout) * time.Second,
		MemorySize:   properties.MemorySize,
		Environment:  r.environment(each.Name, properties.Environment.Variables),
	}
	if info, err := os.Stat(filepath.Join(r.root, f.Package)); err != nil || !info.IsDir() {
		r.fail(&yaml.Node{Line: each.Line}, "%s has no code: there is no folder %s", each.Name, f.Package)
	}
	r.Functions = append(r.Functions, f)
	for key, event := range pairs(get(each.properties, "Events")) {
		r.readEvent(f.Name, key, event)
	}
}

// environment resolves the references in a function's variables. A reference to a table becomes the table's name on
// this machine. Other resources do not exist on this machine. For these, the function gets the address in the template.
// So the function starts, and fails only when it uses the resource.
func (r *reader) environment(function string, variables map[string]string) map[string]string {
	resolved := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		resolved[name] = variable.ReplaceAllStringFunc(variables[name], func(reference string) string {
			address := reference[2 : len(reference)-1]
			if at := r.tableAt(address); at >= 0 {
				return r.Tables[at].Name
			}
			r.ignore("value of a variable", function+" "+name+": "+address)
			return address
		})
	}
	return resolved
}

// tableAt returns the index of a table, or -1.
func (r *reader) tableAt(logicalID string) int {
	return slices.IndexFunc(r.Tables, func(table Table) bool { return table.LogicalID == logicalID })
}

// readEvent reads an event that invokes a function. The local run knows requests, streams of tables that the stack
// creates, and schedules with a fixed rate.
func (r *reader) readEvent(function string, key, event *yaml.Node) {
	switch kind := r.text(get(event, "Type")); {
	case kind == "HttpApi":
		var properties struct{ Method, Path string }
		r.decode(&properties, key.Line, get(event, "Properties"), nil)
		if properties.Method == "" || strings.EqualFold(properties.Method, "any") || properties.Path == "" {
			r.fail(key, "the event %s needs Method, other than ANY, and Path", key.Value)
		}
		r.Routes = append(r.Routes, gateway.Route{
			Method: strings.ToUpper(properties.Method), Path: properties.Path, Function: function,
		})
	case kind == "DynamoDB" && r.readEventSource(function, key, get(event, "Properties")):
	case kind == "Schedule" && r.readSchedule(function, key, get(event, "Properties")):
	default:
		r.ignore("event of type "+kind, function+" "+key.Value)
	}
}

func (r *reader) readEventSource(function string, key, declared *yaml.Node) bool {
	properties := struct {
		Stream    string
		BatchSize int `json:",string"`
	}{BatchSize: 100}
	r.decode(&properties, key.Line, declared, nil)
	at := r.tableAt(strings.TrimSuffix(strings.TrimPrefix(properties.Stream, "${"), ".StreamArn}"))
	if at < 0 {
		return false
	}
	if r.Tables[at].Stream == "" {
		r.fail(key, "the event %s needs a stream, and the table %s has no StreamSpecification", key.Value,
			r.Tables[at].LogicalID)
	}
	r.EventSources = append(r.EventSources,
		eventsource.Mapping{Function: function, Table: r.Tables[at].Name, BatchSize: properties.BatchSize})
	return true
}

func (r *reader) readSchedule(function string, key, declared *yaml.Node) bool {
	var properties struct{ Schedule string }
	r.decode(&properties, key.Line, declared, nil)
	rate := regexp.MustCompile(`^rate\((\d{1,5}) (minute|hour|day)s?\)$`).FindStringSubmatch(properties.Schedule)
	if rate == nil {
		return false
	}
	count, _ := strconv.Atoi(rate[1]) // never fails: the pattern allows only digits
	unit := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[rate[2]]
	r.Schedules = append(r.Schedules,
		eventsource.Schedule{Function: function, Name: key.Value, Every: time.Duration(count) * unit})
	return true
}

func (r *reader) readTable(each Resource) {
	var properties struct {
		AttributeDefinitions   []types.AttributeDefinition
		KeySchema              []types.KeySchemaElement
		GlobalSecondaryIndexes []struct {
			IndexName  *string
			KeySchema  []types.KeySchemaElement
			Projection *types.Projection
		}
		TimeToLiveSpecification struct{ AttributeName, Enabled string }
		StreamSpecification     struct{ StreamViewType types.StreamViewType }
	}
	r.decode(&properties, each.Line, each.properties, nil)
	table := Table{
		LogicalID: each.Name, Name: r.tableName(each.Name), Attributes: properties.AttributeDefinitions,
		Keys: properties.KeySchema, Stream: properties.StreamSpecification.StreamViewType,
	}
	for _, index := range properties.GlobalSecondaryIndexes {
		table.Indexes = append(table.Indexes, types.GlobalSecondaryIndex{
			IndexName: index.IndexName, KeySchema: index.KeySchema, Projection: index.Projection,
		})
	}
	if properties.TimeToLiveSpecification.Enabled == "true" {
		table.TTL = properties.TimeToLiveSpecification.AttributeName
	}
	r.Tables = append(r.Tables, table)
}

// tableName returns the key of the stack's output that contains the table's name. If there is no such output, it
// returns the logical ID.
func (r *reader) tableName(logicalID string) string {
	for key, item := range pairs(get(r.sections, "Outputs")) {
		if r.textIfPossible(get(item, "Value")) == "${"+logicalID+"}" {
			return key.Value
		}
	}
	return logicalID
}

// textIfPossible is like text, but returns "" if text fails.
func (d *Document) textIfPossible(n *yaml.Node) (text string) {
	_ = try(func() { text = d.text(n) })
	return text
}

// kebab writes RedeemVoucher as redeem-voucher.
func kebab(name string) string {
	return strings.ToLower(regexp.MustCompile(`\B[A-Z]`).ReplaceAllString(name, "-$0"))
}
