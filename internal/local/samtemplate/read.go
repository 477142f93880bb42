package samtemplate

import (
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
	hasAPI   bool
	// ignored lists the ignored names by kind. kinds lists the kinds in the template's order.
	ignored map[string][]string
	kinds   []string
}

func (r *reader) ignore(kind, name string) {
	if r.ignored[kind] == nil {
		r.kinds = append(r.kinds, kind)
	}
	if !slices.Contains(r.ignored[kind], name) {
		r.ignored[kind] = append(r.ignored[kind], name)
	}
}

// field evaluates the value under a key of a mapping.
func (r *reader) field(n *yaml.Node, key string) *yaml.Node { return r.resolve(get(n, key)) }

// textOr returns a string, or fallback if n is nil.
func (r *reader) textOr(n *yaml.Node, fallback string) string {
	if n == nil {
		return fallback
	}
	return r.text(n)
}

// wantOnly fails unless n is nil or the text.
func (r *reader) wantOnly(n *yaml.Node, text string) {
	if got := r.textOr(n, text); got != text {
		r.fail(n, "this machine supports only %q, not %q", text, got)
	}
}

// number returns a whole number, or fallback if n is nil.
func (r *reader) number(n *yaml.Node, fallback int) int {
	text := r.textOr(n, strconv.Itoa(fallback))
	number, err := strconv.Atoi(text)
	if err != nil {
		r.fail(n, "want a whole number, not %q", text)
	}
	return number
}

func (r *reader) seconds(n *yaml.Node, fallback int) time.Duration {
	return time.Duration(r.number(n, fallback)) * time.Second
}

// read evaluates the needed properties of a resource. It reports all other properties as ignored, except for the silent
// ones, which the shop's own template uses.
func (r *reader) read(of resource, needed []string, silent ...string) map[string]*yaml.Node {
	values := make(map[string]*yaml.Node)
	for _, key := range needed {
		values[key] = r.property(of, key)
	}
	for _, properties := range []*yaml.Node{r.globals(of.kind), of.properties} {
		for key := range pairs(properties) {
			if !slices.Contains(needed, key.Value) && !slices.Contains(silent, key.Value) {
				r.ignore(of.kind+" "+key.Value, of.name)
			}
		}
	}
	return values
}

// readResources reads the resources that exist on this machine, and reports all others as ignored.
func (r *reader) readResources() {
	var functions []resource
	for each := range r.resources() {
		switch each.kind {
		case typeAPI:
			r.readAPI(each)
		case typeTable, "AWS::DynamoDB::GlobalTable":
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

func (r *reader) readAPI(api resource) {
	if r.hasAPI {
		r.fail(api.at, "%s is a second HTTP API: this machine can serve one", api.name)
	}
	r.hasAPI = true
	properties := r.read(api, []string{"StageName", "CorsConfiguration"}, "DefaultRouteSettings",
		"DisableExecuteApiEndpoint", "AccessLogSettings")
	r.wantOnly(properties["StageName"], "$default")
	cors := properties["CorsConfiguration"]
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
	if get(cors, "AllowCredentials") != nil {
		r.ignore(api.kind+" CorsConfiguration.AllowCredentials", api.name)
	}
}

func (r *reader) readFunction(each resource) {
	properties := r.read(each,
		[]string{"Runtime", "Handler", "CodeUri", "Architectures", "MemorySize", "Timeout", "Environment", "Events"},
		"Description", "Role", "LoggingConfig", "ReservedConcurrentExecutions", "Tracing")
	// The Makefile's rule needs the whole source tree, and builds the folder with the function's name.
	r.wantOnly(properties["Runtime"], "provided.al2023")
	r.wantOnly(properties["CodeUri"], ".")
	f := Function{
		LogicalID:    each.name,
		Name:         kebab(each.name),
		Package:      "functions/" + kebab(each.name),
		Handler:      r.text(properties["Handler"]),
		Architecture: strings.Join(r.texts(properties["Architectures"]), ","),
		Timeout:      r.seconds(properties["Timeout"], 3),
		MemorySize:   r.number(properties["MemorySize"], 128),
		Environment:  r.environment(each.name, r.field(properties["Environment"], "Variables")),
	}
	if info, err := os.Stat(filepath.Join(r.root, f.Package)); err != nil || !info.IsDir() {
		r.fail(each.at, "%s has no code: there is no folder %s", each.name, f.Package)
	}
	r.template.Functions = append(r.template.Functions, f)
	for key, event := range pairs(properties["Events"]) {
		r.readEvent(f.Name, key, event)
	}
}

// environment evaluates a function's variables. A reference to a table becomes the table's name on this machine. Other
// resources do not exist on this machine. For these, the function gets a placeholder instead of the ARN or name. So the
// function starts, and fails only when it uses the resource.
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
			if name, isARN := strings.CutSuffix(address, ".Arn"); isARN {
				return "arn:" + r.pseudo["AWS::Partition"] + ":local:" + r.pseudo["AWS::Region"] + ":" +
					r.pseudo["AWS::AccountId"] + ":" + name
			}
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
	r.wantOnly(r.field(properties, "PayloadFormatVersion"), "2.0")
	api := strings.Trim(r.text(r.field(properties, "ApiId")), referenceMark)
	if r.text(get(r.sections, "Resources", api, "Type")) != typeAPI {
		r.fail(key, "the event %s does not name an HTTP API of this template: it needs ApiId", key.Value)
	}
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
// table, or if the event is turned off.
func (r *reader) readEventSource(function string, key, properties *yaml.Node) bool {
	address, isStream := strings.CutSuffix(strings.Trim(r.text(r.field(properties, "Stream")), referenceMark),
		".StreamArn")
	at := slices.IndexFunc(r.template.Tables, func(table Table) bool { return isStream && table.LogicalID == address })
	if at < 0 || r.textOr(r.field(properties, "Enabled"), "true") != "true" {
		return false
	}
	table := r.template.Tables[at]
	if table.Stream == "" {
		r.fail(key, "the event %s needs a stream, and the table %s has no StreamSpecification", key.Value,
			table.LogicalID)
	}
	if get(properties, "FilterCriteria") != nil {
		r.ignore("event property FilterCriteria", function+" "+key.Value)
	}
	r.template.EventSources = append(r.template.EventSources, eventsource.Mapping{
		Function: function, Table: table.Name, BatchSize: r.number(r.field(properties, "BatchSize"), 100),
	})
	return true
}

// readSchedule reads an event that occurs at a fixed rate. It returns false for any other schedule.
func (r *reader) readSchedule(function string, key, properties *yaml.Node) bool {
	for property := range pairs(properties) {
		if property.Value != "Schedule" && property.Value != "Description" {
			return false
		}
	}
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
	properties := r.read(each,
		[]string{
			"AttributeDefinitions", "KeySchema", "TimeToLiveSpecification", "GlobalSecondaryIndexes",
			"StreamSpecification",
		},
		"BillingMode", "DeletionProtectionEnabled", "PointInTimeRecoverySpecification", "SSESpecification",
		"WarmThroughput", "OnDemandThroughput")
	table := Table{LogicalID: each.name, Name: r.tableName(each.name)}
	for _, item := range r.list(properties["AttributeDefinitions"]) {
		table.Attributes = append(table.Attributes, types.AttributeDefinition{
			AttributeName: aws.String(r.text(get(item, "AttributeName"))),
			AttributeType: types.ScalarAttributeType(r.text(get(item, "AttributeType"))),
		})
	}
	table.Keys = r.keys(properties["KeySchema"])
	for _, item := range r.list(properties["GlobalSecondaryIndexes"]) {
		projection := types.ProjectionType(r.text(get(r.field(item, "Projection"), "ProjectionType")))
		table.Indexes = append(table.Indexes, types.GlobalSecondaryIndex{
			IndexName:  aws.String(r.text(get(item, "IndexName"))),
			KeySchema:  r.keys(r.field(item, "KeySchema")),
			Projection: &types.Projection{ProjectionType: projection},
		})
	}
	ttl := properties["TimeToLiveSpecification"]
	if r.text(get(ttl, "Enabled")) == "true" {
		table.TTL = r.text(get(ttl, "AttributeName"))
	}
	table.Stream = types.StreamViewType(r.text(get(properties["StreamSpecification"], "StreamViewType")))
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
