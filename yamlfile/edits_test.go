package yamlfile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"modle", "model", 2},
		{"loger", "logger", 1},
		{"kitten", "sitting", 3},
		{"naïve", "naive", 1},
	} {
		require.Equal(t, c.want, edits(c.a, c.b), "%s, %s", c.a, c.b)
		require.Equal(t, c.want, edits(c.b, c.a), "%s, %s", c.b, c.a)
	}
}
