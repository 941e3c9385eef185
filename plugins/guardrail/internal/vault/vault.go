// Package vault hides values under a key: as fingerprints, which nobody can turn back, and as
// tokens, which holders of the key can.
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
	"regexp"
	"slices"
	"strings"

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

var tokenForm = regexp.MustCompile(`\[([A-Z][A-Z0-9_]*)#([A-Za-z]{16,})\]`)

// Open returns the text with its tokens turned back into values. What is no token of these keys
// stays as it is.
func (k Keys) Open(text string) string {
	return tokenForm.ReplaceAllStringFunc(text, func(token string) string {
		m := tokenForm.FindStringSubmatch(token)
		data, err := letters.DecodeString(m[2])
		if err != nil || len(data) <= nonceSize {
			return token
		}
		value := string(k.crypted(data[:nonceSize], data[nonceSize:]))
		if subtle.ConstantTimeCompare([]byte(k.Seal(m[1], value)), []byte(token)) != 1 {
			return token
		}
		return value
	})
}

// OpenValue is Open for a value that may be JSON, which it stays: each string in it is opened by
// itself.
func (k Keys) OpenValue(text string) string {
	if !strings.Contains(text, "#") || !jsonvalue.Is(text) {
		return k.Open(text)
	}
	return jsonvalue.MapStrings(text, k.OpenValue)
}
