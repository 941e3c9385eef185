package postgres

import (
	"cmp"
	"slices"

	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/store"
)

// pairs are state keys and their values as columns, for arrays of PostgreSQL. A nil value deletes its key.
type pairs struct {
	owners [][]byte // of shared keys
	keys   [][]byte
	values [][]byte
	adds   []*float64 // to be added, in place of a value
}

// split returns the changes as columns: all of them, those to the session's own keys, and those to
// shared keys in the order in which they are to be locked.
func split(key session.Key, changes []store.Change) (all, own, shared pairs) {
	all = empty()
	own = empty()
	shared = empty()
	for _, c := range ordered(key, changes) {
		all.add("", c)
		if owner := store.Owner(key, c.Key); owner == "" {
			own.add("", c)
		} else {
			shared.add(owner, c)
		}
	}
	return all, own, shared
}

// ordered returns the changes by owner and key: no two transactions lock shared keys in a different order.
func ordered(key session.Key, changes []store.Change) []store.Change {
	return slices.SortedStableFunc(slices.Values(changes), func(a, b store.Change) int {
		return cmp.Or(cmp.Compare(store.Owner(key, a.Key), store.Owner(key, b.Key)), cmp.Compare(a.Key, b.Key))
	})
}

// empty returns pairs whose columns are empty arrays, not null.
func empty() pairs { return pairs{[][]byte{}, [][]byte{}, [][]byte{}, []*float64{}} }

func (p *pairs) add(owner string, c store.Change) {
	p.owners = append(p.owners, []byte(owner))
	p.keys = append(p.keys, []byte(c.Key))
	p.values = append(p.values, c.Value)
	var by *float64
	if c.Add {
		by = &c.By
	}
	p.adds = append(p.adds, by)
}

// deletes reports whether a value is none.
func (p pairs) deletes() bool {
	return slices.ContainsFunc(p.values, func(v []byte) bool { return v == nil })
}

// decode returns the pairs as state.
func (p pairs) decode() (map[string]any, error) {
	m := make(map[string]any, len(p.keys))
	for i, key := range p.keys {
		v, err := session.DecodeValue(p.values[i])
		if err != nil {
			return nil, err
		}
		m[string(key)] = v
	}
	return m, nil
}
