package config_test

import (
	"database/sql"
	"database/sql/driver"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/config"
)

// A program may have an SQLite driver of its own under the usual names: database/sql panics at the second of a name.
func TestNoDriverForSQLiteIsRegistered(t *testing.T) {
	c, err := config.Parse("", nil)
	require.NoError(t, err)
	s, err := c.OpenStore(t.Context(), config.Options{Store: "sqlite:" + t.TempDir() + "/a.db"}, true)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for _, name := range []string{"sqlite", "sqlite3"} {
		require.NotPanics(t, func() { sql.Register(name, ownDriver{}) }, name)
	}
}

type ownDriver struct{ driver.Driver }
