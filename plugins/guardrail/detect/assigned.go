package detect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/plughook/plughook/plugins/guardrail/detect/internal/pattern"
)

// word looks at the value that is assigned to a name which has a word such as key or token in it.
func (s *scan) word(start, end int) {
	if goesOnFromWord(s.text, start) && !s.isSuffix(s.text, start, end) {
		return
	}
	name := s.nameAround(start, end)
	if s.isToldOf(name.start) {
		return
	}

	// A value right behind the word counts whatever follows it: in a stream it was already found
	// before that could be seen.
	a, ok := s.bareValue(name, end)
	if ok {
		s.assigned(a, s.meaningOf(a.name))
	}

	if name == s.judged {
		return
	}
	a, ok = s.english(name, end)
	if ok && !a.bare {
		s.assigned(a, s.meaningOf(a.name))
		s.judged = name
	}
}

// isToldOf tells whether the name of a secret that begins at a place only says what something else
// is of, as in "SHA-256 of the token: …", or is a part of the name of a cloud's resource, as in
// arn:aws:secretsmanager:eu-west-1:123456789012:secret:db/Main-a1B2c3.
func (s *scan) isToldOf(pos int) bool {
	if pos < 4 {
		return false
	}
	before := s.text[max(0, pos-maxName):pos]
	switch before[len(before)-1] {
	case ':', '/':
		run := before[strings.LastIndexAny(before, " \t\n\"'=`")+1:]
		return strings.HasPrefix(run, "arn:")
	case ' ':
		before = strings.TrimSuffix(before[:len(before)-1], " the")
		before, ok := strings.CutSuffix(before, " of")
		if !ok {
			return false
		}
		word, rest := lastWord(before)
		if word != "" && isDigit(word[0]) {
			word, _ = lastWord(rest)
		}
		return word != "" && s.isNever(word)
	}
	return false
}

// foreign looks at the value that is assigned to a word for password in another language.
func (s *scan) foreign(start, end int) {
	if goesOnFromWord(s.text, start) {
		return
	}
	a, ok := s.assignment(s.nameAround(start, end), end, &s.foreignVerbs)
	if ok {
		s.assigned(a, passwordMeaning)
	}
}

// assigned adds the value of a name that means something, if it is a secret.
func (s *scan) assigned(a assignment, means meaning) {
	if means == ordinary {
		return
	}
	if means == loginMeaning {
		a = s.behindScheme(a)
	}
	if (a.listed || a.loose) && means != secretMeaning {
		return
	}
	if strings.HasPrefix(s.text[a.start:a.end], "base64:") {
		a.start += len("base64:")
	}
	if a.open {
		s.hold(a.start)
	}
	value := s.text[a.start:a.end]
	if means == secretMeaning && !a.quoted {
		value = strings.TrimRight(value, "!?")
	}
	s.judgeWaiting()
	s.waiting = assignedValue{
		assignment: a,
		means:      means,
		value:      part{a.start, a.start + len(value)},
	}

	// The next one of a list.
	next := a.end + 1
	if !a.several {
		return
	}
	s.isLong(a.list, min(next, len(s.text)))
	if next >= len(s.text) {
		return
	}
	for next < len(s.text) && next-a.end < 64 && (s.text[next] == ',' || s.text[next] <= ' ') {
		next++
	}
	s.isLong(a.list, next)
	if next < len(s.text) && next > a.end+1 && (s.text[next] == '"' || s.text[next] == '\'') {
		more := assignment{name: a.name, header: a.header, several: true, list: a.list}
		more, ok := s.value(more, next)
		if ok && more.quoted {
			s.assigned(more, means)
		}
	}
}

// An assignedValue is a value whose name says that it is a secret, and that has not been looked at.
type assignedValue struct {
	assignment
	means meaning
	value part
}

// assignedScore is the score of what is found by the name that it is assigned to only.
const assignedScore = .6

// judgeWaiting adds the value that waits, if it is a secret. It waits until the scan has read it: most
// secrets are found by their form meanwhile, and do not need to be looked at by their name, too.
func (s *scan) judgeWaiting() {
	w := s.waiting
	if w.means == ordinary {
		return
	}
	s.waiting.means = ordinary
	for _, f := range slices.Backward(s.found) {
		if f.Start == w.value.start && f.End == w.value.end && f.Score >= assignedScore {
			return
		}
		if f.End <= w.value.start {
			break
		}
	}
	rule := s.ruleOf(w.assignment, w.means, s.text[w.value.start:w.value.end])
	if rule != "" {
		s.add(rule, w.value.start, w.value.end, assignedScore)
	}
}

// ruleOf returns the rule that makes an assigned value a secret; "" if none does.
func (s *scan) ruleOf(a assignment, means meaning, value string) string {
	if a.spoken && isMeasure(value) {
		return ""
	}
	if s.strict && (means == passwordMeaning || means == passMeaning) && s.isAnyPassword(a, value) {
		return "password"
	}
	switch means {
	case passwordMeaning:
		if s.isPassword(value) || s.isUnreadable(a, value) {
			return "password"
		}
	case passMeaning:
		path := strings.IndexByte(value, '/') >= 0
		if s.isPassword(value) && !path && strings.ContainsAny(value, "0123456789") {
			return "password"
		}
	case loginMeaning:
		if a.paired && s.isPassword(value) {
			return "password"
		}
		if s.isLogin(value) {
			return "authorization"
		}
	}
	if means != secretMeaning && means != loginMeaning {
		return ""
	}
	if a.header && len(value) >= 8 && s.isPassword(value) && !isPublic(value) &&
		(len(value) < 16 || !isMade(value)) {
		return "authorization"
	}
	if means != secretMeaning || a.loose && !(upperSet.HasAny(value) && lowerSet.HasAny(value)) {
		return ""
	}
	random := behindID(value)
	long := len(random) >= 20 || len(random) >= 16 && !a.loose && upperSet.HasAny(random) && !isHexID(random)
	if long && isRandom(random) && !s.isPlaceholder(value) && !isPublic(value) &&
		!s.isMisshapen(value) {
		return "assigned-secret"
	}
	if a.quoted && isMarked(value) && !s.isPlaceholder(value) && !strings.HasPrefix(value, "$(") {
		return "assigned-secret"
	}
	return ""
}

// behindID returns what a value has behind an identifier and a colon, as in 5f2a9c:Xk7mQ2vR9…; else
// the value. An identifier has a letter and a digit.
func behindID(value string) string {
	id, rest, ok := strings.Cut(value, ":")
	if !ok || len(id) < 5 || isNumber(id) || !strings.ContainsAny(id, "0123456789") ||
		strings.IndexByte(rest, ':') >= 0 {
		return value
	}
	return rest
}

// isMisshapen tells whether a value begins as the tokens of a provider do and yet is none of
// theirs: it is shorter than any of them, so that it was cut or typed by hand, or its prefix is in
// another case. The longest prefix counts.
func (s *scan) isMisshapen(value string) bool {
	misshapen := false
	state := uint32(0)
	for i := range len(value) {
		state = s.keywords.Step(state, value[i])
		if s.keywords.Depth(state) <= i {
			break // no prefix goes on
		}
		if !s.keywords.Ends(state) || s.keywords.Size(s.keywords.Found(state)[0]) != i+1 {
			continue
		}
		misshapen = false
		for _, p := range s.probes[s.keywords.Found(state)[0]] {
			t := p.token
			if t != nil {
				misshapen = t.distinct && (value[:i+1] != t.prefix || t.isMistake(len(value)-i-1))
			}
			if t != nil && !misshapen {
				break
			}
		}
	}
	return misshapen
}

// isMistake tells whether what follows a prefix is too short for a token, or up to three characters
// longer than all are.
func (t *token) isMistake(length int) bool {
	return length < t.least || t.least == t.most && length > t.most && length <= t.most+3
}

// isMeasure tells whether a value says how long something is: 8-character, 12-stellig.
func isMeasure(value string) bool {
	n := digitSet.Run(value, 0, len(value))
	return n > 0 && n < len(value) && value[n] == '-' && letterSet.HasAll(value[n+1:])
}

var digestNames = []string{"sha1", "sha2", "sha3", "sha5", "md5", "blake"}

// isPublic tells whether a value is the public part of a pair, a digest, or the path of a file.
func isPublic(value string) bool {
	if name := strings.IndexAny(value, ":-"); name > 0 && name <= len("blake2b512") {
		if hasFoldPrefix(value[:name], digestNames) {
			return true
		}
	}
	if strings.HasPrefix(value, "pk_live_") || strings.HasPrefix(value, "pk_test_") {
		return true
	}
	dot := strings.LastIndexByte(value, '.')
	return dot > 0 && len(value)-dot <= 5 && strings.IndexByte(value[:dot], '/') > 0
}

var schemeSet = pattern.MustSet("A-Za-z-")

// behindScheme goes on past the scheme of an Authorization header, such as Bearer.
func (s *scan) behindScheme(a assignment) assignment {
	i := a.end
	if i >= len(s.text) || s.text[i] != ' ' || i-a.start > 12 || !schemeSet.HasAll(s.text[a.start:i]) {
		return a
	}
	a.start = i + 1
	a.end = s.unquoted(i + 1)
	a.open = a.end == len(s.text) && a.end-a.start <= maxValue
	return a
}

// isLogin tells whether a value is what an Authorization header carries: random, or user:password
// in base64.
func (l *lexicon) isLogin(value string) bool {
	return len(value) <= maxValue && !l.isPlaceholder(value) && (isRandom(value) || isBasic(value))
}

// isBasic tells whether a value is user:password in base64.
func isBasic(value string) bool {
	if len(value) < 8 {
		return false
	}
	var room [maxValue]byte
	plain := decode64(room[:0], value)
	user, password, ok := bytes.Cut(plain, []byte(":"))
	return ok && len(user)+len(password) >= 6 && bytes.IndexFunc(plain, isUnprinted) < 0
}
