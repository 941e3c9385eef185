package main

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// size is a number of bytes: a number, or a text such as 16MiB.
type size int64

var sizeForm = regexp.MustCompile(`^([0-9]{1,18}) ?(B|KiB|MiB|GiB)?$`)

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

// UnmarshalYAML reads a size that walk has found to be one.
func (s *size) UnmarshalYAML(read func(any) error) (err error) {
	var text string
	if err = read(&text); err == nil {
		*s, err = parseSize(text)
	}
	return err
}

// pluginFile is a file of a plugin: a path, or a path and its digest.
type pluginFile struct {
	path, sha256 string
	given        bool // there is a digest
}

// UnmarshalYAML reads a file that walk has found to be one.
func (f *pluginFile) UnmarshalYAML(read func(any) error) error {
	if read(&f.path) == nil {
		return nil
	}
	var pair map[string]string
	if err := read(&pair); err != nil {
		return err
	}
	for f.path, f.sha256 = range pair {
		f.given = true
	}
	if len(pair) != 1 {
		return errors.New("a file is a path, or a path and its digest")
	}
	return nil
}

// isSize and isPluginFile report whether a node has the form of such a value.
func isSize(n ast.Node) bool {
	_, err := parseSize(strings.Trim(n.String(), `"'`))
	return err == nil && (n.Type() == ast.StringType || n.Type() == ast.IntegerType)
}

func isPluginFile(n ast.Node) bool {
	m, pair := n.(*ast.MappingNode)
	return n.Type() == ast.StringType || pair && len(m.Values) == 1 && m.Values[0].Value.Type() == ast.StringType && !m.Values[0].Key.IsMergeKey()
}
