//go:build !unix

package remote

import "errors"

// Pin returns an error: there are no such plugins on this system.
func Pin(Config) (Config, error) {
	return Config{}, errors.New("remote: plugins in a process of their own need a unix system; use the plugin in process")
}
