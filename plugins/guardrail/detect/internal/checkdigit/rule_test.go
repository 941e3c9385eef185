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
		{"1+2 vary", []string{"112"}, []string{"211"}},
		{"length 3,5", []string{"123", "12345"}, []string{"1234"}},
		{"0+2 any A-C9", []string{"A9X"}, []string{"9DX", "0AX"}},
		{"none SO", []string{"A1"}, []string{"S1", "1O"}},
		{"1 any AB", []string{"1A", "1B"}, []string{"A1"}},
		{"1 none AB", []string{"A1"}, []string{"1A", "1B"}},
		{"0+2 in 1-12,70", []string{"01", "12", "70"}, []string{"00", "13", "71"}},
		{"1+2 is AB,CD", []string{"1AB", "1CD"}, []string{"1AD"}},
		{"1+2 not AB,CD", []string{"1AD"}, []string{"1AB", "1CD"}},
		{"0+6 yymmdd", []string{"990228", "000229"}, []string{"991301", "990230", "990001"}},
		{"1+6 ddmmyy", []string{"9310199"}, []string{"9310299"}},
		{
			"0+6 yymmdd month+20 day+40", []string{"992101", "990141", "992141"},
			[]string{"995101", "990181"},
		},
		{"luhn", []string{"4111111111111111"}, []string{"4111111111111112", "0000000000"}},
		{"2+16 luhn", []string{"994111111111111111"}, []string{"994111111111111112"}},
		{"luhn 80840", []string{"1245319599"}, []string{"1245319598"}},
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
		{"values XYZ weights 0,2 = 4", []string{"1Z"}, []string{"11"}},
		{"weights 1 weights 0,2 = 5", []string{"12"}, []string{"21"}},
		{"across 1,5 = 9", []string{"17"}, []string{"16"}},
		{"number 0+1 '19' 1+1 = 3194", []string{"34"}, []string{"33"}},
		{"spelled weights 1,1 = 3", []string{"C"}, []string{"D"}},
		{"0+3 repeated", []string{"1129", "111"}, []string{"123"}},
		{"length 2; 0 any 1", []string{"12"}, []string{"21", "123"}},
	} {
		rule := checkdigit.Parse(c.rule)
		for _, code := range c.right {
			require.True(t, rule.Holds([]byte(code)), "%s: %s", c.rule, code)
		}
		for _, code := range c.wrong {
			require.False(t, rule.Holds([]byte(code)), "%s: %s", c.rule, code)
		}
	}
}

func TestAlternatives(t *testing.T) {
	rule := checkdigit.Parse("length 2; 0 any 1", "length 3")
	require.True(t, rule.Holds([]byte("12")))
	require.True(t, rule.Holds([]byte("999")))
	require.False(t, rule.Holds([]byte("92")))
}

func TestRulesThatAreWrong(t *testing.T) {
	for rule, want := range map[string]string{
		"":                          `condition "": there is no condition ""`,
		"length 3;":                 `there is no condition ""`,
		"length":                    `"" is not a whole number`,
		"length x":                  `"x" is not a whole number`,
		"like 3":                    `there is no condition "like"`,
		"0 maybe AB":                `there is no condition "maybe"`,
		"0+2 in 1-x":                `"x" is not a whole number`,
		"19+2 is AB":                `"19+2" is no part of a number`,
		"0+6 yymmdd year+20":        `"year" is neither month+20 nor day+40`,
		"weights 1,2":               "is not a whole number",
		"weights 1,2 = 3 4":         "ends with = and a result",
		"weights 1,x = 0":           `"x" is not a whole number`,
		"weights 1,2 *3 = 0":        "is no step",
		"weights 1,2 %0 = 0":        "is no step",
		"values ABC number 0+2 = x": `"x" is not a whole number`,
		"weights 1,2 = @x":          `"x" is not a whole number`,
	} {
		func() {
			defer func() {
				message, _ := recover().(string)
				require.Contains(t, message, want, "%q", rule)
			}()
			checkdigit.Parse(rule)
		}()
	}
}
