//go:build proofs

package infra_test

import (
	"fmt"
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
	"shopfront/pkg/dynamo"
	"shopfront/pkg/dynamo/table"
	"shopfront/pkg/storefront"
)

// These tests compare a function's IAM rights with the calls that it can make. The linker's symbols show which methods
// of the client and of the stores in pkg/dynamo are reachable. The source shows which calls each method makes, and on
// which of the store's tables. The wiring shows which tables the store gets.

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

// programs builds the functions and returns the folder of the programs. The compiler inlines no code of this module, so
// that each call leaves a symbol.
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
		if i := slices.IndexFunc(fields, func(s string) bool { return s == "T" || s == "t" }); i >= 0 &&
			i+1 < len(fields) {
			names = append(names, fields[i+1])
		}
	}
	return names
}

// access is an action on a table. The table is written as the routine names it: a parameter, or a dot and a field of
// the receiver, such as .tables.Checkouts. A transaction itself has no table.
type access struct {
	action, table string
	ofIndex       bool // on the index of orders, not on its table
}

// routine is a function or method of pkg/dynamo, or of its internal package table.
type routine struct {
	parameters []string
	accesses   []access
	calls      []routineCall
}

// routineCall is a call in a routine, or a function or method that the routine passes on as a value.
type routineCall struct {
	name      string   // of the plain function, or of the method
	receiver  string   // "." if it is the receiver of the routine itself; "" for a plain function
	arguments []string // written like tables; "" for an argument that cannot be a table
}

// library is the source of pkg/dynamo. Routines are named as the linker names them: (*Catalogue).Product. Routines of
// the package table have the prefix table.
type library struct {
	routines map[string]routine
	methods  map[string][]string // types that have a method, such as (*Catalogue), by its name
	embedded map[string][]string // types that a type embeds
	clients  map[string]bool     // types that have a DynamoDB client
}

// parts maps the members of a transaction's items to the actions that they need:
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html
func parts() map[string]string {
	return map[string]string{
		"Update": "UpdateItem", "Put": "PutItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem",
		"Get": "GetItem",
	}
}

func readLibrary(t *testing.T, known map[string]bool, files ...*ast.File) library {
	t.Helper()
	s := library{make(map[string]routine), make(map[string][]string), make(map[string][]string), make(map[string]bool)}
	for _, file := range files {
		inPackage := ""
		if file.Name.Name != "dynamo" {
			inPackage = file.Name.Name + "."
		}
		for n := range ast.Preorder(file) {
			switch n := n.(type) {
			case *ast.FuncDecl:
				s.addRoutine(n, inPackage, readRoutine(t, n, inPackage, known))
			case *ast.TypeSpec:
				s.addType(n)
			}
		}
	}
	return s
}

func (s library) addRoutine(f *ast.FuncDecl, inPackage string, r routine) {
	if f.Recv == nil {
		s.routines[inPackage+f.Name.Name] = r
		return
	}
	of := typeName(f.Recv.List[0].Type)
	if !strings.HasPrefix(of, "(*") {
		of = "(*" + of + ")" // a method of a value is called on pointers too
	}
	s.routines[of+"."+f.Name.Name] = r
	s.methods[f.Name.Name] = append(s.methods[f.Name.Name], of)
}

func (s library) addType(declared *ast.TypeSpec) {
	fields, ok := declared.Type.(*ast.StructType)
	if !ok {
		return
	}
	of := "(*" + declared.Name.Name + ")"
	for _, field := range fields.Fields.List {
		if len(field.Names) == 0 {
			s.embedded[of] = append(s.embedded[of], "(*"+typeName(field.Type)+")")
		} else if field.Names[0].Name == "api" {
			s.clients[of] = true
		}
	}
}

// typeName returns the name of a type, or of a pointer to it, such as (*Catalogue).
func typeName(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return "(*" + typeName(e.X) + ")"
	case *ast.Ident:
		return e.Name
	default:
		return ""
	}
}

func readRoutine(t *testing.T, f *ast.FuncDecl, inPackage string, known map[string]bool) routine {
	t.Helper()
	receiver, r := receiverOf(f), routine{parameters: parametersOf(f)}
	if f.Body == nil {
		return r
	}
	write := func(e ast.Expr) string { return written(e, receiver) }
	arguments, selected, locals := make(map[ast.Expr][]string), make(map[*ast.Ident]bool), make(map[string][]string)
	for n := range ast.Preorder(f.Body) {
		switch n := n.(type) {
		case *ast.AssignStmt:
			name := write(n.Lhs[0])
			locals[name] = append(locals[name], write(n.Rhs[0]))
		case *ast.CallExpr:
			for _, argument := range n.Args {
				arguments[n.Fun] = append(arguments[n.Fun], write(argument))
			}
		case *ast.CompositeLit:
			r.accesses = append(append(r.accesses, takes(n, write)...), accessesOf(t, n, known, write)...)
		case *ast.KeyValueExpr:
			if field, ok := n.Key.(*ast.Ident); ok { // such as Get, a field of a transaction's item
				selected[field] = true
			}
		case *ast.SelectorExpr:
			selected[n.Sel] = true
			if on, ok := n.X.(*ast.Ident); ok && on.Name == "table" {
				r.calls = append(r.calls, routineCall{"table." + n.Sel.Name, "", arguments[n]})
			} else {
				r.calls = append(r.calls, routineCall{
					n.Sel.Name, "." + strings.TrimPrefix(write(n.X), "."),
					arguments[n],
				})
			}
		case *ast.Ident:
			if !selected[n] {
				r.calls = append(r.calls, routineCall{inPackage + n.Name, "", arguments[n]})
			}
		}
	}
	r.resolve(locals)
	return r
}

// resolve replaces a call that has a local variable among its arguments by several calls, one for each table that the
// variable may hold.
func (r *routine) resolve(locals map[string][]string) {
	tables := func(name string) []string {
		return slices.DeleteFunc(slices.Clone(locals[name]),
			func(value string) bool { return !strings.HasPrefix(value, ".") })
	}
	for _, call := range r.calls {
		for i, argument := range call.arguments {
			for _, table := range tables(argument) {
				resolved := slices.Clone(call.arguments)
				resolved[i] = table
				r.calls = append(r.calls, routineCall{call.name, call.receiver, resolved})
			}
		}
	}
	r.calls = slices.DeleteFunc(r.calls, func(c routineCall) bool {
		return slices.ContainsFunc(c.arguments, func(argument string) bool { return len(tables(argument)) > 0 })
	})
}

func receiverOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List[0].Names) == 0 {
		return ""
	}
	return f.Recv.List[0].Names[0].Name
}

func parametersOf(f *ast.FuncDecl) (names []string) {
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// written returns an expression in the form that access uses for tables, or "" if the expression cannot be a table.
func written(e ast.Expr, receiver string) string {
	switch e := e.(type) {
	case *ast.Ident:
		if e.Name == receiver {
			return "."
		}
		return e.Name
	case *ast.SelectorExpr:
		on := written(e.X, receiver)
		if on == "" || on == "." {
			return on + e.Sel.Name
		}
		return on + "." + e.Sel.Name
	case *ast.CallExpr: // aws.String(table)
		if called(e) == "aws.String" {
			return written(e.Args[0], receiver)
		}
	}
	return ""
}

// accessesOf returns the access that a literal describes: the input of a call, or a part of a transaction.
func accessesOf(t *testing.T, literal *ast.CompositeLit, known map[string]bool, write func(ast.Expr) string) []access {
	t.Helper()
	of, ok := literal.Type.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	var action string
	switch in := written(of.X, ""); {
	case in == "dynamodb" && known[strings.TrimSuffix(of.Sel.Name, "Input")]:
		action = strings.TrimSuffix(of.Sel.Name, "Input")
	case in == "types" && parts()[of.Sel.Name] != "":
		action = parts()[of.Sel.Name]
	default:
		return nil
	}
	if strings.HasPrefix(action, "Transact") {
		return []access{{action: action}}
	}
	found, named := access{action: action}, false
	for _, element := range literal.Elts {
		member, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch written(member.Key, "") {
		case "TableName":
			found.table, named = write(member.Value), true
		case "RequestItems":
			if items, ok := member.Value.(*ast.CompositeLit); ok && len(items.Elts) == 1 {
				if item, ok := items.Elts[0].(*ast.KeyValueExpr); ok {
					found.table, named = write(item.Key), true
				}
			}
		case "IndexName":
			found.ofIndex = write(member.Value) == "table.OrdersIndex"
		}
	}
	if !named {
		t.Errorf("an input of %s names no table", action)
	}
	if strings.HasSuffix(found.table, ".TableName") { // copied from a part of a transaction, which is counted itself
		return nil
	}
	return []access{found}
}

// takes returns the accesses that the ledger makes on the table of a taking, if the literal is one. The ledger reads
// items, and checks the head, only of an allowance with parts.
func takes(taking *ast.CompositeLit, write func(ast.Expr) string) []access {
	if name, ok := taking.Type.(*ast.Ident); !ok || name.Name != "taking" {
		return nil
	}
	members := make(map[string]string)
	for _, element := range taking.Elts {
		if member, ok := element.(*ast.KeyValueExpr); ok {
			members[written(member.Key, "")] = write(member.Value)
		}
	}
	of, hasTable := members["table"]
	if !hasTable { // then it is never posted
		return nil
	}
	accesses := []access{{action: "UpdateItem", table: of}}
	if _, hasParts := members["parts"]; hasParts {
		accesses = append(accesses, access{action: "GetItem", table: of}, access{action: "ConditionCheckItem", table: of})
	}
	return accesses
}

// isOfTaking reports whether the access is one of those that takes returns for each literal.
func (a access) isOfTaking() bool {
	return strings.HasSuffix(a.table, ".table") &&
		slices.Contains([]string{"UpdateItem", "GetItem", "ConditionCheckItem"}, a.action)
}

// reached returns the accesses of a routine and of all routines that it calls, directly or indirectly, and the names of
// these routines. Tables are written as fields of the first routine's receiver.
func (s library) reached(name string) (made map[access]bool, seen map[string]bool) {
	if of, method, isMethod := strings.Cut(name, ")."); isMethod {
		name = s.method(of+")", method)
	}
	w := walk{s, make(map[access]bool), make(map[string]bool), make(map[string]bool)}
	w.visit(visit{name: name, receiver: "."})
	return w.made, w.seen
}

// walk follows the calls of one routine, the first routine of the walk, and of the routines that it calls. Tables are
// written as fields of the first routine's receiver.
type walk struct {
	library

	made    map[access]bool
	seen    map[string]bool // the names of the routines
	visited map[string]bool
}

// visit is a call of a routine. Its receiver and arguments are written as the first routine of the walk would write
// them.
type visit struct {
	name, receiver string
	arguments      []string
}

func (w walk) visit(v visit) {
	r, found := w.routines[v.name]
	call := fmt.Sprintf("%q", v)
	if w.visited[call] || !found {
		return
	}
	w.visited[call], w.seen[v.name] = true, true
	for _, a := range r.accesses {
		a.table = v.outside(r, a.table)
		if !a.isOfTaking() {
			w.made[a] = true
		}
	}
	for _, c := range r.calls {
		for _, next := range w.next(v, r, c) {
			w.visit(next)
		}
	}
}

// outside returns a table of the visited routine as the first routine would write it.
func (v visit) outside(r routine, table string) string {
	if i := slices.Index(r.parameters, table); i >= 0 && i < len(v.arguments) {
		return v.arguments[i]
	}
	if strings.HasPrefix(table, ".") {
		return strings.TrimSuffix(v.receiver, ".") + table
	}
	return table
}

// next returns the routines that a call in the visited routine may call.
func (s library) next(v visit, r routine, c routineCall) []visit {
	var passed []string
	for _, argument := range c.arguments {
		passed = append(passed, v.outside(r, argument))
	}
	switch c.receiver {
	case "":
		return []visit{{c.name, "", passed}}
	case ".":
		of, _, _ := strings.Cut(v.name, ").")
		return []visit{{s.method(of+")", c.name), v.receiver, passed}}
	}
	var candidates []visit
	for _, of := range s.methods[c.name] {
		if !s.isStore(of) { // stores do not call each other
			// so that a table of that receiver is unknown
			candidates = append(candidates, visit{of + "." + c.name, "elsewhere", passed})
		}
	}
	return candidates
}

// method returns the name of a type's method, which may come from an embedded type.
func (s library) method(of, name string) string {
	if slices.Contains(s.methods[name], of) {
		return of + "." + name
	}
	for _, embedded := range s.embedded[of] {
		if found := s.method(embedded, name); found != "" {
			return found
		}
	}
	return ""
}

func (s library) isStore(of string) bool {
	return s.clients[of] || slices.ContainsFunc(s.embedded[of], s.isStore)
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

// stores returns the stores by the names of their constructors. Each table has a placeholder as its name: the number of
// the constructor's argument and, if the argument is a dynamo.Tables, the field, such as 1.Vouchers. If a linked store
// is missing here, the test fails.
func stores() map[string]any {
	several := dynamo.Tables{Checkouts: "1.Checkouts", Vouchers: "1.Vouchers", Refusals: "1.Refusals"}
	return map[string]any{
		"dynamo.NewCatalogue": dynamo.NewCatalogue(nil, "1", nil), "dynamo.NewAccess": dynamo.NewAccess(nil, "1", nil),
		"dynamo.NewRedeemer":          dynamo.NewRedeemer(nil, several, nil),
		"dynamo.NewRefusals":          dynamo.NewRefusals(nil, "1"),
		"dynamo.NewCheckouts":         dynamo.NewCheckouts(nil, several, nil),
		"dynamo.NewOrders":            dynamo.NewOrders(nil, "1", "2", nil),
		"dynamo.NewRedemptionRecords": dynamo.NewRedemptionRecords(nil, several, nil),
		"dynamo.NewEventSource":       dynamo.NewEventSource(nil, several, nil),
		"dynamo.NewEventLog":          dynamo.NewEventLog(nil, "1", 0, nil, nil, nil),
		"dynamo.NewEventParking":      dynamo.NewEventParking(nil, "1", nil, nil),
		"dynamo.NewEventPages":        dynamo.NewEventPages(nil, "1", nil, nil),
		"dynamoclient.Connect":        &warm{"2"},
	}
}

// warm stands for the function Warm, which is not a store. The name is that of the table for which Warm opens a
// connection.
type warm struct{ name string }

// tableOf returns the name of the table in a field of a store, or "" if it has no such field.
func tableOf(store any, field string) string {
	value := reflect.ValueOf(store).Elem()
	for name := range strings.SplitSeq(strings.TrimPrefix(field, "."), ".") {
		if value.Kind() != reflect.Struct {
			return ""
		}
		if value = value.FieldByName(name); !value.IsValid() {
			return ""
		}
	}
	if value.Kind() != reflect.String {
		return ""
	}
	return value.String()
}

// wiring says which tables a package passes to the constructors of stores.
type wiring struct {
	// the setting that names a table, such as VouchersTable, by constructor and argument: dynamo.NewOrders 2
	tables   map[string]string
	settings map[string]string // by variable
	calls    map[string][]ast.Expr
}

// readWiring reads the wiring of a package. The parameter callers is the wiring of the package that calls it, or empty.
func readWiring(t *testing.T, folder string, callers wiring) wiring {
	t.Helper()
	w := wiring{make(map[string]string), make(map[string]string), make(map[string][]ast.Expr)}
	for _, file := range sources(t, folder) {
		for n := range ast.Preorder(file) {
			switch n := n.(type) {
			case *ast.FuncDecl:
				w.bind(n, callers, callers.calls[file.Name.Name+"."+n.Name.Name])
			case *ast.AssignStmt:
				w.assign(n)
			case *ast.CallExpr:
				w.call(n)
			}
		}
	}
	return w
}

// assign records the settings that are assigned to a variable.
func (w wiring) assign(n *ast.AssignStmt) {
	variable := written(n.Lhs[0], "")
	for member, setting := range w.members(n.Rhs[0]) {
		w.settings[variable+member] = setting
	}
}

// call records the settings that a function is called with.
func (w wiring) call(n *ast.CallExpr) {
	w.calls[called(n)] = n.Args
	for number, argument := range n.Args {
		for member, setting := range w.members(argument) {
			w.tables[fmt.Sprint(called(n), " ", number, member)] = setting
		}
	}
}

// bind records the settings that the caller passes as parameters.
func (w wiring) bind(f *ast.FuncDecl, caller wiring, arguments []ast.Expr) {
	number := 0
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			if number < len(arguments) {
				w.settings[name.Name] = caller.members(arguments[number])[""]
			}
			number++
		}
	}
}

// members returns the settings in a variable or its field, in a literal of dynamo.Tables, or in a call such as
// env.VouchersTable(), by member: .Vouchers, or "" for the whole value.
func (w wiring) members(expression ast.Expr) map[string]string {
	found := make(map[string]string)
	switch e := expression.(type) {
	case *ast.Ident:
		for variable, setting := range w.settings {
			if member, ok := strings.CutPrefix(variable, e.Name); ok && (member == "" || member[0] == '.') {
				found[member] = setting
			}
		}
	case *ast.SelectorExpr:
		if setting, known := w.settings[written(e, "")]; known {
			found[""] = setting
		}
	case *ast.CallExpr:
		if setting, of := strings.CutPrefix(called(e), "env."); of {
			found[""] = setting
		}
	case *ast.CompositeLit:
		if written(e.Type, "") != "dynamo.Tables" {
			break
		}
		for _, element := range e.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				found["."+written(pair.Key, "")] = w.members(pair.Value)[""]
			}
		}
	}
	return found
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
	client  map[string]bool   // operations of DynamoDB's client
	bus     []string          // operations of EventBridge's client
	methods []string          // of pkg/dynamo, and Warm
	tables  map[string]string // as in wiring
}

func readProgram(t *testing.T, path string, f samtemplate.Function, known map[string]bool) program {
	t.Helper()
	own := readWiring(t, f.Package, wiring{})
	p := program{client: make(map[string]bool), tables: own.tables}
	wires := regexp.MustCompile(`^shopfront/(pkg/lambdahttp/\w+)\.`)
	for _, name := range linked(t, path) {
		if in := wires.FindStringSubmatch(name); in != nil {
			maps.Copy(p.tables, readWiring(t, in[1], own).tables)
		}
		if action, ok := strings.CutPrefix(name, "github.com/aws/aws-sdk-go-v2/service/dynamodb.(*Client)."); ok &&
			known[action] {
			p.client[action] = true
		}
		if action, ok := strings.CutPrefix(name, "github.com/aws/aws-sdk-go-v2/service/eventbridge.(*Client)."); ok &&
			ast.IsExported(action) && action != "Options" {
			p.bus = append(p.bus, "events:"+action)
		}
		// The calls of a plain function count as calls of its callers. Warm is the only plain function that other
		// packages call.
		if name, ok := strings.CutPrefix(name, "shopfront/pkg/dynamo."); ok &&
			(name == "Warm" || strings.HasPrefix(name, "(*")) {
			p.methods = append(p.methods, name)
		}
	}
	delete(p.client, "DescribeEndpoints") // the SDK links it for endpoint discovery, which is off
	return p
}

// calls returns the actions of a program by table or index, such as dynamodb:UpdateItem on VouchersTable.
func (p program) calls(t *testing.T, s library) map[string][]string {
	t.Helper()
	found, visited, byTable := make(map[string]bool), make(map[string]bool), make(map[string][]string)
	for constructor, store := range stores() {
		for _, name := range p.methodsOf(store) {
			made, seen := s.reached(name)
			maps.Copy(visited, seen)
			for a := range made {
				found[a.action] = true
				if strings.HasPrefix(a.action, "Transact") { // needs only the actions of its parts
					continue
				}
				table := p.tables[constructor+" "+tableOf(store, a.table)]
				if table == "" {
					t.Errorf("%s is linked and calls %s, but its table %s is unknown", name, a.action, a.table)
				}
				if a.ofIndex {
					table += "/index/" + dynamo.OrdersIndex
				}
				byTable[table] = append(byTable[table], "dynamodb:"+a.action)
			}
		}
	}
	for table, made := range byTable {
		slices.Sort(made)
		byTable[table] = slices.Compact(made)
	}
	p.checkFound(t, s, found, visited)
	return byTable
}

// methodsOf returns the linked methods of a store.
func (p program) methodsOf(store any) []string {
	prefix := "(*" + reflect.TypeOf(store).Elem().Name() + ")."
	if _, is := store.(*warm); is {
		prefix = "Warm"
	}
	return slices.DeleteFunc(slices.Clone(p.methods),
		func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// checkFound fails if the symbols show an action or a routine that the source does not show: then one of the two was
// misread. The source may show more, because the parts of a transaction have no symbols.
func (p program) checkFound(t *testing.T, s library, actions, routines map[string]bool) {
	t.Helper()
	for action := range p.client {
		if !actions[action] {
			t.Errorf("%s can be called, but no linked store calls it", action)
		}
	}
	for _, name := range p.methods {
		if r := s.routines[name]; len(r.accesses) > 0 && !routines[name] {
			t.Errorf("%s is linked, but no store calls it", name)
		}
	}
}

// TestFunctions builds all functions once, which takes most of the time.
func TestFunctions(t *testing.T) {
	folder := programs(t)
	t.Run("roles allow exactly the calls of the function", func(t *testing.T) { checkRoles(t, folder) })
	t.Run("only the storefront links the page", func(t *testing.T) { checkPage(t, folder) })
}

func checkRoles(t *testing.T, folder string) {
	t.Helper()
	known := actions()
	all := readLibrary(t, known, slices.Concat(sources(t, "pkg/dynamo"), sources(t, "pkg/dynamo/table"))...)
	withBus := map[string]string{"EventBus": "shops"}
	quiet, traced := deploy(t, withBus), deploy(t, map[string]string{"EventBus": "shops", "Tracing": "on"})
	for _, f := range load(t, withBus).Functions {
		t.Run(f.Name, func(t *testing.T) {
			want := map[string][]string{"${" + f.LogicalID + "Logs.Arn}": {"logs:CreateLogStream", "logs:PutLogEvents"}}
			program := readProgram(t, filepath.Join(folder, f.Name), f, known)
			if program.bus != nil {
				want["arn:aws:events:eu-central-1:123456789012:event-bus/shops"] = program.bus
			}
			for setting, made := range program.calls(t, all) {
				table, index, _ := strings.Cut(strings.Replace(setting, "Events", "EventLog", 1), "Table")
				want["arn:aws:dynamodb:eu-central-1:123456789012:table/${"+table+"}"+index] = made
			}
			maps.Copy(want, ofStreams(quiet.properties[f.LogicalID]))
			checkRole(t, quiet, f.LogicalID, want)
			checkAttributes(t, quiet, f.LogicalID)
			want["*"] = []string{"xray:PutTelemetryRecords", "xray:PutTraceSegments"}
			checkRole(t, traced, f.LogicalID, want)
			if got := text(traced.properties[f.LogicalID], "Tracing"); got != "Active" {
				t.Errorf("with tracing on, the tracing mode is %q, want Active", got)
			}
		})
	}
}

// Each function imports pkg/httpapi, which imports pkg/storefront. As long as no variable or init refers to the page,
// the linker leaves its code and embedded files out of the functions that do not show it.
func checkPage(t *testing.T, folder string) {
	t.Helper()
	site := storefront.NewSite()
	for _, f := range load(t, map[string]string{"EventBus": "shops"}).Functions {
		path, shows := filepath.Join(folder, f.Name), f.Name == "storefront"
		names := linked(t, path)
		code := slices.ContainsFunc(names,
			func(name string) bool { return strings.HasPrefix(name, "shopfront/pkg/storefront.") })
		if code != shows {
			t.Errorf("%s links code of the page: %t, want %t", f.Name, code, shows)
		}
		if slices.Contains(names, "html.init") {
			t.Errorf("%s links package html, whose table of entities takes 70 kB", f.Name)
		}
		content := contents(t, path)
		for _, file := range []storefront.Asset{
			site.Script, site.Stylesheet,
			{Name: "en.json", Content: contents(t, filepath.Join(root, "pkg/storefront/texts/en.json"))},
		} {
			if embedded := strings.Contains(content, file.Content); embedded != shows {
				t.Errorf("%s embeds %s: %t, want %t", f.Name, file.Name, embedded, shows)
			}
		}
	}
}

// ofStreams returns the rights that Lambda needs to read the streams that invoke a function, and to report discarded
// records.
func ofStreams(function any) map[string][]string {
	rights := make(map[string][]string)
	sources, _ := under(function, "Events").(map[string]any)
	for _, source := range sources {
		if text(source, "Type") != "DynamoDB" {
			continue
		}
		table := strings.TrimSuffix(text(source, "Properties", "Stream"), ".StreamArn}") + "}"
		rights["arn:aws:dynamodb:eu-central-1:123456789012:table/"+table+"/stream/*"] = []string{
			"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams",
		}
		rights[text(source, "Properties", "DestinationConfig", "OnFailure",
			"Destination")] = []string{"sqs:SendMessage"}
	}
	return rights
}

// checkRole checks that a function's role allows exactly these actions on these resources, and that only Lambda can
// assume it.
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
			checkKeys(t, statement, "Effect", "Action", "Resource", "Condition")
			if effect := text(statement, "Effect"); effect != "Allow" {
				t.Errorf("the effect of a statement is %q, want Allow", effect)
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

// checkAttributes checks that the functions that write vouchers only for holds cannot change the reward, limit per nick
// or number of parts of a code. TestOpenHeld and the other tests of pkg/dynamo check that their updates never name them.
func checkAttributes(t *testing.T, s stack, function string) {
	t.Helper()
	want := map[string]any{"ForAllValues:StringNotEquals": map[string]any{
		"dynamodb:Attributes": []any{table.AttrReward, table.AttrCurrency, table.AttrPerNick, table.AttrParts},
	}}
	for _, policy := range list(s.properties[function+"Role"], "Policies") {
		for _, statement := range list(policy, "PolicyDocument", "Statement") {
			writes := strings.Contains(text(statement, "Resource"), "Vouchers") &&
				slices.ContainsFunc(list(statement, "Action"),
					func(action any) bool { return action == "dynamodb:UpdateItem" || action == "dynamodb:PutItem" })
			condition, is := under(statement, "Condition").(map[string]any)
			must := writes && strings.Contains(function, "Checkout")
			if is != must || is && !reflect.DeepEqual(condition, want) {
				t.Errorf("the condition of %v is %v; want one on attributes: %t", statement, condition, must)
			}
		}
	}
}
