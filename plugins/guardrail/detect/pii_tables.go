package detect

import "strings"

// tables are the numbers by the form in which they are written, which know how each form begins too, the codes by how many characters they have, and
// the words that are said before them.
type tables struct {
	numbers    map[string][]knownNumber
	codes      [20][]knownCode
	vocabulary vocabulary
}

type knownNumber struct {
	*idNumber
	list  list
	alone bool
}

type knownCode struct {
	*idCode
	list list
}

func newTables() *tables {
	t := &tables{numbers: map[string][]knownNumber{}, vocabulary: vocabulary{words: map[string][]mention{}}}
	add := func(form string, known ...knownNumber) { t.numbers[form] = append(t.numbers[form], known...) }
	for l, words := range [idLists]string{phoneWords, otherWords, numberWords, cardWords, birthWords, versionWords, netWords, macWords, driverWords} {
		t.vocabulary.learn(list(l), words)
	}
	l := idLists
	for i := range idNumbers {
		id := &idNumbers[i]
		t.vocabulary.learn(l, id.words)
		for form := range strings.SplitSeq(id.forms, "|") {
			form, alone := strings.CutSuffix(form, "!")
			add(form, knownNumber{id, l, alone})
			for i := range form {
				if !aDigit(form[i]) { // a group ends
					add(form[:i])
				}
			}
		}
		l++
	}
	for i := range idCodes {
		id := &idCodes[i]
		t.vocabulary.learn(l, id.words)
		for shape := range strings.SplitSeq(id.shapes, "|") {
			if known := t.codes[len(shape)]; len(known) == 0 || known[len(known)-1].idCode != id {
				t.codes[len(shape)] = append(known, knownCode{id, l})
			}
		}
		l++
	}
	return t
}
