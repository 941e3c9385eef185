package detect_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

// Secrets as they are written in files of configuration, code, commands and letters, each with one.
func TestSecretsInManySyntaxes(t *testing.T) {
	r := func(n int) string { return random(uint64(n*7+3), n, alnum) }
	h := func(n int) string { return random(uint64(n*7+3), n, hex) }
	for _, text := range []string{
		"password: S3cr3t!pw9", "DB_PASSWORD=hunter2hunter", "export DB_PASS='p4ssW0rd!x'",
		"db.password=Tr0ub4dor&3", `"password": "Tr0ub4dor&3"`, `password = "Tr0ub4dor&3"`,
		`password => 'Tr0ub4dor&3'`, `<password>Tr0ub4dor&amp;3</password>`,
		`<add key="Password" value="Tr0ub4dor3x" />`, `Server=db;User Id=sa;Password=Tr0ub4dor3;`,
		`jdbc:mysql://h/db?user=a&password=Tr0ub4dor3`, `spring.datasource.password=Tr0ub4dor3`,
		`variable "db_password" { default = "Tr0ub4dor3x" }`, `PGPASSWORD=Tr0ub4dor3 psql -h x`,
		`curl -H "Authorization: Bearer ` + r(40) + `"`, `curl -H 'X-Api-Key: ` + r(32) + `'`,
		`curl -u admin:Tr0ub4dor3 https://x`, `https://user:Tr0ub4dor3@host/x`,
		`postgres://u:Tr0ub4dor3@h/db`, `redis://:Tr0ub4dor3@h:6379`,
		`mongodb+srv://u:Tr0ub4dor3@c.mongodb.net`, `amqp://u:Tr0ub4dor3@h`, `?api_key=` + r(32),
		`https://x/y?access_token=` + r(40) + `&z=1`, `?sig=` + r(43) + "%3D",
		"https://a.blob.core.windows.net/c?sv=2020&sig=" + r(43) + "%3D",
		"AccountKey=" + random(5, 86, alnum) + "==;EndpointSuffix=core.windows.net",
		"aws_secret_access_key = " + r(40), "AWS_SECRET_ACCESS_KEY=" + r(40),
		"aws_session_token=" + random(8, 200, alnum),
		"client_secret: " + r(40), "clientSecret: '" + r(32) + "'",
		"SECRET_KEY = 'django-insecure-" + r(50) + "'", "JWT_SECRET=" + r(32),
		"secret_key_base: " + h(128),
		"consumer_secret = \"" + r(50) + "\"", "encryption_key: " + h(64),
		"private_key = \"" + h(64) + "\"", "apiKey := \"" + r(32) + "\"",
		"final String API_KEY = \"" + r(32) + "\";",
		"const API_KEY: &str = \"" + r(32) + "\";",
		"static TOKEN: &'static str = \"" + r(40) + "\";",
		"const token = `" + r(40) + "`", "let apiToken: string = '" + r(40) + "'",
		"token: " + r(40), "auth_token=" + r(32), "x-auth-token: " + h(32),
		"Authorization: token " + h(40), "Authorization: Basic " + "dXNlcjpUcjB1YjRkb3Iz",
		"Proxy-Authorization: Basic dXNlcjpUcjB1YjRkb3Iz",
		"//registry.npmjs.org/:_authToken=" + r(36), "_auth=dXNlcjpUcjB1YjRkb3Iz",
		"-----BEGIN RSA PRIVATE KEY-----\n" + random(5, 64, alnum) + "\n" + random(6, 64, alnum) + "\n-----END RSA PRIVATE KEY-----",
		"os.environ['API_KEY'] = '" + r(32) + "'", "ENV API_KEY=" + r(32), "ENV API_KEY " + r(32),
		"--password=Tr0ub4dor3", "--password Tr0ub4dor3", "--api-key " + r(32),
		"passwd: Tr0ub4dor3", "Passwort: Tr0ub4dor3", "mot de passe : Tr0ub4dor3",
		"contraseña: Tr0ub4dor3", "senha: Tr0ub4dor3", "пароль: Tr0ub4dor3", "密码: Tr0ub4dor3",
		"my password is Tr0ub4dor3", "the api key is " + r(32),
		"kubectl create secret generic x --from-literal=password=Tr0ub4dor3",
		"  password: VHIwdWI0ZG9yMw==",
		"- name: API_KEY\n  value: " + r(32), "define('DB_PASSWORD', 'Tr0ub4dor3');",
		"System.setProperty(\"api.key\", \"" + r(32) + "\")", "$env:API_KEY=\"" + r(32) + "\"",
		"set API_KEY=" + r(32), "setx API_KEY " + r(32), "passphrase = correct-horse-9battery",
		"api_key = \"" + h(32) + "\"", "api-key=" + h(40), "secret: " + h(64),
		"webhook secret: whsec_" + r(32),
		"telegram: 123456789:AA" + r(33), "http_proxy=http://ada:Tr0ub4dor3@proxy:3128",
		"password：Tr0ub4dor3",
	} {
		require.Len(t, detect.Secrets().Find(nil, text), 1, "%q", text)
	}
}

// What looks like them and is none: references, placeholders, sums, names, what a secret is spoken
// of in.
func TestNearMissesOfSecrets(t *testing.T) {
	r := func(n int) string { return random(uint64(n*7+3), n, alnum) }
	h := func(n int) string { return random(uint64(n*7+3), n, hex) }
	for _, text := range []string{
		"password: ${DB_PASSWORD}", "password = os.getenv('DB_PASSWORD')",
		"password: <your password>", "password=********", "password: changeme",
		"password = getpass.getpass()",
		"PASSWORD=$(cat /run/secrets/x)", "password: {{ vault_password }}",
		"api_key: YOUR_API_KEY_HERE", "token = request.headers['X-Token-Id-2']",
		"password must be at least 8 characters",
		"The password field is required.", "secret: my-k8s-secret-name",
		"secretName: tls-secret-prod-2", "key: value", "primary_key: user_id_2",
		"public_key = ssh-ed25519 " + r(68),
		"cache_key = 'user:1234:profile:v2'", "key=\"" + "name.first.2" + "\"",
		`"integrity": "sha512-` + random(9, 86, alnum) + `=="`,
		"resolved \"https://registry.yarnpkg.com/a/-/a-1.0.tgz#" + h(40) + "\"",
		"sha256:" + h(64), "commit " + h(40), "data:image/png;base64," + random(9, 200, alnum),
		"id: 3f2504e0-4f89-41d3-9a0c-0305e82c3301", "token_type=bearer",
		"tokens: 4096", "max_tokens=4096", "tokenizer: cl100k_base_v2", "auth: none",
		"author: Jane Doe 1975", "authority: example1.com", "etag: \"" + h(32) + "\"",
		"x-request-id: " + h(32), "password_hash: $2b$12$" + r(53), "md5 = " + h(32),
		"checksum: " + h(64), "aws_access_key_id = AKIAIOSFODNN7EXAMPLE",
		"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
		"password = \"password123\"", "password=test", "pwd=/home/user/x2", "pass: 12/12 tests",
		"passed: 100%", "keyboard: us-intl-2", "monkey=banana42split",
		"foreign_key=users.id2", "https://user:password@host", "https://$USER:$PASS@host",
		"git@github.com:owner/repo.git", "token: ${{ secrets.GITHUB_TOKEN }}",
		"api_key = config.get(\"api_key\")", "password: str = Field(min_length=8)",
		"func password(n int) string {", "Enter password for user42:", "secret santa 2024 party",
		"key concepts 1234567890abcdefghij", "TOKEN_EXPIRY=3600s",
		"SECRET_KEY_FILE=/run/secrets/key1", "password_reset_url: https://x.com/reset2",
		"API_URL=https://api.example.com/v2/keys",
		"kid: 2024-01-key-1", "license_key_type: pro2024", "GIT_COMMIT_SHA=" + h(40),
		"docker.io/library/nginx@sha256:" + h(64), "nonce: " + r(32),
		"uuid=" + "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
		"trace_id=" + h(32), "KeyError: 'user_profile_id_123'", "keydown.enter2",
		"ssh-rsa AAAAB3NzaC1yc2E" + random(3, 300, alnum) + " me@host", "pk_live_" + r(24),
		"Token(type=NAME, string='x1')", "v1.secret.rotation.k8s.io", "api_key=None",
		"api_key: null", "secret=True", "password='' # set in prod1",
		"expected password \"foo1\" got \"bar2\"",
		"api_key: !secret weather_key_2", "Passwort: ${PASSWORT}", "parola: la prima 1",
		"senha: ********", "Das Passwort: bitte ändern", "12345678:AA", "time 12:34:56:AAPL",
		"let token: string = getToken()", "password: str = Field(...)", "ENV API_KEY changeme",
		"variable \"db_password\" { default = \"\" }", `<add key="Password" value="" />`,
	} {
		require.Empty(t, detect.Secrets().Find(nil, text), "%q", text)
	}
}

// Tokens that say by a prefix whose they are, with nothing around them that calls them one.
func TestTokensOfManyProviders(t *testing.T) {
	r := func(n int, alphabet string) string { return random(uint64(n*11+5), n, alphabet) }
	low32, b64 := "abcdefghijklmnopqrstuvwxyz234567", alnum+"+/"
	for _, token := range []string{
		"cfut_" + r(40, alnum) + r(8, hex), "AstraCS:" + r(24, alnum) + ":" + r(64, hex),
		"ver:1-hint:12345678-" + r(120, b64), "castai_v1_" + r(64, hex) + "_" + r(8, hex),
		"AVNS_" + r(19, alnum), "unkey_" + r(24, alnum),
		"vtwn_" + r(27, alnum), "glpat-" + r(30, alnum) + ".01." + r(9, digits+low),
		"glrt-t3_" + r(32, alnum) + ".01." + r(9, digits+low), "BBDC-" + r(44, alnum),
		"cio" + r(32, alnum), "mergify_application_key_" + r(64, alnum),
		"xoxa-" + r(24, digits+low),
		"sk_car_" + r(20, alnum), "llx-" + r(48, alnum), "m0-" + r(40, alnum),
		"$aact_prod_" + r(100, alnum), "sk_sbox_" + r(27, low32),
		"secret-token:mercury_production_wma_" + r(44, alnum) + "_yrucrem",
		"Mid-server-" + r(24, alnum),
		"pdl_live_apikey_" + r(26, digits+low) + "_" + r(22, alnum) + "_" + r(3, alnum),
		"ramp_sec_" + r(48, alnum), "cs_" + r(40, hex), "xnd_production_" + r(64, alnum),
		"amzn1.oa2-cs.v1." + r(64, hex), "db-" + r(29, alnum), "dvc_server_" + r(24, alnum),
		"ion_" + r(42, alnum), "lip_" + r(20, alnum), "nyk_v0_" + r(64, alnum),
		"os_v2_app_" + r(103, low32), "api_live." + r(11, alnum) + "." + r(32, alnum),
		"persona_production_" + r(36, digits+low), "pina_" + r(84, alnum),
		"polar_oat_" + r(43, alnum),
		"prf_" + r(36, alnum), "rootly_" + r(64, hex), "00D" + r(12, alnum) + "!" + r(96, alnum),
		"samsara_api_" + r(30, alnum), "KEY0" + r(31, digits+"ABCDEF") + "_" + r(22, alnum),
		"tss_" + r(40, alnum), "1000." + r(32, hex) + "." + r(33, hex)[:32],
		r(14, alnum) + ".atlasv1." + r(30, alnum) + "=" + r(36, alnum), "rpa_" + r(30, alnum),
	} {
		require.Len(t, detect.Secrets().Find(nil, "see "+token+" there"), 1, "%q", token)
	}
}
