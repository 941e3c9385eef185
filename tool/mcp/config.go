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
	case f.Timeout < 0 || f.StartTimeout < 0:
		return errors.New("neither Timeout nor StartTimeout can be less than 0")
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
