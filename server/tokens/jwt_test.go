package tokens_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/server/tokens"
)

// A token of the issuer names its user and roles; what is of another one, for somebody else, too old, or signed in a way
// that anybody could, lets nobody in.
func TestATokenOfAnIssuer(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	issuer := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: private.Public(), KeyID: "k", Algorithm: "RS256"}}}
	asked := 0
	keys := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		issuer.ServeHTTP(w, r)
	}))
	defer keys.Close()
	issuer.SetIssuer("https://login.example.com")
	i := tokens.Issuer{
		URL: "https://login.example.com", Audience: "plughook", Keys: keys.URL + "/keys", Roles: "groups", AdminRole: "ops",
	}
	jwt, err := tokens.NewJWT(i, nil)
	require.NoError(t, err)
	anybody := tokens.Any(func(*http.Request) (server.Caller, error) { return server.Caller{}, server.ErrUnauthorized }, jwt.Caller)
	ask := func(token string) (server.Caller, error) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		return anybody(r)
	}
	claims := func(more string) string {
		return fmt.Sprintf(`{"iss":"https://login.example.com","aud":["plughook"],"exp":%d%s}`, time.Now().Add(time.Hour).Unix(), more)
	}
	sign := func(claims string) string { return oidctest.SignIDToken(private, "k", "RS256", claims) }

	good := sign(claims(`,"sub":"ann","groups":["finance","*","user","two words"]`))
	who, err := ask(good)
	require.NoError(t, err)
	require.Equal(t, server.Caller{User: "ann", Roles: []string{"finance"}}, who)
	who, err = ask(sign(claims(`,"sub":"bob","groups":["ops"]`)))
	require.NoError(t, err)
	require.True(t, who.Admin)
	who, err = ask(sign(claims(`,"sub":"eve","groups":"ops"`)))
	require.NoError(t, err)
	require.Equal(t, server.Caller{User: "eve"}, who)

	ann := claims(`,"sub":"ann"`)
	parts := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	hmac := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","kid":"k"}`)) + "." + parts[1] + "." + parts[2]
	for what, token := range map[string]string{
		"another issuer":   sign(strings.Replace(ann, "login", "evil", 1)),
		"another audience": sign(strings.Replace(ann, "plughook", "mail", 1)),
		"too old":          sign(strings.Replace(ann, `"exp":1`, `"exp":0.1`, 1)),
		"no end":           sign(`{"iss":"https://login.example.com","aud":"plughook","sub":"ann"}`),
		"not yet":          sign(claims(fmt.Sprintf(`,"sub":"ann","nbf":%d`, time.Now().Add(time.Hour).Unix()))),
		"no user":          sign(claims("")),
		"a wrong user":     sign(claims(`,"sub":"a\u0000b"`)),
		"no text":          sign(claims(`,"sub":{"a":1}`)),
		"another key":      oidctest.SignIDToken(other, "k", "ES256", ann),
		"an unknown key":   oidctest.SignIDToken(other, "x", "ES256", ann),
		"changed":          parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(ann)) + "." + parts[2],
		"not signed":       none,
		"signed by anyone": hmac,
		"none":             "",
		"no token":         "a.b.c",
	} {
		_, err := ask(token)
		require.ErrorIs(t, err, server.ErrUnauthorized, what)
	}
	require.Less(t, asked, 3, "strangers do not make the server ask for keys again and again")
	_, err = ask(good)
	require.NoError(t, err)

	for _, wrong := range []tokens.Issuer{
		{Audience: "a", Keys: i.Keys}, {URL: "u", Keys: i.Keys}, {URL: "u", Audience: "a"},
		{URL: "u", Audience: "a", Keys: "http://login.example.com/keys"},
	} {
		_, err := tokens.NewJWT(wrong, nil)
		require.Error(t, err)
	}
}
