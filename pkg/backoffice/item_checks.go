package backoffice

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"shopfront/pkg/dynamo/table"
)

// attributeType is the type of an attribute, as messages of findings name it.
type attributeType string

const (
	typeText   attributeType = "text"
	typeNumber attributeType = "a whole number"
	typeTruth  attributeType = "true or false"
)

// typeOf returns the type that the attribute with the given name must have. For a name that is not listed here, such as
// one that begins with RecordPrefix, it returns "".
func typeOf(name string) attributeType {
	switch name {
	case table.AttrCode, table.AttrReward, table.AttrCurrency, table.AttrNick, table.AttrNickHash, table.AttrBatch,
		table.AttrNote,
		table.AttrRedeemPolicy, table.AttrCheckOutPolicy, table.AttrName,
		table.AttrID, table.AttrProduct, table.AttrVariant, table.AttrData, table.AttrStatus,
		table.AttrOrdered, table.AttrShelf, table.AttrPayment, table.AttrReason, table.AttrUse, table.AttrBuyer,
		table.AttrUndoneBy:
		return typeText
	case table.AttrLimit, table.AttrPerNick, table.AttrFrom, table.AttrUntil, table.AttrCreated, table.AttrVersion,
		table.AttrParts, table.AttrLeft, table.AttrUsed, table.AttrHolds,
		table.AttrRefusalLimit, table.AttrRefusalWindow, table.AttrRedeemLimit, table.AttrRedeemWindow,
		table.AttrKeysCreated, table.AttrKeyExpires, table.AttrRevoked,
		table.AttrAmount, table.AttrUnitPrice, table.AttrSubtotal, table.AttrDiscount, table.AttrTotal,
		table.AttrExpires, table.AttrExpiresAt,
		table.AttrFulfilled, table.AttrCancelled, table.AttrPaid, table.AttrUndone, table.AttrImported:
		return typeNumber
	case table.AttrDisabled, table.AttrObject, table.AttrByServer, table.AttrPausedAll, table.AttrShares,
		table.AttrApart:
		return typeTruth
	default:
		return ""
	}
}

// check returns an error if a required attribute is missing or an attribute has the wrong type. All other code reads
// items leniently, because only Shopfront writes them.
func check(it table.Item, required ...string) error {
	for _, name := range required {
		if !it.Has(name) {
			return fmt.Errorf("the attribute %s is missing", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(it)) {
		if wanted := typeOf(name); wanted != "" && !isOf(wanted, it[name]) {
			return fmt.Errorf("the attribute %s is not %s", name, wanted)
		}
	}
	return nil
}

func isOf(wanted attributeType, value types.AttributeValue) bool {
	switch value := value.(type) {
	case *types.AttributeValueMemberS:
		return wanted == typeText
	case *types.AttributeValueMemberBOOL:
		return wanted == typeTruth
	case *types.AttributeValueMemberN:
		_, err := strconv.ParseInt(value.Value, 10, 64)
		return wanted == typeNumber && err == nil
	default:
		return false
	}
}
