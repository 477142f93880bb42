package main

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"shopfront/internal/local/localrun"
	"shopfront/internal/local/samtemplate"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
)

// program is shopctl with everything that its process provides.
type program struct {
	output
	stdin     io.Reader
	lookupEnv func(name string) (value string, found bool)
	workDir   func() (string, error)
	now       func() time.Time
	random    io.Reader           // cryptographically secure
	jitter    func(n int64) int64 // from 0 up to, not including, n
	sleep     func(ctx context.Context, delay time.Duration) error
	settle    time.Duration // how long verify waits for writes in flight; zero: half a second
}

// run runs a command line until it is done or the context ends, and returns the exit code.
func (p program) run(ctx context.Context, args []string) int {
	s := &session{program: p}
	root := newRootCommand(s) //nolint:contextcheck // cobra hands the context to each command
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetArgs(withDashedID(root, args))
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if !s.began {
		// The flags may not have been parsed, but a script that passed --json still expects JSON errors.
		s.json = s.json || slices.Contains(args, "--json")
		err = usageError(command, args, err)
	}
	problems := s.explain(err)
	s.reportProblems(problems)
	return problems[0].exit
}

// session is one run of the program, with the global flags.
type session struct {
	program
	stack string
	local bool
	// shop is the ID of the shop that is open.
	shopID catalog.ShopID
	// began is set once a command was found and its arguments and flags were valid.
	began bool
}

const stackVariable = "SHOPFRONT_STACK"

// command wraps a command's work. Errors before the work begins are usage errors.
func (s *session) command(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		s.began = true
		return do(command.Context(), args)
	}
}

// shopCommand wraps the work of a command in the shop that its first argument names.
func (s *session) shopCommand(
	do func(ctx context.Context, shop *backoffice.Shop, args []string) error,
) func(*cobra.Command, []string) error {
	return s.command(func(ctx context.Context, args []string) error {
		shop, err := s.shop(ctx, args[0])
		if err != nil {
			return err
		}
		return do(ctx, shop, args)
	})
}

// deployment finds the target. SHOPFRONT_STACK is only a default: both --stack and --local override it.
func (s *session) deployment(ctx context.Context) (*backoffice.Deployment, error) {
	switch stack := s.stackName(); {
	case s.local && s.stack != "":
		return nil, errTwoTargets
	case s.local:
		dir, err := s.workDir()
		if err != nil {
			return nil, err
		}
		if _, err := samtemplate.FindRoot(dir); err != nil {
			return nil, failed(kindNotRunning, "no local run: %s", err)
		}
		state, err := localrun.Find(ctx, dir)
		if err != nil {
			return nil, err
		}
		return state.Deployment(s.jitter), nil
	case stack != "":
		return backoffice.FindStack(ctx, stack, s.jitter)
	default:
		return nil, errNoTarget
	}
}

// stackName returns the stack named by the flag or, by default, the variable.
func (s *session) stackName() string {
	if s.stack != "" {
		return s.stack
	}
	fromVariable, _ := s.lookupEnv(stackVariable)
	return fromVariable
}

// commandLine returns a command line with the same target as this one.
func (s *session) commandLine(command string) string {
	switch {
	case s.local:
		return "shopctl --local " + command
	case s.stackName() != "":
		return "shopctl --stack " + s.stackName() + " " + command
	default:
		return "shopctl " + command
	}
}

// shop opens the shop that an argument names.
func (s *session) shop(ctx context.Context, shopID string) (*backoffice.Shop, error) {
	id, err := parseShop(shopID)
	if err != nil {
		return nil, err
	}
	deployment, err := s.deployment(ctx)
	if err != nil {
		return nil, err
	}
	s.shopID = id
	shop, err := deployment.Shop(ctx, id)
	return shop, s.describeNoShop(err, id)
}

func parseShop(text string) (catalog.ShopID, error) {
	id, err := catalog.ParseID[catalog.ShopID](text)
	if err != nil {
		return "", misused("SHOP %s", err)
	}
	return id, nil
}

// optionalShop parses the only argument of a command, or returns "" without one.
func optionalShop(args []string) (catalog.ShopID, error) {
	if len(args) == 0 {
		return "", nil
	}
	return parseShop(args[0])
}

func (s *session) describeNoShop(err error, id catalog.ShopID) error {
	return describeNotFound(err, "shop %s does not exist: see %s, or load it with %s", id,
		s.commandLine("catalog list"), s.commandLine("catalog apply FILE"))
}
