package memdynamo

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// wire are the options of DynamoDB's JSON protocol. The SDK's types have the protocol's member names, so only values
// and times need functions of their own. A member that the SDK's type does not have is an error.
//
//nolint:gochecknoglobals // never changes
var wire = json.JoinOptions(
	json.OmitZeroStructFields(true), json.RejectUnknownMembers(true),
	json.WithMarshalers(json.JoinMarshalers(json.MarshalToFunc(writeValue), json.MarshalToFunc(writeTime))),
	json.WithUnmarshalers(json.UnmarshalFromFunc(readValue)),
)

// kinds are the types of values by their names in the protocol. Each is a struct whose field Value has the value.
//
//nolint:gochecknoglobals // never changes
var kinds = func() map[string]reflect.Type {
	kinds := make(map[string]reflect.Type)
	for _, value := range []types.AttributeValue{
		&types.AttributeValueMemberS{}, &types.AttributeValueMemberN{}, &types.AttributeValueMemberB{},
		&types.AttributeValueMemberBOOL{}, &types.AttributeValueMemberNULL{}, &types.AttributeValueMemberSS{},
		&types.AttributeValueMemberNS{}, &types.AttributeValueMemberBS{}, &types.AttributeValueMemberL{},
		&types.AttributeValueMemberM{},
	} {
		kinds[kindOf(value)] = reflect.TypeOf(value).Elem()
	}
	return kinds
}()

func kindOf(value types.AttributeValue) string {
	return strings.TrimPrefix(reflect.TypeOf(value).Elem().Name(), "AttributeValueMember")
}

// readValue reads a value, which is an object with one member: what the value contains, under the name of its type.
func readValue(d *jsontext.Decoder, value *types.AttributeValue) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	name, err := d.ReadToken()
	if err != nil {
		return err
	}
	kind := kinds[name.String()]
	if kind == nil {
		return fmt.Errorf("%q is not a type of a value", name)
	}
	read := reflect.New(kind)
	if err := json.UnmarshalDecode(d, read.Elem().FieldByName("Value").Addr().Interface()); err != nil {
		return err
	}
	*value, _ = reflect.TypeAssert[types.AttributeValue](read)
	_, err = d.ReadToken()
	return err
}

func writeValue(e *jsontext.Encoder, value types.AttributeValue) error {
	if err := e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	if err := e.WriteToken(jsontext.String(kindOf(value))); err != nil {
		return err
	}
	if err := json.MarshalEncode(e, reflect.ValueOf(value).Elem().FieldByName("Value").Interface()); err != nil {
		return err
	}
	return e.WriteToken(jsontext.EndObject)
}

// writeTime writes a time in seconds since 1970.
func writeTime(e *jsontext.Encoder, at time.Time) error {
	return e.WriteToken(jsontext.Float(float64(at.UnixMilli()) / 1000))
}
