// Package lazyregexp has regular expressions that are compiled when they are first used, so that a program that
// uses a few of them does not wait for all at its start.
//
// Another method of regexp.Regexp that is needed is one more line here.
package lazyregexp

import (
	"regexp"
	"sync"
)

// A Regexp is a regular expression. It is safe for concurrent use.
type Regexp struct{ compiled func() *regexp.Regexp }

// New returns a regular expression. A pattern that is wrong panics at its first use, so it has to have a test.
func New(pattern string) Regexp {
	return Regexp{compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })}
}

// These are the methods of regexp.Regexp.

func (r Regexp) Match(b []byte) bool                  { return r.compiled().Match(b) }
func (r Regexp) MatchString(s string) bool            { return r.compiled().MatchString(s) }
func (r Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }
func (r Regexp) FindStringIndex(s string) []int       { return r.compiled().FindStringIndex(s) }
func (r Regexp) FindAllString(s string, n int) []string {
	return r.compiled().FindAllString(s, n)
}
func (r Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}
func (r Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}
func (r Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}
func (r Regexp) ReplaceAllLiteralString(s, with string) string {
	return r.compiled().ReplaceAllLiteralString(s, with)
}
func (r Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, with)
}
func (r Regexp) String() string { return r.compiled().String() }
