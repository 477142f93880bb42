package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
)

type statusJSON struct {
	Target  string      `json:"target"` // stack or local
	Stack   string      `json:"stack,omitempty"`
	BaseURL string      `json:"baseUrl"`
	Region  string      `json:"region"`
	Version string      `json:"version"`
	Tables  []tableJSON `json:"tables"`
}

type tableJSON struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

func newStatusCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show base URL, version and tables", Args: exactly(),
		Example: "  shopctl --local status",
		RunE: s.command(func(ctx context.Context, _ []string) error {
			deployment, err := s.deployment(ctx)
			if err != nil {
				return err
			}
			tables, err := deployment.TableStatuses(ctx)
			if err != nil {
				return err
			}
			document := statusJSON{
				Target: "stack", Stack: deployment.Stack, BaseURL: deployment.BaseURL, Region: deployment.Region, Version: deployment.Version,
			}
			target := "stack " + deployment.Stack
			if deployment.Stack == "" {
				document.Target, target = "local", "local run"
			}
			fields := []field{
				{"target", target}, {"base URL", document.BaseURL}, {"region", document.Region}, {"version", document.Version},
			}
			for _, table := range tables {
				document.Tables = append(document.Tables, tableJSON{table.Name, table.Status})
				fields = append(fields, field{"table", table.Name + "  " + strings.ToLower(table.Status)})
			}
			return s.document(document, fields)
		}),
	}
}
