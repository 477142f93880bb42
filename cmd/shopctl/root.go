package main

import (
	"github.com/spf13/cobra"
)

const rootHelp = `shopctl runs a Shopfront on your machine, loads its catalogue, creates and imports voucher codes,
lists and exports what was redeemed, and works on orders. Give each flag only once, unless its help says otherwise.

Target
  Every command except dev needs a target: the deployment to work on.
    --stack NAME   a deployed stack, found with the usual AWS configuration (AWS_PROFILE,
                   AWS_REGION and so on); SHOPFRONT_STACK sets a default
    --local        the local run of this clone, started by shopctl dev or make run
  A shop's owner without an AWS account can use events tail, forward and replay: see their --url.

Output
  Results go to stdout, everything else goes to stderr. With --json a command prints one JSON
  document; list commands and generate print one per line. Export commands print only CSV. Times
  are RFC 3339 in UTC, money is in minor units. With --json, errors are
  {"error":{"kind":...,"message":...}} on stderr, one per line.

Time
  A flag takes a time such as 2026-12-24T18:00:00+01:00, or a date, which is in the shop's
  time-zone (UTC unless its catalogue file names another). As an end, a date includes its day.
  --since and --until also take a duration, such as 24h or 7d: that long ago.

Exit codes                                                   kinds of error
    0  done
    1  failed; the work may be done, or done in part         failed, unavailable, not_running
    2  wrong command line; nothing was done                  usage
    3  refused: not found, exists already, or against the    not_found, exists, invalid
       rules; nothing was changed. Only catalog apply and
       voucher import may have done the rest: they leave
       out vouchers that differ from the files, and
       import --skip-invalid leaves out rejected rows
    4  verify found records that do not add up; nothing      inconsistent
       was changed
  130  interrupted; run the command again to complete it     interrupted`

// usageTemplate is the part of a help text that shows how to call a command.
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
		newDevCommand(s), newStatusCommand(s), newCatalogCommand(s), newVoucherCommand(s), newRedemptionCommand(s),
		newCheckoutCommand(s),
		newOrderCommand(s), newReportCommand(s), newKeyCommand(s), newEventsCommand(s), newVerifyCommand(s))
	root.Long = rootHelp
	root.Example = `  shopctl --local catalog apply examples/demo.yaml
  shopctl --local voucher create emberforge NEWSLETTER-20 --reward 20% --max-uses 100
  shopctl --local redemption list emberforge --json`
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetUsageTemplate(usageTemplate)
	flags := root.PersistentFlags()
	flags.Var(textFlag(&s.stack), "stack", "work on the deployed stack `NAME`")
	flags.BoolVar(&s.local, "local", false, "work on the local run of this clone")
	flags.BoolVar(&s.json, "json", false, "print JSON")
	s.completeNames(root)
	countFlags(root)
	root.PersistentPreRunE = refuseRepeated
	// most arguments are not files
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetHelpCommand(newHelpCommand(root))
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		if command.Name() == "completion" {
			requireSubcommand(command)
		}
	}
	return root
}

// newGroup makes a command that only groups others.
func newGroup(name, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: name, Short: short}
	group.AddCommand(commands...)
	requireSubcommand(group)
	return group
}

// requireSubcommand makes it an error to run a group without one of its commands. cobra would print the help and exit
// with success.
func requireSubcommand(group *cobra.Command) {
	group.Use = group.Name() + " COMMAND"
	group.DisableFlagsInUseLine = true
	group.SuggestionsMinimumDistance = 2
	group.Args = subcommand
	group.RunE = func(*cobra.Command, []string) error { return nil } // never called: subcommand always returns an error
}

func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND...]", Short: "Show help, or the flags of a command", DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			command, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return subcommand(command, rest)
			}
			return command.Help()
		},
	}
}
