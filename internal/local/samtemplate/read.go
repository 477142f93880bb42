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
func (r *reader) field(n *yaml.Node, key string) *yaml.Node {
	if n != nil && n.Kind != yaml.MappingNode {
		r.fail(n, "want a mapping with the key %s", key)
	}
	return r.resolve(get(n, key))
}

// known returns a string that is known before the deployment, or fallback if n is nil.
func (r *reader) known(n *yaml.Node, fallback string) string {
	if n == nil {
		return fallback
	}
	text := r.text(n)
	if strings.Contains(text, referenceMark) {
		r.fail(n, "want a string that is known before the deployment")
	}
	return text
}

// oneOf returns a string that must be one of texts. If n is nil, it returns the first of texts.
func (r *reader) oneOf(n *yaml.Node, texts ...string) string {
	text := r.known(n, texts[0])
	if !slices.Contains(texts, text) {
		r.fail(n, "this machine supports only %q, not %q", texts, text)
	}
	return text
}

// number returns a whole number, or fallback if n is nil. It fails for a negative number that is below fallback.
func (r *reader) number(n *yaml.Node, fallback int) int {
	text := r.known(n, strconv.Itoa(fallback))
	number, err := strconv.Atoi(text)
	if err != nil || number < min(0, fallback) {
		r.fail(n, "want a whole number, not %q", text)
	}
	return number
}

// read evaluates the needed properties of a resource. It reports all other properties as ignored, except for the silent ones, which
// the shop's own template uses.
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
		case "AWS::IAM::Role", "AWS::Logs::LogGroup", "AWS::CloudFormation::WaitConditionHandle", "AWS::SQS::Queue":
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
	properties := r.read(api, []string{"StageName", "CorsConfiguration"}, "DefaultRouteSettings", "DisableExecuteApiEndpoint", "AccessLogSettings")
	r.oneOf(properties["StageName"], "$default")
	if cors := properties["CorsConfiguration"]; cors != nil {
		r.template.CORS = &gateway.CORS{
			AllowOrigins:     r.texts(r.field(cors, "AllowOrigins")),
			AllowMethods:     r.texts(r.field(cors, "AllowMethods")),
			AllowHeaders:     r.texts(r.field(cors, "AllowHeaders")),
			ExposeHeaders:    r.texts(r.field(cors, "ExposeHeaders")),
			MaxAge:           time.Duration(r.number(r.field(cors, "MaxAge"), 0)) * time.Second,
			AllowCredentials: r.oneOf(r.field(cors, "AllowCredentials"), "false", "true") == "true",
		}
	}
}

func (r *reader) readFunction(each resource) {
	properties := r.read(each,
		[]string{"Runtime", "Handler", "CodeUri", "Architectures", "MemorySize", "Timeout", "Environment", "Events"},
		"Description", "Role", "LoggingConfig", "ReservedConcurrentExecutions", "Tracing")
	// The Makefile's rule needs the whole source tree, and builds the folder with the function's name.
	r.oneOf(properties["Runtime"], "provided.al2023")
	r.oneOf(properties["CodeUri"], ".")
	f := Function{
		LogicalID:    each.name,
		Name:         kebab(each.name),
		Package:      "functions/" + kebab(each.name),
		Handler:      r.known(properties["Handler"], "bootstrap"),
		Architecture: "x86_64",
		Timeout:      time.Duration(r.number(properties["Timeout"], 3)) * time.Second,
		MemorySize:   r.number(properties["MemorySize"], 128),
		Environment:  r.environment(each.name, r.field(properties["Environment"], "Variables")),
	}
	architectures := r.list(properties["Architectures"])
	if len(architectures) > 1 {
		r.fail(each.at, "%s has more than one architecture", each.name)
	}
	for _, architecture := range architectures {
		f.Architecture = r.known(architecture, "")
	}
	if info, err := os.Stat(filepath.Join(r.root, f.Package)); err != nil || !info.IsDir() {
		r.fail(each.at, "%s has no code: there is no folder %s", each.name, f.Package)
	}
	r.template.Functions = append(r.template.Functions, f)
	for key, event := range pairs(properties["Events"]) {
		r.readEvent(f.Name, key, event)
	}
}

// environment evaluates a function's variables. A reference to a table becomes the table's name on this machine. Other resources do
// not exist on this machine. For these, the function gets a placeholder instead of the ARN or name. So the function starts, and
// fails only when it uses the resource.
func (r *reader) environment(function string, variables *yaml.Node) map[string]string {
	if variables != nil && variables.Kind != yaml.MappingNode {
		r.fail(variables, "want a mapping of variables")
	}
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
				return "arn:" + r.pseudo["AWS::Partition"] + ":local:" + r.pseudo["AWS::Region"] + ":" + r.pseudo["AWS::AccountId"] + ":" + name
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
	switch kind := r.known(r.field(event, "Type"), ""); {
	case kind == "HttpApi":
		r.readRoute(function, key, properties)
	case kind == "DynamoDB" && r.readEventSource(function, key, properties):
	case kind == "Schedule" && r.readSchedule(function, key, properties):
	default:
		r.ignore("event of type "+kind, function+" "+key.Value)
	}
}

func (r *reader) readRoute(function string, key, properties *yaml.Node) {
	r.oneOf(r.field(properties, "PayloadFormatVersion"), "2.0")
	api := strings.Trim(r.text(r.field(properties, "ApiId")), referenceMark)
	if r.text(get(r.sections, "Resources", api, "Type")) != typeAPI {
		r.fail(key, "the event %s does not name an HTTP API of this template: it needs ApiId", key.Value)
	}
	route := gateway.Route{
		Method:   strings.ToUpper(r.known(r.field(properties, "Method"), "")),
		Path:     r.known(r.field(properties, "Path"), ""),
		Function: function,
	}
	if route.Method == "" || route.Path == "" {
		r.fail(key, "the event %s needs Method and Path", key.Value)
	}
	r.template.Routes = append(r.template.Routes, route)
}

// readEventSource reads an event that a table's stream causes. It returns false if the stack does not create that table, or if the event
// is turned off.
func (r *reader) readEventSource(function string, key, properties *yaml.Node) bool {
	address, isStream := strings.CutSuffix(strings.Trim(r.text(r.field(properties, "Stream")), referenceMark), ".StreamArn")
	at := slices.IndexFunc(r.template.Tables, func(table Table) bool { return isStream && table.LogicalID == address })
	if at < 0 || r.known(r.field(properties, "Enabled"), "true") != "true" {
		return false
	}
	table := r.template.Tables[at]
	if table.Stream == "" {
		r.fail(key, "the event %s needs a stream, and the table %s has no StreamSpecification", key.Value, table.LogicalID)
	}
	r.oneOf(r.field(properties, "StartingPosition"), "TRIM_HORIZON")
	r.oneOf(r.field(properties, "ParallelizationFactor"), "1")
	for property := range pairs(properties) {
		if property.Value == "FilterCriteria" || property.Value == "TumblingWindowInSeconds" {
			r.ignore("event property "+property.Value, function+" "+key.Value)
		}
	}
	seconds := func(name string, fallback int) time.Duration {
		return time.Duration(r.number(r.field(properties, name), fallback)) * time.Second
	}
	r.template.EventSources = append(r.template.EventSources, eventsource.Mapping{
		Function: function, Table: table.Name,
		BatchSize: r.number(r.field(properties, "BatchSize"), 100), MaximumBatchingWindow: seconds("MaximumBatchingWindowInSeconds", 0),
		MaximumRetryAttempts: r.number(r.field(properties, "MaximumRetryAttempts"), -1), MaximumRecordAge: seconds("MaximumRecordAgeInSeconds", -1),
		BisectBatchOnFunctionError: r.oneOf(r.field(properties, "BisectBatchOnFunctionError"), "false", "true") == "true",
		ReportBatchItemFailures:    slices.Contains(r.texts(r.field(properties, "FunctionResponseTypes")), "ReportBatchItemFailures"),
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
	rate := regexp.MustCompile(`^rate\(([1-9][0-9]{0,4}) (minute|hour|day)s?\)$`).FindStringSubmatch(r.known(r.field(properties, "Schedule"), ""))
	if rate == nil {
		return false
	}
	count, _ := strconv.Atoi(rate[1]) // never fails: the pattern allows only digits
	unit := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[rate[2]]
	r.template.Schedules = append(r.template.Schedules, eventsource.Schedule{Function: function, Name: key.Value, Every: time.Duration(count) * unit})
	return true
}

func (r *reader) readTable(each resource) {
	properties := r.read(each,
		[]string{"AttributeDefinitions", "KeySchema", "TimeToLiveSpecification", "GlobalSecondaryIndexes", "LocalSecondaryIndexes", "StreamSpecification"},
		"BillingMode", "DeletionProtectionEnabled", "PointInTimeRecoverySpecification", "SSESpecification", "WarmThroughput", "OnDemandThroughput")
	table := Table{LogicalID: each.name, Name: r.tableName(each.name)}
	for _, item := range r.list(properties["AttributeDefinitions"]) {
		table.Attributes = append(table.Attributes, types.AttributeDefinition{
			AttributeName: aws.String(r.known(r.field(item, "AttributeName"), "")),
			AttributeType: types.ScalarAttributeType(r.oneOf(r.field(item, "AttributeType"), "S", "N", "B")),
		})
	}
	if table.Keys = r.keys(properties["KeySchema"]); len(table.Keys) == 0 {
		r.fail(each.at, "the table %s needs a KeySchema", each.name)
	}
	for _, item := range r.list(properties["GlobalSecondaryIndexes"]) {
		r.oneOf(r.field(r.field(item, "Projection"), "ProjectionType"), "ALL")
		table.Indexes = append(table.Indexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(r.known(r.field(item, "IndexName"), "")), KeySchema: r.keys(r.field(item, "KeySchema")),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		})
	}
	if properties["LocalSecondaryIndexes"] != nil {
		r.fail(each.at, "the table %s has a local secondary index: this machine creates only global ones", each.name)
	}
	ttl := properties["TimeToLiveSpecification"]
	if r.oneOf(r.field(ttl, "Enabled"), "false", "true") == "true" {
		table.TTL = r.known(r.field(ttl, "AttributeName"), "")
	}
	table.Stream = types.StreamViewType(r.known(r.field(properties["StreamSpecification"], "StreamViewType"), ""))
	r.template.Tables = append(r.template.Tables, table)
}

// keys evaluates the KeySchema of a table or an index.
func (r *reader) keys(schema *yaml.Node) (keys []types.KeySchemaElement) {
	for _, item := range r.list(schema) {
		keys = append(keys, types.KeySchemaElement{
			AttributeName: aws.String(r.known(r.field(item, "AttributeName"), "")),
			KeyType:       types.KeyType(r.oneOf(r.field(item, "KeyType"), "HASH", "RANGE")),
		})
	}
	return keys
}

// tableName returns the key of the stack's output that contains the table's name. If there is no such output, it returns the logical ID.
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
