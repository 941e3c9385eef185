package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/session"
)

// Server is how the configuration is served over HTTP: the section server. Its zero value is the default.
type Server struct {
	Addr       string       `yaml:"addr" json:"addr,omitempty" jsonschema:"where to listen, HOST:PORT; 127.0.0.1:8080 if empty. On other addresses than this machine's own, callers must say who they are: tokens or user_header"`
	Tokens     string       `yaml:"tokens" json:"tokens,omitempty" jsonschema:"a file of bearer tokens, which say whose sessions a caller reaches; runner serve token makes one"`
	JWT        serverJWT    `yaml:"jwt" json:"jwt,omitzero" jsonschema:"a service that logs users in (OpenID Connect) and whose tokens say who a caller is, beside or in place of tokens"`
	UserHeader string       `yaml:"user_header" json:"user_header,omitempty" jsonschema:"a header in which a proxy in front of the server says who the user is, such as X-Forwarded-User; only for a server that nobody but the proxy reaches"`
	URL        string       `yaml:"url" json:"url,omitempty" jsonschema:"where clients reach the server, such as https://agents.example.com; the cards that tell other agents of it say so. The address that a request has reached if empty"`
	Hosts      []string     `yaml:"hosts" json:"hosts,omitempty" jsonschema:"names by which clients reach the server, without ports"`
	Origins    []string     `yaml:"origins" json:"origins,omitempty" jsonschema:"origins whose pages may use the server, such as https://chat.example.com"`
	Chat       serverChat   `yaml:"chat" json:"chat,omitzero" jsonschema:"the route POST /chat"`
	Page       *bool        `yaml:"page" json:"page,omitempty" jsonschema:"the page at / for people with a browser; true on addresses of this machine and false on others if empty"`
	Kit        bool         `yaml:"kit" json:"kit,omitempty" jsonschema:"serves the REST routes of the Agent Development Kit too, for its clients"`
	KitDev     bool         `yaml:"kit_dev" json:"kit_dev,omitempty" jsonschema:"serves that kit's routes for developers too: traces and graphs"`
	Pages      string       `yaml:"pages" json:"pages,omitempty" jsonschema:"a directory with that kit's web page, served under /dev-ui/"`
	State      serverState  `yaml:"state" json:"state,omitzero" jsonschema:"which keys of a session's state callers may write"`
	Limits     serverLimits `yaml:"limits" json:"limits,omitzero" jsonschema:"what clients may take"`

	ResumeAfter time.Duration `yaml:"resume_after" json:"resume_after,omitempty" jsonschema:"goes on with a run that was cut off, since its server died, after this time, such as 30s; only a client that sends the input again does so if empty"`

	Notify []serverNotify `yaml:"notify" json:"notify,omitempty" jsonschema:"who is told of each run that ends, fails or waits for an answer"`
}

// serverNotify is an address or a command that is told how runs end.
type serverNotify struct {
	URL       string   `yaml:"url" json:"url,omitempty" jsonschema:"an address that gets each message as a POST, signed as Standard Webhooks says"`
	SecretEnv string   `yaml:"secret_env" json:"secret_env,omitempty" jsonschema:"the environment variable with the secret that signs: whsec_ and base64, or any text"`
	Command   []string `yaml:"command" json:"command,omitempty" jsonschema:"a program and its arguments, in place of url; it gets each message as JSON on its standard input"`
	Env       []string `yaml:"env" json:"env,omitempty" jsonschema:"the command's environment beyond PATH, HOME and LANG: NAME passes on a variable, NAME=VALUE sets one"`
	On        []string `yaml:"on" json:"on,omitempty" jsonschema:"ended, failed, waits; all of them if empty"`
	Dir       string   `yaml:"-" json:"-"` // of the command: the configuration's
}

// Secret returns the secret; "" if none is named.
func (n *serverNotify) Secret() (string, error) { return secret(n.SecretEnv) }

// serverJWT is whose tokens say who a caller is.
type serverJWT struct {
	Issuer    string `yaml:"issuer" json:"issuer" jsonschema:"the claim iss of the tokens, exactly, such as https://login.example.com/"`
	Audience  string `yaml:"audience" json:"audience" jsonschema:"what must be in their claim aud: the name that this service has there"`
	Keys      string `yaml:"keys" json:"keys" jsonschema:"the address of the issuer's public keys, its jwks_uri"`
	User      string `yaml:"user" json:"user,omitempty" jsonschema:"the claim with the user; sub if empty"`
	Roles     string `yaml:"roles" json:"roles,omitempty" jsonschema:"the claim with a list of the caller's roles; roles if empty"`
	AdminRole string `yaml:"admin_role" json:"admin_role,omitempty" jsonschema:"the role whose callers are admins; nobody if empty"`
}

// serverState is which keys of a session's state callers may write.
type serverState struct {
	Write []string `yaml:"write" json:"write,omitempty" jsonschema:"the keys that every caller may write; a * at the end of one stands for any ending. Those without user: and app: that the agent and plugins do not read if it is left out; config check lists what they read"`
	Role  string   `yaml:"role" json:"role,omitempty" jsonschema:"a caller with this role, as tokens have, may write every key, as an admin may"`
}

// serverChat is the route POST /chat.
type serverChat struct {
	Field string `yaml:"field" json:"field,omitempty" jsonschema:"the field of the body that names the session; session if empty"`
}

// serverLimits are what clients may take; 0 is the default.
type serverLimits struct {
	Body          size          `yaml:"body" json:"body,omitempty" jsonschema:"the largest body; 1MiB if empty"`
	Upload        size          `yaml:"upload" json:"upload,omitempty" jsonschema:"the largest body with a file; 10MiB if empty"`
	Waiting       int           `yaml:"waiting" json:"waiting,omitempty" jsonschema:"how many runs may wait for busy sessions; 1000 if empty"`
	UserRuns      int           `yaml:"user_runs" json:"user_runs,omitempty" jsonschema:"how many runs of one user may wait or run at once; 100 if empty"`
	Run           time.Duration `yaml:"run" json:"run,omitempty" jsonschema:"how long a run may take; 30m if empty"`
	Memory        size          `yaml:"memory" json:"memory,omitempty" jsonschema:"how much memory requests may hold at once; a quarter of the process's memory if empty"`
	UserMemory    size          `yaml:"user_memory" json:"user_memory,omitempty" jsonschema:"how much memory the requests of one user may hold; a quarter of memory if empty"`
	Requests      int           `yaml:"requests" json:"requests,omitempty" jsonschema:"how many requests may be under way at once; 20000 if empty"`
	UserRequests  int           `yaml:"user_requests" json:"user_requests,omitempty" jsonschema:"how many requests of one user; 400 if empty"`
	State         size          `yaml:"state" json:"state,omitempty" jsonschema:"the largest state of a session; 1MiB if empty"`
	Session       size          `yaml:"session" json:"session,omitempty" jsonschema:"how large the events of a session may be; 256MiB if empty"`
	UserSessions  size          `yaml:"user_sessions" json:"user_sessions,omitempty" jsonschema:"how large the events and first state of all sessions of a user may be, with the user's state; 1GiB if empty"`
	UserArtifacts size          `yaml:"user_artifacts" json:"user_artifacts,omitempty" jsonschema:"how large the artifacts of a user may be; 1GiB if empty"`
	Heartbeat     time.Duration `yaml:"heartbeat" json:"heartbeat,omitempty" jsonschema:"after how much silence a stream sends a comment; 15s if empty"`
	Patience      time.Duration `yaml:"patience" json:"patience,omitempty" jsonschema:"how long a reader may take for each 64KiB of an answer; 10s if empty"`
	Streams       int           `yaml:"streams" json:"streams,omitempty" jsonschema:"how many streams may be open at once; 10000 if empty"`
	UserStreams   int           `yaml:"user_streams" json:"user_streams,omitempty" jsonschema:"how many streams of one user; 100 if empty"`
}

// Server returns the section server. Its paths are those of this process.
func (c *Config) Server() Server {
	if c.file.Server == nil {
		return Server{}
	}
	s := *c.file.Server
	if s.Tokens != "" {
		s.Tokens = c.file.path(s.Tokens)
	}
	if s.Pages != "" {
		s.Pages = c.file.path(s.Pages)
	}
	s.Notify = slices.Clone(s.Notify)
	for i := range s.Notify {
		s.Notify[i].Dir = c.file.path(".")
	}
	return s
}

// checkServing complains about the section server.
func (c *file) checkServing(bad complaint) {
	s := c.Server
	if s == nil {
		return
	}
	if s.Addr != "" {
		if _, _, err := net.SplitHostPort(s.Addr); err != nil {
			bad("server.addr", "%q is no address, such as 127.0.0.1:8080", s.Addr)
		}
	}
	if (s.Tokens != "" || s.JWT != serverJWT{}) && s.UserHeader != "" {
		bad("server.user_header", "tokens or jwt say who a caller is, too: leave one of them out")
	}
	if j := s.JWT; (j != serverJWT{}) && (j.Issuer == "" || j.Audience == "" || j.Keys == "") {
		bad("server.jwt", "jwt needs issuer, audience and keys: without them, tokens for others would be let in")
	}
	if s.URL != "" && !isOrigin(strings.TrimSuffix(s.URL, "/")) {
		bad("server.url", "%q is no URL of a server, such as https://agents.example.com", s.URL)
	}
	for i, origin := range s.Origins {
		if !isOrigin(origin) {
			bad(fmt.Sprintf("server.origins[%d]", i), "%q is no origin, such as https://chat.example.com", origin)
		}
	}
	if s.State.Role != "" {
		if err := session.CheckRole(s.State.Role); err != nil {
			bad("server.state.role", "%w", err)
		}
	}
	checkAbove0(c, bad, "server.resume_after", s.ResumeAfter)
	for i, n := range s.Notify {
		path := fmt.Sprintf("server.notify[%d]", i)
		if (n.URL != "") == (len(n.Command) > 0) {
			bad(path, "it needs either url: or command:")
		}
		if (n.URL != "") != (n.SecretEnv != "") {
			bad(path, "an address needs secret_env:, a secret, so that who gets a message can tell who sent it; a command needs none")
		}
		for j, on := range n.On {
			if !slices.Contains([]string{"ended", "failed", "waits"}, on) {
				bad(fmt.Sprintf("%s.on[%d]", path, j), "%q is not ended, failed or waits", on)
			}
		}
		c.checkEnv(bad, path, n.Env)
	}
	for key, d := range map[string]time.Duration{"run": s.Limits.Run, "heartbeat": s.Limits.Heartbeat, "patience": s.Limits.Patience} {
		checkAbove0(c, bad, "server.limits."+key, d)
	}
	for key, n := range map[string]int{"requests": s.Limits.Requests, "user_requests": s.Limits.UserRequests, "waiting": s.Limits.Waiting, "user_runs": s.Limits.UserRuns, "streams": s.Limits.Streams, "user_streams": s.Limits.UserStreams} {
		if n < 0 {
			bad("server.limits."+key, "%d: it must be more than 0", n)
		}
	}
}

// isOrigin reports whether a text is scheme, host and perhaps a port, and nothing else.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.Scheme+"://"+u.Host == text
}
