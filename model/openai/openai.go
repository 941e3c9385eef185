// Package openai asks models behind an OpenAI-compatible chat completions endpoint: OpenAI's own,
// and those of Ollama, llama.cpp, vLLM, LM Studio and others.
//
// What such an endpoint cannot do is an INVALID_ARGUMENT error that names it: Google's built-in
// tools, safety settings, cached content, blobs that are not images, and so on. Only these are left
// out silently: thoughts, which belong to the model that had them, and hints, which are the
// settings of thinking, media resolution, labels and service tier, and the schemas of what
// functions return. topK is sent as top_k, which local servers know and OpenAI's refuses. If a
// request allows some functions by name, only these are sent, because few servers support another
// way.
//
// A function call is sent with its id. If it has none, or one that is longer than the 40 characters
// that OpenAI accepts, it is sent with another id, which is the same each time. If a call in an
// answer has no id, it stays without one. Arguments have float64 numbers, and json.Number for
// integers beyond 2^53, as in the log.
//
// An answer is an error that has more than 32 MiB, or more than 500,000 JSON values in all or, if it
// is a stream, in one event. Of answers with more than 1 MiB or 50,000 values, this process reads two
// at a time, whatever the server; others wait as long as their contexts last.
//
// What the server calls reasoning becomes thoughts. A refusal is text, with the ErrorCode SAFETY.
//
// A new field of the endpoint: wire.go, and where it is filled in (request.go, messages.go, tools.go) or read (answer.go, calls.go).
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/plughook/plughook/internal/inbound"
	"github.com/plughook/plughook/internal/telemetry"
	"github.com/plughook/plughook/model"
)

// A Config says which model is asked, and where. Model is required. Printed by package fmt, or as
// JSON, it does not show the key.
type Config struct {
	// Model is the model to ask if a request names none.
	Model string
	// BaseURL is what "/chat/completions" is added to, such as "http://localhost:11434/v1". If it
	// is empty, it is OPENAI_BASE_URL from the environment, or else OpenAI's.
	BaseURL string
	// APIKey is sent to BaseURL as a bearer token. If it is empty, it is OPENAI_API_KEY from the
	// environment; if that is empty too, none is sent, which only servers other than OpenAI's take.
	APIKey string `json:"-" yaml:"-"`
	// KeyFrom is what errors about the key tell people to set or to check, such as the name of the
	// variable that APIKey was read from. If it is empty, it is "Config.APIKey or OPENAI_API_KEY".
	KeyFrom string
	// Attempts is the most times that a call is made; 0 means 3. It is made again after a failed
	// connection and the statuses 408, 409, 429 and 5xx, after a growing delay or the one that the
	// server asks for, and never once an answer has begun.
	Attempts int
	// HTTPClient makes the connections; one like http.DefaultClient if it is nil. Redirects are not
	// followed, whatever its CheckRedirect says: the conversation goes to BaseURL only.
	HTTPClient *http.Client
}

// Format implements fmt.Formatter: it leaves out the key.
func (c Config) Format(f fmt.State, _ rune) {
	key := "none"
	if c.APIKey != "" {
		key = "(not shown)"
	}
	_, _ = fmt.Fprintf(f, "openai.Config{Model: %q, BaseURL: %q, APIKey: %s, Attempts: %d}", c.Model,
		c.BaseURL, key, c.Attempts)
}

const official = "https://api.openai.com/v1"

// New returns a model. It makes no connection.
func New(c Config) (model.Model, error) {
	c.BaseURL = strings.TrimRight(cmp.Or(c.BaseURL, os.Getenv("OPENAI_BASE_URL"), official), "/")
	c.APIKey = cmp.Or(c.APIKey, os.Getenv("OPENAI_API_KEY"))
	c.KeyFrom = cmp.Or(c.KeyFrom, "Config.APIKey or OPENAI_API_KEY")
	base, err := url.Parse(c.BaseURL)
	switch {
	case c.Model == "":
		return nil, errors.New("openai: Config.Model is empty; name a model that the server has")
	case err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "":
		return nil, errors.New("openai: the base URL (Config.BaseURL or OPENAI_BASE_URL) is not valid; it looks like http://localhost:11434/v1")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("openai: the base URL (Config.BaseURL or OPENAI_BASE_URL) has a user, a query or a fragment; a key goes into %s", c.KeyFrom)
	case c.APIKey == "" && ours(base):
		return nil, fmt.Errorf("openai: %s needs a key; set %s, or the base URL of a server that needs none", base.Host, c.KeyFrom)
	case strings.ContainsFunc(c.APIKey, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return nil, fmt.Errorf("openai: the key (%s) has a line break or another control character; check where it was read from", c.KeyFrom)
	case c.Attempts < 0:
		return nil, fmt.Errorf("openai: Config.Attempts is %d; it cannot be less than 0", c.Attempts)
	}
	client := http.Client{}
	if c.HTTPClient != nil {
		client = *c.HTTPClient
	}
	client.Transport = &bounded{base: client.Transport}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirect }
	return &chat{
		name:    c.Model,
		url:     c.BaseURL + "/chat/completions",
		ours:    ours(base),
		keyFrom: c.KeyFrom,
		post:    poster(&client, c.APIKey, cmp.Or(c.Attempts, 3)),
		redact:  redactor(c.APIKey),
	}, nil
}

// poster returns a function that posts a body of JSON, so many times at most. It returns the last response, whatever its
// status.
func poster(client *http.Client, key string, attempts int) func(ctx context.Context, url string, body []byte) (*http.Response, error) {
	retrying := &retryablehttp.Client{
		HTTPClient:   client,
		RetryWaitMin: 500 * time.Millisecond,
		RetryWaitMax: 8 * time.Second,
		RetryMax:     attempts - 1,
		CheckRetry:   retried,
		Backoff: func(least, most time.Duration, attempt int, res *http.Response) time.Duration {
			return min(retryablehttp.DefaultBackoff(least, most, attempt, res), time.Minute)
		},
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	return func(ctx context.Context, url string, body []byte) (*http.Response, error) {
		req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, url, body)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		return retrying.Do(req)
	}
}

// retried reports whether a call is made again: as the package retryablehttp has it, and after the statuses that OpenAI's
// own clients try again.
func retried(ctx context.Context, res *http.Response, err error) (bool, error) {
	if errors.Is(err, errRedirect) {
		return false, nil
	}
	if err == nil && ctx.Err() == nil && slices.Contains([]int{408, 409, 501}, res.StatusCode) {
		return true, nil
	}
	return retryablehttp.DefaultRetryPolicy(ctx, res, err)
}

// ours reports whether the server is OpenAI's or Azure's, which want max_completion_tokens where
// most others know only max_tokens.
func ours(base *url.URL) bool {
	host := "." + strings.ToLower(base.Hostname())
	return strings.HasSuffix(host, ".openai.com") || strings.HasSuffix(host, ".azure.com")
}

// bounded is a transport that bounds the answers of another one.
type bounded struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	base := b.base
	if base == nil {
		base = http.DefaultTransport
	}
	res, err := base.RoundTrip(telemetry.InHeader(req))
	if err == nil {
		inbound.Bound(req.Context(), res)
	}
	return res, err
}

// chat is a model. It has the key in closures only, so that printing it shows none.
type chat struct {
	name, url string
	keyFrom   string
	ours      bool
	post      func(ctx context.Context, url string, body []byte) (*http.Response, error)
	redact    func(string) string
}

// Named implements model.Named.
func (c *chat) Named() (provider, name string) { return "openai", c.name }

// errLeft says that the caller wants no more.
var errLeft = errors.New("the caller has left")

// Generate implements model.Model.
func (m *chat) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		whole, err := m.ask(ctx, req, func(r *model.Response) bool { return yield(r, nil) })
		switch {
		case errors.Is(err, errLeft):
		case err != nil && ctx.Err() != nil:
			yield(nil, context.Cause(ctx))
		case err != nil:
			yield(nil, err)
		default:
			yield(whole, nil)
		}
	}
}

// ask returns the whole response, having passed on partial ones.
func (m *chat) ask(ctx context.Context, req *model.Request,
	partial func(*model.Response) bool) (*model.Response, error) {
	params, err := m.params(req)
	if err != nil {
		return nil, &model.Error{Code: invalidArgument, Err: err}
	}
	ctx, decoded := inbound.Hold(ctx)
	defer decoded()
	sent, err := toJSON(params)
	if err != nil {
		return nil, &model.Error{Code: invalidArgument, Err: err}
	}
	res, err := m.post(ctx, m.url, sent)
	if res != nil {
		defer func() { _ = res.Body.Close() }()
	}
	if err != nil || res.StatusCode >= 400 {
		return nil, m.refused(res, err)
	}
	if streamed(res, req.Stream) {
		if !req.Stream {
			partial = func(*model.Response) bool { return true }
		}
		return m.stream(ctx, res, partial)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, m.broken(err)
	}
	return m.whole(body)
}
