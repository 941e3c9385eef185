// Package vault hides values under a key: as fingerprints, which nobody can turn back, and as
// tokens, which holders of the key can.
//
// A new thing that is made with the secret needs a key of its own: derive it in NewKeys.
package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/plugins/guardrail/internal/jsonvalue"
)

// MinSecret is the fewest bytes that a secret may have.
const MinSecret = 16

// Keys are derived from one secret.
type Keys struct{ mark, auth, crypt []byte }

// RandomSecret returns a secret for one process.
func RandomSecret() []byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	return secret
}

// NewKeys derives keys from a secret.
func NewKeys(secret []byte) Keys {
	derive := func(purpose string) []byte {
		m := hmac.New(sha256.New, secret)
		m.Write([]byte("plughook guardrail " + purpose))
		return m.Sum(nil)
	}
	return Keys{
		mark:  derive("fingerprint"),
		auth:  derive("authentication"),
		crypt: derive("encryption"),
	}
}

// Fingerprint is the same for equal values of one type. Without the key it says nothing else about
// them.
func (k Keys) Fingerprint(kind, value string) string {
	return hex.EncodeToString(mac(k.mark, kind, value)[:8])
}

func mac(key []byte, kind, value string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(kind))
	m.Write([]byte{0})
	m.Write([]byte(value))
	return m.Sum(nil)
}

// nonceSize is the size of a token's nonce in bytes.
const nonceSize = 12

// letters is how tokens are written: without digits and marks, so that no detector takes a part of
// a token for a number or a key, and hides it.
var letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyzABCDEF").WithPadding(base32.NoPadding)

// Seal returns a token: the value, encrypted under a nonce that authenticates it (SIV). So equal
// values have equal tokens, and a token that somebody changed is none.
func (k Keys) Seal(kind, value string) string {
	nonce := mac(k.auth, kind, value)[:nonceSize]
	sealed := append(nonce, k.crypted(nonce, []byte(value))...)
	return "[" + kind + "#" + letters.EncodeToString(sealed) + "]"
}

// crypted encrypts or decrypts data.
func (k Keys) crypted(nonce, data []byte) []byte {
	block, err := aes.NewCipher(k.crypt)
	if err != nil {
		panic(err) // the key has a size that AES knows
	}
	out := make([]byte, len(data))
	cipher.NewCTR(block, append(slices.Clone(nonce), 0, 0, 0, 0)).XORKeyStream(out, data)
	return out
}

var tokenForm = lazyregexp.New(`\[([A-Z][A-Z0-9_]*)#([A-Za-z]{16,})\]`)

// Open returns the text with its tokens turned back into values. What is no token of these keys
// stays as it is.
func (k Keys) Open(text string) string {
	return tokenForm.ReplaceAllStringFunc(text, func(token string) string {
		value, ok := k.open(token)
		if !ok {
			return token
		}
		return value
	})
}

// open returns the value of a token; false if it is none of these keys.
func (k Keys) open(token string) (value string, ok bool) {
	m := tokenForm.FindStringSubmatch(token)
	if m == nil || m[0] != token {
		return "", false
	}
	data, err := letters.DecodeString(m[2])
	if err != nil || len(data) <= nonceSize {
		return "", false
	}
	value = string(k.crypted(data[:nonceSize], data[nonceSize:]))
	same := subtle.ConstantTimeCompare([]byte(k.Seal(m[1], value)), []byte(token)) == 1
	return value, same
}

// OpenValue is Open for a value that may be JSON, which it stays: each string in it is opened by
// itself.
func (k Keys) OpenValue(text string) string {
	if !strings.Contains(text, "#") || !jsonvalue.Is(text) {
		return k.Open(text)
	}
	return jsonvalue.MapStrings(text, k.OpenValue)
}

// OpenObject returns an object with the tokens in its values turned back. Its keys stay as they are.
// The object itself is not changed.
func (k Keys) OpenObject(object map[string]any) map[string]any {
	if !mayHoldToken(object, maxDepth) {
		return object
	}
	opened, _ := jsonvalue.Each(object, "", func(l jsonvalue.Leaf) (string, bool) {
		if l.Key {
			return l.Text, false
		}
		value := k.OpenValue(l.Text)
		return value, value != l.Text
	})
	object, _ = opened.(map[string]any)
	return object
}

// maxDepth is how deep mayHoldToken looks. A value that contains itself is deeper.
const maxDepth = 100

// mayHoldToken reports whether a token may be in a value. It allocates nothing.
func mayHoldToken(value any, depth int) bool {
	if depth == 0 {
		return true
	}
	switch v := value.(type) {
	case nil, bool, float64, int, int64:
		return false
	case string:
		return strings.Contains(v, "#")
	case []any:
		for _, item := range v {
			if mayHoldToken(item, depth-1) {
				return true
			}
		}
		return false
	case map[string]any:
		for _, item := range v {
			if mayHoldToken(item, depth-1) {
				return true
			}
		}
		return false
	}
	return true // a value of another Go type becomes JSON first
}

// likeToken matches tokens, and what was one before somebody changed it.
var likeToken = lazyregexp.New(`\[([A-Z][A-Z0-9_]*)#[^\[\]\s]{16,}\]`)

// shownSize is how many characters a value has at least of which a person sees the last four.
const shownSize = 8

// ForPerson returns, for each token in a text, what a person sees who decides about the text: the
// value's type, and its last four characters if it has eight or more. Of a token that these keys do
// not open it says so.
func (k Keys) ForPerson(text string) []string {
	if strings.Contains(text, "#") && jsonvalue.Is(text) {
		var list []string
		jsonvalue.MapStrings(text, func(inner string) string {
			list = append(list, k.ForPerson(inner)...)
			return inner
		})
		return list
	}
	var list []string
	for _, m := range likeToken.FindAllStringSubmatch(text, -1) {
		value, ok := k.open(m[0])
		runes := []rune(value)
		switch {
		case !ok:
			list = append(list, "["+m[1]+" cannot be read]")
		case len(runes) < shownSize:
			list = append(list, "["+m[1]+"]")
		default:
			list = append(list, "["+m[1]+" ···· "+printable(runes[len(runes)-4:])+"]")
		}
	}
	return list
}

// printable returns characters with a dot for those that nobody would see, or that steer a terminal.
func printable(runes []rune) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, string(runes))
}
