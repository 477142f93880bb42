package backoffice

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/internal/table"
	"shopfront/pkg/reconciliation"
)

// Faults reads the settings and keys of a customer strictly. It returns a finding for each damaged item, and the number of items read.
func (s *Access) Faults(ctx context.Context, customer catalog.CustomerID) (findings []reconciliation.Finding, read int, err error) {
	judge := func(it table.Item, fault error) {
		read++
		if fault != nil {
			findings = append(findings, reconciliation.Finding{
				Kind: reconciliation.KindMalformed, Place: placeOf(s.table, table.KeyOf(it)), Message: fault.Error(),
			})
		}
	}
	settings, err := table.Get(ctx, s.api, s.table, table.SettingsKey(customer), nil)
	if err != nil {
		return nil, 0, table.Outcome(err)
	}
	if len(settings) > 0 {
		judge(settings, checkSettings(settings))
	}
	for it, err := range items(ctx, s.api, s.keysOf(customer)) {
		if err != nil {
			return nil, 0, table.Outcome(err)
		}
		judge(it, checkKeyRecord(it))
	}
	return findings, read, nil
}

// checkSettings returns an error for damaged settings. An item without settings must at least have the number of keys ever created.
func checkSettings(it table.Item) error {
	required := []string{table.AttrRedeemPolicy, table.AttrCheckOutPolicy, table.AttrPausedAll, table.AttrVersion}
	if !slices.ContainsFunc(required, it.Has) {
		required = []string{table.AttrKeysCreated}
	}
	if err := check(it, required...); err != nil {
		return err
	}
	if _, is := it[table.AttrPausedBatches].(*types.AttributeValueMemberSS); it.Has(table.AttrPausedBatches) && !is {
		return errors.New("the attribute " + table.AttrPausedBatches + " is not a set of texts")
	}
	return table.DecodeSettings(it).Validate()
}

func checkKeyRecord(it table.Item) error {
	if err := check(it, table.AttrName, table.AttrDigest, table.AttrCreated); err != nil {
		return err
	}
	record := table.DecodeKeyRecord(it)
	if record == (access.KeyRecord{}) {
		return errors.New("the attribute " + table.AttrDigest + " is not a SHA-256 sum")
	}
	return record.Validate()
}
