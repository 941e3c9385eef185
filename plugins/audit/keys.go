package audit

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
)

// minKey is the least number of bytes of a key.
const minKey = 16

// keys are derived from the configured key: one for the chain of hashes, and one for fingerprints of texts. With only one,
// a user could write a text that is a line of the file, and read the line's hash from the fingerprint.
type keys struct {
	chain []byte
	text  []byte
}

// readKeys returns the keys, nil if the configuration has none.
func (c Config) readKeys() (*keys, error) {
	switch {
	case c.KeyFile != "" && c.KeyEnv != "":
		return nil, errors.New("audit: key_file and key_env are both set; set only one of them")
	case c.KeyFile != "":
		data, err := os.ReadFile(c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("audit: key_file: %w", err)
		}
		return newKeys(bytes.TrimRight(data, "\r\n"), "key_file "+c.KeyFile)
	case c.KeyEnv != "":
		value := os.Getenv(c.KeyEnv)
		if value == "" {
			return nil, fmt.Errorf("audit: key_env: the environment has no %s; a plugin in a process of its own gets only the variables in its env list", c.KeyEnv)
		}
		return newKeys([]byte(value), "key_env "+c.KeyEnv)
	}
	return nil, nil
}

func newKeys(key []byte, from string) (*keys, error) {
	if len(key) < minKey {
		return nil, fmt.Errorf("audit: %s: the key has %d bytes; it must have at least %d, such as the output of: openssl rand -hex 32", from, len(key), minKey)
	}
	chain, err := hkdf.Key(sha256.New, key, nil, "plughook audit: chain", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("audit: %s: %w", from, err)
	}
	text, err := hkdf.Key(sha256.New, key, nil, "plughook audit: text", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("audit: %s: %w", from, err)
	}
	return &keys{chain: chain, text: text}, nil
}

// fingerprint returns the fingerprint of an event's text.
func (k *keys) fingerprint(text string) string {
	return digest(hmac.New(sha256.New, k.text), []byte(text))
}

// hash returns the hash of a line without its line feed, which the next line has in prev. k may be nil.
func (k *keys) hash(line []byte) string {
	if k == nil {
		return digest(sha256.New(), line)
	}
	return digest(hmac.New(sha256.New, k.chain), line)
}

func digest(h hash.Hash, data []byte) string {
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// Fingerprint returns the fingerprint in the line of an event, if the event has this text (without thoughts) and the
// plugin has this key (without the line feed at the end of a key file). It returns an error if the key is too short.
func Fingerprint(key []byte, text string) (string, error) {
	k, err := newKeys(key, "Fingerprint")
	if err != nil {
		return "", err
	}
	return k.fingerprint(text), nil
}
