package table_test

import (
	"reflect"
	"testing"
	"time"

	"shopfront/pkg/access"
	"shopfront/pkg/dynamo/table"
)

func TestSettings_MissingItem_IsOpenToAnyone(t *testing.T) {
	if got := table.DecodeSettings(nil); !reflect.DeepEqual(got, access.DefaultSettings()) {
		t.Errorf("DecodeSettings(nil) = %+v, want %+v", got, access.DefaultSettings())
	}
}

func TestKeyRecord_EncodedAndDecoded_IsUnchanged(t *testing.T) {
	created := time.Date(2026, time.November, 22, 12, 0, 0, int(5*time.Millisecond), time.UTC)
	for _, want := range []access.KeyRecord{
		{ID: "dladqenqfd", Name: "web shop", Digest: access.Digest{1, 2, 31: 3}, Created: created},
		{
			ID: "dladqenqfd", Name: "till", Created: created, Expires: created.AddDate(1, 0, 0),
			Revoked: created.Add(time.Hour),
		},
	} {
		key := table.AccessKeyKey("emberforge", want.ID)
		if got := table.DecodeKeyRecord(table.EncodeKeyRecord(key, want)); got != want {
			t.Errorf("read %+v, want %+v", got, want)
		}
	}
	if got := table.DecodeKeyRecord(nil); got != (access.KeyRecord{}) {
		t.Errorf("DecodeKeyRecord(nil) = %+v, want an empty record", got)
	}
}
