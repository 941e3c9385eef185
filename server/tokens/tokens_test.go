package tokens_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/tokens"
)

// caller asks who sends a request with a token.
func caller(f *tokens.File, token string) (server.Caller, error) {
	r := httptest.NewRequest("GET", "/", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return f.Caller(r)
}

func TestATokenNamesItsUserUntilItIsTakenOutOfTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tokens.yaml")
	ann, annSum := tokens.New()
	bob, bobSum := tokens.New()
	require.NotEqual(t, ann, bob)
	write := func(text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	write(fmt.Sprintf(
		"tokens:\n  - {sha256: %s, user: ann, apps: [desk]}\n  - {sha256: %s, user: bob, admin: true, roles: [finance], on_behalf_of: [shop-*]}\n",
		annSum,
		bobSum,
	))
	f, err := tokens.Open(name, nil)
	require.NoError(t, err)
	who, err := caller(f, ann)
	require.NoError(t, err)
	require.Equal(t, server.Caller{User: "ann", Apps: []string{"desk"}}, who)
	who, err = caller(f, bob)
	require.NoError(t, err)
	require.Equal(t, server.Caller{
		User: "bob", Admin: true, Roles: []string{"finance"}, OnBehalfOf: []string{"shop-*"},
	}, who)
	for _, wrong := range []string{"", "x", annSum, ann + "x"} {
		_, err = caller(f, wrong)
		require.ErrorIs(t, err, server.ErrUnauthorized, wrong)
	}

	// A broken file changes nothing; one without the entry does.
	write("tokens: [")
	time.Sleep(1100 * time.Millisecond)
	_, err = caller(f, ann)
	require.NoError(t, err)
	write(fmt.Sprintf("tokens:\n  - {sha256: %s, user: bob}\n", bobSum))
	require.Eventually(t, func() bool {
		_, err := caller(f, ann)
		return err != nil
	}, time.Minute, 50*time.Millisecond)
	_, err = caller(f, bob)
	require.NoError(t, err)
}

func TestWhatIsWrongInAFileIsToldWithItsPlace(t *testing.T) {
	_, sum := tokens.New()
	for text, want := range map[string]string{
		"tokens:\n  - {sha256: abc, user: ann}\n":                                                `:2:14: sha256 is the SHA-256 sum`,
		"tokens:\n  - {sha256: " + sum + "}\n":                                                   `user is missing`,
		"tokens:\n  - {sha256: " + sum + ", user: ann, roles: [user]}\n":                         `:2:`,
		"tokens:\n  - {sha256: " + sum + ", user: ann, roles: [a b]}\n":                          `"a b" is no role`,
		"tokens:\n  - {sha256: " + sum + ", usr: ann}\n":                                         `did you mean "user"`,
		"tokens:\n  - {sha256: " + sum + ", user: \"a\\u0007\"}\n":                               `control character`,
		"tokens:\n" + "  - {sha256: " + sum + ", user: a}\n  - {sha256: " + sum + ", user: b}\n": `:3:14: another entry`,
	} {
		name := filepath.Join(t.TempDir(), "tokens.yaml")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		_, err := tokens.Open(name, nil)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, name)
	}
}
