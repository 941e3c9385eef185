package detect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/plugins/guardrail/detect"
)

// Passwords of letters alone, as generators make them, are found behind a name that says so, in all ordinary files.
func TestPasswordsOfLetters(t *testing.T) {
	forms := []string{
		"password=%s", "DB_PASSWORD=%s", "export PGPASSWORD=%s\n", "password: %s\n", "  password: '%s'\n",
		`{"user": "bob", "password": "%s"}`, `"db_password":"%s",`, "The password is %s.", "password: %s, please",
		"spring.datasource.password=%s\nx=y", "Server=h;Password=%s;Database=d", "<password>%s</password>",
		"Das Passwort lautet %s.", "const password = \"%s\";", "https://h/?password=%s&x=1",
	}
	found := 0
	all := 0
	for seed := range 40 {
		for _, letters := range []string{low, low + strings.ToUpper(low)} {
			password := random(uint64(seed), 9+seed%12, letters)
			for _, form := range forms {
				all++
				text := fmt.Sprintf(form, password)
				for _, f := range detect.Secrets().Find(nil, text) {
					if text[f.Start:f.End] == password {
						found++
						break
					}
				}
			}
		}
	}
	require.Greater(t, found*100, all*90, "found %d of %d", found, all)
}

// What stands in the place of a password is none: words, types, names in code, references, states.
func TestWordsAreNoPasswords(t *testing.T) {
	for _, value := range []string{
		"swordfish", "correcthorse", "required", "SecureString", "credentialsProvider", "getPasswordFromVault",
		"user_credentials", "${DB_PASSWORD}", "<your-password>", "vault:secret/db", "xxxxxxxxxxxx", "placeholder",
		"incorrect", "administrator", "configuration", "process.env.PASSWORD", "abcdefghij", "VARCHAR",
	} {
		for _, form := range []string{"password=%s", "password: %s", `"password": "%s"`, "the password is %s", "password = %s;"} {
			text := fmt.Sprintf(form, value)
			require.Empty(t, detect.Secrets().Find(nil, text), text)
		}
	}
}

// The strict level takes words, too, but no placeholder, reference, type or state.
func TestStrictSecrets(t *testing.T) {
	find := func(text string) (found []string) {
		for _, f := range detect.StrictSecrets().Find(nil, text) {
			found = append(found, text[f.Start:f.End])
		}
		return found
	}
	for _, text := range []string{
		"password: swordfish", `{"db_password": "swordfish"}`, "DB_PASSWORD=swordfish", "my password is swordfish.",
		"pwd=swordfish", "Das Passwort ist swordfish",
	} {
		require.Equal(t, []string{"swordfish"}, find(text), text)
	}
	for _, text := range []string{
		"password: string", "password: ${PASSWORD}", "password: changeme", "password = get(x);", "the password is required",
		"password=<password>", "the password is wrong", "Das Passwort ist falsch", "password: vault:db", "password: null",
		"password: password", "a password is what you need", "password = userInput;",
	} {
		require.Empty(t, find(text), text)
	}
}

// Where a secret stands is the same for a text that comes in pieces, wherever it is cut.
func TestPlacesOfSecretsInStreams(t *testing.T) {
	for _, text := range []string{
		"echo tulip9 | sudo -S ls", "echo 'tulip 9' | sudo -S ls and more", "net user bob Tr0ub4dor3 /add",
		"smbclient //h/s -U bob%Tr0ub4dor3 x", "new PDO($dsn, 'root', 'Tr0ub4dor3') and more", "login(\"bob\", \"Tr0ub4dor3\")",
		"name=\"password\"\r\n\r\nTr0ub4dor3\r\n--x", "DB_PASSWORD,Tr0ub4dor3\nDB_USER,bob\n", "password=kxqzwvbjhg; x", "the password is kxqzwvbjhg.",
		"{\"ParameterKey\": \"DBPassword\", \"ParameterValue\": \"kxqzwvbjhg\"}", "password = kxqzwvbjhg;", "password=kxqzwvbjhgé",
		"ConvertTo-SecureString \"Tr0ub4dor3\" -AsPlainText", "password: swordfish, x", "the password is swordfish now",
	} {
		for _, d := range []detect.Detector{detect.Secrets(), detect.StrictSecrets()} {
			for cut := range text {
				reader := d.Reader()
				found, open := reader.Read(nil, text[:cut])
				for _, f := range found {
					require.LessOrEqual(t, f.Start, open, text[:cut])
				}
				found, _ = reader.Read(found, text+"\n\nIt was a quiet day by the river.\n\n")
				require.Equal(t, d.Find(nil, text+"\n\nIt was a quiet day by the river.\n\n"), found, "%q", text[:cut])
			}
		}
	}
}
