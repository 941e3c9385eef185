package extract

import (
	"encoding/base64"
	"math"
	"slices"
)

// A sketch estimates in how many texts each term occurred: buckets of four bits, chosen by the term's hash,
// whose levels grow by a factor, so that its size is fixed however long the session gets.
type sketch struct {
	texts float64 // counted, halved with the levels
	cells []byte  // two buckets a byte
}

const (
	buckets  = 8192
	maxTexts = 4096 // then everything is halved, so that what was long ago counts less
)

// levels are the counts that the sixteen values of a bucket stand for.
var levels = [16]float64{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512}

// key hashes a term, by FNV-1a. Zero is no term.
func key(term string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(term) {
		h = (h ^ uint64(term[i])) * 1099511628211
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

// add counts the distinct terms of one text.
func (s *sketch) add(words []word) {
	if s.cells == nil {
		s.cells = make([]byte, buckets/2)
	}
	if s.texts++; s.texts > maxTexts {
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
		// A level that spans several counts is passed once in as many, by a die that the text's number and the
		// term cast: the same input gives the same sketch.
		if gap := uint64(levels[v+1] - levels[v]); (k>>32^uint64(s.texts)*0x9E3779B97F4A7C15>>40)%gap == 0 {
			s.set(k, v+1)
		}
	}
}

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

// count is the number of texts that a term was in, about.
func (s *sketch) count(k uint64) float64 { return levels[s.level(k)] }

// prior is how many texts without any term a session is taken to begin with, so that a term's weight is much the same
// early and late.
const prior = 1000

// idf is what a term tells: the logarithm of how rare it is.
func (s *sketch) idf(k uint64) float64 {
	return math.Log((s.texts + prior) / (max(1, s.count(k)) + float64(usual()[k])))
}

// common reports whether a term is in so many texts that it tells as little as a stop word, whatever its language.
func (s *sketch) common(k uint64) bool { return s.texts >= 20 && s.count(k) > s.texts/4 }

// MarshalText writes the buckets that are not empty, as gap and content, in base64; or all, if that is shorter.
func (s *sketch) MarshalText() ([]byte, error) {
	sparse, gap := []byte{'s'}, byte(0)
	for _, c := range s.cells {
		if c == 0 && gap < 255 {
			gap++
			continue
		}
		sparse, gap = append(sparse, gap, c), 0
	}
	if len(sparse) > len(s.cells) {
		sparse = append([]byte{'d'}, s.cells...)
	}
	return base64.RawStdEncoding.AppendEncode(nil, sparse), nil
}

// UnmarshalText reads them.
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
	at := 0
	for i := 1; i+1 < len(data) && at+int(data[i]) < len(s.cells); i += 2 {
		at += int(data[i])
		s.cells[at] = data[i+1]
		at++
	}
	return nil
}
