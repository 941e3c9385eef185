package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/yamlfile"
)

// size is a number of bytes: a number, or a text such as 16MiB.
type size int64

var sizeForm = lazyregexp.New(`^([0-9]{1,18}) ?(B|KiB|MiB|GiB)?$`)

var units = map[string]int64{"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

func parseSize(text string) (size, error) {
	m := sizeForm.FindStringSubmatch(text)
	if m == nil {
		return 0, errors.New("no size")
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > math.MaxInt64/units[m[2]] {
		return 0, errors.New("no size: it is too large")
	}
	return size(n * units[m[2]]), nil
}

// UnmarshalYAML reads a size.
func (s *size) UnmarshalYAML(read func(any) error) error {
	wants := yamlfile.Wants("a size such as 512MiB")
	var v any
	if read(&v) != nil {
		return wants
	}
	switch v.(type) {
	case string, uint64, int64:
		n, err := parseSize(fmt.Sprint(v))
		*s = n
		if err == nil {
			return nil
		}
	}
	return wants
}

// pluginFile is a file of a plugin: a path, or a path and its digest.
type pluginFile struct {
	path, sha256 string
	given        bool // there is a digest
}

// UnmarshalYAML reads a file.
func (f *pluginFile) UnmarshalYAML(read func(any) error) error {
	wants := yamlfile.Wants("a path, or a path and its digest")
	var v any
	if read(&v) != nil {
		return wants
	}
	if path, ok := v.(string); ok {
		f.path = path
		return nil
	}
	pair, _ := v.(map[string]any)
	for path, digest := range pair {
		f.path = path
		f.sha256, f.given = digest.(string)
	}
	if len(pair) != 1 || !f.given {
		return wants
	}
	return nil
}
