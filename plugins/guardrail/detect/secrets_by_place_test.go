package detect_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

// Where secrets are known by their place.
func TestSecretsByTheirPlace(t *testing.T) {
	token := random(21, 40, alnum)
	for rule, texts := range map[string][]string{
		"command-password": {
			"sshpass -p ‹tulip› ssh h", "sshpass -p '‹tulip 1›' ssh h",
			"mysql -u root -p‹Tr0ub4dor&3› shop", "mysqldump -p‹Tr0ub4dor3› --all",
			"redis-cli -h c -a ‹tulip9› ping", "docker login -u bob -p ‹tulip9›",
			"mongosh -u a -p \"‹tulip9›\"",
			"ldapsearch -D cn=a -w ‹tulip9› -b dc=x", "keytool -list -storepass ‹tulip9›",
			"sqlcmd -S h -U sa -P ‹tulip9›", "7z x -p‹Tr0ub4dor3› a.7z",
			"net user bob ‹Tr0ub4dor3› /add", "smbclient //h/s -U bob%‹Tr0ub4dor3›", "echo ‹tulip9› | sudo -S ls",
			"echo '‹tulip 9›' | sudo -S ls", "gh secret set DB --body ‹Tr0ub4dor3›",
			"az keyvault secret set --vault-name v --name n --value ‹Tr0ub4dor3›",
			"wrangler secret put DB <<< ‹Tr0ub4dor3›", "ConvertTo-SecureString \"‹Tr0ub4dor3›\" -AsPlainText -Force",
			"ConvertTo-SecureString -String '‹Tr0ub4dor3›' -AsPlainText", "mysqladmin -u root password ‹Tr0ub4dor3›",
			"smtp.login(\"bob@x.example\", \"‹Tr0ub4dor3›\")", "DriverManager.getConnection(url, \"root\", \"‹Tr0ub4dor3›\")",
			"new PDO($dsn, 'root', '‹Tr0ub4dor3›')", "mysqli_connect(\"localhost\", \"root\", \"‹Tr0ub4dor3›\", \"shop\")",
			"xfreerdp /u:bob /p:‹Tr0ub4dor3› /v:h",
			"aws configure set aws_secret_access_key ‹" + token + "›",
		},
		"password": {
			"machine h login bob password ‹Tr0ub4dor3›",
			"machine h\n  login bob\n  password ‹Tr0ub4dor3›\n",
			"ALTER USER bob WITH PASSWORD '‹Tr0ub4dor3›';", "pw=‹Tr0ub4dor3›", "pw: ‹Tr0ub4dor3›",
			"my pw is ‹Tr0ub4dor3›", "dbpass=‹Tr0ub4dor3›",
			"key,value\nDB_PASSWORD,‹Tr0ub4dor3›\nDB_USER,bob\n", "{\"ParameterKey\": \"DBPassword\", \"ParameterValue\": \"‹Tr0ub4dor3›\"}",
			"Content-Disposition: form-data; name=\"password\"\r\n\r\n‹Tr0ub4dor3›\r\n--x",
			"name=\"user[password]\"\n\n‹Tr0ub4dor3›\n--x", "- key: DB_PASSWORD\n  value: ‹Tr0ub4dor3›\n",
			"pswd: ‹Tr0ub4dor3›", "psk=\"‹Tr0ub4dor3›\"", "**Password:** ‹Tr0ub4dor3›",
			"| password | ‹Tr0ub4dor3› |", "| `DB_PASSWORD` | ‹Tr0ub4dor3› |",
			"Your temporary password is: ‹Tr0ub4dor3›",
			"the password for the old server is ‹Tr0ub4dor3›.",
			"auth=(\"bob\", \"‹Tr0ub4dor3›\")",
			"the admin password was changed to ‹Tr0ub4dor3› today",
			"the password is now ‹Tr0ub4dor3›", "define( 'DB_PASSWORD', '‹Tr0ub4dor3›' );",
			"Das Passwort lautet ‹Tr0ub4dor3›.", "Mein Passwort ist ‹Tr0ub4dor3›",
			"Le mot de passe est ‹Tr0ub4dor3›", "la contraseña es ‹Tr0ub4dor3›",
			"A senha é ‹Tr0ub4dor3›", "La password è ‹Tr0ub4dor3›", "Lösenordet är ‹Tr0ub4dor3›",
			"Passordet er: ‹Tr0ub4dor3›",
			"Hasło to ‹Tr0ub4dor3›", "密码是‹Tr0ub4dor3›", "パスワードは‹Tr0ub4dor3›です",
			"비밀번호는 ‹Tr0ub4dor3›", "Пароль: ‹Tr0ub4dor3›", "Пароль от сервера: ‹Tr0ub4dor3›",
			"Пароль для входа в сеть — ‹Tr0ub4dor3›", "login bob / password ‹Tr0ub4dor3›",
			"user: bob | password ‹Tr0ub4dor3›", "ПАРОЛЬ: ‹Tr0ub4dor3›", "CONTRASEÑA: ‹Tr0ub4dor3›",
			"Şifre: ‹Tr0ub4dor3›",
		},
		"sql-password": {"CREATE USER bob IDENTIFIED BY '‹tulip9›';"},
		"asana-secret": {
			"asana_client_id=‹5506017226914262›", "ASANA_TOKEN: \"‹5506017226914262›\"",
		},
		"url-password": {"amqp://bob:‹a#b9c›@mq"},
		"authorization": {"Basic ‹YWRhOmh1bnRlcjIy›", "send bearer ‹" + token + "›.", "SSWS ‹00" + token + "›",
			"curl -H \"X-Auth-Token: ‹a1b2c3d4e5f6›\" h", "curl --header 'Api-Token: ‹Sk9x4HG7f6K›' h", "curl -H \"Authorization: ‹Zm9v.b4r-b4z›\" h"},
		"session-cookie": {
			"Cookie: lang=en; sessionid=‹" + token + "›; x=1",
			"Set-Cookie: JSESSIONID=‹" + random(24, 32, digits+"ABCDEF") + "›; Path=/",
			"curl --cookie \"PHPSESSID=‹" + random(25, 26, digits+low) + "›\"",
			"cookie: connect.sid=‹s%3A" + token + "›",
		},
		"assigned-secret": {
			"\"client_secret\", \"‹" + token + "›\"", "the license key is ‹" + token + "›",
			"our encryption key: ‹" + token + "›",
			"Here is my API key ‹" + token + "›, thanks", "use the token ‹" + token + "›.",
			"my key is ‹" + token + "›", "name | value\n api_key | ‹" + token + "›",
			"define( 'API_TOKEN', '‹" + token + "›' );", "APP_KEY=base64:‹" + token + "=›",
			"x_writekey = '‹" + random(27, 32, hex) + "›'",
			"pusher_secret: \"‹62129da663d68c1284e6›\"", "api_secret=‹fWEjqDANttPDEEDhJdhpwYlq›",
			"otpauth://totp/x?secret=‹J4RA6O4TT7FAYIWL›&issuer=x",
			"service_key: ‹18B37VZN1F4RNDZ1›",
		},
	} {
		for _, text := range texts {
			plain, want := marked(text)
			var got []string
			for _, f := range detect.Secrets().Find(nil, plain) {
				got = append(got, fmt.Sprintf("%d %s", f.Start, plain[f.Start:f.End]))
				require.Equal(t, rule, f.Rule, "%q", plain)
			}
			require.Equal(t, want, got, "%s in %q", rule, plain)
		}
	}
}

func TestNoSecretsInLikePlaces(t *testing.T) {
	token, uuid := random(21, 40, alnum), random(4, 8, hex)+"-"+random(5, 4, hex)+"-"+random(6, 4, hex)+"-"+random(7, 4, hex)+"-"+random(8, 12, hex)
	for _, text := range []string{
		"mysql -u root -p shop", "mysql -print2", "mysql -P3306 x", "mysql -p3306",
		"docker run -p 8080:80 nginx", "docker login -p $TOKEN", "sshpass -p \"$PASS\" ssh h",
		"sshpass -p <password> ssh h", "keytool -storepasswd old1 new2", "ssh -p 2222 h",
		"redis-cli --askpass1",
		"machine learning login password1", "the login field and password field2",
		"expected password \"foo1\"", "pw: required", "upward=Tr0ub4dor3", "compass=NE45x1",
		"bypass=true2x", "Das Passwort ist falsch", "Das Passwort ist 12-stellig",
		"the password is 8-character",
		"Le mot de passe est obligatoire", "la contraseña es obligatoria",
		"Contraseña: 8 caracteres", "IDENTIFIED BY 'password'", "identified by DNA2",
		"127.0.0.1:5432:5432", "Basic usage", "basic principles", "Bearer $TOKEN", "bearer bonds",
		"Cookie: theme=" + token,
		"Cookie: csrf_session=" + token, "cookie policy=" + token, "session: abc",
		"session_timeout=3600", "Private-Lines: 2\n",
		"pk_live_" + random(28, 24, alnum) + " publishable",
		"STRIPE_PUBLISHABLE_KEY=pk_test_" + random(28, 24, alnum),
		"site_key: 6L" + random(29, 38, alnum), "sync_token=" + token,
		"authenticity_token=" + token, "avatar_key=\"" + random(30, 40, hex) + "/file.txt\"",
		"token = getUserByIdFromDbOrApi", "| Name | Password | Email2 |",
		"token: getHTTPURLForIDAndAPIKey",
		"\"password\", \"pass1x\"", "<li key=\"" + uuid + "\">", "rows with key = " + uuid,
		"the token " + random(36, 32, hex), "no such key UserProfileSettingsV2Api",
		"thread_a1GBeUApi run_" + token, "the password was changed to another",
		"no API key " + random(37, 20, digits+"ABCDEF"), "tokens " + random(38, 6, alnum) + " ",
		"apt-key adv --recv-keys " + random(34, 40, digits+"ABCDEF"),
		"dedupe_key: " + random(35, 32, hex), "asana_task=5506017226914262",
		"discord_guild_id=147152238491615541",
		"sentry_sha256 = " + random(31, 64, hex), "DATADOG_MD5=" + random(32, 32, hex),
		"x_token = \"" + random(33, 16, digits+low) + "\"",
		"curl -H \"X-Auth-Token: $TOKEN1234\" h", "curl -H 'Api-Token: <your-token-1>' h",
		"curl -H \"X-Trace-Id: a1b2c3d4e5f6\" h", "say \"Token: a1b2c3d4e5f6\"",
	} {
		require.Empty(t, detect.Secrets().Find(nil, text), "%q", text)
	}
}

// A token is one at the end of a text, too, also where its form could go on.
func TestFormsAtTheEndOfAText(t *testing.T) {
	for _, form := range detect.Forms() {
		if form.Rule == "gcp-api-key" ||
			form.Rule == "azure-signature" ||
			form.Rule == "vault-token" {
			continue // with a check of their own
		}
		found := 0
		rapid.Check(t, func(t *rapid.T) {
			secret := form.Prefix + draw(t, form)
			for _, f := range detect.Secrets().Find(nil, secret) {
				if f.End-f.Start >= len(secret)-3 { // = at the end may be cut
					found++
				}
			}
		})
		require.Greater(t, found, 60, "%s %s", form.Rule, form.Prefix)
	}
}

// Each word that a name of a secret may end in is looked for.
func TestEveryLastWordIsLookedFor(t *testing.T) {
	for _, word := range detect.LastWords() {
		text := "acme_" + word + " = \"" + random(29, 27, alnum) + "\""
		require.Len(t, detect.Secrets().Find(nil, text), 1, text)
	}
}
