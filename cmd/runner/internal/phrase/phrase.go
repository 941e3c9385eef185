// Package phrase makes the small phrases that messages are put together of: numbers of things,
// ranges, lists.
//
// A phrase that two commands print goes here.
package phrase

import (
	"fmt"
	"strings"
)

// Count returns a number with what it counts: "1 event", "2 events", "2 policies".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %s", n, plural(what))
}

// Of says of how many among all something is so: "1 of 4 lines is wrong", "2 of 4 lines are wrong". is is
// what is said of one, are of several.
func Of(n, all int, what, is, are string) string {
	if n == 1 {
		are = is
	}
	return fmt.Sprintf("%d of %s %s", n, Count(all, what), are)
}

// plural returns the plural of a noun: "events", "policies", "replays", "branches".
func plural(what string) string {
	if strings.HasSuffix(what, "ch") {
		return what + "es"
	}
	stem, ok := strings.CutSuffix(what, "y")
	if ok && !strings.ContainsAny(stem[max(0, len(stem)-1):], "aeiou") {
		return stem + "ies"
	}
	return what + "s"
}

// Some returns names with what they are of, at most five of them: "run a", "runs a, b".
func Some(what string, names []string) string {
	if len(names) != 1 {
		what = plural(what)
	}
	rest := ""
	if more := len(names) - 5; more > 0 {
		names = names[:5]
		rest = fmt.Sprintf(" and %d more", more)
	}
	return what + " " + strings.Join(names, ", ") + rest
}

// Span returns the numbers from first to last: "3", "3–5".
func Span(first, last int64) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d–%d", first, last)
}

// Ranges returns ascending numbers, neighbours merged, at most ten of the ranges: "1, 3–5".
func Ranges(list []int64) string {
	var parts []string
	for i := 0; i < len(list); {
		last := i
		for last+1 < len(list) && list[last+1] == list[last]+1 {
			last++
		}
		if len(parts) == 10 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, Span(list[i], list[last]))
		i = last + 1
	}
	return strings.Join(parts, ", ")
}
