package detect_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

// secretNames draws how a secret is assigned: what stands before the value, and what behind it.
func secretNames(t *rapid.T) (before, after string) {
	name := rapid.SampledFrom([]string{
		"api_key", "ACME_API_TOKEN", "clientSecret", "service.access-token",
	}).Draw(t, "name")
	form := rapid.SampledFrom([][2]string{
		{" = \"", "\""}, {": ", "\n"}, {"=", ""}, {"\": \"", "\","}, {" := '", "'"},
	}).Draw(t, "form")
	return name + form[0], form[1]
}

// namesOrHeader draws that, or a header in a command, which counts for more.
func namesOrHeader(t *rapid.T) (before, after string) {
	if rapid.Bool().Draw(t, "header") {
		return `curl -H "X-Acme-Token: `, `" https://example.org`
	}
	return secretNames(t)
}

// A value is drawn from a seed, so that a failure names it.
func seeded(t *rapid.T, low, high int, alphabet string) string {
	return random(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(low, high).Draw(t, "size"),
		alphabet)
}

func TestNamesInCodeAreNoSecrets(t *testing.T) {
	words := []string{
		"account", "access", "client", "message", "default", "setting", "version", "manager",
		"content",
		"response", "storage", "state", "provider", "internal", "service", "header", "control",
		"resolver",
	}
	rapid.Check(t, func(t *rapid.T) {
		camel := rapid.Bool().Draw(t, "camel")
		seam := rapid.SampledFrom([]string{"_", ".", "-", ""}).Draw(t, "seam")
		value := ""
		for range rapid.IntRange(3, 6).Draw(t, "words") {
			word := rapid.SampledFrom(words).Draw(t, "word")
			if camel || seam == "" {
				word = strings.ToUpper(word[:1]) + word[1:]
			}
			if value != "" {
				value += seam
			}
			value += word + rapid.SampledFrom([]string{"", "", "2", "16", "V3"}).Draw(t, "digits")
		}
		before, after := secretNames(t)
		require.Empty(t, detect.Secrets().Find(nil, before+value+after), value)
	})
}

func TestRowsAreNoSecrets(t *testing.T) {
	const counted = "12345678901234567890123456789012345678901234567890"
	rapid.Check(t, func(t *rapid.T) {
		row := "abcdefghijklmnopqrstuvwxyz"
		n := rapid.IntRange(1, 4).Draw(t, "run")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0: // one part over and over
			row = strings.Repeat(seeded(t, 6, 12, alnum), rapid.IntRange(3, 5).Draw(t, "times"))
		case 1: // counting on
			row = strings.Repeat("1234567890abcdef", 4)[:16*rapid.IntRange(2, 4).Draw(t, "times")]
		case 2: // letters and digits in turns, as in abc123def456
			row = ""
			for i := 0; i+n <= len(low); i += n {
				row += low[i:i+n] + counted[i:i+n]
			}
		case 3: // each twice
			row = ""
			for i := range 12 {
				row += strings.Repeat(low[i:i+1], 2)
			}
			row += "112233"
		case 4: // of five characters
			row = seeded(t, 24, 48, "a7Bc9")
		}
		if rapid.Bool().Draw(t, "prefix") {
			row = "acme_live_" + row
		}
		before, after := namesOrHeader(t)
		require.Empty(t, detect.Secrets().Find(nil, before+row+after), row)
	})
}

// What has the form of a token and is filled up with anything is a placeholder.
func TestFilledFormsAreNoSecrets(t *testing.T) {
	const row = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	rapid.Check(t, func(t *rapid.T) {
		fill := row
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			fill = strings.Repeat(seeded(t, 2, 6, hex), 40)
		case 1:
			fill = strings.Repeat("deadbeef", 8)
		}
		for prefix, size := range map[string]int{"ghp_": 36, "dop_v1_": 64, "npm_": 36, "glptt-": 40, "sntryu_": 64} {
			value := prefix + fill[:size]
			before, after := secretNames(t)
			require.Empty(t, detect.Secrets().Find(nil, before+value+after), value)
			require.Empty(t, detect.Secrets().Find(nil, value), value)
		}
	})
	for _, value := range []string{
		"ghp_ThisIsOnlyAFakeTokenForTheUnitTests", "hf_ThisIsNotARealTokenJustATestValue",
	} {
		require.Empty(t, detect.Secrets().Find(nil, value), value)
	}
}

// Letters alone may be random, too.
func TestRandomLettersAreSecrets(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		before, after := secretNames(t)
		value := seeded(t, 24, 48, low+strings.ToUpper(low))
		found += len(detect.Secrets().Find(nil, before+value+after))
	})
	require.Greater(t, found, 90, "of 100")
}

// Base64 of words hides nothing.
func TestReadableBase64IsNoSecret(t *testing.T) {
	found := 0
	words := []string{
		"hello",
		"world",
		"this",
		"is",
		"only",
		"the",
		"test",
		"value",
		"for",
		"documents",
	}
	rapid.Check(t, func(t *rapid.T) {
		plain := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 4, 9).Draw(t, "words"), " ")
		before, after := namesOrHeader(t)
		value := base64.StdEncoding.EncodeToString([]byte(plain))
		require.Empty(t, detect.Secrets().Find(nil, before+value+after), plain)
		value = base64.StdEncoding.EncodeToString([]byte(seeded(t, 24, 40, alnum)))
		found += len(detect.Secrets().Find(nil, before+value+after))
	})
	require.Greater(t, found, 95, "of 100 that hide something")
}

// Some secrets stand behind the identifier of what they open.
func TestSecretsBehindIdentifiers(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		secret := "4x" + seeded(t, 30, 50, alnum) + "9"
		id := "k7" + seeded(t, 4, 20, hex)
		before, after := secretNames(t)
		text := before + id + ":" + secret + after
		for _, f := range detect.Secrets().Find(nil, text) {
			found++
			require.Equal(t, id+":"+secret, text[f.Start:f.End])
		}
		for _, what := range []string{
			"sha256", "md5", "blake2b512", "key", "12345678", "a1b2c3:d4",
		} {
			require.Empty(t,
				detect.Secrets().Find(nil, before+what+":"+seeded(t, 32, 32, hex)+after), what)
		}
		require.Empty(t, detect.Secrets().Find(nil, before+"sha256-"+seeded(t, 64, 64, hex)+after))
	})
	require.Greater(t, found, 95, "of 100")
}

// A token of a known provider that was cut short, or has its prefix in another case, is no
// random value of somebody else's.
func TestMisshapenTokensAreNoSecrets(t *testing.T) {
	least := map[string]int{}
	for _, form := range detect.Forms() {
		n, known := least[form.Prefix]
		shortest, _ := form.Rest.Lengths()
		if !known || shortest < n {
			least[form.Prefix] = shortest
		}
	}
	for _, prefix := range []string{
		"ghp_", "glpat-", "shpat_", "dop_v1_", "AKIA", "dapi", "sk-or-v1-", "hf_", "tvly-", "SG.",
	} {
		require.Contains(t, least, prefix)
		rapid.Check(t, func(t *rapid.T) {
			value := prefix + seeded(t, 1, least[prefix]-1, alnum)
			before, after := secretNames(t)
			require.Empty(t, detect.Secrets().Find(nil, before+value+after), value)
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		rest := seeded(t, 36, 36, alnum)
		for _, value := range []string{
			"GHP_" + rest, "GLPAT-" + rest[:20], "akia" + seeded(t, 16, 16, digits+"ABCDEFGHIJK"),
		} {
			before, after := secretNames(t)
			require.Empty(t, detect.Secrets().Find(nil, before+value+after), value)
		}
	})

	// What only begins as many do may be anybody's.
	for _, prefix := range []string{"sk-", "sk_", "pk_prod_", "key-", "live_", "aaaa"} {
		value := prefix + random(63, 27, alnum)
		require.Len(t, detect.Secrets().Find(nil, "api_key = "+value), 1, value)
	}
}

// A few characters more than a provider's tokens have are a mistake. A length that is far from the
// form is another kind's.
func TestMistypedTokensAreNoSecrets(t *testing.T) {
	token := random(68, 60, alnum)
	for _, size := range []int{33, 35, 37, 39} {
		require.Empty(t, detect.Secrets().Find(nil, "api_key=npm_"+token[:size]), token[:size])
	}
	require.Len(t, detect.Secrets().Find(nil, "api_key=npm_"+token[:48]), 1)
}

func TestNamesThatSayNoSecret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := seeded(t, 24, 48, alnum)
		name := rapid.SampledFrom([]string{
			"fake_token = ", "nonMatchingToken := ", "INVALID_API_KEY=", "mock-client-secret: ",
			"GPG_KEY=", "figma_document_key: ", "resume_token=", "cancellationToken: ",
			"group_key: ", "hash_key=", "hashed_secret: ", "encrypted_token=", "verify_key = ",
			"SHA-256 of the token: ", "hash of api_key: ",
			"arn:aws:secretsmanager:eu-west-1:123456789012:secret:db/",
		}).Draw(t, "name")
		require.Empty(t, detect.Secrets().Find(nil, name+value), name)
	})
}

// In prose and logs, the word before a name does not say that its value is made up.
func TestNamesInLogsAreSecrets(t *testing.T) {
	value := random(81, 27, alnum)
	for _, before := range []string{
		"Error: invalid key: ", "wrong token: ", "bad api key: ", "com.example.api.key=",
		"type of login: password; token: ",
	} {
		require.Len(t, detect.Secrets().Find(nil, before+value), 1, before)
	}
}

// The forms of providers that have no prefix are those of their other numbers, too.
func TestOtherValuesOfProvidersAreNoSecrets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		provider := rapid.SampledFrom([]string{"SENTRY", "DATADOG", "TRELLO", "SEGMENT"}).
			Draw(t, "provider")
		value := seeded(t, 32, 32, hex)
		if provider == "SENTRY" {
			value = seeded(t, 64, 64, hex)
		}
		noun := rapid.SampledFrom([]string{
			"_RELEASE", "_BOARD", "_PROJECT_ID", "_EVENT_ID", "_ORG", "_FINGERPRINT", "_WEBHOOK_ID",
		}).Draw(t, "noun")
		require.Empty(t, detect.Secrets().Find(nil, provider+noun+"="+value), provider+noun)
		require.Len(t, detect.Secrets().Find(nil, provider+"_TOKEN="+value), 1, provider)
	})
}

// & ends a value in a URL and in a form, but a password may have one.
func TestPasswordsWithAmpersands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := "K" + seeded(t, 4, 9, low) + "7"
		second := "9" + seeded(t, 4, 9, low)
		for _, form := range [][2]string{
			{"Server=tcp:db,1433;User ID=a;Password=", ";Encrypt=true;"},
			{"DB_PASSWORD=", "\n"}, {"password: ", ""}, {"The password got changed to ", "\n"},
			{"Le mot de passe du NAS : ", "\n"},
		} {
			found := detect.Secrets().Find(nil, form[0]+first+"&"+second+form[1])
			require.Len(t, found, 1, form[0])
			require.Equal(t, len(form[0]), found[0].Start)
			require.Equal(t, len(form[0]+first+"&"+second), found[0].End)
		}
		for _, form := range [][2]string{
			{"https://example.org/?password=", "&v=" + second}, {"user=a&password=", "&" + second},
			{"password=", "&next=" + second}, {"password=", "&quot;"}, {"password: ", "&quot;"},
		} {
			found := detect.Secrets().Find(nil, form[0]+first+form[1])
			require.Len(t, found, 1, form[0])
			require.Equal(t, len(form[0]+first), found[0].End, form[0])
		}
	})
}

// Some programs make their keys of marks as well.
func TestKeysOfMarksAreSecrets(t *testing.T) {
	drawn := 0
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		drawn++
		text := "SECRET_KEY = '" + seeded(t, 50, 50, low+digits+"!@#$%^&*(-_=+)") + "'"
		found += len(detect.Secrets().Find(nil, text))
	})
	require.Greater(t, found, drawn*95/100, "of %d", drawn)
	for _, value := range []string{
		"[a-z0-9]{20,40}(/[A-Z]+)?$", "%s-%d/%s?token=%s&v=%d123", "((a+b)*(c-d)+100)*(200+e)",
		"$(vault_prod_key_2024)",
	} {
		require.Empty(t, detect.Secrets().Find(nil, "token = \""+value+"\""), value)
	}
}

// A bot's token at Discord begins with the number of its account in base64.
func TestDiscordBotTokens(t *testing.T) {
	const letters = digits + "abcdefghijklmABCDEFGHIJKLM" // no x, of which a row is a placeholder
	rapid.Check(t, func(t *rapid.T) {
		account := rapid.StringMatching(`[1-9][0-9]{16,18}`).Draw(t, "account")
		token := base64.RawURLEncoding.EncodeToString([]byte(account)) + "." + seeded(t, 6, 6, letters) +
			"." + seeded(t, 38, 38, letters)
		require.Len(t, detect.Secrets().Find(nil, "the bot runs with "+token+" now"), 1, token)
	})
}

// Where a secret is kept, or its encrypted form, is not the secret.
func TestReferencesAreNoSecrets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := seeded(t, 6, 40, alnum)
		value := rapid.SampledFrom([]string{
			"arn:aws:secretsmanager:eu-west-1:123456789012:secret:main/", "vault:secret/data/",
			"op://Private/",
			"ENC[AES256_GCM,data:",
			"@Microsoft.KeyVault(SecretUri=https://v.vault.azure.net/secrets/",
			"projects/acme/secretmanager/", "ssm:/prod/",
		}).Draw(t, "place") + some
		name := rapid.SampledFrom([]string{"DB_PASSWORD=", "api_key: ", "clientSecret = "}).
			Draw(t, "name")
		require.Empty(t, detect.Secrets().Find(nil, name+`"`+value+`"`), value)
	})
	require.Empty(
		t,
		detect.Secrets().
			Find(nil, "mongodb+srv://<username>:<password>@cluster0.h4xk2.mongodb.net"),
	)
	for _, text := range []string{
		"<password>@h4xk2.Mongo</password>", "request:<password>S3cret!9x</password>",
	} {
		require.Len(t, detect.Secrets().Find(nil, text), 1, text)
	}
}

// Nobody remembers a password of 16 characters that is filled up with anything.
func TestFilledPasswordsAreNoSecrets(t *testing.T) {
	for _, value := range []string{
		"1234567890abcdef1234567890abcdef", "ghp_000000000000000000000000000000000000",
		"acme-abc123def456ghi789jkl012", "deadbeef1deadbeef1deadbeef1",
	} {
		require.Empty(t, detect.Secrets().Find(nil, "DB_PASSWORD="+value), value)
	}
	for _, value := range []string{"Abcd1234!", "tulip12345", "Summer1234!Summer"} {
		require.Len(t, detect.Secrets().Find(nil, "DB_PASSWORD="+value), 1, value)
	}
}

// A name in code may begin as tokens do. The shortest that may be names have 16 letters.
func TestNamesThatBeginAsTokensAreNoSecrets(t *testing.T) {
	for _, name := range []string{
		"sk_live_factoryPayloadFactory", "glpat-token-stream-response",
		"sq0atp-service-event-handler",
	} {
		require.Empty(t, detect.Secrets().Find(nil, "x = "+name), name)
	}
	found := 0
	for seed := range uint64(1000) {
		found += len(
			detect.Secrets().Find(nil, "AKIA"+random(seed, 16, strings.ToUpper(low)+"234567")))
	}
	require.Greater(t, found, 985, "of 1000")
}
