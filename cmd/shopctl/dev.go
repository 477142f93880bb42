package main

import (
	"context"

	"github.com/spf13/cobra"

	"shopfront/internal/local/localrun"
	"shopfront/internal/local/samtemplate"
)

func newDevCommand(s *session) *cobra.Command {
	port := 3000
	var fresh bool
	command := &cobra.Command{
		Use: "dev", Short: "Run a shop on this machine, until Ctrl-C", Args: exactly(),
		Long: `Run a whole Shopfront on this machine: fetch and start DynamoDB Local, load the demo shop on first use,
build the functions, and serve the routes of template.yaml. It needs Go, Java 17 and, the first time,
Maven. Data survives a restart.

With --json the command prints one document once it serves; everything else goes to stderr.`,
		Example: "  shopctl dev\n  shopctl dev --port 8080 --fresh",
		RunE: s.command(func(ctx context.Context, _ []string) error {
			if s.local || s.stack != "" {
				return misused("dev starts the local run: it does not take --local or --stack")
			}
			dir, err := s.workDir()
			if err != nil {
				return err
			}
			root, err := samtemplate.FindRoot(dir)
			if err != nil {
				return err
			}
			options := localrun.Options{
				Root: root, Port: port, Fresh: fresh, Out: s.stdout, Warnings: s.stderr,
				Now: s.now, Random: s.jitter,
			}
			if s.json {
				options.Out = s.stderr
			}
			run, err := localrun.Start(ctx, options)
			if run == nil {
				return err
			}
			if s.json {
				_ = writeJSON(s.stdout, run.State)
			}
			return run.Wait(ctx)
		}),
	}
	command.Flags().Var(portFlag(&port), "port", "serve on `PORT` of 127.0.0.1; 0 picks a free port")
	command.Flags().BoolVar(&fresh, "fresh", false, "delete the data of earlier runs first")
	return command
}
