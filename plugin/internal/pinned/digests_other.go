//go:build !unix

package pinned

import "errors"

// Digests returns an error: this system has no plugins in processes of their own.
func Digests(string, string, map[string]string) (string, map[string]string, error) {
	return "", nil, errors.New("this system has no plugins in processes of their own; use the plugin in process")
}
