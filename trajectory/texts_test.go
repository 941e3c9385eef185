package trajectory_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/trajectory"
)

func redacted(v any) any { return trajectory.Redact(v, trajectory.SensitiveKeys()) }

// Keys are compared by their ending.
func TestSensitiveKeys(t *testing.T) {
	for _, key := range []string{
		"user:token", "app:api_key", "temp:password", "user:quota:token", "access_token", "refresh_token", "id_token",
		"client_secret", "passwd", "private_key", "credentials", "x-api-key", "X-Api-Key", "cookie", "Set-Cookie", "session_id",
		"sessionId", "github_token", "githubToken", "dbPassword", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "APIKey", "apikey",
		"openai.api.key", "Proxy-Authorization", "password2", "api_key_1", "X-Amz-Security-Token", "passphrase", "jwt",
		"PGPASSWORD", "mypassword", "accesstoken", "MYSQL_PWPASSWD", "clientsecret", "openaiapikey",
	} {
		require.Equal(t, map[string]any{key: trajectory.Redacted}, redacted(map[string]any{key: "value"}), key)
	}
	for _, key := range []string{
		"token_count", "max_tokens", "total_tokens", "tokens", "tokenizer", "password_policy", "secretary", "keyboard", "key",
		"primary_key", "public_key", "next_page_token", "pageToken", "author", "session", "cookie_banner", "bearer_name", "12",
		"nextpagetoken", "synctoken", "passwords_url", "tokenized",
	} {
		require.Equal(t, map[string]any{key: "value"}, redacted(map[string]any{key: "value"}), key)
	}
	require.Equal(t, map[string]any{"page_token": trajectory.Redacted},
		trajectory.Redact(map[string]any{"page_token": "x"}, []string{"token", "page_token"}))
}

// Secrets in texts are found by the name or the form that they stand in.
func TestRedactedTexts(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"JSON", `{"n":1, "user:token":"s3cret","in":{"password":{"a":1}}}`,
			`{"n":1,"user:token":"[REDACTED]","in":{"password":"[REDACTED]"}}`},
		{"JSON in JSON", `{"body":"{\"api_key\":\"s3cret\",\"n\":1}"}`, `{"body":"{\"api_key\":\"[REDACTED]\",\"n\":1}"}`},
		{"JSON without secrets", "{ \"n\": 1e2,\n \"max_tokens\": 5 }", "{ \"n\": 1e2,\n \"max_tokens\": 5 }"},
		{"lines of JSON", "{\"token\":\"s3cret\"}\n{\"n\":1}", "{\"token\":\"[REDACTED]\"}\n{\"n\":1}"},
		{"JSON in text", `got {\"client_secret\": \"s3\\\"cret\"}, ok`, `got {\"client_secret\": \"[REDACTED]\"}, ok`},
		{"headers in pairs", `[{"name":"X-Api-Key","n":[1],"value":"s3cret"},{"name":"Accept","value":"a"},{"key":"TOKEN","value":{"a":1}}]`,
			`[{"name":"X-Api-Key","n":[1],"value":"[REDACTED]"},{"name":"Accept","value":"a"},{"key":"TOKEN","value":"[REDACTED]"}]`},
		{"a command in a list", `{"argv":["mysql","--password","s3cret","--token","--host","db","token","x"]}`,
			`{"argv":["mysql","--password","[REDACTED]","--token","--host","db","token","x"]}`},
		{"environment in one word", "PGPASSWORD=s3cret psql", "PGPASSWORD=[REDACTED] psql"},
		{"cut JSON", `{"n":1,"password":"s3cret, and mo`, `{"n":1,"password":"[REDACTED]`},
		{"Python", `{'api_key': 's3cret', 'n': 1}`, `{'api_key': '[REDACTED]', 'n': 1}`},
		{"query", "GET https://x.example/a?page=2&access_token=s3cret&n=1", "GET https://x.example/a?page=2&access_token=[REDACTED]&n=1"},
		{"user of a URL", "postgres://app:s3cret@db.example/x", "postgres://[REDACTED]@db.example/x"},
		{"token of a URL", "git clone https://ghp_0123456789abcdef0123@github.com/a/b", "git clone https://[REDACTED]@github.com/a/b"},
		{"user without a password", "git clone ssh://git@github.com/a/b", "git clone ssh://git@github.com/a/b"},
		{"flag", "mysqldump --password s3cret --host db", "mysqldump --password [REDACTED] --host db"},
		{"flag with =", "deploy --api-key='s3 cret' --tries=3", "deploy --api-key='[REDACTED]' --tries=3"},
		{"flag without a value", "login --password --host db", "login --password --host db"},
		{"curl", "curl -u ada:s3cret https://x.example", "curl -u [REDACTED] https://x.example"},
		{"uid", "docker run -u 1000:1000 img", "docker run -u 1000:1000 img"},
		{"header", `curl -H "Authorization: Bearer s3cret.abc" x`, `curl -H "Authorization: [REDACTED]" x`},
		{"header of a file", "Cookie: a=1; b=s3cret\nAccept: */*", "Cookie: [REDACTED]\nAccept: */*"},
		{"header by its name", "X-Api-Key: s3cret", "X-Api-Key: [REDACTED]"},
		{"bearer alone", "send Bearer s3cret0123 along", "send Bearer [REDACTED] along"},
		{"bearer of news", "the bearer brought news", "the bearer brought news"},
		{"environment", "AWS_SECRET_ACCESS_KEY=s3cret LEVEL=2 ./run", "AWS_SECRET_ACCESS_KEY=[REDACTED] LEVEL=2 ./run"},
		{"YAML", "user: ada\npassword: s3cret\nmax_tokens: 5", "user: ada\npassword: [REDACTED]\nmax_tokens: 5"},
		{"code", `token := os.environ["API_KEY"]`, `token := [REDACTED]["API_KEY"]`},
		{"code without secrets", "token = None; total_tokens=100; key: 5; password: $PASSWORD",
			"token = None; total_tokens=100; key: 5; password: $PASSWORD"},
		{"scheme", "token: Bearer s3cret0123", "token: [REDACTED]"},
		{"PEM", "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIs3cret\n-----END RSA PRIVATE KEY-----\nb", "a\n[REDACTED]\nb"},
		{"cut PEM", "-----BEGIN PRIVATE KEY-----\nMIIs3cret", "[REDACTED]"},
		{"prose", "I lost my token, and the secret is out.", "I lost my token, and the secret is out."},
		{"empty", `password="" token:`, `password="" token:`},
	} {
		require.Equal(t, c.want, redacted(c.text), c.name)
		require.Equal(t, c.want, redacted(c.want), "%s, again", c.name)
		require.Equal(t, c.text, trajectory.Redact(c.text, nil), c.name)
	}
}

// What stands behind a sensitive name is gone, whatever is around it, and redaction may be repeated.
func TestRedactedTextsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"password", "token", "x", "=", ":", ": ", " ", "--", "\"", "'", `\"`, `\\`, "\n", "{", "}",
			"Bearer ", "abcdefgh1", "://", "@", "/", "[REDACTED]", "-u ", "Cookie", "$", "ü"})
		any := rapid.Map(rapid.SliceOfN(piece, 0, 12), func(pieces []string) string { return strings.Join(pieces, "") })
		text := any.Draw(t, "text")
		once := redacted(text)
		require.Equal(t, once, redacted(once))

		secret := rapid.StringMatching(`[A-Za-z0-9]{12}`).Draw(t, "secret")
		form := rapid.SampledFrom([]string{"\npassword=%s ", "\ndb_token: %s\n", "\n\"apiKey\": \"%s\"", "\n--passwd %s ", "\nx://a:%s@h/"}).Draw(t, "form")
		text = strings.ReplaceAll(form, "%s", secret) + any.Draw(t, "after")
		require.NotContains(t, redacted(text), secret)
	})
}

// Detect gets the texts of values, and what is said.
func TestDetect(t *testing.T) {
	rec := recording(t,
		said("user", "i1", "I am ann@corp.example"),
		called("bot", "1", "f"),
		answered("bot", "i1", "1", "f", `{"to":"ann@corp.example","raw":"{\"to\":\"ann@corp.example\"}","password":"x"}`),
		said("bot", "i1", "Hello ann@corp.example"),
		`{"author":"bot","actions":{"stateDelta":{"mail":"ann@corp.example"}},"errorCode":"X","errorMessage":"no ann@corp.example"}`,
	)
	c := trajectory.Config{Detect: func(text string) string {
		require.NotEqual(t, trajectory.Redacted, text)
		return strings.ReplaceAll(text, "ann@corp.example", "[MAIL]")
	}}
	x := extract(t, rec, c)
	for name, write := range map[string]func(io.Writer, *trajectory.Extract) error{
		"trajectory": trajectory.WriteTrajectory,
		"chat": func(w io.Writer, x *trajectory.Extract) error {
			_, err := trajectory.WriteChat(w, x, trajectory.Chat{})
			return err
		},
		"ATIF": func(w io.Writer, x *trajectory.Extract) error { _, err := trajectory.WriteATIF(w, x); return err },
		"eval set": func(w io.Writer, x *trajectory.Extract) error {
			set := trajectory.NewEvalSet(w, "s")
			_, err := set.Add(x)
			require.NoError(t, err)
			return set.Close()
		},
	} {
		var out bytes.Buffer
		require.NoError(t, write(&out, x), name)
		require.NotContains(t, out.String(), "ann@", name)
		require.Contains(t, out.String(), "[MAIL]", name)
		require.True(t, json.Valid(out.Bytes()), name)
	}
	require.JSONEq(t, `{"to":"[MAIL]","raw":"{\"to\":\"[MAIL]\"}","password":"[REDACTED]"}`, string(x.Trajectory().ToolCalls[0].Result))
	require.Contains(t, rec.Events[0].Text(), "ann@", "the event is not changed")
}

func BenchmarkRedact(b *testing.B) {
	for name, text := range map[string]string{
		"prose": strings.Repeat("The ships were unloaded at night, and nobody asked why. ", 2000),
		"log":   strings.Repeat("2026-01-02 level=info user=ada took=12ms url=https://x.example/a?b=1\n", 1500),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				trajectory.Redact(text, trajectory.SensitiveKeys())
			}
		})
	}
}
