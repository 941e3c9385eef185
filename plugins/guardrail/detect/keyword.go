package detect

import "errors"

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
	t := trie{nodes: make([]node, 1, min(nodes, maxTable/int(k.width)+1))}
	for n, w := range list {
		at := int32(0)
		for i := range len(w) {
			at = t.child(at, k.class[w[i]], uint16(i+1))
		}
		if len(t.nodes)*int(k.width) > maxTable {
			return nil, errTooManyKeywords
		}
		t.nodes[at].ends = append(t.nodes[at].ends, int32(n))
	}
	k.link(&t)
	return k, nil
}

// A trie is the keywords as a tree, the root first.
type trie struct{ nodes []node }

type node struct {
	class       uint8 // of the byte that leads here
	depth       uint16
	child, next int32 // the first child, the next one of its parent; 0 if there is none
	fail        int32 // the longest proper suffix that begins a keyword
	ends        []int32
}

// child returns a node's child by a class, and makes it if depth is not 0; else it returns 0 if there is none.
func (t *trie) child(at int32, class uint8, depth uint16) int32 {
	for c := t.nodes[at].child; c != 0; c = t.nodes[c].next {
		if t.nodes[c].class == class {
			return c
		}
	}
	if depth == 0 {
		return 0
	}
	c := int32(len(t.nodes))
	t.nodes = append(t.nodes, node{class: class, depth: depth, next: t.nodes[at].child})
	t.nodes[at].child = c
	return c
}

// link makes rows of the trie: where it has no child, a row goes where the longest suffix would go.
func (k *keywords) link(t *trie) {
	order := make([]int32, 1, len(t.nodes))
	for i := 0; i < len(order); i++ {
		at := order[i]
		for c := t.nodes[at].child; c != 0; c = t.nodes[c].next {
			n := &t.nodes[c]
			for f := at; f != 0 && n.fail == 0; {
				f = t.nodes[f].fail
				n.fail = t.child(f, n.class, 0)
			}
			n.ends = append(n.ends, t.nodes[n.fail].ends...)
			order = append(order, c)
		}
	}
	// Quiet states first, so that one comparison tells whether anything ends.
	place, quiet := make([]uint32, len(t.nodes)), uint32(0)
	for _, ending := range []bool{false, true} {
		for _, at := range order {
			if n := &t.nodes[at]; (len(n.ends) > 0) == ending {
				place[at] = quiet * k.width
				if quiet++; ending {
					k.ends = append(k.ends, n.ends)
				}
			}
		}
		if !ending {
			k.first = quiet * k.width
		}
	}
	k.next = make([]uint32, len(t.nodes)*int(k.width))
	k.depth, k.fail = make([]uint16, len(t.nodes)), make([]uint32, len(t.nodes))
	for _, at := range order {
		n := &t.nodes[at]
		row := k.next[place[at] : place[at]+k.width]
		if at != 0 {
			copy(row, k.next[place[n.fail]:place[n.fail]+k.width])
		}
		for c := n.child; c != 0; c = t.nodes[c].next {
			row[t.nodes[c].class] = place[c]
		}
		i := place[at] / k.width
		k.depth[i], k.fail[i] = n.depth, place[n.fail]
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
