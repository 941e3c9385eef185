package lent

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/session"
)

// What is kept goes when there is too much, the one used longest ago first, when nobody uses it,
// and when the runner is closed.
func TestWhichKeptViewsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := Views{limit: 350}
		named := func(name string) session.Key { return session.Key{App: "app", User: "ann", ID: name} }
		put := func(name string, bytes int64) {
			v := &view{key: named(name), number: 1}
			v.add(session.Message("hi"))
			v.bytes = bytes
			k.put(v)
		}
		kept := func() string {
			k.mu.Lock()
			defer k.mu.Unlock()
			names := ""
			for e := k.order.Front(); e != nil; e = e.Next() {
				names += e.Value.(*view).key.ID
			}
			require.Len(t, k.views, len(names))
			require.Equal(t, int64(100*len(names)), k.bytes)
			return names
		}
		for i := range 5 {
			put(fmt.Sprint(i), 100)
		}
		require.Equal(t, "432", kept())
		k.put(k.take(named("2")))
		put("5", 100)
		require.Equal(t, "524", kept())
		put("6", 351)
		require.Equal(t, "524", kept(), "one that is too large throws nobody out")
		put("4", 351)
		require.Equal(t, "52", kept(), "one that has become too large goes")

		time.Sleep(idleTime - time.Minute)
		put("7", 100)
		time.Sleep(time.Minute + time.Second)
		require.Equal(t, "7", kept())
		time.Sleep(idleTime)
		require.Empty(t, kept())

		put("8", 100)
		k.Close()
		put("9", 100)
		require.Empty(t, kept())
	})
}
