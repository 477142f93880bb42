package infra_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"shopfront/internal/local/samtemplate"
)

// These tests compare a function's IAM rights with the calls that it can make. The linker's symbols show which methods of the client
// and of the stores in pkg/dynamo are reachable. The source shows which calls each method makes, and the wiring shows on which table.

// actions returns the names of the operations of DynamoDB's client. An IAM action has the name of its operation.
func actions() map[string]bool {
	all := make(map[string]bool)
	for method := range reflect.TypeFor[*dynamodb.Client]().Methods() {
		if t := method.Type; t.NumIn() == 4 && t.In(2).String() == "*dynamodb."+method.Name+"Input" {
			all[method.Name] = true
		}
	}
	return all
}

// programs builds the functions, without inlining code of this module, and returns the folder of the programs.
func programs(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-tags", "lambda.norpc",
		"-gcflags=shopfront/...=-l", "-o", folder, "./functions/...")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return folder
}

// linked returns the names of the functions that a program links.
func linked(t *testing.T, path string) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "tool", "nm", path)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line) // address, unless it is undefined; type; name
		if i := slices.IndexFunc(fields, func(s string) bool { return s == "T" || s == "t" }); i >= 0 && i+1 < len(fields) {
			names = append(names, fields[i+1])
		}
	}
	return names
}

// routine lists the calls in the body of a function or method of pkg/dynamo.
type routine struct {
	actions map[string]bool // DynamoDB operations, all on one table or, if ordersIndex is among them, on that index
	calls   map[string]bool // names of plain functions, and of methods of the same store after a dot
}

// ordersIndex is the name of the constant that names the only index.
const ordersIndex = "OrdersIndex"

// parts maps the members of a transaction's items to the actions that they need:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html
func parts() map[string]string {
	return map[string]string{
		"Update": "UpdateItem", "Put": "PutItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem", "Get": "GetItem",
	}
}

// routines reads the routines in files. Methods are named as the linker names them: (*Catalogue).Product.
func routines(files []*ast.File, known map[string]bool) map[string]routine {
	all := make(map[string]routine)
	for _, file := range files {
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			all[nameOf(f)] = read(f, known)
		}
	}
	return all
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
		if of, ok := star.X.(*ast.Ident); ok {
			return "(*" + of.Name + ")." + f.Name.Name
		}
	}
	if of, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
		return of.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

func read(f *ast.FuncDecl, known map[string]bool) routine {
	body, receiver := f.Body, ""
	if f.Recv != nil && len(f.Recv.List[0].Names) > 0 {
		receiver = f.Recv.List[0].Names[0].Name
	}
	r := routine{actions: make(map[string]bool), calls: make(map[string]bool)}
	for n := range ast.Preorder(body) {
		switch n := n.(type) {
		case *ast.Ident: // called, or passed on to be called
			r.calls[n.Name] = true
		case *ast.SelectorExpr:
			if known[n.Sel.Name] || n.Sel.Name == ordersIndex {
				r.actions[n.Sel.Name] = true
			}
			if on, ok := n.X.(*ast.Ident); ok && on.Name == receiver {
				r.calls["."+n.Sel.Name] = true
			}
		}
	}
	if r.actions["TransactWriteItems"] || r.actions["TransactGetItems"] {
		r.addParts(body)
	}
	return r
}

// addParts adds the actions of the transaction's items.
func (r routine) addParts(body ast.Node) {
	for n := range ast.Preorder(body) {
		if member, ok := n.(*ast.KeyValueExpr); ok {
			if key, ok := member.Key.(*ast.Ident); ok && parts()[key.Name] != "" {
				r.actions[parts()[key.Name]] = true
			}
		}
	}
}

// sources parses a package's files, without its tests.
func sources(t *testing.T, folder string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		t.Fatal(&fs.PathError{Op: "parse", Path: folder, Err: fs.ErrNotExist})
	}
	return files
}

// wiring maps each store that a package creates to the setting that names its table, such as VouchersTable. Warm's table is the one
// that its connection is opened for.
func wiring(t *testing.T, folder string) map[string]string {
	t.Helper()
	// The constructors, and which of their arguments is the table. A linked store that is missing here fails the test.
	constructors := map[string]struct {
		store    string
		argument int
	}{
		"dynamo.NewCatalogue": {"Catalogue", 1}, "dynamo.NewCheckouts": {"Checkouts", 1}, "dynamo.NewRedemptions": {"Redemptions", 1},
		"dynamo.NewRefusals": {"Refusals", 1}, "dynamo.NewAccess": {"Access", 1}, "dynamo.NewOrders": {"Orders", 1},
		"dynamoclient.New": {"Warm", 2},
	}
	settings, tables := make(map[string]string), make(map[string]string)
	for _, file := range sources(t, folder) {
		for n := range ast.Preorder(file) {
			switch n := n.(type) {
			case *ast.AssignStmt:
				setting, of := strings.CutPrefix(called(n.Rhs[0]), "env.")
				if variable, ok := n.Lhs[0].(*ast.Ident); ok && of {
					settings[variable.Name] = setting
				}
			case *ast.CallExpr:
				c, ok := constructors[called(n)]
				if !ok {
					continue
				}
				table, ok := n.Args[c.argument].(*ast.Ident)
				if !ok || !strings.HasSuffix(settings[table.Name], "Table") {
					t.Fatalf("%s: the table of %s is not a setting", folder, c.store)
				}
				tables[c.store] = settings[table.Name]
			}
		}
	}
	return tables
}

// called returns the name of a called function, such as dynamo.NewCatalogue, or "" if n is not such a call.
func called(n ast.Expr) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	on, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return on.Name + "." + selector.Sel.Name
}

// program lists the DynamoDB calls and stores that a function links.
type program struct {
	client map[string]bool   // operations of DynamoDB's client
	stores []string          // the methods of stores, and Warm
	tables map[string]string // by store
}

func readProgram(t *testing.T, path string, f samtemplate.Function, known map[string]bool) program {
	t.Helper()
	p := program{client: make(map[string]bool), tables: wiring(t, f.Package)}
	wires := regexp.MustCompile(`^shopfront/(pkg/lambdahttp/\w+)\.`)
	for _, name := range linked(t, path) {
		if in := wires.FindStringSubmatch(name); in != nil {
			maps.Copy(p.tables, wiring(t, in[1]))
		}
		if action, ok := strings.CutPrefix(name, "github.com/aws/aws-sdk-go-v2/service/dynamodb.(*Client)."); ok && known[action] {
			p.client[action] = true
		}
		// A plain function's calls count as calls of its callers. Of the plain functions, only Warm is called from outside the package.
		if name, ok := strings.CutPrefix(name, "shopfront/pkg/dynamo."); ok && (name == "Warm" || strings.HasPrefix(name, "(*")) {
			p.stores = append(p.stores, name)
		}
	}
	delete(p.client, "DescribeEndpoints") // the SDK links it for endpoint discovery, which is off
	return p
}

// reached returns the actions of a routine, and of the plain functions and methods of its store that it calls, directly or indirectly.
func reached(source map[string]routine, name string) map[string]bool {
	store, _, _ := strings.Cut(name, ".")
	made, seen := make(map[string]bool), make(map[string]bool)
	var visit func(string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		maps.Copy(made, source[name].actions)
		for function := range source[name].calls {
			if strings.HasPrefix(function, ".") {
				function = store + function
			}
			visit(function)
		}
	}
	visit(name)
	return made
}

func TestActions_InNestedCalls_AreFound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "checkouts.go", `package dynamo

func (s *Checkouts) Open(c checkout.Checkout) error { return s.api.GetItem(c.Key, keep(s, c), s.query()) }

func (s *Checkouts) query() dynamodb.QueryInput { return dynamodb.QueryInput{IndexName: table.OrdersIndex} }

func keep(s *Checkouts, c checkout.Checkout) error { return attempt(3, s, c) }

func attempt(n int, s *Checkouts, c checkout.Checkout) error {
	if n == 0 {
		return s.api.PutItem(c)
	}
	return attempt(n-1, s, c)
}

func forget(s *Checkouts, c checkout.Checkout) error { return s.api.DeleteItem(c) }
`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(reached(routines([]*ast.File{file}, actions()), "(*Checkouts).Open")))
	if want := []string{"GetItem", ordersIndex, "PutItem"}; !slices.Equal(got, want) {
		t.Errorf("opening a checkout calls %q, want %q", got, want)
	}
}

// calls returns the actions of a program by table or index, such as VouchersTable: dynamodb:UpdateItem.
func (p program) calls(t *testing.T, source map[string]routine) map[string][]string {
	t.Helper()
	found, byTable := make(map[string]bool), make(map[string][]string)
	for _, name := range p.stores {
		made := reached(source, name)
		if len(made) == 0 {
			continue
		}
		store, _, _ := strings.Cut(strings.TrimPrefix(name, "(*"), ")")
		table := p.tables[store]
		if table == "" {
			t.Errorf("%s is linked, but its table is unknown", name)
		}
		if made[ordersIndex] {
			delete(made, ordersIndex)
			table += "/index/" + constants(t, "pkg/dynamo/internal/table/checkout.go", ordersIndex)[0]
		}
		maps.Copy(found, made)
		for action := range made {
			if !strings.HasPrefix(action, "Transact") { // a transaction needs only the actions of its parts
				byTable[table] = append(byTable[table], "dynamodb:"+action)
			}
		}
	}
	for table, made := range byTable {
		slices.Sort(made)
		byTable[table] = slices.Compact(made)
	}
	// The symbols and the source must agree, or one was misread. Parts of a transaction have no symbol.
	for action := range p.client {
		if !found[action] {
			t.Errorf("%s can be called, but no linked store calls it", action)
		}
	}
	return byTable
}

func TestRoles_AllowExactlyTheCallsOfTheFunction(t *testing.T) {
	known := actions()
	files := slices.Concat(sources(t, "pkg/dynamo"), sources(t, "pkg/dynamo/internal/table"))
	source, folder := routines(files, known), programs(t)
	quiet, traced := deploy(t, nil), deploy(t, map[string]string{"Tracing": "on"})
	for _, f := range load(t, nil).Functions {
		t.Run(f.Name, func(t *testing.T) {
			want := map[string][]string{"${" + f.LogicalID + "Logs.Arn}": {"logs:CreateLogStream", "logs:PutLogEvents"}}
			for setting, made := range readProgram(t, filepath.Join(folder, f.Name), f, known).calls(t, source) {
				table, index, _ := strings.Cut(setting, "Table")
				want["arn:aws:dynamodb:eu-central-1:123456789012:table/${"+table+"}"+index] = made
			}
			checkRole(t, quiet, f.LogicalID, want)
			want["*"] = []string{"xray:PutTelemetryRecords", "xray:PutTraceSegments"}
			checkRole(t, traced, f.LogicalID, want)
			if got := text(traced.properties[f.LogicalID], "Tracing"); got != "Active" {
				t.Errorf("with tracing on, the tracing mode is %q, want Active", got)
			}
		})
	}
}

// checkRole checks that a function's role allows exactly these actions on these resources, and that only Lambda can assume it.
func checkRole(t *testing.T, s stack, function string, want map[string][]string) {
	t.Helper()
	if got, want := text(s.properties[function], "Role"), "${"+function+"Role.Arn}"; got != want {
		t.Fatalf("the function has the role %s, want %s", got, want)
	}
	role := s.properties[function+"Role"]
	checkKeys(t, role, "AssumeRolePolicyDocument", "Policies")
	trust := []any{map[string]any{
		"Effect": "Allow", "Principal": map[string]any{"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole",
	}}
	if got := list(role, "AssumeRolePolicyDocument", "Statement"); !reflect.DeepEqual(got, trust) {
		t.Errorf("the role can be assumed by %v, want %v", got, trust)
	}
	if got := allowed(t, list(role, "Policies")); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the role allows %v, but the function calls %v", got, want)
	}
}

// allowed returns each resource's actions, sorted. A statement may cover only one resource.
func allowed(t *testing.T, policies []any) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	for _, policy := range policies {
		for _, statement := range list(policy, "PolicyDocument", "Statement") {
			checkKeys(t, statement, "Effect", "Action", "Resource")
			if effect := text(statement, "Effect"); effect != "Allow" {
				t.Errorf("the effect of a statement is %q", effect)
			}
			resource := text(statement, "Resource")
			if resource == "" {
				t.Fatalf("want one resource in %v", statement)
			}
			for _, action := range list(statement, "Action") {
				all[resource] = append(all[resource], text(action))
			}
			slices.Sort(all[resource])
		}
	}
	return all
}
