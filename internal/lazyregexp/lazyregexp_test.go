package lazyregexp_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/plughook/plughook/internal/lazyregexp"
)

func TestRegexp(t *testing.T) {
	r := lazyregexp.New(`^(a+)b`)
	assert.True(t, r.MatchString("aab"))
	assert.Equal(t, []string{"aab", "aa"}, r.FindStringSubmatch("aab"))
	assert.Equal(t, "x!", r.ReplaceAllString("ab!", "x"))
	assert.Panics(t, func() { lazyregexp.New("(").MatchString("") }, "at its first use")
}
