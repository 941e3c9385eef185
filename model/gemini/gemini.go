// Package gemini asks Google's Gemini models, through the Gemini API or Vertex AI.
//
// A call that fails before the server has begun to answer, because there is no connection or with a
// status such as 429 or 503, is made again (see Config.Attempts). Once the server has begun to
// answer, a call is not repeated. Integers in a function call's arguments that a float64 cannot
// hold are json.Number, as in the log, and are sent unchanged. Parts with a thought's signature are
// sent back unchanged. Ids that begin with "plughook-", which agents give to calls that have none,
// are not sent.
//
// An answer is an error that has more than 32 MiB, or more than 500,000 JSON values in all or, if it
// is a stream, in one event. Of answers with more than 1 MiB or 50,000 values, this process reads two
// at a time, whatever the server; others wait as long as their contexts last.
//
// No error contains the API key, and printing a Config does not show it. Google's SDK, which this
// package uses, writes to the standard logger of package log, for example when environment
// variables contradict each other. It does not write keys.
//
// What a request newly says to the API: request.go. What an answer newly says: response.go.
package gemini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/model"
)

// A Config says how to reach a model. Fields that are empty are read from the environment:
// GOOGLE_API_KEY or GEMINI_API_KEY; GOOGLE_GENAI_USE_VERTEXAI (or …_USE_ENTERPRISE),
// GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION; GOOGLE_GEMINI_BASE_URL or GOOGLE_VERTEX_BASE_URL.
type Config struct {
	// Model is the model to ask if a request names none, such as "gemini-2.5-flash".
	Model string
	// APIKey is a key of the Gemini API, or of Vertex AI in express mode. It is not printed.
	APIKey string `json:"-"`
	// KeyFrom is what errors about the key tell people to set or to check, such as the name of the
	// variable that APIKey was read from; if it is empty, they name Config.APIKey and the
	// environment's.
	KeyFrom string
	// Backend is the Gemini API or Vertex AI. Project and Location are of Vertex AI only.
	Backend           genai.Backend
	Project, Location string
	// BaseURL is the API's address, without credentials and query.
	BaseURL string
	// Attempts is the most times that a call is made; 0 means 4, and 1 means no retry.
	Attempts int
	// Backoff is about how long to wait before the second attempt; the wait doubles with each
	// further one, up to a minute. 0 means a second. If the server asks for another wait, that is
	// used; if it is longer than a minute, the call fails.
	Backoff time.Duration
	// HTTPClient is used in place of a default one. For Vertex AI without a key it authorizes
	// requests. Redirects are not followed: they would take the key elsewhere.
	HTTPClient *http.Client `json:"-"`
}

// Format implements fmt.Formatter: it prints the Config without the key.
func (c Config) Format(s fmt.State, verb rune) {
	type config Config
	if c.APIKey != "" {
		c.APIKey = "[hidden]"
	}
	_, _ = fmt.Fprintf(s, fmt.FormatString(s, verb), config(c))
}

// New returns a model. It makes no request to the model. For Vertex AI without a key and an
// HTTPClient it looks for the application default credentials. The error says what to set.
func New(ctx context.Context, c Config) (model.Model, error) {
	if c.Attempts < 0 || c.Backoff < 0 {
		return nil, errors.New("gemini: Attempts and Backoff must not be negative; 0 is the default")
	}
	cc := &genai.ClientConfig{
		APIKey:      c.APIKey,
		Backend:     c.Backend,
		Project:     c.Project,
		Location:    c.Location,
		HTTPOptions: genai.HTTPOptions{BaseURL: c.BaseURL},
	}
	if c.HTTPClient != nil {
		own := *c.HTTPClient
		cc.HTTPClient = &own
	}
	client, err := genai.NewClient(ctx, cc)
	if err != nil {
		// Its text goes on with the whole configuration, the key too.
		text, _, _ := strings.Cut(err.Error(), "ClientConfig")
		return nil, fmt.Errorf("gemini: %s (a key is %s; Vertex AI, GOOGLE_GENAI_USE_VERTEXAI=true, takes a project and a location instead)", strings.TrimRight(hide(text, cc.APIKey), " .:"), cmp.Or(c.KeyFrom, "Config.APIKey, or GEMINI_API_KEY in the environment"))
	}
	from := cmp.Or(c.KeyFrom, "Config.APIKey, GOOGLE_API_KEY and GEMINI_API_KEY")
	if err := check(cc, from); err != nil {
		return nil, err
	}
	// The SDK's own client, if there was none: it is nobody else's.
	cc.HTTPClient.Transport = &transport{base: cc.HTTPClient.Transport}
	cc.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	m := &gemini{
		models:   client.Models,
		name:     c.Model,
		attempts: cmp.Or(c.Attempts, 4),
		backoff:  cmp.Or(c.Backoff, time.Second),
	}
	if cc.APIKey != "" {
		m.keyHint = "; check " + from
	}
	m.hide = func(text string) string { return hide(text, cc.APIKey) }
	return m, nil
}

// check returns an error for settings that would fail only at the first call, with a less helpful
// error or one that shows a secret.
func check(cc *genai.ClientConfig, keyFrom string) error {
	if strings.ContainsFunc(cc.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("gemini: the API key has a character that no key has, perhaps a line break; check %s", keyFrom)
	}
	u, err := url.Parse(cc.HTTPOptions.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		u.RawQuery != "" {
		return errors.New("gemini: the base URL is not http:// or https://, a host and a path, without credentials and query; check Config.BaseURL, GOOGLE_GEMINI_BASE_URL and GOOGLE_VERTEX_BASE_URL")
	}
	return nil
}

// hide returns a text for an error: short, and without the key.
func hide(text, key string) string {
	if len(key) > 3 { // less is no key, but in every text
		text = strings.ReplaceAll(text, key, "[key]")
	}
	const most = 600
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
