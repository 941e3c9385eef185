package guardrail

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/plughook/plughook/tool"
)

// keys make fingerprints and vault tokens.
type keys struct{ mark, auth, crypt []byte }

// newKeys derives keys from one secret; from chance if there is none.
func newKeys(secret []byte) keys {
	if len(secret) == 0 {
		secret = make([]byte, 32)
		_, _ = rand.Read(secret)
	}
	derive := func(what string) []byte {
		m := hmac.New(sha256.New, secret)
		m.Write([]byte("plughook guardrail " + what))
		return m.Sum(nil)
	}
	return keys{derive("fingerprint"), derive("authentication"), derive("encryption")}
}

// fingerprint is the same for equal values of one type, and says nothing else about them to who has not the key.
func (k keys) fingerprint(kind, value string) string {
	return hex.EncodeToString(mac(k.mark, kind, value)[:8])
}

func mac(key []byte, kind, value string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(kind))
	m.Write([]byte{0})
	m.Write([]byte(value))
	return m.Sum(nil)
}

const sivSize = 12

// letters are what tokens are written in: without a digit or a mark, so that no detector takes a part of one for a number
// or a key, and takes it out.
var letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyzABCDEF").WithPadding(base32.NoPadding)

// seal returns a vault token: the value encrypted under a nonce that is its own authentication (SIV), so that equal
// values have equal tokens, and a token that was tampered with is none.
func (k keys) seal(kind, value string) string {
	siv := mac(k.auth, kind, value)[:sivSize]
	return "[" + kind + "#" + letters.EncodeToString(append(siv, k.xor(siv, []byte(value))...)) + "]"
}

func (k keys) xor(siv, data []byte) []byte {
	block, err := aes.NewCipher(k.crypt)
	if err != nil {
		panic(err) // the key has the size of one
	}
	out := make([]byte, len(data))
	cipher.NewCTR(block, append(slices.Clone(siv), 0, 0, 0, 0)).XORKeyStream(out, data)
	return out
}

var tokenForm = regexp.MustCompile(`\[([A-Z][A-Z0-9_]*)#([A-Za-z]{16,})\]`)

// opens is open for a value: in one that is JSON, each string stays one.
func (k keys) opens(text string) string {
	if !strings.Contains(text, "#") || !isJSON(text) {
		return k.open(text)
	}
	var b strings.Builder
	at := 0
	for start, end := range scalars(text) {
		if text[start] != '"' {
			continue
		}
		was := unquoted(text[start:end])
		if is := k.opens(was); is != was {
			b.WriteString(text[at:start])
			b.Write(asJSON(is))
			at = end
		}
	}
	b.WriteString(text[at:])
	return b.String()
}

// open returns the text with its tokens turned back; what is no token of these keys stays.
func (k keys) open(text string) string {
	return tokenForm.ReplaceAllStringFunc(text, func(token string) string {
		m := tokenForm.FindStringSubmatch(token)
		data, err := letters.DecodeString(m[2])
		if err != nil || len(data) <= sivSize {
			return token
		}
		value := string(k.xor(data[:sivSize], data[sivSize:]))
		if subtle.ConstantTimeCompare([]byte(k.seal(m[1], value)), []byte(token)) != 1 {
			return token
		}
		return value
	})
}

// A Vault turns back what the action vault has hidden. The tokens hold the values, encrypted: nothing is kept anywhere
// but the key, and whoever has it can read every token.
type Vault struct{ keys keys }

// NewVault returns the vault of a key: the Key of the guardrail's Config, at least 16 bytes.
func NewVault(key []byte) (*Vault, error) {
	if len(key) < minKey {
		return nil, fmt.Errorf("guardrail: a vault's key of %d bytes; it needs %d or more", len(key), minKey)
	}
	return &Vault{newKeys(key)}, nil
}

const minKey = 16

// Open returns the text with the vault's tokens turned back into what they stand for. What is no token of this vault
// stays as it is.
func (v *Vault) Open(text string) string { return v.keys.open(text) }

// Tool returns the tool with the tokens in its arguments turned back when it runs: the values go to the tool, and not
// into the log. What the tool answers is judged like any answer.
func (v *Vault) Tool(t *tool.Tool) *tool.Tool {
	opening := *t
	opening.Run = func(ctx context.Context, call *tool.Call) (map[string]any, error) {
		sealed := call.Args
		args, _ := eachString(sealed, "", func(l jsonLeaf) (string, bool) {
			was := v.keys.opens(l.text)
			return was, was != l.text && !l.key
		})
		call.Args, _ = args.(map[string]any)
		defer func() { call.Args = sealed }()
		return t.Run(ctx, call)
	}
	return &opening
}
