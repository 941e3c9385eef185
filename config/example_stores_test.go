package config_test

import (
	"context"
	"fmt"
	"log"

	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

// A program with a store of its own hands its opener to the configuration, by the scheme that the
// file names. The store here stands for one that you have written: see docs/sessions.md.
func ExampleOptions_stores() {
	ctx := context.Background()
	c, err := config.Parse("runner.yaml", []byte("store: redis://cache.example/0"))
	if err != nil {
		log.Fatal(err)
	}

	// Without the opener, the error lists what there is.
	_, err = c.Open(ctx, config.Options{NoAgent: true})
	fmt.Println(err)

	// With it, the store is opened and closed like any other.
	openRedis := func(_ context.Context, where string, create bool) (session.Service, error) {
		fmt.Println("opens", where, "and creates it:", create)
		return memory.New(), nil
	}
	opened, err := c.Open(ctx, config.Options{
		NoAgent: true,
		Stores: map[string]func(context.Context, string, bool) (session.Service, error){
			"redis": openRedis,
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer opened.Close(ctx)
	// Output:
	// runner.yaml:1:8: unknown kind of store "redis"; the kinds that this program can open are: memory, postgres, postgresql, sqlite
	// opens redis://cache.example/0 and creates it: true
}
