package detect

import (
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// defaultSecrets is made once: it never changes.
var defaultSecrets = sync.OnceValue(func() *secrets {
	d, err := newSecrets()
	if err != nil {
		panic(err) // the tables are constants
	}
	return d
})

// newSecrets makes the automaton of all keywords.
func newSecrets() (*secrets, error) {
	d := &secrets{}
	f, number, list := forms{}, map[string]int{}, []string(nil)
	add := func(word string, kind probeKind, n int) {
		word = strings.Map(func(r rune) rune { // the automaton folds ASCII only
			if r < utf8.RuneSelf {
				return unicode.ToLower(r)
			}
			return r
		}, word)
		i, ok := number[word]
		if !ok {
			i = len(list)
			number[word] = i
			list, d.probes = append(list, word), append(d.probes, nil)
		}
		d.probes[i] = append(d.probes[i], probe{kind, int32(n)})
	}
	for _, r := range tokenRules() {
		for prefix := range strings.FieldsSeq(r.prefixes) {
			for form := range strings.FieldsSeq(r.forms) {
				add(prefix, tokenProbe, len(d.tokens))
				d.tokens = append(d.tokens, token{r.rule, prefix, f.read(form), r.entropy, r.check})
			}
		}
	}
	for _, row := range providerTable() {
		var values []pattern
		for form := range strings.FieldsSeq(row[1]) {
			values = append(values, f.read(form))
		}
		for name := range strings.FieldsSeq(row[0]) {
			name, named := strings.CutPrefix(name, "!")
			add(name, nameProbe, len(d.names))
			d.names = append(d.names, provider{name + "-secret", values, named})
		}
	}
	for _, word := range secretWords {
		add(word, wordProbe, 0)
	}
	for word, kind := range map[string]probeKind{"-----BEGIN": pemProbe, "eyJ": jwtProbe, "ZXlK": jwtTwiceProbe, "://": urlProbe,
		"-u": userProbe, "--user": userProbe, "Q~": azureProbe, ":AA": telegramProbe, "Private-Lines:": puttyProbe,
		"basic ": schemeProbe, "bearer ": schemeProbe, "ssws ": schemeProbe, "cookie": cookieProbe, ":5432:": pgpassProbe, "jdbc:oracle:thin:": oracleProbe, "identified by ": sqlProbe} {
		add(word, kind, 0)
	}
	for n, c := range commands {
		for name := range strings.SplitSeq(c.names, ",") {
			add(name, commandProbe, n)
		}
	}
	for word := range strings.SplitSeq(passwordWords, ",") {
		add(word, foreignProbe, 0)
	}
	words, err := newKeywords(list)
	if err != nil {
		return nil, fmt.Errorf("rules for secrets: %w", err)
	}
	d.words, d.leads = words, make([]bool, len(words.depth))
	for i, word := range list {
		for _, p := range d.probes[i] {
			state := uint32(0)
			for j := 0; p.kind.begins() && j < len(word)-1; j++ {
				state = words.step(state, word[j])
				d.leads[state/words.width] = true
			}
		}
	}
	return d, nil
}
