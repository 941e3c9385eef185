package detect

import (
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/checkdigit"
)

// A check is a rule of checks.txt. The zero check is that of numbers without any.
type check struct {
	name string
	// rule parses the rule when it is first called, for most are never needed.
	rule func() *checkdigit.Rule
}

// holds tells whether a number passes the check.
func (c *check) holds(code []byte) bool { return c.rule == nil || c.rule().Holds(code) }

// digits tells whether the check has check digits, a date or the like: what passes it is no
// number of another kind that was only written in the same form.
func (c *check) digits() bool { return c.rule != nil && !strings.HasSuffix(c.name, "-form") }

// readChecks reads the checks, by their names. Rows with the same name are alternatives.
func readChecks() map[string]check {
	rules := map[string][]string{}
	for _, row := range rowsOf("checks.txt", "name", "rule") {
		rules[row.Cells[0]] = append(rules[row.Cells[0]], row.Cells[1])
	}
	all := make(map[string]check, len(rules))
	for name, alternatives := range rules {
		all[name] = check{
			name: name,
			rule: sync.OnceValue(func() *checkdigit.Rule { return checkdigit.Parse(alternatives...) }),
		}
	}
	return all
}

// share returns which share of all values of a picture passes the check, by trying some.
func (c *check) share(picture string) float64 {
	if c.rule == nil {
		return 1
	}
	const tries = 4000
	const all = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	random := rand.New(rand.NewPCG(1, 1)) // always the same values
	passed := 1
	code := make([]byte, len(picture))
	for range tries {
		for i := range code {
			switch picture[i] {
			case 'A':
				code[i] = all[10+random.IntN(26)]
			case '9':
				code[i] = all[random.IntN(10)]
			default:
				code[i] = all[random.IntN(36)]
			}
		}
		if c.holds(code) {
			passed++
		}
	}
	return float64(passed) / tries
}
