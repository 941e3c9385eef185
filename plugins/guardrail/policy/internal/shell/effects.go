package shell

import (
	_ "embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/plughook/plughook/plugins/guardrail/policy/internal/glob"
)

// Effects is a set of what a command does.
type Effects uint8

// The effects.
const (
	Reads   Effects = 1 << iota // it reads files, or what the system or a service says
	Writes                      // it changes something: files, processes, settings, what a service keeps
	Network                     // it talks to another machine, or to a service
	Runs                        // it runs code that does not stand in the line
	Unknown                     // nobody knows, or it gives out a secret
)

var effectNames = []string{"reads", "writes", "network", "runs", "unknown"}

// ParseEffects reads a list of effects: "reads, network".
func ParseEffects(list string) (e Effects, err error) {
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(effectNames, strings.TrimSpace(name))
		if i < 0 {
			return 0, fmt.Errorf("%q is no effect of a command: write some of %s",
				strings.TrimSpace(name), strings.Join(effectNames, ", "))
		}
		e |= 1 << i
	}
	return e, nil
}

func (e Effects) String() string {
	var names []string
	for i, name := range effectNames {
		if e&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// are reports whether these effects are among others: surely, perhaps or not. Code that is run, and what
// nobody knows, may have any effect.
func (e Effects) are(others Effects) certainty {
	switch {
	case e&others != 0:
		return yes
	case others != 0 && e&(Runs|Unknown) != 0:
		return perhaps
	}
	return no
}

// within reports whether these effects are all in one of some sets.
func (e Effects) within(sets []Effects) bool {
	return slices.ContainsFunc(sets, func(set Effects) bool { return e&^set == 0 })
}

// EffectsOf returns what a line does: what its commands do, together, and what is unresolved in it. It
// returns 0 if the line runs nothing, or only commands such as cd and true.
func EffectsOf(line string) Effects {
	l, err := read(line)
	if err != nil || len(l.reasons) > 0 {
		return Unknown
	}
	var all Effects
	for _, c := range l.commands {
		all |= effectsOf(c)
	}
	return all
}

// effectsText is the table of effects. Its first lines say how to read it.
//
//go:embed effects.txt
var effectsText string

// effectRows returns the rows of the table by their programs. What a row says is read when a command asks for
// it.
var effectRows = sync.OnceValue(func() map[string][]*effectRow {
	rows := map[string][]*effectRow{}
	var last []*effectRow
	for entry := range strings.Lines(effectsText) {
		entry = strings.TrimRight(entry, "\n")
		switch {
		case entry == "" || entry[0] == '#':
		case entry[0] == '\t':
			for _, row := range last {
				row.lines = append(row.lines, entry[1:])
			}
		default:
			names, facts, _ := strings.Cut(entry, ": ")
			last = last[:0:0]
			for name := range strings.SplitSeq(names, ", ") {
				words := strings.Fields(name)
				for program := range strings.SplitSeq(words[0], "|") {
					row := &effectRow{words: words[1:], facts: facts}
					rows[program] = append(rows[program], row)
					row.program = rows[program][0]
					row.program.isParent = row.program.isParent || len(row.words) > 0
					last = append(last, row)
				}
			}
		}
	}
	return rows
})

// An effectRow is what the table says about a program, or about a subcommand.
type effectRow struct {
	program  *effectRow // the first row of the program; its own row, if it has one
	isParent bool       // the program has subcommands
	words    []string   // the subcommand: patterns, with | between alternatives
	facts    string
	lines    []string // the conditions

	once       sync.Once
	does       Effects
	options    map[string]effectOption
	traits     map[string]bool
	most       int // operands, if there are not to be more
	beyond     Effects
	unless     []string
	needs      []string
	conditions []effectCondition
}

type effectOption struct {
	adds   Effects
	value  bool // the next word is its value
	prints bool // nothing else is done
}

// An effectCondition is about all arguments, or about the values of options.
type effectCondition struct {
	adds   Effects
	prints bool     // nothing else is done if it is met
	fine   []string // options whose values add no effect if they meet it
	form   *regexp.Regexp
}

// read reads what the row says.
func (r *effectRow) read() *effectRow {
	r.once.Do(func() {
		r.most = -1
		r.options = map[string]effectOption{}
		r.traits = map[string]bool{}
		if r != r.program {
			r.traits["whole"] = r.program.read().traits["whole"]
		}
		for i, fact := range strings.Split(r.facts, "; ") {
			words := strings.Fields(fact)
			if i > 0 {
				r.say(words[0], words[1:])
				continue
			}
			for _, word := range words {
				r.does |= effectNamed(word)
			}
		}
		for _, line := range r.lines {
			var c effectCondition
			key, form, _ := strings.Cut(line, " ")
			switch key {
			case "prints":
				c.prints = true
			case "fine":
				var options string
				options, form, _ = strings.Cut(form, " ")
				c.fine = strings.Split(options, ",")
			default:
				c.adds = effectNamed(key)
			}
			c.form = regexp.MustCompile(form)
			r.conditions = append(r.conditions, c)
		}
	})
	return r
}

func (r *effectRow) say(key string, words []string) {
	switch key {
	case "most":
		r.most = int(words[0][0] - '0')
		r.beyond = effectNamed(words[1])
		return
	case "unless":
		r.unless = r.split(words)
		return
	case "needs":
		r.needs = r.split(words)
		return
	case "only", "whole", "address", "global", "shallow", "wraps":
		r.traits[key] = true
		return
	}
	for _, word := range words {
		word, takes := strings.CutSuffix(word, "=")
		for _, name := range r.split([]string{word}) {
			o := effectOption{value: takes || key == "values", prints: key == "prints"}
			if key != "values" && key != "prints" && key != "flags" {
				o.adds = effectNamed(key)
			}
			r.options[name] = o
		}
	}
}

// split returns options by their names: -abc are three, unless -name is one option in this row.
func (r *effectRow) split(words []string) (names []string) {
	for _, word := range words {
		if r.traits["whole"] || word[0] != '-' || strings.HasPrefix(word, "--") {
			names = append(names, word)
			continue
		}
		for _, letter := range word[1:] {
			names = append(names, "-"+string(letter))
		}
	}
	return names
}

// effectNamed returns the effect of a name in the table; "nothing" is none.
func effectNamed(name string) Effects {
	i := slices.Index(effectNames, name)
	if i < 0 {
		if name != "nothing" {
			panic("effects.txt: " + name + " is no effect")
		}
		return 0
	}
	return 1 << i
}

// effectsOf returns what a command does itself; what it runs are commands of their own.
func effectsOf(c command) Effects {
	switch c.words[0] {
	case ">":
		return Writes
	case "<":
		return Reads
	}
	dir, name := path.Split(c.words[0])
	if m := versioned.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	rows := effectRows()[name]
	if len(rows) == 0 || dir != "" && !systemDirs[dir] {
		return Unknown
	}
	return effectsAmong(rows, c.words[1:])
}

// effectsAmong returns what a command does, by the rows of its program: by the one that names the most words
// of its subcommand, or else the program's own.
func effectsAmong(rows []*effectRow, args []string) Effects {
	program := rows[0].read()
	best := &effectRow{program: program, does: Unknown, most: -1}
	if len(program.words) == 0 {
		best = program
	}
	subcommand, behind := program.subcommand(args)
	for _, row := range rows {
		n := len(row.words)
		better := n > len(best.words) && !(program.traits["shallow"] && len(best.words) > 0) ||
			program.traits["shallow"] && n > 0 && n < len(best.words)
		if better && n <= len(subcommand) && row.is(subcommand) {
			best = row.read()
		}
	}
	if best.does&Runs == 0 { // does it only print something about itself?
		switch {
		case len(args) == 1 && args[0] == "--version",
			program.isParent && len(args) > 0 && args[0] == "help",
			program.isParent && behind == len(args)-1 && args[behind] == "-h",
			behind < len(args) && args[behind] == "--help":
			return Reads
		}
	}
	return best.effects(args)
}

// is reports whether the row is about a subcommand.
func (r *effectRow) is(subcommand []string) bool {
	for i, pattern := range r.words {
		matches := func(p string) bool { return glob.Match(p, subcommand[i]) }
		if !slices.ContainsFunc(strings.Split(pattern, "|"), matches) {
			return false
		}
	}
	return true
}

// subcommand returns the words that may name a subcommand, and how many arguments these are: those before an
// option that the program's row does not have.
func (r *effectRow) subcommand(args []string) (words []string, behind int) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		if known(word) != word {
			return words, i
		}
		if !strings.HasPrefix(word, "-") {
			words = append(words, word)
			continue
		}
		names, _, takesNext := r.named(word, true)
		for _, name := range names {
			if o, listed := r.options[name]; !listed || o.prints {
				return words, i
			}
		}
		if takesNext {
			i++
		}
	}
	return words, len(args)
}

// option returns what the table says about an option: before the subcommand the program's row, and behind it
// the row, or the program's if its options may stand anywhere.
func (r *effectRow) option(name string, isBefore bool) (o effectOption, listed bool) {
	if isBefore {
		o, listed = r.program.options[name]
	}
	if !listed {
		o, listed = r.options[name]
	}
	if !listed && r.program.traits["global"] {
		o, listed = r.program.options[name]
	}
	return o, listed
}

// effects returns what the row's command does with arguments, of which the first operands name the
// subcommand.
func (r *effectRow) effects(args []string) Effects {
	all := r.does
	isRisky := r.traits["only"] || r.most >= 0 || len(r.needs)+len(r.conditions) > 0
	for _, o := range r.options {
		isRisky = isRisky || o.adds != 0
	}
	var found []string
	operands := -len(r.words)
	behindDashes := false
	isValue := false // of the option before it, unless it is an option as well
	for i := 0; i < len(args) && !(r.traits["wraps"] && operands > 0); i++ {
		word := args[i]
		switch {
		case isRisky && !behindDashes && unsure(word), r.traits["address"] && known(word) != word:
			return all | Unknown // it may be any option, or carry something out
		case word == "--" && !r.traits["whole"] && !isValue:
			behindDashes = true
			continue
		case behindDashes || len(word) < 2 || word[0] != '-':
			if o, listed := r.options[word]; listed {
				all |= o.adds
				found = append(found, word)
			}
			operands++
			continue
		}
		names, value, takesNext := r.named(word, operands < 0)
		if takesNext && i+1 < len(args) {
			value = args[i+1]
		}
		for _, name := range names {
			o, listed := r.option(name, operands < 0)
			switch {
			case o.prints && name == word && !isValue &&
				(operands <= 0 || !r.isParent && r.does&Runs == 0):
				return Reads
			case !listed && r.traits["only"]:
				all |= Unknown
			case !r.fine(name, value):
				all |= o.adds
			}
		}
		found = append(found, names...)
		isValue = takesNext && strings.HasPrefix(value, "-") && value != "-"
		if takesNext && !isValue && i+1 < len(args) {
			i++
			if isRisky && strings.Contains(value, anything) || r.traits["address"] && known(value) != value {
				return all | Unknown
			}
		}
	}
	has := func(name string) bool { return slices.Contains(found, name) }
	if r.most >= 0 && operands > r.most && !slices.ContainsFunc(r.unless, has) {
		all |= r.beyond
	}
	if len(r.needs) > 0 && !slices.ContainsFunc(r.needs, has) {
		all |= Writes
	}
	joined := ""
	if len(args) > 0 {
		joined = strings.Join(args, "\n") + "\n"
	}
	for _, c := range r.conditions {
		switch {
		case c.fine != nil || !c.form.MatchString(joined):
		case c.prints && known(joined) == joined:
			return Reads | all&Network
		default:
			all |= c.adds
		}
	}
	return all
}

// fine reports whether the value of an option is one with which the option adds no effect.
func (r *effectRow) fine(option, value string) bool {
	return known(value) == value && slices.ContainsFunc(r.conditions, func(c effectCondition) bool {
		return slices.Contains(c.fine, option) && c.form.MatchString(value)
	})
}

// named returns the options that a word is, the value of the last one, and whether that is the next word. A
// long option may be shortened: then it is each that it may be.
func (r *effectRow) named(word string, isBefore bool) (names []string, value string, takesNext bool) {
	name, value, attached := strings.Cut(word, "=")
	if r.traits["whole"] {
		name = "-" + strings.TrimLeft(name, "-")
		o, _ := r.option(name, isBefore)
		return []string{name}, value, o.value && !attached
	}
	if strings.HasPrefix(word, "--") {
		o, listed := r.option(name, isBefore)
		names = []string{name}
		for long, option := range r.options {
			if !listed && len(name) > 3 && option.adds != 0 && strings.HasPrefix(long, name) {
				names = append(names, long)
			}
		}
		return names, value, o.value && !attached
	}
	for i, letter := range word[1:] {
		name := "-" + string(letter)
		names = append(names, name)
		if o, _ := r.option(name, isBefore); o.value {
			value = word[1+i+len(string(letter)):]
			return names, strings.TrimPrefix(value, "="), value == ""
		}
	}
	return names, "", false
}
