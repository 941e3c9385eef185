// Package notify sends messages about runs to addresses and commands, in the form of Standard Webhooks
// (https://www.standardwebhooks.com). When they are sent, and how often, is with package runs.
//
// Another way to send: a field of Target, and a case of Sender.Send. What a message says: Run.
package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plughook/plughook/tool"
	"github.com/plughook/plughook/tool/command"
)

// A Target is where messages are sent: an address or a command.
type Target struct {
	// URL gets each message as a POST. It is not told to anybody else: it may have a token in it.
	URL string
	// Secret signs what URL gets: the bytes themselves, or "whsec_" and their base64.
	Secret string
	// Command is a program and its arguments. It gets each message on its standard input, in directory Dir, with the
	// variables Env beside PATH, HOME and LANG: NAME passes one on, NAME=VALUE sets one.
	Command []string
	Dir     string
	Env     []string
	// On are the ends that it is told of: "ended", "failed", "waits"; all if it is empty.
	On []string
}

// Check returns what is wrong with the target. The error does not have the secret.
func (t *Target) Check() error {
	for _, on := range t.On {
		if !slices.Contains([]string{"ended", "failed", "waits"}, on) {
			return fmt.Errorf("on: %q is not ended, failed or waits", on)
		}
	}
	switch {
	case (t.URL != "") == (len(t.Command) > 0):
		return errors.New("it needs either a url or a command")
	case t.URL == "":
		_, err := t.tool()
		return err
	}
	if u, err := url.Parse(t.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the url is no address that begins with http:// or https://")
	}
	if key, err := t.key(); err != nil || len(key) == 0 {
		return errors.New("the secret is missing, or no base64 follows its whsec_: without one, who gets a message cannot tell who sent it")
	}
	return nil
}

// Name says where messages are sent, for people: of an address only the host.
func (t *Target) Name() string {
	if u, err := url.Parse(t.URL); t.URL != "" && err == nil {
		return u.Scheme + "://" + u.Host
	}
	return strings.Join(t.Command[:min(1, len(t.Command))], "")
}

// ID tells the target from others, without saying what it is.
func (t *Target) ID() string {
	sum := sha256.Sum256([]byte(t.URL + "\x00" + strings.Join(t.Command, "\x00")))
	return hex.EncodeToString(sum[:6])
}

// Wants reports whether the target is told of messages of a type.
func (t *Target) Wants(kind string) bool {
	return len(t.On) == 0 || slices.Contains(t.On, strings.TrimPrefix(kind, "run."))
}

func (t *Target) tool() (*tool.Tool, error) {
	return command.New(command.Config{Name: "notify", Command: t.Command, Dir: t.Dir, Env: t.Env})
}

func (t *Target) key() ([]byte, error) {
	if encoded, ok := strings.CutPrefix(t.Secret, "whsec_"); ok {
		return base64.StdEncoding.DecodeString(encoded)
	}
	return []byte(t.Secret), nil
}

// A Message says what has become of a run. It has nothing of what people, agents or tools have said.
type Message struct {
	// ID is the same whenever the message is sent.
	ID   string    `json:"id"`
	Type string    `json:"type"` // run.ended, run.failed, run.waits
	Time time.Time `json:"timestamp"`
	Data Run       `json:"data"`
}

// A Run is the run that a message is about.
type Run struct {
	App        string `json:"app"`
	User       string `json:"user"`
	Session    string `json:"session"`
	Invocation string `json:"invocationId"`
	// End is how the run ended, as in the frame "end" of its stream.
	End string `json:"end"`
	// Code is the last error code in its events, Plugin who stopped it or failed.
	Code   string `json:"code,omitempty"`
	Plugin string `json:"plugin,omitempty"`
	// Waiting are the calls of the session that wait for an answer from outside.
	Waiting []Call `json:"waiting,omitempty"`
}

// A Call waits for its response or, with Confirm, for a yes or no.
type Call struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Confirm bool   `json:"confirm"`
}

// Send sends a message once. It is an error if an address does not answer with a status of 200 to 299, or a command not
// with exit code 0. The error has no address and no secret.
func (t *Target) Send(ctx context.Context, m *Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if t.URL == "" {
		run, err := t.tool()
		if err != nil {
			return err
		}
		call := &tool.Call{}
		if err := json.Unmarshal(body, &call.Args); err != nil {
			return err
		}
		_, err = run.Run(ctx, call)
		return err
	}
	key, err := t.key()
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the url is no address")
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	for name, value := range map[string]string{
		"Content-Type":      "application/json",
		"User-Agent":        "plughook",
		"Webhook-Id":        m.ID,
		"Webhook-Timestamp": at,
		"Webhook-Signature": signature(key, m.ID, at, body),
	} {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		var of *url.Error // it has the address
		if errors.As(err, &of) {
			err = of.Err
		}
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that it is no error there
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("the answer has status %d", resp.StatusCode)
	}
	return nil
}

// client follows no redirect: who gets the message is who was named. A connection ends with its message.
var client = &http.Client{
	Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DisableKeepAlives:   true,
		TLSHandshakeTimeout: 10 * time.Second,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// signature signs a message as Standard Webhooks says.
func signature(key []byte, id, at string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
