package audit

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// settings is a Config that was checked.
type settings struct {
	Config
	path   string // absolute
	maxAge time.Duration
	key    *keys // nil without one
}

func (c Config) settings() (settings, error) {
	s := settings{Config: c}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("audit: "+format, args...)) }
	var err error
	if c.Path == "" {
		bad("there is no path; say which file the record is kept in")
	} else if s.path, err = filepath.Abs(c.Path); err != nil {
		bad("path: %w", err)
	}
	if c.Sync != "" && c.Sync != "always" && c.Sync != "rotate" {
		bad("sync is %q; it is always or rotate", c.Sync)
	}
	if c.MaxBytes < 0 {
		bad("max_bytes is %d; it cannot be less than 0", c.MaxBytes)
	}
	if c.MaxAge != "" {
		if s.maxAge, err = time.ParseDuration(c.MaxAge); err != nil || s.maxAge <= 0 {
			bad("max_age is %q; it is a duration above 0, such as 720h", c.MaxAge)
		}
	}
	switch {
	case c.Keep < 0:
		bad("keep is %d; it cannot be less than 0", c.Keep)
	case c.Keep > 0 && c.MaxBytes == 0 && c.MaxAge == "":
		bad("keep is %d, and no file is ever put aside; set max_bytes or max_age", c.Keep)
	}
	if s.key, err = c.key(); err != nil {
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}

// key returns the keys, nil if the configuration names none.
func (c Config) key() (*keys, error) {
	switch {
	case c.KeyFile != "" && c.KeyEnv != "":
		return nil, errors.New("audit: key_file and key_env are both set; say where the key is with one of them")
	case c.KeyFile != "":
		data, err := os.ReadFile(c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("audit: key_file: %w", err)
		}
		return newKeys(bytes.TrimRight(data, "\r\n"), "key_file "+c.KeyFile)
	case c.KeyEnv != "":
		value := os.Getenv(c.KeyEnv)
		if value == "" {
			return nil, fmt.Errorf("audit: key_env: the environment has no %s; a plugin in a process of its own gets only what its env lists", c.KeyEnv)
		}
		return newKeys([]byte(value), "key_env "+c.KeyEnv)
	}
	return nil, nil
}

// keys are two, derived from one: fingerprints stand in the file, and texts are what users want them to be,
// so with one key a user could have lines of the chain signed.
type keys struct{ chain, text []byte }

func newKeys(key []byte, from string) (*keys, error) {
	if len(key) < 16 {
		return nil, fmt.Errorf("audit: %s: the key has %d bytes; give it 16 at least, such as those of: openssl rand -hex 32", from, len(key))
	}
	chain, err := hkdf.Key(sha256.New, key, nil, "plughook audit: chain", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("audit: %s: %w", from, err)
	}
	text, err := hkdf.Key(sha256.New, key, nil, "plughook audit: text", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("audit: %s: %w", from, err)
	}
	return &keys{chain, text}, nil
}

func (k *keys) fingerprint(text string) string {
	h := hmac.New(sha256.New, k.text)
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil))
}

// hash returns what the line after a line, without its line feed, has in prev. k may be nil.
func (k *keys) hash(line []byte) string {
	if k == nil {
		sum := sha256.Sum256(line)
		return hex.EncodeToString(sum[:])
	}
	h := hmac.New(sha256.New, k.chain)
	h.Write(line)
	return hex.EncodeToString(h.Sum(nil))
}

// Fingerprint returns what an event line has as its fingerprint if the event's text, thoughts left out, is
// this one and the plugin had this key (without the line feed at the end of a key file).
func Fingerprint(key []byte, text string) (string, error) {
	k, err := newKeys(key, "Fingerprint")
	if err != nil {
		return "", err
	}
	return k.fingerprint(text), nil
}
