package guardrail_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"

	"github.com/plughook/plughook/plugins/guardrail"
	"github.com/plughook/plughook/session"
)

// No detector takes anything out of a vault's token, wherever a model puts it, and it opens to what it stands for.
func TestTokensStay(t *testing.T) {
	secret := []byte("a key of sixteen bytes, and more")
	c := with(t, `rules: [{id: s, detect: {secrets: default}, action: redact}, {id: p, detect: {pii: default}, action: {EMAIL_ADDRESS: vault, "*": redact}}, {id: i, detect: {injection: default}, action: redact}]`)
	c.Key = secret
	p := quiet(t, c)
	v, err := guardrail.NewVault(secret)
	require.NoError(t, err)
	for i := range 3000 {
		mail := fmt.Sprintf("%s%c@example%c.com", strings.Repeat("a", i%40+1), 'a'+i%26, 'a'+i/26%26)
		got, _ := offered(t, p, session.Message(mail))
		token := got.Text()
		require.Equal(t, mail, v.Open(token))
		for _, around := range []string{"%s", "password: %s", `{"secret":"%s"}`, "token=%s&x", "mail to %s now", `api_key = "%s"`} {
			text := fmt.Sprintf(around, token)
			_, out := offered(t, p, says("bot", &genai.Part{Text: text}))
			require.Nil(t, out.Replace, text)
		}
	}
}
