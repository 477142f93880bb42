package memdynamo

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// The rules: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html.
func TestItemSize_FollowsTheRulesOfAWS(t *testing.T) {
	for _, test := range []struct {
		name string
		item string
		want int // bytes
	}{
		{"an item without attributes", `{}`, 0},
		{"a string: name and bytes", `{"customer":{"S":"emberforge"}}`, 8 + 10},
		{"a string in UTF-8", `{"name":{"S":"Glücksmünze"}}`, 4 + 13},
		{"an attribute's name in UTF-8", `{"größe":{"S":"M"}}`, 7 + 1},
		{"an empty string", `{"note":{"S":""}}`, 4},
		{"a number: a byte for every two digits, and one more", `{"left":{"N":"1234"}}`, 4 + 2 + 1},
		{"an odd number of digits", `{"left":{"N":"123"}}`, 4 + 2 + 1},
		{"a number's trailing zeroes do not count", `{"left":{"N":"1200000"}}`, 4 + 1 + 1},
		{"a number's leading zeroes do not count", `{"part":{"N":"0.0012"}}`, 4 + 1 + 1},
		{"zero", `{"used":{"N":"0"}}`, 4 + 1},
		{"a negative number", `{"left":{"N":"-12"}}`, 4 + 1 + 1},
		{"a number with an exponent", `{"left":{"N":"12E+10"}}`, 4 + 1 + 1},
		{"a time in milliseconds", `{"from":{"N":"1795262400123"}}`, 4 + 7 + 1},
		{"a boolean", `{"disabled":{"BOOL":false}}`, 8 + 1},
		{"a null", `{"note":{"NULL":true}}`, 4 + 1},
		{"binary: the decoded bytes", `{"hash":{"B":"AAECAwQ="}}`, 4 + 5},
		{"an empty list", `{"variants":{"L":[]}}`, 8 + 3},
		{"an empty map", `{"reward":{"M":{}}}`, 6 + 3},
		{
			"a list: 3 bytes, and one for each element", `{"sizes":{"L":[{"S":"S"},{"S":"XL"}]}}`,
			5 + 3 + (1 + 1) + (1 + 2),
		},
		{
			"a map: 3 bytes, and one for each element", `{"price":{"M":{"minor":{"N":"499"},"currency":{"S":"EUR"}}}}`,
			5 + 3 + (1 + 5 + 3) + (1 + 8 + 3),
		},
		{"a map in a list", `{"variants":{"L":[{"M":{"id":{"S":"500"}}}]}}`, 8 + 3 + 1 + 3 + 1 + 2 + 3},
		{"a set of strings", `{"tags":{"SS":["gift","card"]}}`, 4 + 8},
		{"a set of numbers", `{"sizes":{"NS":["38","40"]}}`, 5 + 2 + 2},
		{"a set of binaries", `{"keys":{"BS":["AAE=","Ag=="]}}`, 4 + 3},
		{
			"all attributes together", `{"customer":{"S":"emberforge#07"},"sk":{"S":"SUMMER20"},"maxUses":{"N":"1"}}`,
			8 + 13 + 2 + 8 + 7 + 2,
		},
		{"a kilobyte", `{"sk":{"S":"` + strings.Repeat("x", 1022) + `"}}`, 1024},
	} {
		t.Run(test.name, func(t *testing.T) {
			var item Item
			if err := json.Unmarshal([]byte(test.item), &item, wire); err != nil {
				t.Fatal(err)
			}
			if got := itemSize(item); got != test.want {
				t.Errorf("the size is %d bytes; want %d", got, test.want)
			}
		})
	}
}
