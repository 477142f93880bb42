package samtemplate

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.yaml.in/yaml/v3"

	"shopfront/internal/local/eventsource"
	"shopfront/internal/local/gateway"
)

// reader fills a Template. Its methods report errors with fail, like those of stack.
type reader struct {
	*stack

	root     string
	template *Template
}

func (r *reader) ignore(kind, name string) {
	r.template.Ignored = append(r.template.Ignored,
		fmt.Sprintf("%s: ignored on this machine: %s (%s)", File, kind, name))
}

// field evaluates the value under a key of a mapping.
func (r *reader) field(n *yaml.Node, key string) *yaml.Node { return r.resolve(get(n, key)) }

// number returns a whole number, or fallback if n is nil.
func (r *reader) number(n *yaml.Node, fallback int) int {
	if n == nil {
		return fallback
	}
	number, err := strconv.Atoi(r.text(n))
	if err != nil {
		r.fail(n, "want a whole number, not %q", r.text(n))
	}
	return number
}

func (r *reader) seconds(n *yaml.Node, fallback int) time.Duration {
	return time.Duration(r.number(n, fallback)) * time.Second
}

// readResources reads the resources that exist on this machine, and reports all others as ignored.
func (r *reader) readResources() {
	var functions []resource
	for each := range r.resources() {
		switch each.kind {
		case typeAPI:
			r.readCORS(r.property(each, "CorsConfiguration"))
		case typeTable:
			r.readTable(each)
		case typeFunction:
			functions = append(functions, each)
		case "AWS::IAM::Role", "AWS::Logs::LogGroup", "AWS::SQS::Queue":
			// The shop's own template has these, but the local run does not need them.
		default:
			r.ignore(each.kind, each.name)
		}
	}
	for _, each := range functions { // last, because they refer to the tables
		r.readFunction(each)
	}
}

func (r *reader) readCORS(cors *yaml.Node) {
	if cors == nil {
		return
	}
	r.template.CORS = &gateway.CORS{
		AllowOrigins:  r.texts(r.field(cors, "AllowOrigins")),
		AllowMethods:  r.texts(r.field(cors, "AllowMethods")),
		AllowHeaders:  r.texts(r.field(cors, "AllowHeaders")),
		ExposeHeaders: r.texts(r.field(cors, "ExposeHeaders")),
		MaxAge:        r.seconds(r.field(cors, "MaxAge"), 0),
	}
}

func (r *reader) readFunction(each resource) {
	f := Function{
		LogicalID:    each.name,
		Name:         kebab(each.name),
		Package:      "functions/" + kebab(each.name),
		Handler:      r.text(r.property(each, "Handler")),
		Architecture: strings.Join(r.texts(r.property(each, "Architectures")), ","),
		Timeout:      r.seconds(r.property(each, "Timeout"), 3),
		MemorySize:   r.number(r.property(each, "MemorySize"), 128),
		Environment:  r.environment(each.name, r.field(r.property(each, "Environment"), "Variables")),
	}
	if info, err := os.Stat(filepath.Join(r.root, f.Package)); err != nil || !info.IsDir() {
		r.fail(each.at, "%s has no code: there is no folder %s", each.name, f.Package)
	}
	r.template.Functions = append(r.template.Functions, f)
	for key, event := range pairs(r.property(each, "Events")) {
		r.readEvent(f.Name, key, event)
	}
}

// environment evaluates a function's variables. A reference to a table becomes the table's name on this machine. Other
// resources do not exist on this machine. For these, the function gets the address in the template. So the function
// starts, and fails only when it uses the resource.
func (r *reader) environment(function string, variables *yaml.Node) map[string]string {
	environment := make(map[string]string)
	for key, item := range pairs(variables) {
		if item = r.resolve(item); item == nil {
			continue // AWS::NoValue
		}
		environment[key.Value] = replaceReferences(r.text(item), func(address string) string {
			for _, table := range r.template.Tables {
				if table.LogicalID == address {
					return table.Name
				}
			}
			r.ignore("value of a variable", function+" "+key.Value+": "+address)
			return address
		})
	}
	return environment
}

// readEvent reads an event that invokes a function.
func (r *reader) readEvent(function string, key, event *yaml.Node) {
	event = r.resolve(event)
	properties := r.field(event, "Properties")
	switch kind := r.text(get(event, "Type")); {
	case kind == "HttpApi":
		r.readRoute(function, key, properties)
	case kind == "DynamoDB" && r.readEventSource(function, key, properties):
	case kind == "Schedule" && r.readSchedule(function, key, properties):
	default:
		r.ignore("event of type "+kind, function+" "+key.Value)
	}
}

func (r *reader) readRoute(function string, key, properties *yaml.Node) {
	route := gateway.Route{
		Method:   strings.ToUpper(r.text(get(properties, "Method"))),
		Path:     r.text(get(properties, "Path")),
		Function: function,
	}
	if route.Method == "" || route.Path == "" {
		r.fail(key, "the event %s needs Method and Path", key.Value)
	}
	r.template.Routes = append(r.template.Routes, route)
}

// readEventSource reads an event that a table's stream causes. It returns false if the stack does not create that
// table.
func (r *reader) readEventSource(function string, key, properties *yaml.Node) bool {
	address := strings.Trim(r.text(r.field(properties, "Stream")), referenceMark)
	at := slices.IndexFunc(r.template.Tables, func(t Table) bool { return t.LogicalID+".StreamArn" == address })
	if at < 0 {
		return false
	}
	table := r.template.Tables[at]
	if table.Stream == "" {
		r.fail(key, "the event %s needs a stream, and the table %s has no StreamSpecification", key.Value,
			table.LogicalID)
	}
	r.template.EventSources = append(r.template.EventSources, eventsource.Mapping{
		Function: function, Table: table.Name, BatchSize: r.number(r.field(properties, "BatchSize"), 100),
	})
	return true
}

// readSchedule reads an event that occurs at a fixed rate. It returns false for any other schedule.
func (r *reader) readSchedule(function string, key, properties *yaml.Node) bool {
	rate := regexp.MustCompile(`^rate\(([1-9][0-9]{0,4}) (minute|hour|day)s?\)$`).FindStringSubmatch(r.text(
		get(properties, "Schedule"),
	))
	if rate == nil {
		return false
	}
	count, _ := strconv.Atoi(rate[1]) // never fails: the pattern allows only digits
	unit := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[rate[2]]
	r.template.Schedules = append(r.template.Schedules,
		eventsource.Schedule{Function: function, Name: key.Value, Every: time.Duration(count) * unit})
	return true
}

func (r *reader) readTable(each resource) {
	table := Table{LogicalID: each.name, Name: r.tableName(each.name)}
	for _, item := range r.list(r.property(each, "AttributeDefinitions")) {
		table.Attributes = append(table.Attributes, types.AttributeDefinition{
			AttributeName: aws.String(r.text(get(item, "AttributeName"))),
			AttributeType: types.ScalarAttributeType(r.text(get(item, "AttributeType"))),
		})
	}
	table.Keys = r.keys(r.property(each, "KeySchema"))
	for _, item := range r.list(r.property(each, "GlobalSecondaryIndexes")) {
		projection := types.ProjectionType(r.text(get(r.field(item, "Projection"), "ProjectionType")))
		table.Indexes = append(table.Indexes, types.GlobalSecondaryIndex{
			IndexName:  aws.String(r.text(get(item, "IndexName"))),
			KeySchema:  r.keys(r.field(item, "KeySchema")),
			Projection: &types.Projection{ProjectionType: projection},
		})
	}
	ttl := r.property(each, "TimeToLiveSpecification")
	if r.text(get(ttl, "Enabled")) == "true" {
		table.TTL = r.text(get(ttl, "AttributeName"))
	}
	table.Stream = types.StreamViewType(r.text(get(r.property(each, "StreamSpecification"), "StreamViewType")))
	r.template.Tables = append(r.template.Tables, table)
}

// keys evaluates the KeySchema of a table or an index.
func (r *reader) keys(schema *yaml.Node) (keys []types.KeySchemaElement) {
	for _, item := range r.list(schema) {
		keys = append(keys, types.KeySchemaElement{
			AttributeName: aws.String(r.text(get(item, "AttributeName"))),
			KeyType:       types.KeyType(r.text(get(item, "KeyType"))),
		})
	}
	return keys
}

// tableName returns the key of the stack's output that contains the table's name. If there is no such output, it
// returns the logical ID.
func (r *reader) tableName(logicalID string) string {
	for key, item := range pairs(get(r.sections, "Outputs")) {
		if text := r.textIfPossible(get(item, "Value")); text == reference(logicalID) {
			return key.Value
		}
	}
	return logicalID
}

// textIfPossible is like text, but returns "" if text fails.
func (s *stack) textIfPossible(n *yaml.Node) (text string) {
	_ = try(func() { text = s.text(n) })
	return text
}

// kebab writes RedeemVoucher as redeem-voucher.
func kebab(name string) string {
	return strings.ToLower(regexp.MustCompile(`\B[A-Z]`).ReplaceAllString(name, "-$0"))
}
