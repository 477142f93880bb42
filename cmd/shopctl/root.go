package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

const rootHelp = `shopctl runs a Shopfront on your machine, loads its catalogue, hands out voucher codes and
tells what was redeemed.

Target
  Every command but dev works on the tables of one deployment, which you name:
    --stack NAME   a deployed stack, found with the usual AWS configuration (AWS_PROFILE,
                   AWS_REGION and so on); SHOPFRONT_STACK gives a default
    --local        the local run of this checkout, which shopctl dev, or make run, started
  There is no default target.

Output
  Results go to stdout, everything else to stderr. With --json a command prints one JSON
  document, lists and generated codes one JSON document per line; times are RFC 3339 in UTC, and
  money is in minor units. Errors then are {"error":{"kind":...,"message":...}} on stderr, one
  per line.

Exit codes                                                   kinds of error
    0  done
    1  failed: what was asked for may have been done         failed, unavailable, not_running
    2  the command line is wrong: nothing was done           usage
    3  refused: unknown, there already, or against the       not_found, exists, invalid
       rules; nothing was changed
    4  verify found what does not add up; nothing was        inconsistent
       changed
  130  interrupted: run the command again to go on           interrupted`

// usageTemplate shows how a command is called.
const usageTemplate = `Usage:
  {{.UseLine}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global flags:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

More about a command: {{.CommandPath}} COMMAND --help{{end}}
`

func newRootCommand(s *session) *cobra.Command {
	root := newGroup("shopctl", "Run and operate a Shopfront",
		newDevCommand(s), newCatalogCommand(s), newVoucherCommand(s), newRedemptionCommand(s), newCheckoutCommand(s), newVerifyCommand(s),
		newStatusCommand(s))
	root.Long = rootHelp
	root.Example = `  shopctl --local catalog apply examples/demo.yaml
  shopctl --local voucher create emberforge NEWSLETTER-20 --reward 20% --max-uses 100
  shopctl --local redemption list emberforge --json`
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetUsageTemplate(usageTemplate)
	flags := root.PersistentFlags()
	flags.Var((*textFlag)(&s.stack), "stack", "work on the deployed stack `NAME`")
	flags.BoolVar(&s.local, "local", false, "work on the local run of this checkout")
	flags.BoolVar(&s.json, "json", false, "print JSON")
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp) // few arguments are files
	root.SetHelpCommand(newHelpCommand(root))
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		if command.Name() == "completion" {
			onlyHolds(command)
		}
	}
	return root
}

// newGroup is a command that only holds others.
func newGroup(name, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: name, Short: short}
	group.AddCommand(commands...)
	onlyHolds(group)
	return group
}

// onlyHolds makes a command without one of its commands an error; cobra would print its help and call that a success.
func onlyHolds(group *cobra.Command) {
	group.Use = group.Name() + " COMMAND"
	group.DisableFlagsInUseLine = true
	group.SuggestionsMinimumDistance = 2
	group.Args = subcommand
	group.RunE = func(*cobra.Command, []string) error { return nil } // never: subcommand refuses all arguments
}

func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND...]", Short: "Show help, and with a command its flags", DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			command, rest, err := root.Find(args)
			if err != nil || len(rest) == 0 {
				return err
			}
			return fmt.Errorf("unknown command %q%s", rest[0], suggest(command, rest[0]))
		},
		RunE: func(_ *cobra.Command, args []string) error {
			command, _, err := root.Find(args)
			if err != nil {
				return err
			}
			return command.Help()
		},
	}
}
