package shell

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

// programsText is the table of programs. Its first lines say how to read it.
//
//go:embed programs.txt
var programsText string

// A program is what the table says about a program, or about a subcommand.
type program struct {
	name        string
	operands    []role // what the operands are for; the last role counts for all that follow
	last        role   // what the last operand is for, if there are several
	options     map[string]role
	beginnings  []string        // options that are known by how a word begins: -fplugin, +
	lists       map[string]bool // "words exec": exec is in the list of words
	traits      map[string]bool
	conditions  map[string]*regexp.Regexp
	subcommands bool
}

// A role is what a word is for, or what an option does. The roles are listed in programs.txt.
type role string

const (
	text        role = "text"
	file        role = "file"
	perhapsFile role = "perhaps"
	reads       role = "reads"
	writes      role = "writes"
	changes     role = "changes"
	both        role = "both"
	into        role = "into"
	target      role = "target"
	directory   role = "directory"
	data        role = "data"
	remote      role = "remote"
	subcommand  role = "subcommand"
	runs        role = "runs"
	line        role = "line"
	script      role = "script"
	variable    role = "variable"
	asks        role = "asks"
	flags       role = "flags"
	maybe       role = "maybe"
	prints      role = "prints"
)

// table returns the programs by their names.
var table = sync.OnceValue(readTable)

func readTable() map[string]*program {
	programs := map[string]*program{}
	var block *program
	conditions := map[string]string{}
	closeBlock := func() {
		for key, pattern := range conditions {
			block.conditions[key] = regexp.MustCompile(pattern)
		}
		clear(conditions)
	}
	for entry := range strings.Lines(programsText) {
		entry = strings.TrimRight(entry, "\n")
		if entry == "" || entry[0] == '#' {
			continue
		}
		if entry[0] != '\t' {
			closeBlock()
			names, short, _ := strings.Cut(entry, ": ")
			block = newProgram()
			for name := range strings.SplitSeq(names, ", ") {
				programs[name] = block
				end := strings.LastIndex(name, " ")
				if end < 0 {
					continue
				}
				parent := name[:end]
				if programs[parent] == nil {
					unknown := *programs["*"]
					programs[parent] = &unknown
				}
				programs[parent].subcommands = true
			}
			for part := range strings.SplitSeq(short, "; ") {
				block.setLine(part, conditions)
			}
			continue
		}
		block.setLine(entry[1:], conditions)
	}
	closeBlock()
	return programs
}

func newProgram() *program {
	return &program{
		options:    map[string]role{},
		lists:      map[string]bool{},
		traits:     map[string]bool{},
		conditions: map[string]*regexp.Regexp{},
	}
}

// setLine takes in a line of a block: a key, and the words or the regular expression behind it.
func (p *program) setLine(entry string, conditions map[string]string) {
	key, rest, _ := strings.Cut(entry, " ")
	rest = strings.TrimSpace(rest)
	words := strings.Fields(rest)
	switch key {
	case "":
	case "holds", "deep", "unpacks", "only", "fine", "harmless", "changing", "telling":
		if conditions[key] != "" {
			rest = conditions[key] + "|" + rest
		} else if key == "holds" || key == "deep" || key == "unpacks" {
			rest = "(?m)" + rest
		}
		conditions[key] = rest
	case "operands":
		for _, word := range words {
			p.operands = append(p.operands, role(word))
		}
	case "last":
		p.last = role(words[0])
	case "also", "words":
		for _, word := range words {
			p.lists[key+" "+word] = true
		}
	case "instead", "edits":
		for _, word := range words {
			for _, name := range namesOf(word) {
				p.lists[key+" "+name] = true
			}
		}
	case "strict", "whole", "detached", "appends", "makes", "elsewhere":
		p.traits[key] = true
	default:
		does := role(key)
		if key == "values" {
			does = file
		}
		for _, word := range words {
			p.setOption(word, does)
		}
	}
}

// setOption notes what an option does. -abc are three options, and -a… is any word that begins so.
func (p *program) setOption(word string, does role) {
	beginning, isBeginning := strings.CutSuffix(word, "…")
	switch {
	case isBeginning:
		p.options[beginning] = does
		p.beginnings = append(p.beginnings, beginning)
	case p.traits["whole"] || strings.HasPrefix(word, "--"):
		p.options[word] = does
	default:
		for _, letter := range namesOf(word) {
			p.options[letter] = does
		}
	}
}

// namesOf returns the options that a word of the table stands for: -abc are three.
func namesOf(word string) (names []string) {
	if !strings.HasPrefix(word, "-") || strings.HasPrefix(word, "--") {
		return []string{word}
	}
	for _, letter := range word[1:] {
		names = append(names, "-"+string(letter))
	}
	return names
}
