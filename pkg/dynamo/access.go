package dynamo

import (
	"context"

	"shopfront/pkg/access"
	"shopfront/pkg/catalog"
	"shopfront/pkg/dynamo/table"
)

// Access reads settings and keys from a catalogue table. It implements access.Store. Create it with NewAccess.
type Access struct {
	api       table.BatchGetter
	tableName string
	random    func(n int64) int64
}

// NewAccess returns a reader of the settings and keys in a catalogue table. random is as in NewRedeemer.
func NewAccess(api table.BatchGetter, tableName string, random func(n int64) int64) *Access {
	return &Access{api: api, tableName: tableName, random: random}
}

// Access reads a shop's settings and one of its keys in one call. If id is empty, it reads only the settings.
func (s *Access) Access(
	ctx context.Context, shop catalog.ShopID, id access.KeyID,
) (access.Settings, access.KeyRecord, error) {
	settings, record := table.SettingsKey(shop), table.AccessKeyKey(shop, id)
	keys := []table.Key{settings}
	if id != "" {
		keys = append(keys, record)
	}
	found, err := table.BatchGet(ctx, s.api, s.random, s.tableName, keys...)
	if err != nil {
		return access.Settings{}, access.KeyRecord{}, table.Outcome(err)
	}
	return table.DecodeSettings(found[settings]), table.DecodeKeyRecord(found[record]), nil
}
