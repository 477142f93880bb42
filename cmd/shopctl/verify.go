package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"shopfront/pkg/audit"
	"shopfront/pkg/backoffice"
	"shopfront/pkg/catalog"
	"shopfront/pkg/voucher"
)

type verifyJSON struct {
	Shop        string        `json:"customer"`
	Vouchers    int           `json:"vouchers"`
	Redemptions int           `json:"redemptions"`
	Checkouts   int           `json:"checkouts"`
	Found       int           `json:"found"` // the number of all findings, even those that are not printed
	Findings    []findingJSON `json:"findings"`
	InMotion    []motionJSON  `json:"inMotion"`
}

type findingJSON struct {
	Kind      string `json:"kind"`
	Code      string `json:"code,omitempty"` // as it is compared; empty for checkouts, settings and keys
	Table     string `json:"table"`
	Partition string `json:"partition"`
	SortKey   string `json:"sortKey"`
	Message   string `json:"message"`
}

func (f findingJSON) cells() []string {
	return []string{f.Kind, f.Table, f.Partition, f.SortKey, f.Message}
}

type motionJSON struct {
	Kind    string `json:"kind"`
	Code    string `json:"code"`
	MaxUses int    `json:"maxUses,omitempty"` // of an edit: the new limit
	Message string `json:"message"`
}

func representReport(shop catalog.ShopID, report audit.Report) verifyJSON {
	return verifyJSON{
		Shop: string(shop), Vouchers: report.Vouchers, Redemptions: report.Redemptions,
		Checkouts: report.Checkouts, Found: report.Found,
		Findings: represent(report.Findings, func(f audit.Finding) findingJSON {
			return findingJSON{
				string(f.Kind), string(f.Code), f.Place.Table, f.Place.Partition, f.Place.Sort,
				f.Message,
			}
		}),
		InMotion: represent(report.InMotion, func(m audit.Motion) motionJSON {
			return motionJSON{string(m.Kind), string(m.Code), int(m.MaxUses), m.Message}
		}),
	}
}

func newVerifyCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "verify SHOP", Short: "Check that vouchers, redemptions, checkouts and orders add up",
		Args: exactly("SHOP"),
		Long: fmt.Sprintf(`Read all vouchers, redemptions, checkouts and orders of a shop, and report violations of these rules: of each limit, what
is left, held and used adds up, and what is used is what redemptions and orders took; every record has its voucher, and
every hold its checkout; no expired checkout is stored too long; every order has its payment and is stored for good; the
feed of events reports exactly what happened; no key or setting is damaged. The command changes nothing.

The shop can stay live. Whatever looks wrong is read again before it is reported. Records that keep
changing, or are in the middle of an edit, are listed as in motion; they are not findings.

The command prints the first %d findings, each with its item; docs/operating/verify.md explains every kind.
With findings the exit code is %d.`, audit.MaxFindings, exitInconsistent),
		Example: `  shopctl --local verify emberforge
  shopctl --local verify emberforge --json`,
		RunE: s.shopCommand(func(ctx context.Context, shop *backoffice.Shop, _ []string) error {
			bar := s.newProgress("items read", unknownCount)
			report, err := shop.Verify(ctx, backoffice.Verification{Now: s.now, Read: bar.steps, Settle: s.settle})
			bar.end()
			if err != nil {
				return err
			}
			return s.showReport(shop, report)
		}),
	}
}

func (s *session) showReport(shop *backoffice.Shop, report audit.Report) error {
	document := representReport(shop.Profile.ID, report)
	if s.json {
		if err := writeJSON(s.stdout, document); err != nil {
			return err
		}
	} else if err := s.showFindings(shop, document); err != nil {
		return err
	}
	if report.Found == 0 {
		return nil
	}
	return &problem{
		exit: exitInconsistent, kind: kindInconsistent,
		message: countOf(report.Found, "finding") + " about " + document.Shop,
		next:    "nothing was changed; docs/operating/verify.md explains each finding and what to do",
	}
}

func (s *session) showFindings(shop *backoffice.Shop, document verifyJSON) error {
	if len(document.Findings) > 0 {
		if err := list(&s.output, "findings", []string{"KIND", "TABLE", "SHOP", "SK", "WHAT"},
			document.Findings); err != nil {
			return err
		}
	}
	for _, m := range document.InMotion {
		text := "in motion: " + m.Code + ": " + m.Message
		if limit := voucher.Limit(m.MaxUses); limit != voucher.NoLimit {
			text += fmt.Sprintf(": %s", s.commandLine(fmt.Sprintf("voucher edit %s %s --max-uses %d", shop.Profile.ID,
				m.Code, limit)))
		}
		s.note(text)
	}
	outcome := "nothing is wrong"
	if document.Found > 0 {
		outcome = countOf(document.Found, "finding")
	}
	s.note(fmt.Sprintf("%s, %s and %s read: %s", countOf(document.Vouchers, "voucher"),
		countOf(document.Redemptions, "redemption"),
		countOf(document.Checkouts, "checkout"), outcome))
	return nil
}
