package extract

import (
	"encoding/base64"
	"hash/fnv"
	"math"
	"strings"
)

// A sketch estimates in how many texts each term occurred: buckets of four bits, chosen by the term's hash,
// whose levels grow by a factor, so that its size is fixed however long the session gets.
type sketch struct {
	texts   float64 // counted, halved with the levels
	cells   []byte  // two buckets a byte
	favored map[uint64]bool
}

const (
	buckets  = 8192
	maxTexts = 4096 // then everything is halved, so that what was long ago counts less
)

// levels are the counts that the sixteen values of a bucket stand for.
var levels = [16]float64{0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256, 512}

// key hashes a term. Zero is no term.
func key(term string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(term))
	return max(1, h.Sum64())
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
	terms := make(map[uint64]bool, len(words))
	for _, w := range words {
		if w.term != 0 {
			terms[w.term] = true
		}
	}
	if len(terms) == 0 {
		return
	}
	if s.cells == nil {
		s.cells = make([]byte, buckets/2)
	}
	if s.texts++; s.texts > maxTexts {
		s.halve()
	}
	for k := range terms {
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

// idf is what a term tells: the logarithm of how rare it is.
func (s *sketch) idf(k uint64) float64 {
	return math.Log((s.texts + 1000) / max(1, s.count(k)))
}

// common reports whether a term is in so many texts that it tells as little as a stop word, whatever its language.
func (s *sketch) common(k uint64) bool { return s.texts >= 20 && s.count(k) > s.texts/4 }

func (s *sketch) MarshalText() ([]byte, error) {
	return []byte(base64.RawStdEncoding.EncodeToString([]byte(strings.TrimRight(string(s.cells), "\x00")))), nil
}

func (s *sketch) UnmarshalText(text []byte) error {
	cells, err := base64.RawStdEncoding.DecodeString(string(text))
	if err != nil {
		return err
	}
	if len(cells) > 0 {
		s.cells = make([]byte, buckets/2)
		copy(s.cells, cells)
	}
	return nil
}
