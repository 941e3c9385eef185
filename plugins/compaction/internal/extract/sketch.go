package extract

import (
	"encoding/base64"
	"math"
	"slices"
)

// A sketch estimates how many texts have each term. The hash of a term chooses its bucket. A bucket has four
// bits, which stand for one of sixteen levels, so the size of a sketch does not depend on the length of the
// session.
type sketch struct {
	texts float64 // how many were counted; halved together with the levels
	cells []byte  // each has two buckets
}

const (
	buckets  = 8192
	maxTexts = 4096 // when there are more texts, all counts are halved, so that old texts count less
)

// counted is how many words of a text are counted as one text at most.
const counted = 80

// prior is added to the number of texts, so that the weight of a term is nearly the same early and late in a
// session.
const prior = 1000

// levels are the counts that the sixteen values of a bucket stand for.
var levels = [16]float64{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512}

// fnvPrime is the multiplier of the hash FNV-1a.
const fnvPrime = 1099511628211

// key returns the hash of a term, by FNV-1a. It is never 0, which stands for no term.
func key(term string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(term) {
		h = (h ^ uint64(term[i])) * fnvPrime
	}
	return max(1, h)
}

func (s *sketch) level(k uint64) byte {
	if s.cells == nil {
		return 0
	}
	i := k % buckets
	return s.cells[i/2] >> (4 * (i % 2)) & 15
}

func (s *sketch) set(k uint64, v byte) {
	i := k % buckets
	shift := 4 * (i % 2)
	s.cells[i/2] = s.cells[i/2]&^(15<<shift) | v<<shift
}

// add counts each term of one text once.
func (s *sketch) add(words []word) {
	if s.cells == nil {
		s.cells = make([]byte, buckets/2)
	}
	s.texts++
	if s.texts > maxTexts {
		s.halve()
	}
	seen := make([]uint64, 0, len(words))
	for _, w := range words {
		k := w.term
		if k == 0 || slices.Contains(seen, k) {
			continue
		}
		seen = append(seen, k)
		v := s.level(k)
		if v == 15 {
			continue
		}

		// If the next level is n counts away, one text in n raises the level. Which one depends on the number
		// of the text and on the term, not on chance: the same input gives the same sketch.
		n := uint64(levels[v+1] - levels[v])
		draw := k>>32 ^ uint64(s.texts)*0x9E3779B97F4A7C15>>40
		if draw%n == 0 {
			s.set(k, v+1)
		}
	}
}

// halve halves the number of texts and all counts.
func (s *sketch) halve() {
	s.texts /= 2
	for k := range uint64(buckets) {
		half := levels[s.level(k)] / 2
		v := byte(0)
		for v < 15 && levels[v+1] <= half {
			v++
		}
		s.set(k, v)
	}
}

// count returns about how many texts have a term.
func (s *sketch) count(k uint64) float64 { return levels[s.level(k)] }

// idf returns the information of a term: the logarithm of its inverse document frequency.
func (s *sketch) idf(k uint64) float64 {
	return math.Log((s.texts + prior) / max(1, s.count(k)))
}

// common reports whether so many texts have a term that it counts as a stop word, in any language.
func (s *sketch) common(k uint64) bool { return s.texts >= 20 && s.count(k) > s.texts/4 }

// MarshalText writes the cells in base64. It writes only those that are not empty, each after the number of
// empty ones before it, or all cells if that is shorter.
func (s *sketch) MarshalText() ([]byte, error) {
	sparse := []byte{'s'}
	gap := byte(0) // empty cells before this one
	for _, c := range s.cells {
		if c == 0 && gap < 255 {
			gap++
			continue
		}
		sparse = append(sparse, gap, c)
		gap = 0
	}
	if len(sparse) > len(s.cells) {
		sparse = append([]byte{'d'}, s.cells...)
	}
	return base64.RawStdEncoding.AppendEncode(nil, sparse), nil
}

// UnmarshalText reads what MarshalText writes.
func (s *sketch) UnmarshalText(text []byte) error {
	data, err := base64.RawStdEncoding.AppendDecode(nil, text)
	if err != nil || len(data) == 0 {
		return err
	}
	s.cells = make([]byte, buckets/2)
	if data[0] == 'd' {
		copy(s.cells, data[1:])
		return nil
	}
	next := 0
	for i := 1; i+1 < len(data) && next+int(data[i]) < len(s.cells); i += 2 {
		next += int(data[i])
		s.cells[next] = data[i+1]
		next++
	}
	return nil
}
