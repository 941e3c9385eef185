package detect

import (
	"errors"
	"slices"
)

// keywords is an Aho-Corasick automaton: it finds every one of a list of keywords in one pass, byte by byte. ASCII
// letters match in both cases. A state is the offset of its row in next, so a step is two loads.
type keywords struct {
	class [256]uint8 // of a byte, upper and lower case the same; 0 for bytes that no keyword has
	width uint32     // classes, the length of a row
	next  []uint32   // [state+class]
	first uint32     // states from first on end a keyword, or have a suffix that does
	ends  [][]int32  // [(state-first)/width]: the keywords that end here, longest first
	depth []uint16   // [state/width]: how much of a keyword it stands for
	fail  []uint32   // [state/width]: the longest proper suffix that begins a keyword
	size  []uint16   // by keyword: its bytes
}

// maxTable bounds the automaton's memory: 64 MB of transitions.
const maxTable = 16 << 20

var errTooManyKeywords = errors.New("the list of keywords is too large for one automaton (64 MB): split it")

// newKeywords builds the automaton of a list; a keyword's number is its index. Keywords are 1 to 65535 bytes.
func newKeywords(list []string) (*keywords, error) {
	k, nodes := &keywords{width: 1}, 1
	for _, w := range list {
		nodes += len(w)
		k.size = append(k.size, uint16(len(w)))
		for i := range len(w) {
			if c := lower(w[i]); k.class[c] == 0 {
				k.class[c] = uint8(k.width)
				k.width++
			}
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		k.class[c] = k.class[c+'a'-'A']
	}
	trie := make([]uint32, k.width, min(nodes*int(k.width), maxTable)) // a row for each node, 0: no child
	out := [][]int32{nil}
	depth := []uint16{0}
	for n, w := range list {
		at := uint32(0)
		for i := range len(w) {
			child := &trie[at*k.width+uint32(k.class[w[i]])]
			if *child == 0 {
				if len(trie)+int(k.width) > maxTable {
					return nil, errTooManyKeywords
				}
				*child = uint32(len(out))
				at = *child
				trie = append(trie, blank[:k.width]...)
				out, depth = append(out, nil), append(depth, uint16(i+1))
				continue
			}
			at = *child
		}
		out[at] = append(out[at], int32(n))
	}
	k.link(trie, out, depth)
	return k, nil
}

var blank [256]uint32

// link makes rows of the trie: where it has no child, a row goes where the longest suffix would go.
func (k *keywords) link(trie []uint32, out [][]int32, depth []uint16) {
	row := func(at uint32) []uint32 { return trie[at*k.width : (at+1)*k.width] }
	fail := make([]uint32, len(out))
	order := make([]uint32, 1, len(out))
	for i := 0; i < len(order); i++ {
		at := order[i]
		out[at] = append(out[at], out[fail[at]]...)
		via := row(fail[at])
		for c, child := range row(at) {
			if child == 0 {
				row(at)[c] = via[c]
				continue
			}
			if at != 0 {
				fail[child] = via[c]
			}
			order = append(order, child)
		}
	}
	// Quiet states first, so that one comparison tells whether anything ends.
	slices.SortStableFunc(order, func(a, b uint32) int { return min(len(out[a]), 1) - min(len(out[b]), 1) })
	place := make([]uint32, len(out))
	for i, at := range order {
		place[at] = uint32(i) * k.width
	}
	k.next, k.first = make([]uint32, 0, len(trie)), uint32(len(trie))
	k.depth, k.fail = make([]uint16, len(out)), make([]uint32, len(out))
	for i, at := range order {
		for _, to := range row(at) {
			k.next = append(k.next, place[to])
		}
		k.depth[i], k.fail[i] = depth[at], place[fail[at]]
		if len(out[at]) > 0 {
			k.first = min(k.first, uint32(i)*k.width)
			k.ends = append(k.ends, out[at])
		}
	}
}

// step goes on by a byte.
func (k *keywords) step(state uint32, b byte) uint32 { return k.next[state+uint32(k.class[b])] }

// found is the keywords that end at a state, longest first; nil for most.
func (k *keywords) found(state uint32) []int32 {
	if state < k.first {
		return nil
	}
	return k.ends[(state-k.first)/k.width]
}

// begun calls yield with each suffix of what was read that begins a keyword, or is one: its length and its own state,
// longest first, until yield returns false.
func (k *keywords) begun(state uint32, yield func(length int, suffix uint32) bool) {
	for ; state != 0; state = k.fail[state/k.width] {
		if !yield(int(k.depth[state/k.width]), state) {
			return
		}
	}
}

// lower folds an ASCII letter.
func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
