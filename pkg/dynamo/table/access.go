package table

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/access"
	"shopfront/pkg/voucher"
)

// Attributes of a shop's settings, besides AttrVersion.
const (
	AttrRedeemPolicy   = "redeem"
	AttrCheckOutPolicy = "checkOut"
	AttrRefusalLimit   = "refusalLimit"  // missing: no limit
	AttrRefusalWindow  = "refusalWindow" // seconds
	AttrRedeemLimit    = "redeemLimit"   // missing: no limit
	AttrRedeemWindow   = "redeemWindow"  // seconds
	AttrPausedAll      = "paused"
	AttrPausedBatches  = "pausedBatches" // a set of strings
	// AttrKeysCreated counts the keys that were ever created, so that concurrent creations cannot exceed the limit on
	// live keys. SetSettings does not change it.
	AttrKeysCreated = "keysCreated"
)

// Attributes of the record of a key, besides AttrName and AttrCreated.
const (
	AttrDigest     = "digest"     // binary
	AttrKeyExpires = "keyExpires" // milliseconds; missing: never
	AttrRevoked    = "revoked"    // milliseconds; missing: not revoked
)

// AttrRefusals and AttrRedemptions are the number of refusals or redemptions of a source in a window. The item of an
// IPv6 network, a /48, also has the number of each /64 subnet, in an attribute named by the four hexadecimal digits of
// the subnet.
const (
	AttrRefusals    = "refusals"
	AttrRedemptions = "redemptions"
)

// SetSettings makes an update write the settings. The update does not touch AttrKeysCreated.
func SetSettings(u *Update, s access.Settings) {
	wanted := Item{
		AttrRedeemPolicy: Str(s.Redeem), AttrCheckOutPolicy: Str(s.CheckOut),
		AttrPausedAll: Bool(s.Paused.All), AttrVersion: Num(s.Version),
	}
	wanted.setLimit(AttrRefusalLimit, AttrRefusalWindow, s.Refusals)
	wanted.setLimit(AttrRedeemLimit, AttrRedeemWindow, s.Redemptions)
	if len(s.Paused.Batches) > 0 {
		wanted[AttrPausedBatches] = &types.AttributeValueMemberSS{Value: s.Paused.Batches}
	}
	for _, attribute := range []string{
		AttrRedeemPolicy, AttrCheckOutPolicy, AttrRefusalLimit, AttrRefusalWindow, AttrRedeemLimit, AttrRedeemWindow,
		AttrPausedAll, AttrPausedBatches, AttrVersion,
	} {
		if value := wanted[attribute]; value != nil {
			u.Set(attribute, value)
		} else {
			u.Remove(attribute)
		}
	}
}

func (it Item) setLimit(limit, window string, l access.SourceLimit) {
	if l != (access.SourceLimit{}) {
		it[limit], it[window] = Num(l.Limit), Num(int64(l.Per/time.Second))
	}
}

func (it Item) limit(limit, window string) access.SourceLimit {
	return access.SourceLimit{Limit: int(it.Num(limit)), Per: time.Duration(it.Num(window)) * time.Second}
}

// DecodeSettings reads a shop's settings. If none are stored, it returns access.DefaultSettings.
func DecodeSettings(it Item) access.Settings {
	if !it.Has(AttrVersion) {
		return access.DefaultSettings()
	}
	s := access.Settings{
		Redeem: access.Policy(it.Str(AttrRedeemPolicy)), CheckOut: access.Policy(it.Str(AttrCheckOutPolicy)),
		Refusals:    it.limit(AttrRefusalLimit, AttrRefusalWindow),
		Redemptions: it.limit(AttrRedeemLimit, AttrRedeemWindow),
		Paused:      voucher.Pause{All: it.Bool(AttrPausedAll)}, Version: it.Num(AttrVersion),
	}
	if batches, ok := it[AttrPausedBatches].(*types.AttributeValueMemberSS); ok {
		s.Paused.Batches = slices.Sorted(slices.Values(batches.Value))
	}
	return s
}

// EncodeKeyRecord returns the item of a key's record.
func EncodeKeyRecord(key Key, r access.KeyRecord) Item {
	it := key.Attributes()
	it[AttrName] = Str(r.Name)
	it[AttrDigest] = &types.AttributeValueMemberB{Value: r.Digest[:]}
	it[AttrCreated] = Millis(r.Created)
	it.setTime(AttrKeyExpires, r.Expires)
	it.setTime(AttrRevoked, r.Revoked)
	return it
}

// DecodeKeyRecord reads a key's record. An empty item gives the zero record, which accepts no key.
func DecodeKeyRecord(it Item) access.KeyRecord {
	digest, ok := it[AttrDigest].(*types.AttributeValueMemberB)
	if !ok || len(digest.Value) != len(access.Digest{}) {
		return access.KeyRecord{}
	}
	return access.KeyRecord{
		ID: access.KeyID(KeyOf(it).Sort[len(AccessKeyPrefix):]), Name: it.Str(AttrName),
		Digest:  access.Digest(digest.Value),
		Created: it.Time(AttrCreated), Expires: it.timeOrZero(AttrKeyExpires), Revoked: it.timeOrZero(AttrRevoked),
	}
}
