package backoffice_test

import (
	"testing"

	"shopfront/pkg/voucher"
)

// While a batch is switched, another operator may edit a voucher that SwitchBatch has already read.
func TestEditRead_EditedSinceItWasRead_KeepsBothEdits(t *testing.T) {
	s := newTables(t).newShop(t)
	disabled, note := true, "handed out at the fair"
	for rule, edits := range map[string][]voucher.Edit{
		"not edited":   nil,
		"edited once":  {{Note: &note}},
		"edited twice": {{Disabled: &disabled}, {Note: &note}},
	} {
		t.Run(rule, func(t *testing.T) {
			code := s.create(voucher.Terms{Written: "FAIR-" + rule, Batch: "fair"})
			read, err := s.operator.StoredVoucher(t.Context(), code)
			if err != nil {
				t.Fatal(err)
			}
			want := voucher.Voucher{Version: read.Version + 1}
			for _, edit := range edits {
				s.edit(code, edit)
				want.Version++
				want.Note = note
			}
			got, err := s.operator.EditRead(t.Context(), read, voucher.Edit{Disabled: &disabled})
			if err != nil || !got.Disabled || got.Note != want.Note || got.Version != want.Version {
				t.Errorf("disabled %t, note %q, version %d, %v; want note %q and version %d", got.Disabled, got.Note,
					got.Version, err, want.Note, want.Version)
			}
		})
	}
}
