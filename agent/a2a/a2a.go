// Package a2a has an agent that runs elsewhere, in any language, and is reached by the Agent2Agent protocol,
// A2A 1.0 (https://a2a-protocol.org). The runner's plugins stand before it: they see, change and refuse what
// is sent to it, as the user's input and other agents' events, and what it answers.
//
// What the agent sends is what was said since it spoke last: the user's messages as they are, and what other
// agents said with their names. Calls and responses of other agents stay here. The remote agent keeps the
// conversation in a context of its own; which one is kept in the session's state, under "a2a." and the
// agent's name. A context is left, and a new one is told everything that can be seen, when the session was
// rewound, since the remote agent cannot forget, and in a fork.
//
// What comes back becomes events:
//
//	artifacts and messages  an event each; text comes in partial events first
//	COMPLETED               nothing more, or an event with the text of the status
//	INPUT_REQUIRED          a call that waits: for its response (adk_request_input), or for a yes or no if the
//	                        remote agent is served by this module and says so. The answer continues the task,
//	                        and so does a text that the user sends instead of a response
//	REJECTED                an event with the error code session.Denied
//	FAILED, CANCELED        an event with the error code Failed or Canceled
//	AUTH_REQUIRED           an event with the error code AuthRequired
//	no answer               an event with the error code Failed that names the URL
//
// A run that is cancelled cancels the task. What an agent says of its progress meanwhile is not shown.
//
// A new state of a task, or a new kind of result, goes into exchange.accept and exchange.finish. What else a
// remote agent is to be sent goes into exchange.news, and what is to be remembered from one run to the next,
// into memory.
package a2a

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/session"
)

// Error codes of the agent's events, beside session.Denied.
const (
	Failed       = "REMOTE_FAILED"
	Canceled     = "REMOTE_CANCELED"
	AuthRequired = "REMOTE_AUTH_REQUIRED"
)

// Options are what can be set of a remote agent; the zero Options are the usual.
type Options struct {
	// Token is sent as a bearer token, if it is not empty.
	Token string
	// Header is sent with each request.
	Header http.Header
	// Client sends the requests; nil is one without a time limit. Redirects are not followed: they could
	// lead the token elsewhere.
	Client *http.Client
	// Silence is how long a connection may bring nothing at all: 2 minutes if 0. After that the task is asked
	// for, if one is known; else the remote agent is given up.
	Silence time.Duration
	// MaxBytes bounds one answer of the remote agent: 8 MiB if 0.
	MaxBytes int64
}

// New returns an agent that lets the agent at a URL work. The URL is that of its JSON-RPC interface, which
// its agent card names. The error says what is wrong with the URL, without repeating it.
func New(name, description, rawURL string, o Options) (agent.Agent, error) {
	u, err := url.Parse(rawURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("a2a: agent %s: the URL cannot be read", name)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("a2a: agent %s: the URL is not http://HOST/… or https://HOST/…", name)
	case u.User != nil:
		return nil, fmt.Errorf("a2a: agent %s: the URL has a user or a password in it; use Options.Token or Options.Header", name)
	}
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &remote{
		name:        name,
		description: description,
		url:         rawURL,
		shown:       u.Scheme + "://" + u.Host + u.EscapedPath(), // a query may have a key in it
		token:       o.Token,
		header:      o.Header.Clone(),
		client:      &client,
		silence:     cmp.Or(o.Silence, 2*time.Minute),
		maxBytes:    cmp.Or(o.MaxBytes, 8<<20),
	}, nil
}

// remote is the agent.
type remote struct {
	name, description string
	url, shown        string
	token             string
	header            http.Header
	client            *http.Client
	silence           time.Duration
	maxBytes          int64
}

func (a *remote) Name() string        { return a.name }
func (a *remote) Description() string { return a.description }

// rounds is how often a remote agent may ask in one run for what a plugin answers at once.
const rounds = 16

// Run sends what is new and yields what the remote agent answers.
func (a *remote) Run(ctx context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		for range rounds {
			x := &exchange{remote: a, ctx: ctx, host: host, yield: yield, inv: host.Now()}
			x.mem = a.remember(x.inv, host.Branch)
			if !x.prepare() {
				return
			}
			err := x.converse()
			if x.left || err != nil {
				x.cancel()
			}
			switch {
			case x.left:
				return
			case ctx.Err() != nil:
				yield(nil, context.Cause(ctx))
				return
			case err != nil:
				x.fail(err)
				return
			case len(x.mem.Calls) == 0:
				return
			}
			// It has asked something. A plugin may have answered already.
		}
		yield(nil, fmt.Errorf("the remote agent has asked something %d times in one run; each time a plugin has answered", rounds))
	}
}
