package detect_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/detect"
	"github.com/plughook/plughook/plugins/guardrail/internal/detecttest"
)

// Every token of every form of the table is found from its first byte to its last, alone and in
// company.
func TestEveryFormIsFound(t *testing.T) {
	d := detect.Secrets()
	checked := map[string]bool{
		"vault-token":     true,
		"gcp-api-key":     true,
		"azure-signature": true,
	} // a check of their own, seen to below and above
	for _, form := range detect.Forms() {
		if checked[form.Rule] {
			continue
		}
		found := 0
		rapid.Check(t, func(t *rapid.T) {
			secret := form.Prefix + draw(t, form)
			before := rapid.SampledFrom([]string{"", "token: ", "key = \"", "x ", "(", "\n"}).
				Draw(t, "before")
			after := rapid.SampledFrom([]string{"", "\"", " ", "\n", ";", ")", "&"}).
				Draw(t, "after")
			for _, f := range d.Find(nil, before+secret+after) {
				if f.Start == len(before) && f.End == len(before)+len(secret) {
					found++
				}
			}
		})
		require.Greater(t, found, 60,
			"%s %s: chance makes few of 100 too regular, or like another's", form.Rule, form.Prefix)
	}
	for _, secret := range []string{
		"sk-ant-" + "api03-" + random(1, 93, alnum) + "AA", "hvs." + random(1, 95, alnum),
		"s." + "aB3" + random(1, 21, alnum), "sig=" + random(1, 43, alnum) + "%3D",
	} {
		require.Len(t, d.Find(nil, secret), 1, secret)
	}
}

// draw makes the rest of a token.
func draw(t *rapid.T, form detect.Form) string {
	rest := ""
	for _, p := range form.Rest {
		rest += p.Text
		if p.Set == nil {
			continue
		}
		alphabet := ""
		for c, in := range p.Set {
			if in {
				alphabet += string(rune(c))
			}
		}
		seed := rapid.Uint64().Draw(t, "seed")
		rest += random(seed, p.Min+int(seed%uint64(p.Max-p.Min+1)), alphabet)
	}
	return rest
}

// Any mixture of keywords, operators, tokens and their beginnings keeps the contract, at every
// split.
func TestSecretsKeepTheContract(t *testing.T) {
	d := detect.Secrets()
	forms, names := detect.Forms(), strings.Fields(strings.Join(detect.Names(), " "))
	parts := []string{
		"=",
		" = ",
		": ",
		"\"",
		"'",
		"`",
		"\n",
		" ",
		",",
		"(",
		")",
		">",
		"</",
		" is ",
		"\\n",
		"\\\"",
		"%3D",
		"://",
		"ada",
		":",
		"@",
		"curl ",
		"-u ",
		"--user ",
		"Bearer ",
		"Basic ",
		"Authorization: ",
		"eyJhbGciOiJIUzI1NiJ9",
		".",
		"eyJzdWIiOiJhZGEifQ",
		"ZXlKaGJHY2lPaUpJVXpJMU5pSjk",
		"-----BEGIN ",
		"RSA PRIVATE KEY",
		"-----",
		"-----END ",
		"7Q~",
		"aB3",
		"hunter2",
		"xxxx",
		"é",
		"\xff",
		"",
		"..",
		"==",
		"Token",
		"_",
		"-",
		"Cookie: ",
		"session=",
		"; sid=",
		"sshpass -p ",
		"mysql -p",
		"redis-cli -a '",
		"bearer ",
		"login ada password ",
		"@",
		"IDENTIFIED BY '",
		"password",
		"| password | ",
		"** ",
		"passwort",
		" lautet ",
		" ist: ",
		"密码是",
		"(\"ada\", \"",
		"base64:",
		"license key",
		"API key ",
		"token ",
		"-H \"X-Token: ",
		" was changed to ",
		"&",
		"&x9",
		"fake_",
		"sha256 of the ",
		"arn:a:",
		"&str = ",
		"sha256:",
		"k7a2b:",
	}
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
				text += random(rapid.Uint64().Draw(t, "seed"),
					rapid.IntRange(1, 80).Draw(t, "length"), alnum+"-_+/=.")
			default:
				text += rapid.SampledFrom(parts).Draw(t, "part")
			}
		}
		law, pos := detecttest.Offence(d, text)
		require.Empty(t, law, "at %d of %q", pos, text)
	})
}

// A value that is longer than what is looked at is not cut within a character.
func TestLongSecretsDivideNoCharacter(t *testing.T) {
	found := 0
	for _, before := range []string{
		"curl -u a:", "password=", "sshpass -p ", "Cookie: sid=", "Authorization: Bearer ",
		"https://u:",
	} {
		for more := range 4 {
			text := before + "a1Z9" + strings.Repeat("x", more) + strings.Repeat("\U000e0073", 1000) + " end"
			for _, f := range detect.Secrets().Find(nil, text) {
				found++
				require.True(t, utf8.RuneStart(text[f.Start]), text)
				require.True(t, f.End == len(text) || utf8.RuneStart(text[f.End]), text)
			}
		}
	}
	require.Positive(t, found)
}

// 1 MB of what costs most: if the work were to grow with its square, the test would last for hours.
func TestHostileTextsAreLinear(t *testing.T) {
	d := detect.Secrets()
	for _, part := range []string{"key", "token=", "stripe_key=", "password=a1b2c3d4", "eyJ.", "eyJhbGciOiJIUzI1NiJ9.", "-----BEGIN PRIVATE KEY-----\n", "://a:b", "curl -u ", "-u a:", "sk-", "s.", "{", "\\",
		"api.telegram.org/bot", "token=\"token=", "gh" + "p_", "key is ", "AIza", "mysql -p", "mysql", "sshpass -p a", "Cookie: sid=a; ", "cookie", "bearer ", "passwort ist ", "password for a b c d ", "password for"} {
		text := strings.Repeat(part, (1<<20)/len(part))
		end := 0
		for _, f := range d.Find(nil, text) {
			require.True(t, end <= f.Start && f.Start < f.End, part)
			end = f.End
		}
	}
}

func FuzzSecrets(f *testing.F) {
	for _, s := range []string{
		"token=a1", "curl -u a:b", "https://a:b@c", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.x",
		"-----BEGIN PRIVATE KEY-----", "\xff\xfe", "aB37Q~",
	} {
		f.Add(s)
	}
	d := detect.Secrets()
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2048 {
			return
		}
		if law, pos := detecttest.Offence(d, text); law != "" &&
			!strings.Contains(law, "allocation") {
			t.Fatalf("%s at %d of %q", law, pos, text)
		}
	})
}
