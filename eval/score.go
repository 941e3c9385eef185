package eval

import (
	"context"
	"fmt"
	"strings"
	"unicode"
)

// averages returns the criteria of a case, each as the average over its turns.
func (e *Evaluator) averages(ctx context.Context, c *Case, turns []*turnRun) ([]Score, error) {
	var scores []Score
	for i := range c.Criteria {
		criterion := &c.Criteria[i]
		if criterion.Skipped {
			continue
		}
		sum, n := 0.0, 0
		var whys []string
		for _, t := range turns {
			score, why, looked, err := e.score(ctx, criterion, t)
			if err != nil {
				return nil, err
			}
			if !looked {
				continue
			}
			sum += score
			n++
			if score < 1 {
				whys = append(whys, fmt.Sprintf("turn %d: %s", t.number, why))
			}
		}
		if n == 0 {
			continue // no turn has what it compares with
		}
		s := Score{Name: criterion.Name, Score: sum / float64(n), Threshold: criterion.Threshold}
		s.Passed = s.Score >= s.Threshold
		if !s.Passed {
			s.Why = strings.Join(whys, "; ")
		}
		scores = append(scores, s)
	}
	return scores, nil
}

// score returns a turn's score of a criterion, from 0 to 1, and why it is not 1. looked is false if the turn has nothing
// to compare with.
func (e *Evaluator) score(ctx context.Context, c *Criterion, t *turnRun) (score float64, why string, looked bool, err error) {
	reference, hasReference := t.expectedAnswer()
	switch c.Name {
	case ToolTrajectory:
		if t.reference == nil {
			return 0, "", false, nil
		}
		if why = compareCalls(t.reference.calls, t.made(), c.Match); why == "" {
			score = 1
		}
		return score, why, true, nil
	case ResponseMatch:
		if !hasReference {
			return 0, "", false, nil
		}
		score = rouge1(reference, t.answer)
		return score, fmt.Sprintf("%.2f: want %s, got %s", score, quoted(reference), quoted(t.answer)), true, nil
	}
	if c.Name == FinalResponseMatch && !hasReference {
		return 0, "", false, nil
	}
	if e.Judge == nil {
		return 0, "", false, errNoJudge
	}
	score, why, err = e.Judge.score(ctx, c, t, reference)
	return score, why, true, err
}

// expectedAnswer returns the answer that a person has written for a turn.
func (t *turnRun) expectedAnswer() (string, bool) {
	if t.Expect.Reference != "" {
		return t.Expect.Reference, true
	}
	if t.reference != nil {
		return t.reference.text, t.reference.hasText
	}
	return "", false
}

// rouge1 returns how alike two texts are by their words: the F-measure of ROUGE-1 with the stems that the kit's has
// (see stem). (C.-Y. Lin, ROUGE: A Package for Automatic Evaluation of Summaries, 2004.)
func rouge1(reference, candidate string) float64 {
	want := stems(reference)
	got := stems(candidate)
	left := map[string]int{}
	for _, word := range want {
		left[word]++
	}
	both := 0
	for _, word := range got {
		if left[word] > 0 {
			left[word]--
			both++
		}
	}
	if both == 0 {
		return 0
	}
	precision := float64(both) / float64(len(got))
	recall := float64(both) / float64(len(want))
	return 2 * precision * recall / (precision + recall)
}

// stems returns the words of a text: letters a to z and digits, in lower case; those of more than three as stems.
func stems(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for i, word := range words {
		if len(word) > 3 {
			words[i] = stem(word)
		}
	}
	return words
}
