package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"shopfront/pkg/backoffice"
	"shopfront/pkg/csvfile"
)

const (
	maxReportGroups = 100_000
	barWidth        = 20
	reportTotal     = "total"
)

// reportRowJSON is a group of a report, or the total.
type reportRowJSON struct {
	By       string `json:"by"`              // day, batch, reward, nick or total
	Group    string `json:"group,omitempty"` // empty for the total, and for vouchers without a batch or a nick
	Created  int    `json:"created"`
	Redeemed int    `json:"redeemed"`
	Held     *int   `json:"held,omitempty"`
	Undone   int    `json:"undone"`
	// Left is null if no code with a limit has uses left, but codes without a limit can be redeemed.
	Left json.RawMessage `json:"left,omitempty"`

	bar string
}

func reportHead(by backoffice.ReportGrouping) []string {
	if by.CountsNow() {
		return []string{"group", "created", "redeemed", "held", "undone", "left"}
	}
	return []string{"group", "created", "redeemed", "undone"}
}

// columns returns the cells of the row, in the order of reportHead.
func (r reportRowJSON) columns() []string {
	cells := []string{r.Group, strconv.Itoa(r.Created), strconv.Itoa(r.Redeemed), strconv.Itoa(r.Undone)}
	if r.By == reportTotal {
		cells[0] = reportTotal
	}
	if r.Held != nil {
		left := strings.Replace(string(r.Left), "null", "no limit", 1)
		cells = append(slices.Insert(cells, 3, strconv.Itoa(*r.Held)), left)
	}
	return cells
}

func (r reportRowJSON) cells() []string {
	if r.bar == "" {
		return r.columns()
	}
	return append(r.columns(), r.bar)
}

func newReportCommand(s *session) *cobra.Command {
	query := backoffice.ReportQuery{MaxGroups: maxReportGroups}
	var period period
	var asCSV bool
	command := &cobra.Command{
		Use: "report SHOP", Short: "Count codes and their uses, by day, batch, reward or nick",
		Args: exactly("SHOP"),
		Long: fmt.Sprintf(`Count a shop's codes and their uses. The last row is the total.
  created, redeemed, undone   what happened in the period; an undone redemption counts as redeemed, too
  held                        the uses that checkouts hold now, of codes with a limit
  left                        the uses that are left now, of codes with a limit that are neither disabled nor expired;
                              "no limit" if only codes without a limit are left

held and left are missing with --by day and --by nick. Days are in the shop's time-zone. With --by nick, a code that
only one nick can redeem counts as created for that nick. Imported uses count as redeemed. Those of a code with many
uses count at the time when the code was created.

The command reads all of the shop's vouchers and redemptions. A report has at most %d groups.`, maxReportGroups),
		Example: `  shopctl --local report emberforge --by batch
  shopctl --local report emberforge --since 2026-11-01 --until 2026-11-30 --by day --csv > november.csv`,
		RunE: s.command(func(ctx context.Context, args []string) error {
			if asCSV && s.json {
				return misused("give --csv or --json, not both")
			}
			shop, err := s.shop(ctx, args[0])
			if err != nil {
				return err
			}
			if query.From, query.Until, err = period.in(shop.Zone); err != nil {
				return err
			}
			bar := s.newProgress("vouchers read", unknownCount, s.stdout)
			query.Read = bar.steps
			groups, sum, err := shop.Report(ctx, query, s.now())
			bar.end()
			if errors.Is(err, backoffice.ErrTooManyGroups) {
				return failed(kindFailed, "%s, more than %d: narrow it with --since and --until, or with --batch", err,
					maxReportGroups)
			}
			if err != nil {
				return err
			}
			return s.showCounts(query.By, groups, sum, asCSV)
		}),
	}
	flags := command.Flags()
	flags.Var(textFlag(&query.Batch), "batch", "only vouchers of the batch `NAME`")
	period.add(command, s, "count what happened")
	addChoice(command, &query.By, "by", "count for each `GROUP`: "+alternatives(backoffice.ReportGroupings()),
		backoffice.ReportGroupings()...)
	flags.BoolVar(&asCSV, "csv", false, "print CSV")
	return command
}

// showCounts prints a report. For people, a bar shows how much of each group was redeemed.
func (s *session) showCounts(
	by backoffice.ReportGrouping, groups []backoffice.ReportGroup, sum backoffice.ReportCounts, asCSV bool,
) error {
	most := 1
	for _, group := range groups {
		most = max(most, group.Redeemed)
	}
	represented := func(label, name string, counts backoffice.ReportCounts) reportRowJSON {
		row := reportRowJSON{
			By: label, Group: name, Created: counts.Created, Redeemed: counts.Redeemed,
			Undone: counts.Undone,
		}
		if by.CountsNow() {
			row.Held, row.Left = &counts.Held, strconv.AppendInt(nil, int64(counts.Left), 10)
			if counts.Left == 0 && counts.Unlimited > 0 {
				row.Left = json.RawMessage("null")
			}
		}
		return row
	}
	rows := represent(groups, func(g backoffice.ReportGroup) reportRowJSON {
		row := represented(string(by), g.Name, g.ReportCounts)
		row.bar = strings.Repeat("█", (g.Redeemed*barWidth+most-1)/most)
		return row
	})
	rows = append(rows, represented(reportTotal, "", sum))
	if !asCSV {
		return list(&s.output, "groups", represent(reportHead(by), strings.ToUpper), rows)
	}
	file := csvfile.NewWriter(s.file(), reportHead(by)...)
	for _, row := range rows {
		if err := file.Row(row.columns()...); err != nil {
			return err
		}
	}
	return file.Flush()
}
