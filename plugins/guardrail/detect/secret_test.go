package detect_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/detect/detecttest"
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
			"use ‹" + github + "›.", "https://x:‹" + github + "›@github.com/a/b", "TOKEN=‹" + github + "›\nB=1", `"a\n‹` + github + `›"`,
			"?t=%3D‹" + github + "›&x", `{"gh":"‹` + github + `›"}`,
		},
		"assigned-secret": {
			"api_key = ‹" + token + "›", `apiKey: "‹` + token + `›",`, `"client_secret": "‹` + long + `›"`, "const authToken string = `‹" + token + "›`",
			`<serviceToken>` + "\n  ‹" + token + "›\n</serviceToken>", `set("SERVICE_TOKEN", "‹` + token + `›")`, "run --api-token ‹" + token + "› now",
			`"x_token" => "‹` + token + `›"`, "$secretKey .= '‹" + token + "›'", "SECRET_KEY ?= ‹" + token + "›", `{\"access_token\":\"‹` + token + `›\"}`,
			"my secret token is ‹" + token + "›.", "https://example.org/x?access_token=‹" + token + "›&y=1", "x-api-key: ‹" + uuid + "›", "mytoken=‹" + hex40 + "›;",
		},
		"password": {
			"password=‹hunter2!›", "DB_PASSWORD: ‹c0rrect-horse›", "the password is ‹Tr0ub4dor&3›", `"passwd": "‹p4ss;w(rd›"`, "login --password '‹9x!kk2›'",
		},
		"authorization": {
			"Authorization: Bearer ‹" + token + "›", `-H "authorization: Token ‹` + hex40 + `›"`, "Authorization: Basic ‹YWRhOmh1bnRlcjIy›",
		},
		"heroku-secret":       {"HEROKU_ID=‹" + uuid + "›", `heroku: "‹` + uuid + `›"`},
		"telegram-secret":     {"telegramBot = ‹12345678:" + random(13, 35, alnum) + "›"},
		"url-password":        {"postgres://ada:‹sw0rdfish›@db.example.org/x", "amqp://:‹a1b2c3›@host:5672", "see (https://me:‹tulip-99›@git.example.org)"},
		"curl-user":           {"curl -u ada:‹l0velace› https://example.org", `curl https://example.org --user "ada:‹l0velace!›" -v`, "curl \\\n  -u ada:'‹l0velace›'"},
		"jwt":                 {"‹" + jwt + "›", "token: ‹" + jwt + "›", "(‹" + jwt + "›)"},
		"private-key":         {"‹" + pem + "›\n", `{"key": "‹` + strings.ReplaceAll(pem, "\n", `\n`) + `›"}`, "‹" + pem[:100] + "›"},
		"azure-client-secret": {"‹aB3" + "7Q~" + random(14, 34, alnum) + "›", "value: ‹x.Y8" + "Q~" + random(15, 31, alnum) + "›"},
		"gcp-api-key":         {"the key ‹AIza" + random(16, 35, alnum) + "›", "?key=‹AIza" + random(16, 35, alnum) + "›&v=1"},
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
		"", "the key to the house", "a token of love: none", "keyboard = " + token, "public_key = " + token, "key_name: " + token, "csrf-token=" + token,
		"next_page_token=" + token, "token_url = https://example.org/oauth2/v1/token", "password = ${DB_PASSWORD}", "password: required", "password=", "password: ********",
		"password = os.Getenv(\"X1\")", "--- PASS: TestX/v4 (0.00s)", "api_key = xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "api_key = YOUR_API_KEY_GOES_HERE_1234",
		"AKIA" + "IOSFODNN7EXAMPLE", "token=abcdefghijklmnopqrstuvwxyz0123456789", "gh" + "p_" + token[:30], "agh" + "p_" + token, "gh" + "p_" + strings.Repeat("x", 36),
		"https://example.org:8080/x@y", "mailto://ada@example.org", "http://user:pass@example.org", "postgres://$USER:$PASS@host/db", "curl -u ada https://example.org",
		"curl -u $USER:$PASSWORD https://example.org", "tar -u ada:l0velace x", "-----BEGIN PUBLIC KEY-----\n" + token + token + "\n-----END PUBLIC KEY-----",
		"-----BEGIN PRIVATE KEY-----\nhere\n-----END PRIVATE KEY-----", "eyJhbGciOiJIUzI1NiJ9", "eyJhbGciOiJIUzI1NiJ9.", "Authorization: Basic ...", "Authorization: Bearer <token>",
		"sha256:" + random(2, 64, hex), "github commit " + random(3, 40, hex), "rookTable = 00" + random(4, 40, alnum), "the task is risky: sk-learn", "AIza" + random(16, 35, alnum),
		"secretary = Ada1234Lovelace5678Byron", "monkey: 12ab34cd56ef78gh90ij12kl34",
	} {
		require.Empty(t, detect.Secrets().Find(nil, text), "%q", text)
	}
}

// Every token of every form of the table is found from its first byte to its last, alone and in company.
func TestEveryFormIsFound(t *testing.T) {
	d := detect.Secrets()
	checked := map[string]bool{"sentry-token": true, "anthropic-key": true, "vault-token": true, "gcp-api-key": true} // a check of their own, seen to below and above
	for _, form := range detect.Forms() {
		if checked[form.Rule] {
			continue
		}
		found := 0
		rapid.Check(t, func(t *rapid.T) {
			secret := form.Prefix + draw(t, form)
			before := rapid.SampledFrom([]string{"", "token: ", "key = \"", "x ", "(", "\n"}).Draw(t, "before")
			after := rapid.SampledFrom([]string{"", "\"", " ", "\n", ";", ")", "&"}).Draw(t, "after")
			for _, f := range d.Find(nil, before+secret+after) {
				if f.Start == len(before) && f.End == len(before)+len(secret) {
					found++
				}
			}
		})
		require.Greater(t, found, 60, "%s %s: chance makes few of 100 too regular, or like another's", form.Rule, form.Prefix)
	}
	for _, secret := range []string{"sk-ant-" + "api03-" + random(1, 93, alnum) + "AA", "hvs." + random(1, 95, alnum), "s." + "aB3" + random(1, 21, alnum)} {
		require.Len(t, d.Find(nil, secret), 1, secret)
	}
}

// draw makes the rest of a token.
func draw(t *rapid.T, form detect.Form) string {
	rest := ""
	for _, p := range form.Pieces {
		rest += p.Text
		if p.Set != "" {
			seed := rapid.Uint64().Draw(t, "seed")
			rest += random(seed, p.Min+int(seed%uint64(p.Max-p.Min+1)), p.Set)
		}
	}
	return rest
}

// Any mixture of keywords, operators, tokens and their beginnings keeps the contract, at every split.
func TestSecretsKeepTheContract(t *testing.T) {
	d, err := detect.SecretsWith(detect.SecretOptions{Rules: []detect.SecretRule{
		{ID: "badge", Keywords: []string{"badge"}, Regexp: regexp.MustCompile(`badge[ #]*(\d{4,6})`), Group: 1},
		{ID: "scroll", Keywords: []string{"scroll"}, Regexp: regexp.MustCompile(`(?s)scroll\{.*?\}`), Multiline: true},
	}})
	require.NoError(t, err)
	forms, names := detect.Forms(), strings.Fields(strings.Join(detect.Names(), " "))
	parts := []string{"=", " = ", ": ", "\"", "'", "`", "\n", " ", ",", "(", ")", ">", "</", " is ", "\\n", "\\\"", "%3D", "://", "ada", ":", "@", "curl ", "-u ", "--user ", "Bearer ", "Basic ",
		"Authorization: ", "eyJhbGciOiJIUzI1NiJ9", ".", "eyJzdWIiOiJhZGEifQ", "ZXlKaGJHY2lPaUpJVXpJMU5pSjk", "-----BEGIN ", "RSA PRIVATE KEY", "-----", "-----END ", "7Q~", "aB3", "hunter2", "xxxx",
		"badge #12345", "scroll{a\nb}", "é", "\xff", "", "..", "==", "Token", "_", "-"}
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for range rapid.IntRange(1, 12).Draw(t, "parts") {
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				text += rapid.SampledFrom(names).Draw(t, "name")
			case 1:
				form := rapid.SampledFrom(forms).Draw(t, "form")
				token := form.Prefix + draw(t, form)
				text += token[:rapid.IntRange(1, len(token)).Draw(t, "cut")]
			case 2:
				text += random(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 80).Draw(t, "length"), alnum+"-_+/=.")
			default:
				text += rapid.SampledFrom(parts).Draw(t, "part")
			}
		}
		law, at := detecttest.Offence(d, text)
		require.Empty(t, law, "at %d of %q", at, text)
	})
}

// 1 MB of what costs most is done with in time that grows with the length alone: twice the text, twice the findings,
// and the test's time limit is seconds away.
func TestHostileTextsAreLinear(t *testing.T) {
	d := detect.Secrets()
	for _, part := range []string{"key", "token=", "stripe_key=", "password=a1b2c3d4", "eyJ.", "eyJhbGciOiJIUzI1NiJ9.", "-----BEGIN PRIVATE KEY-----\n", "://a:b", "curl -u ", "-u a:", "sk-", "s.", "{", "\\",
		"api.telegram.org/bot", "token=\"token=", "gh" + "p_", "key is ", "AIza"} {
		text := strings.Repeat(part, (1<<20)/len(part))
		open := d.Open(text)
		require.LessOrEqual(t, open, len(text))
		for _, f := range d.Find(nil, text) {
			require.Less(t, f.Start, f.End)
		}
	}
}

func FuzzSecrets(f *testing.F) {
	for _, s := range []string{"token=a1", "curl -u a:b", "https://a:b@c", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.x", "-----BEGIN PRIVATE KEY-----", "\xff\xfe", "aB37Q~"} {
		f.Add(s)
	}
	d := detect.Secrets()
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2048 {
			return
		}
		if law, at := detecttest.Offence(d, text); law != "" && !strings.Contains(law, "allocation") {
			t.Fatalf("%s at %d of %q", law, at, text)
		}
	})
}

func TestRulesOfOnesOwn(t *testing.T) {
	badge := detect.SecretRule{ID: "badge", Keywords: []string{"BADGE"}, Regexp: regexp.MustCompile(`(?i)badge[ #]*(\d{4,6})\b`), Group: 1}
	with := func(change func(*detect.SecretRule)) error {
		rule := badge
		change(&rule)
		_, err := detect.SecretsWith(detect.SecretOptions{Rules: []detect.SecretRule{rule}})
		return err
	}
	require.ErrorContains(t, with(func(r *detect.SecretRule) { r.ID = "" }), "no ID")
	require.ErrorContains(t, with(func(r *detect.SecretRule) { r.Regexp = nil }), "rule badge for secrets has no Regexp")
	require.ErrorContains(t, with(func(r *detect.SecretRule) { r.Group = 2 }), "group 2 of an expression that has 1")
	require.ErrorContains(t, with(func(r *detect.SecretRule) { r.Keywords = nil }), "no Keywords")
	require.ErrorContains(t, with(func(r *detect.SecretRule) { r.Keywords = []string{"é12"} }), `keyword "é12"`)

	find := func(o detect.SecretOptions, text string) (found []string) {
		d, err := detect.SecretsWith(o)
		require.NoError(t, err)
		for _, f := range d.Find(nil, text) {
			found = append(found, f.Rule+" "+text[f.Start:f.End])
		}
		return found
	}
	rules := func(change func(*detect.SecretRule)) detect.SecretOptions {
		rule := badge
		change(&rule)
		return detect.SecretOptions{Rules: []detect.SecretRule{rule}}
	}
	const text = "Badge #12345, abadge 1234, badge\n 777777"
	require.Equal(t, []string{"badge 12345"}, find(rules(func(*detect.SecretRule) {}), text))
	require.Empty(t, find(rules(func(r *detect.SecretRule) { r.Entropy = 3 }), text))
	require.Empty(t, find(rules(func(r *detect.SecretRule) { r.Validate = func(secret string) bool { return secret != "12345" } }), text))
	require.Equal(t, []string{"badge 12345", "badge 777777"}, find(rules(func(r *detect.SecretRule) {
		r.Multiline, r.Regexp = true, regexp.MustCompile(`(?is)badge[ #\n]*(\d{4,6})\b`)
	}), text))

	allow := func(rule, secret string) bool { return rule == "password" && secret == "hunter2" }
	require.Equal(t, []string{"password hunter3"}, find(detect.SecretOptions{Allow: allow}, "password=hunter2 password=hunter3"))
}
