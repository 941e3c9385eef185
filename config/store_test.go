package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPasswordsAreNotRepeated(t *testing.T) {
	for _, store := range []string{"mysql://u:secret@h/d", "postgres:u:secret@h", "postgres//u:secret@h", "memory:secret"} {
		_, err := Options{}.OpenStore(t.Context(), store, true)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
}
