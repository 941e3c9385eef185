package tokens

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/session"
)

// An Issuer is a service that logs users in (OpenID Connect), whose signed tokens (JWT) say who sends a request.
type Issuer struct {
	// URL is the tokens' claim "iss", exactly; Audience has to be in their claim "aud". Both are needed.
	URL, Audience string
	// Keys is where the issuer's public keys are, as a JSON Web Key Set: its "jwks_uri". They are read when a token
	// has another key than the last ones had.
	Keys string
	// User is the claim with the user; "sub" if it is empty.
	User string
	// Roles is the claim with the caller's roles, a list of texts; "roles" if it is empty.
	Roles string
	// AdminRole is the role whose callers are admins; nobody is, if it is empty.
	AdminRole string
}

// algorithms are those by which tokens may be signed: with a key that the issuer alone has.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// A JWT says who sends a request by the token of an Issuer. It may be used by many goroutines.
type JWT struct {
	issuer   Issuer
	verifier *oidc.IDTokenVerifier
	log      *slog.Logger
}

// NewJWT checks what is said of an issuer, and asks for its keys later. log takes why a token is refused; nil discards it.
func NewJWT(i Issuer, log *slog.Logger) (*JWT, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if i.User == "" {
		i.User = "sub"
	}
	if i.Roles == "" {
		i.Roles = "roles"
	}
	keys, err := url.Parse(i.Keys)
	switch {
	case i.URL == "" || i.Audience == "":
		return nil, errors.New("the issuer and the audience of tokens are needed: without them, tokens for others would be let in")
	case err != nil || keys.Host == "" || keys.Scheme != "https" && !(keys.Scheme == "http" && local(keys.Hostname())):
		return nil, errors.New("keys is no https address, such as https://login.example.com/jwks.json; http is for this machine")
	}
	client := &http.Client{
		Timeout:       keysTime,
		Transport:     &seldom{log: log},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	set := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), client), i.Keys)
	return &JWT{
		issuer:   i,
		log:      log,
		verifier: oidc.NewVerifier(i.URL, set, &oidc.Config{ClientID: i.Audience, SupportedSigningAlgs: algorithms}),
	}, nil
}

func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Caller returns who sends a request, by the token in its header Authorization. It is what server.Options.Caller wants.
func (j *JWT) Caller(r *http.Request) (server.Caller, error) {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") || strings.Count(token, ".") != 2 {
		return server.Caller{}, server.ErrUnauthorized
	}
	who, err := j.callerOf(r.Context(), strings.TrimSpace(token))
	if err != nil {
		j.log.Debug("a token was refused", "error", fmt.Sprintf("%.300v", err)) // the client is not told why
		return server.Caller{}, server.ErrUnauthorized
	}
	return who, nil
}

func (j *JWT) callerOf(ctx context.Context, token string) (who server.Caller, err error) {
	valid, err := j.verifier.Verify(ctx, token)
	if err != nil {
		return who, err
	}
	var claims map[string]json.RawMessage
	if err := valid.Claims(&claims); err != nil {
		return who, err
	}
	if json.Unmarshal(claims[j.issuer.User], &who.User) != nil || who.User == "" {
		return who, fmt.Errorf("the token's claim %q is no text: it should name the user", j.issuer.User)
	}
	if err := (session.Key{App: "app", User: who.User, ID: "id"}).Check(false); err != nil {
		return who, err
	}
	var roles []string
	_ = json.Unmarshal(claims[j.issuer.Roles], &roles) // whoever has no list of roles has none
	who.Admin = j.issuer.AdminRole != "" && slices.Contains(roles, j.issuer.AdminRole)
	// An issuer gives no roles that stand for more than their name.
	who.Roles = slices.DeleteFunc(roles, func(role string) bool {
		return role == session.UserRole || role == session.AnyRole || session.CheckRole(role) != nil
	})
	return who, nil
}

// Any returns a function for server.Options.Caller that asks others, in order: the first that knows who sends a request, or
// fails, decides.
func Any(callers ...func(*http.Request) (server.Caller, error)) func(*http.Request) (server.Caller, error) {
	return func(r *http.Request) (who server.Caller, err error) {
		err = server.ErrUnauthorized
		for _, caller := range callers {
			if who, err = caller(r); !errors.Is(err, server.ErrUnauthorized) {
				return who, err
			}
		}
		return who, err
	}
}

// What is asked of an issuer: how long it may take, how large the keys may be, and how often.
const (
	keysTime  = 5 * time.Second
	keysSize  = 1 << 20
	keysEvery = 10 * time.Second
)

// seldom asks for keys, but not more often than keysEvery: anybody can send tokens with keys that are not known.
type seldom struct {
	log   *slog.Logger
	mu    sync.Mutex
	asked time.Time
}

// RoundTrip implements http.RoundTripper.
func (s *seldom) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	soon := time.Since(s.asked) < keysEvery
	if !soon {
		s.asked = time.Now()
	}
	s.mu.Unlock()
	if soon {
		return nil, errors.New("the issuer's keys were read just now")
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	switch {
	case err != nil:
		s.log.Error("the keys of the issuer of tokens cannot be read: those from before stay valid", "error", err)
	case resp.StatusCode != http.StatusOK:
		s.log.Error("the keys of the issuer of tokens cannot be read: those from before stay valid", "status", resp.StatusCode)
	}
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, keysSize), resp.Body}
	}
	return resp, err
}
