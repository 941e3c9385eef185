package detect_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

// random is n bytes of an alphabet, the same for the same seed: no value here is or was anyone's.
func random(seed uint64, n int, alphabet string) string {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(out)
}

const (
	digits = "0123456789"
	low    = "abcdefghijklmnopqrstuvwxyz"
	alnum  = digits + low + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	hex    = digits + "abcdef"
)

// What is found in a text stands between ‹ and ›.
func marked(text string) (plain string, spans []string) {
	for {
		before, rest, ok := strings.Cut(text, "‹")
		plain += before
		if !ok {
			return plain, spans
		}
		secret, after, _ := strings.Cut(rest, "›")
		spans = append(spans, fmt.Sprintf("%d %s", len(plain), secret))
		plain, text = plain+secret, after
	}
}

func TestSecrets(t *testing.T) {
	token, long, hex40 := random(1, 32, alnum), random(2, 64, alnum), random(3, 40, hex)
	uuid := random(4, 8, hex) + "-" + random(5, 4, hex) + "-" + random(6, 4, hex) + "-" + random(7, 4, hex) + "-" + random(8, 12, hex)
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ." + random(9, 43, alnum)
	github := "ghp" + "_" + random(10, 36, alnum)
	pem := "-----BEGIN EC PRIVATE " + "KEY-----\n" + random(11, 64, alnum) + "\n" + random(12, 40, alnum) + "==\n-----END EC PRIVATE " + "KEY-----"
	for rule, texts := range map[string][]string{
		"github-token": {
			"use ‹" + github + "›.", "https://x:‹" + github + "›@github.com/a/b",
			"TOKEN=‹" + github + "›\nB=1", `"a\n‹` + github + `›"`,
			"?t=%3D‹" + github + "›&x", `{"gh":"‹` + github + `›"}`,
		},
		"assigned-secret": {
			"api_key = ‹" + token + "›", `apiKey: "‹` + token + `›",`,
			`"client_secret": "‹` + long + `›"`, "const authToken string = `‹" + token + "›`",
			`<serviceToken>` + "\n  ‹" + token + "›\n</serviceToken>",
			`set("SERVICE_TOKEN", "‹` + token + `›")`, "run --api-token ‹" + token + "› now",
			`"x_token" => "‹` + token + `›"`, "$secretKey .= '‹" + token + "›'",
			"SECRET_KEY ?= ‹" + token + "›", `{\"access_token\":\"‹` + token + `›\"}`,
			"my secret token is ‹" + token + "›.",
			"https://example.org/x?access_token=‹" + token + "›&y=1", "x-api-key: ‹" + uuid + "›",
			"mytoken=‹" + hex40 + "›;", "- name: X_TOKEN\n  value: ‹" + token + "›\n",
			`{"name": "X_API_KEY", "value": "‹` + token + `›"}`,
		},
		"password": {
			"password=‹hunter2!›", "DB_PASSWORD: ‹c0rrect-horse›", "the password is ‹Tr0ub4dor&3›",
			`"passwd": "‹p4ss;w(rd›"`, "login --password '‹9x!kk2›'",
		},
		"authorization": {
			"Authorization: Bearer ‹" + token + "›", `-H "authorization: Token ‹` + hex40 + `›"`,
			"Authorization: Basic ‹YWRhOmh1bnRlcjIy›",
		},
		"heroku-secret":   {"HEROKU_ID=‹" + uuid + "›", `heroku: "‹` + uuid + `›"`},
		"telegram-secret": {"telegramBot = ‹12345678:" + random(13, 35, alnum) + "›"},
		"url-password": {
			"postgres://ada:‹sw0rdfish›@db.example.org/x", "amqp://:‹a1b2c3›@host:5672",
			"see (https://me:‹tulip-99›@git.example.org)",
		},
		"command-password": {
			"curl -u ada:‹l0velace› https://example.org",
			`curl https://example.org --user "ada:‹l0velace!›" -v`,
			"curl \\\n  -u ada:'‹l0velace›'", "curl --user=‹x9Yk2LmQ7›: https://example.org",
		},
		"jwt": {"‹" + jwt + "›", "token: ‹" + jwt + "›", "(‹" + jwt + "›)"},
		"private-key": {
			"‹" + pem + "›\n", `{"key": "‹` + strings.ReplaceAll(pem, "\n", `\n`) + `›"}`,
			"‹" + pem[:100] + "›",
		},
		"azure-client-secret": {
			"‹aB3" + "7Q~" + random(14, 34, alnum) + "›",
			"value: ‹x.Y8" + "Q~" + random(15, 31, alnum) + "›",
		},
		"gcp-api-key": {
			"the key ‹AIza" + random(16, 35, alnum) + "›",
			"?key=‹AIza" + random(16, 35, alnum) + "›&v=1",
		},
	} {
		for _, text := range texts {
			plain, want := marked(text)
			var got []string
			for _, f := range detect.Secrets().Find(nil, plain) {
				got = append(got, fmt.Sprintf("%d %s", f.Start, plain[f.Start:f.End]))
				require.Equal(t, "SECRET", f.Type)
				require.Equal(t, rule, f.Rule, "%q", plain)
			}
			require.Equal(t, want, got, "%s in %q", rule, plain)
		}
	}
}

func TestNoSecrets(t *testing.T) {
	token := random(1, 36, alnum)
	for _, text := range []string{
		"", "the key to the house", "a token of love: none", "keyboard = " + token,
		"public_key = " + token, "key_name: " + token, "csrf-token=" + token,
		"next_page_token=" + token, "token_url = https://example.org/oauth2/v1/token",
		"password = ${DB_PASSWORD}", "password: required", "password=", "password: ********",
		"password = os.Getenv(\"X1\")", "--- PASS: TestX/v4 (0.00s)",
		"api_key = xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "api_key = YOUR_API_KEY_GOES_HERE_1234",
		"AKIA" + "IOSFODNN7EXAMPLE", "token=abcdefghijklmnopqrstuvwxyz0123456789",
		"gh" + "p_" + token[:30], "agh" + "p_" + token, "gh" + "p_" + strings.Repeat("x", 36),
		"https://example.org:8080/x@y", "mailto://ada@example.org", "http://user:pass@example.org",
		"postgres://$USER:$PASS@host/db", "curl -u ada https://example.org",
		"curl -u $USER:$PASSWORD https://example.org", "tar -u ada:l0velace x",
		"-----BEGIN PUBLIC KEY-----\n" + token + token + "\n-----END PUBLIC KEY-----",
		"-----BEGIN PRIVATE KEY-----\nhere\n-----END PRIVATE KEY-----", "eyJhbGciOiJIUzI1NiJ9",
		"eyJhbGciOiJIUzI1NiJ9.", "Authorization: Basic ...", "Authorization: Bearer <token>",
		"sha256:" + random(2, 64, hex), "github commit " + random(3, 40, hex),
		"rookTable = 00" + random(4, 40, alnum), "the task is risky: sk-learn",
		"AIza" + random(16, 35, alnum),
		`{"password", "pass1"}`, `"PASS", "x1y2z3"`, "**Pass 4: Implement.**",
		"**Password**: Required!", "return s.ReadUint16LengthPrefixedString()",
		"s.ReadUint16LengthPrefixed",
		"apiToken = NewAccessTokenForUser2024Now", "secretary = Ada1234Lovelace5678Byron",
		"monkey: 12ab34cd56ef78gh90ij12kl34",
	} {
		require.Empty(t, detect.Secrets().Find(nil, text), "%q", text)
	}
}
