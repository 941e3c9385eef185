package shell

import (
	"slices"
	"strings"
)

// options say what options a command has that runs others: what is none of them is not known, so neither is which word
// is the command.
type options struct {
	flags string // letters of short options without a value; digits too
	value string // letters of those with one, in the word or after it
	maybe string // letters of those with one in the word, or with none
	long  string // long options, separated by blanks; name= with a value, name[=] perhaps with one, never as a word of its own
}

// after skips the options at the beginning of arguments, and returns the rest.
func (p *parse) after(name string, args []string, o options) []string {
	long := strings.Fields(o.long)
	for len(args) > 0 {
		a := args[0]
		switch {
		case a == "--":
			return args[1:]
		case len(a) < 2 || a[0] != '-' && (a[0] != '+' || name != "shell"):
			return args
		}
		args = args[1:]
		next := false
		if strings.HasPrefix(a, "--") {
			key, _, attached := strings.Cut(a[2:], "=")
			switch {
			case !attached && slices.Contains(long, key+"="):
				next = true
			case !attached && (slices.Contains(long, key) || slices.Contains(long, key+"[=]")), attached && (slices.Contains(long, key+"=") || slices.Contains(long, key+"[=]")):
			default:
				p.unresolved("%s is no known option of %s: what it runs is not known", shown(a), name)
				return nil
			}
		} else {
			var ok bool
			if next, ok = o.letters(a[1:]); !ok {
				p.unresolved("%s is no known option of %s: what it runs is not known", shown(a), name)
				return nil
			}
		}
		if strings.Contains(a, anything) || next && len(args) > 0 && strings.Contains(args[0], anything) {
			p.unresolved("the options of %s are not known before it runs", name)
			return nil
		}
		if next && len(args) > 0 {
			args = args[1:]
		}
	}
	return nil
}

// letters says whether short options in one word are known, and whether the next word is the value of the last.
func (o options) letters(word string) (next, ok bool) {
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case strings.IndexByte(o.value, c) >= 0:
			return i == len(word)-1, true
		case strings.IndexByte(o.maybe, c) >= 0:
			return false, true
		case strings.IndexByte(o.flags, c) < 0:
			return false, false
		}
	}
	return false, true
}
