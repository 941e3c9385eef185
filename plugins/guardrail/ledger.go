package guardrail

import (
	"slices"
	"sync"
)

// A ledger knows what runs of this process take of limits and may not have appended yet, so that runs at once do not
// take the same. What others have appended, a store says.
type ledger struct {
	mu      sync.Mutex
	entries map[string]*entry // by the key of a number
}

// entry is what is known of a number while somebody has a claim on it.
type entry struct {
	others float64 // what is in the store at least, and is not mine
	mine   float64 // what was taken since the entry is there
	claims int
}

// claim is a run's on a number.
type claim struct {
	ledger *ledger
	rule   *rule
	key    string
	until  int64
	taken  float64
	left   bool
}

// claim makes a claim on a number. It comes before the number is read: what is taken from then on is remembered until the
// claim is left, and what was taken before is in the store, or another claim remembers it.
func (l *ledger) claim(r *rule, key string, until int64) *claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[key]
	if e == nil {
		e = &entry{}
		l.entries[key] = e
	}
	e.claims++
	return &claim{ledger: l, rule: r, key: key, until: until}
}

// take takes one, if with it there are not more than the limit has; list is what counted when it was read, since the claim
// was made. With anyway it takes one all the same. It returns the list with what is known by now, before it took one, and
// whether there was one.
func (c *claim) take(list []number, anyway bool) ([]number, bool) {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	e := c.ledger.entries[c.key]
	i := slices.IndexFunc(list, func(n number) bool { return n.key == c.key })
	if i < 0 {
		list = append(list, number{key: c.key, until: c.until})
		i = len(list) - 1
	}
	e.others = max(e.others, list[i].n-e.mine)
	list[i].n = e.others + e.mine
	fits := sum(list)+1 <= c.rule.limit.max
	if fits || anyway {
		e.mine++
		c.taken++
	}
	return list, fits
}

// back gives back what was taken beyond so much.
func (c *claim) back(to float64) {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	c.ledger.entries[c.key].mine -= c.taken - to
	c.taken = to
}

// leave ends the claim: what was taken is in the store, or never will be.
func (c *claim) leave() {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	if c.left {
		return
	}
	c.left = true
	e := c.ledger.entries[c.key]
	if e.claims--; e.claims == 0 {
		delete(c.ledger.entries, c.key)
	}
}
