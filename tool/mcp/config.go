package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// check returns an error if the configuration is of no server, and sets the label.
func (c *Client) check() error {
	f := &c.config
	command := len(f.Command) > 0
	switch {
	case command == (f.URL != ""):
		return errors.New("a server is a Command or a URL, one of them")
	case f.Timeout < 0:
		return errors.New("the Timeout cannot be less than 0")
	case command && len(f.Headers) > 0:
		return errors.New("there are Headers, which are for a URL, and a Command")
	case !command && (len(f.Env) > 0 || f.Dir != "" || f.Stderr != nil):
		return errors.New("there are Env, Dir or Stderr, which are for a Command, and a URL")
	}
	if command {
		c.label = filepath.Base(f.Command[0])
		return nil
	}
	u, err := url.Parse(f.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the URL is not one of http or https with a host") // it may have a key in it
	}
	c.label = u.Host
	return nil
}

// environment returns the variables that a command gets.
func environment(list []string) []string {
	env := []string{} // nil would be everything
	for _, name := range append([]string{"PATH", "HOME", "LANG"}, list...) {
		if strings.Contains(name, "=") {
			env = append(env, name)
		} else if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// secrets returns what takes secrets out of a text: what may be one, of what the server was given.
func secrets(f *Config) *strings.Replacer {
	var pairs []string
	hide := func(value string) {
		for _, word := range append(strings.Fields(value), value) {
			if len(word) >= 8 { // a shorter word is no key, and would take out half of the text
				pairs = append(pairs, word, "[…]")
			}
		}
	}
	for _, variable := range environment(f.Env)[len(environment(nil)):] {
		_, value, _ := strings.Cut(variable, "=")
		hide(value)
	}
	for _, value := range f.Headers {
		hide(value)
	}
	if u, err := url.Parse(f.URL); err == nil {
		if password, ok := u.User.Password(); ok {
			hide(password)
		}
		for _, values := range u.Query() {
			for _, value := range values {
				hide(value)
				hide(url.QueryEscape(value))
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

// redact returns an error of the same text without secrets. What it wraps is gone, as that has them too.
func (c *Client) redact(err error) error { return errors.New(c.secrets.Replace(err.Error())) }

// A tail keeps the last bytes that are written to it.
type tail struct{ data []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if over := len(t.data) - maxTail; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// String says what the tail is, "" if there is none.
func (t *tail) String() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.data), ""))
	if text == "" {
		return ""
	}
	return fmt.Sprintf("; the last of its standard error: %s", text)
}
