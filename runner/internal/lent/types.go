package lent

import (
	"reflect"
	"sync"
)

// byType keeps what is made once for each type: the function that walks over a value of that type.
type byType[F any] struct {
	compile func(reflect.Type) F // may call function for the types inside of it

	mu   sync.Mutex
	made map[reflect.Type]*F
}

// of returns the function of a type.
func (b *byType[F]) of(t reflect.Type) F {
	b.mu.Lock()
	defer b.mu.Unlock()
	return *b.function(t)
}

// function returns the function of a type, made at the first call. A type that contains itself finds its own
// pointer in the map, to be followed once the function is made. The caller holds mu.
func (b *byType[F]) function(t reflect.Type) *F {
	if f := b.made[t]; f != nil {
		return f
	}
	if b.made == nil {
		b.made = map[reflect.Type]*F{}
	}
	f := new(F)
	b.made[t] = f
	*f = b.compile(t)
	return f
}
