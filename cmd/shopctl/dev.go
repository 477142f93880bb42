package main

import (
	"context"

	"github.com/spf13/cobra"

	"shopfront/internal/local/localrun"
	"shopfront/internal/local/samtemplate"
)

func newDevCommand(s *session) *cobra.Command {
	port := portFlag(3000)
	var fresh bool
	command := &cobra.Command{
		Use: "dev", Short: "Run a shop on this machine, until Ctrl-C", Args: exactly(),
		Long: `Runs the whole of a Shopfront on this machine: it fetches and starts DynamoDB Local, loads the demo
shop on first use, builds the functions and serves the routes of template.yaml. It needs Go, Java 17
and, the first time, Maven. Data survives a restart.

With --json it prints one document when it serves, and everything else to stderr.`,
		Example: "  shopctl dev\n  shopctl dev --port 8080 --fresh",
		RunE: s.command(func(ctx context.Context, _ []string) error {
			if s.local || s.stack != "" {
				return misused("dev starts the local run: it takes neither --local nor --stack")
			}
			dir, err := s.workDir()
			if err != nil {
				return err
			}
			root, err := samtemplate.FindRoot(dir)
			if err != nil {
				return err
			}
			options := localrun.Options{Root: root, Port: int(port), Fresh: fresh, Out: s.stdout, Warnings: s.stderr, Now: s.now, Random: s.jitter}
			if s.json {
				options.Out = s.stderr
				options.Serving = func(state localrun.State) { _ = writeJSON(s.stdout, state) }
			}
			return localrun.Run(ctx, options)
		}),
	}
	command.Flags().Var(&port, "port", "serve on `PORT` of 127.0.0.1; 0 for a free one")
	command.Flags().BoolVar(&fresh, "fresh", false, "forget what earlier runs stored")
	return command
}
