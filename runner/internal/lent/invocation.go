package lent

import (
	"reflect"
	"slices"
	"unsafe"

	"github.com/plughook/plughook/session"
)

// An Invocation lends a session.Invocation, and finds out who assigns to its fields. The zero Invocation
// lends none.
type Invocation struct {
	lent   *session.Invocation
	before session.Invocation
}

// Lend makes inv what is lent from now on; nil is nothing.
func (i *Invocation) Lend(inv *session.Invocation) {
	i.lent = inv
	if inv != nil {
		i.before = *inv
	}
}

// Lent returns what is lent, nil if nothing is.
func (i *Invocation) Lent() *session.Invocation { return i.lent }

// Restore reports whether somebody has assigned to the fields of what is lent, and gives them back what they
// had.
func (i *Invocation) Restore() (changed bool) {
	if i.lent == nil || !changedFields(&i.before, i.lent) {
		return false
	}
	*i.lent = i.before
	return true
}

func changedFields(a, b *session.Invocation) bool {
	return a.ID != b.ID || a.Key != b.Key || a.Input != b.Input || !sameConfig(a.Config, b.Config) ||
		a.Position != b.Position || a.Frontier != b.Frontier ||
		len(a.Live) != len(b.Live) || unsafe.SliceData(a.Live) != unsafe.SliceData(b.Live) ||
		reflect.ValueOf(a.Offered).Pointer() != reflect.ValueOf(b.Offered).Pointer() ||
		reflect.ValueOf(a.Clock).Pointer() != reflect.ValueOf(b.Clock).Pointer() ||
		reflect.ValueOf(a.Folded).Pointer() != reflect.ValueOf(b.Folded).Pointer() ||
		len(a.State) != len(b.State) || !sameMap(a.State, b.State)
}

func sameConfig(a, b session.RunConfig) bool {
	return a.Create == b.Create && a.Streaming == b.Streaming && a.NoAgent == b.NoAgent &&
		a.Sender.Name == b.Sender.Name && slices.Equal(a.Sender.Roles, b.Sender.Roles)
}

// sameMap reports whether two maps are one, and not only alike.
func sameMap(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}
