package checkdigit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/checkdigit"
)

func TestConditions(t *testing.T) {
	for _, c := range []struct {
		rule  string
		right []string
		wrong []string
	}{
		{"length 3", []string{"123"}, []string{"12", "1234"}},
		{"vary", []string{"112"}, []string{"111"}},
		{"vary 1", []string{"112"}, []string{"211"}},
		{"lacks SO", []string{"A1"}, []string{"S1", "1O"}},
		{"1 any AB", []string{"1A", "1B"}, []string{"A1"}},
		{"1 none AB", []string{"A1"}, []string{"1A", "1B"}},
		{"0+2 in 1-12,70", []string{"01", "12", "70"}, []string{"00", "13", "71"}},
		{"1+2 is AB,CD", []string{"1AB", "1CD"}, []string{"1AD"}},
		{"1+2 not AB,CD", []string{"1AD"}, []string{"1AB", "1CD"}},
		{"date yymmdd@0", []string{"990228", "000229"}, []string{"991301", "990230", "990001"}},
		{"date ddmmyy@1", []string{"9310199"}, []string{"9310299"}},
		{"date yymmdd@0 month+20 day+40", []string{"992101", "990141", "992141"}, []string{"995101", "990181"}},
		{"luhn", []string{"4111111111111111"}, []string{"4111111111111112", "0000000000"}},
		{"luhn 2", []string{"994111111111111111"}, []string{"994111111111111112"}},
		{"luhn 80840/", []string{"1245319599"}, []string{"1245319598"}},
		{"verhoeff", []string{"2363"}, []string{"2364", "3263"}},
		{"mod11-10", []string{"07945"}, []string{"07944"}},
		{"weights 3,1 = 5", []string{"12"}, []string{"21"}},
		{"weights 1,-1 %11 = 10", []string{"12"}, []string{"21"}},
		{"weights 1,1 %11 11- %11 = @2", []string{"560"}, []string{"561"}},
		{"weights 1,2 +3 -1 = @2", []string{"115"}, []string{"114"}},
		{"number 0+2 2+1 %97 = 26", []string{"123", "026"}, []string{"124"}},
		{"number 0+2 = @2+2", []string{"1212"}, []string{"1213"}},
		{"weights 1,1 %3 = ABC@2", []string{"12A", "13B"}, []string{"12B", "12Z"}},
		{"values XYZ weights 1,2 = 4", []string{"XZ"}, []string{"ZX", "1Z"}},
		{"length 2; 0 any 1", []string{"12"}, []string{"21", "123"}},
	} {
		rule, err := checkdigit.Parse(c.rule)
		require.NoError(t, err, c.rule)
		for _, code := range c.right {
			require.True(t, rule.Holds([]byte(code)), "%s: %s", c.rule, code)
		}
		for _, code := range c.wrong {
			require.False(t, rule.Holds([]byte(code)), "%s: %s", c.rule, code)
		}
	}
}

func TestAlternatives(t *testing.T) {
	rule, err := checkdigit.Parse("length 2; 0 any 1", "length 3")
	require.NoError(t, err)
	require.True(t, rule.Holds([]byte("12")))
	require.True(t, rule.Holds([]byte("999")))
	require.False(t, rule.Holds([]byte("92")))
}

func TestRulesThatAreWrong(t *testing.T) {
	for rule, want := range map[string]string{
		"":                          "nothing is said",
		"length 3;":                 "nothing is said",
		"length":                    "one number",
		"length x":                  "invalid syntax",
		"like 3":                    "no condition begins with \"like\"",
		"0 maybe AB":                "none of any, none, is, not, in",
		"0+2 is ABC":                "does not have 2 characters",
		"0+2 in 1-x":                "neither a number nor a range",
		"19+2 is AB":                "no condition begins with",
		"date":                      "a date is yymmdd@A or ddmmyy@A",
		"date yyyymmdd@0":           "a date is yymmdd@A or ddmmyy@A",
		"date yymmdd@0 year+20":     "neither month+N nor day+N",
		"by magic":                  "no function \"magic\"",
		"weights 1,2":               "ends with = and a result",
		"weights 1,x = 0":           "invalid syntax",
		"weights 1,2 *3 = 0":        "is no step",
		"weights 1,2 %0 = 0":        "is no step",
		"values ABC number 0+2 = 0": "begins with weights or a number",
		"weights 1,2 = @x":          "invalid syntax",
	} {
		_, err := checkdigit.Parse(rule)
		require.ErrorContains(t, err, want, "%q", rule)
		require.ErrorContains(t, err, "condition", "%q", rule)
	}
}
