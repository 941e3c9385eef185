// Package tokens says who sends a request: by a file of bearer tokens, or by those of a service that logs users in (NewJWT).
//
//	tokens:
//	  - sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
//	    user: ada
//	    apps: [weather]   # without it: all apps
//	    roles: [finance]  # answers calls that wait for this role, of all users
//	    on_behalf_of: [shop-*]  # also reaches the sessions of users with these names: for a service
//	    admin: true       # reaches the sessions of all users, deletes their data, and writes all state
//	    name: laptop      # for people who read the file
//
// The file holds no token, only their SHA-256 sums: New makes a token and its sum. It is read again when it
// has changed, so a token whose entry was deleted is valid no more, within a second.
//
// A new key of an entry: a field of content, its check in File.read, and what it allows in server.Caller.
package tokens

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/yamlfile"
)

// MaxSize is how many bytes a file of tokens may have.
const MaxSize = 16 << 20

// prefix begins every token that New makes, so that scanners for secrets know one.
const prefix = "plughook_"

// New returns a token, with 256 random bits, and its SHA-256 sum in hexadecimal digits.
func New() (token, sum string) {
	var random [32]byte
	rand.Read(random[:]) // never fails
	token = prefix + base64.RawURLEncoding.EncodeToString(random[:])
	return token, sumOf(token)
}

func sumOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// A File is a file of tokens. It may be used by many goroutines.
type File struct {
	name string
	log  *slog.Logger

	mu      sync.Mutex
	callers map[string]server.Caller // by the sum of the token
	info    os.FileInfo              // of the file when it was read
	looked  time.Time
}

// every is how often the file is looked at, at most.
const every = time.Second

// Open reads a file of tokens. An error names file, line and column. log takes what is wrong with the file
// when it was changed later; nil discards it.
func Open(name string, log *slog.Logger) (*File, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &File{name: name, log: log}
	if err := f.read(); err != nil {
		return nil, err
	}
	return f, nil
}

// content is what stands in a file.
type content struct {
	Tokens []entry `yaml:"tokens"`
}

type entry struct {
	SHA256 string   `yaml:"sha256"`
	User   string   `yaml:"user"`
	Apps   []string `yaml:"apps"`
	Admin  bool     `yaml:"admin"`
	Name   string   `yaml:"name"`
	Roles  []string `yaml:"roles"`
	// OnBehalfOf are users: names, and beginnings of names with a "*" at their end.
	OnBehalfOf []string `yaml:"on_behalf_of"`
}

// read reads the file.
func (f *File) read() error {
	info, err := os.Stat(f.name)
	if err != nil {
		return err
	}
	if info.Size() > MaxSize {
		return fmt.Errorf("%s has %d bytes; a file of tokens has %d at most", f.name, info.Size(), MaxSize)
	}
	data, err := os.ReadFile(f.name)
	if err != nil {
		return err
	}
	var all content
	file, err := yamlfile.Read(f.name, data, &all)
	if err != nil {
		return err
	}
	callers := map[string]server.Caller{}
	var errs []error
	for i, e := range all.Tokens {
		keyPath := func(key string) string { return fmt.Sprintf("tokens[%d]%s", i, key) }
		sum := strings.ToLower(e.SHA256)
		_, notHex := hex.DecodeString(sum)
		key := session.Key{App: "app", User: e.User, ID: "id"}
		switch {
		case notHex != nil || len(sum) != 2*sha256.Size:
			errs = append(errs, file.Errorf(keyPath(".sha256"), "sha256 is the SHA-256 sum of a "+
				"token, 64 hexadecimal digits; \"runner serve token\" makes a token and its sum"))
		case e.User == "":
			errs = append(errs, file.Errorf(keyPath(""), "user is missing: whose sessions the token reaches"))
		case key.Check(false) != nil:
			errs = append(errs, file.Errorf(keyPath(".user"), "%w", key.Check(false)))
		default:
			if _, twice := callers[sum]; twice {
				errs = append(errs, file.Errorf(keyPath(".sha256"), "another entry has the same token"))
			}
		}
		for j, role := range e.Roles {
			err := session.CheckRole(role)
			if role == session.UserRole {
				err = errors.New("the role user is that of the session's own user, and is not given")
			}
			if err != nil && role != session.AnyRole {
				errs = append(errs, file.Errorf(keyPath(fmt.Sprintf(".roles[%d]", j)), "%w", err))
			}
		}
		callers[sum] = server.Caller{
			User: e.User, Apps: e.Apps, Admin: e.Admin, OnBehalfOf: e.OnBehalfOf, Roles: e.Roles,
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.callers = callers
	f.info = info
	return nil
}

// look reads the file again if it has changed. A file that cannot be read leaves the tokens as they were: the
// log says so each time that a second has passed and somebody sends a request.
func (f *File) look() {
	f.mu.Lock()
	now := time.Now()
	soon := now.Sub(f.looked) < every
	if !soon {
		f.looked = now
	}
	was := f.info
	f.mu.Unlock()
	if soon {
		return
	}
	info, err := os.Stat(f.name)
	if err == nil && was.Size() == info.Size() && was.ModTime().Equal(info.ModTime()) && os.SameFile(was, info) {
		return
	}
	if err == nil {
		err = f.read()
	}
	if err != nil {
		f.log.Error("the tokens were changed and cannot be read: those from before stay valid", "error", err)
	}
}

// Caller returns who sends a request: the caller whose token its header Authorization carries. It is what
// server.Options.Caller wants.
func (f *File) Caller(r *http.Request) (server.Caller, error) {
	f.look()
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") || token == "" {
		return server.Caller{}, server.ErrUnauthorized
	}
	// The sum of what was sent is compared, so how long it takes tells nothing about a token.
	sum := sumOf(strings.TrimSpace(token))
	f.mu.Lock()
	defer f.mu.Unlock()
	who, ok := f.callers[sum]
	if !ok {
		return server.Caller{}, server.ErrUnauthorized
	}
	return who, nil
}
