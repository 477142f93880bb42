package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"shopfront/pkg/access"
	"shopfront/pkg/backoffice"
)

type statusJSON struct {
	Target  string           `json:"target"` // stack or local
	Stack   string           `json:"stack,omitempty"`
	BaseURL string           `json:"baseUrl"`
	Region  string           `json:"region"`
	Version string           `json:"version"`
	Tables  []tableJSON      `json:"tables"`
	Shops   []shopAccessJSON `json:"shops"`
}

type tableJSON struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Stream string `json:"stream,omitempty"` // status of the stream from which events are recorded
}

func (t tableJSON) fields() []field {
	fields := []field{{"table", t.Name + "  " + strings.ToLower(t.Status)}}
	if t.Stream != "" {
		fields = append(fields, field{"stream", strings.ToLower(t.Stream)})
	}
	return fields
}

// shopAccessJSON says who may use a shop, and what is paused there.
type shopAccessJSON struct {
	Shop string `json:"customer"`
	policiesJSON

	Paused   pauseJSON `json:"paused"`
	LiveKeys int       `json:"liveKeys"`

	refusals, redemptions, paused string
}

func (a shopAccessJSON) cells() []string {
	return []string{
		a.Shop, a.Access.Redeem, a.Access.CheckOut, a.refusals, a.redemptions, strconv.Itoa(a.LiveKeys), a.paused,
	}
}

func representAccess(a backoffice.ShopAccess) shopAccessJSON {
	return shopAccessJSON{
		Shop:         string(a.Shop),
		policiesJSON: representPolicies(a.Redeem, a.CheckOut, a.Refusals, a.Redemptions),
		Paused:       representPause(a.Paused),
		LiveKeys:     a.LiveKeys, refusals: a.Refusals.String(), redemptions: a.Redemptions.String(),
		paused: formatPause(a.Paused),
	}
}

func newStatusCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "status [SHOP]", Short: "Show base URL, version, tables, and who may use the shops",
		Args: optional("SHOP"),
		Long: `Show base URL, version, tables and the streams of events. For the shop, or for all shops, show who may redeem and
check out, how many refused codes and redemptions one source may cause, the number of live keys, and what is paused.`,
		Example: "  shopctl --local status\n  shopctl --local status emberforge",
		RunE: s.command(func(ctx context.Context, args []string) error {
			shop, err := optionalShop(args)
			if err != nil {
				return err
			}
			deployment, err := s.deployment(ctx)
			if err != nil {
				return err
			}
			tables, err := deployment.TableStatuses(ctx)
			if err != nil {
				return err
			}
			shops, err := deployment.Access(ctx, shop, s.now())
			if err != nil {
				return s.describeNoShop(err, shop)
			}
			document := statusJSON{
				Shops:  represent(shops, representAccess),
				Target: "stack", Stack: deployment.Stack, BaseURL: deployment.BaseURL, Region: deployment.Region,
				Version: deployment.Version,
			}
			target := "stack " + deployment.Stack
			if deployment.Stack == "" {
				document.Target, target = "local", "local run"
			}
			fields := []field{
				{"target", target},
				{"base URL", document.BaseURL},
				{"region", document.Region},
				{"version", document.Version},
			}
			for _, table := range tables {
				document.Tables = append(document.Tables, tableJSON(table))
				fields = append(fields, tableJSON(table).fields()...)
			}
			if err := s.document(document, fields); err != nil {
				return err
			}
			s.warnOfTables(tables)
			return s.showAccess(document.Shops)
		}),
	}
}

// warnOfTables warns if a stream is missing, for example that of a restored table. The shop works without it, but
// events are not recorded.
func (s *session) warnOfTables(tables []backoffice.TableStatus) {
	for _, table := range tables {
		if table.Stream != "" && table.Stream != backoffice.StreamEnabled {
			s.warn(fmt.Sprintf("the stream of the table %s is %s, so its changes are not recorded as events: see "+
				"docs/operating/feeds.md",
				table.Name, strings.ToLower(table.Stream)))
		}
	}
}

// showAccess prints a table of shops, except in JSON. It warns of shops without a limit on refused codes, and of
// server-only shops without a live key.
func (s *session) showAccess(shops []shopAccessJSON) error {
	if !s.json && len(shops) > 0 {
		if _, err := fmt.Fprintln(s.stdout); err != nil {
			return err
		}
		if err := list(&s.output, "shops",
			[]string{"SHOP", "REDEEM", "CHECK OUT", "REFUSALS", "REDEMPTIONS", "LIVE KEYS", "PAUSED"}, shops); err != nil {
			return err
		}
	}
	for _, shop := range shops {
		if shop.Refusals == nil {
			s.warn(shop.Shop + " does not limit refused codes, so anybody can guess codes: set refusals in its " +
				"catalogue file")
		}
		if shop.LiveKeys == 0 && (shop.Access.Redeem == string(access.ServerOnly) ||
			shop.Access.CheckOut == string(access.ServerOnly)) {
			s.warn(fmt.Sprintf("%s lets only its server redeem or check out, but has no live key: run %s",
				shop.Shop, s.commandLine("key create "+shop.Shop+" --name NAME")))
		}
	}
	return nil
}
