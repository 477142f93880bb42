package backoffice

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/access"
	"shopfront/pkg/audit"
	"shopfront/pkg/dynamo/table"
)

// accessFaults reads the settings and keys of the shop strictly. It returns a finding for each damaged item, and the
// number of items read.
func (s *Shop) accessFaults(ctx context.Context) (findings []audit.Finding, read int, err error) {
	judge := func(it table.Item, fault error) {
		read++
		if fault != nil {
			findings = append(findings, audit.Finding{
				Kind: audit.KindMalformed, Place: placeOf(s.Tables.Catalogue, table.KeyOf(it)), Message: fault.Error(),
			})
		}
	}
	settings, err := table.Get(ctx, s.api, s.Tables.Catalogue, table.SettingsKey(s.Profile.ID), nil)
	if err != nil {
		return nil, 0, table.Outcome(err)
	}
	if len(settings) > 0 {
		judge(settings, checkSettings(settings))
	}
	for it, err := range items(ctx, s.api, s.keysQuery()) {
		if err != nil {
			return nil, 0, table.Outcome(err)
		}
		judge(it, checkKeyRecord(it))
	}
	return findings, read, nil
}

// checkSettings returns an error for damaged settings.
func checkSettings(it table.Item) error {
	if err := check(it, table.AttrRedeemPolicy, table.AttrCheckOutPolicy, table.AttrPausedAll,
		table.AttrVersion); err != nil {
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
