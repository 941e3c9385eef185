// Package automaton finds all of a list of keywords in one pass over a text, byte by byte. It is
// the algorithm of Aho and Corasick, with a table that has the next state for each state and byte,
// so that a step is two loads.
package automaton

import "errors"

// An Automaton knows a list of keywords. ASCII letters match in both cases. It never changes, and
// is safe for concurrent use.
//
// The caller begins with state 0 and goes on from state to state with Step.
type Automaton struct {
	class [256]uint8 // the class of a byte, the same for both cases of a letter; 0 for bytes that no keyword has
	width uint32     // how many classes there are: the length of a row of next
	next  []uint32   // the next state is next[state+class]; a state is where its row begins
	first uint32     // at the states from first on, keywords end
	ends  [][]int32  // ends[(state-first)/width] are the keywords that end at a state, longest first
	depth []uint16   // depth[state/width] is how many bytes of a keyword have been read
	fail  []uint32   // fail[state/width] is the state of the longest proper suffix that begins a keyword
	size  []uint16   // size[keyword] is the keyword's length in bytes
}

// maxTable bounds the memory of next: 16 million entries of 4 bytes, which are 64 MB.
const maxTable = 16 << 20

// ErrTooLarge is the error of New for a list whose automaton would take more than 64 MB.
var ErrTooLarge = errors.New("the list of keywords is too large for one automaton (64 MB): split it")

// New returns the automaton of a list. A keyword's number is its index in the list. Keywords have
// 1 to 65535 bytes. The error is ErrTooLarge.
func New(list []string) (*Automaton, error) {
	a := &Automaton{width: 1, size: make([]uint16, 0, len(list))}

	// Give each byte that a keyword has a class.
	nodes := 1
	for _, word := range list {
		nodes += len(word)
		a.size = append(a.size, uint16(len(word)))
		for i := range len(word) {
			c := lower(word[i])
			if a.class[c] == 0 {
				a.class[c] = uint8(a.width)
				a.width++
			}
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		a.class[c] = a.class[c+'a'-'A']
	}

	// Make the tree of all keywords.
	t := trie{nodes: make([]node, 1, min(nodes, maxTable/int(a.width)+1))}
	for n, word := range list {
		at := int32(0)
		for i := range len(word) {
			at = t.child(at, a.class[word[i]], uint16(i+1))
		}
		if len(t.nodes)*int(a.width) > maxTable {
			return nil, ErrTooLarge
		}
		t.nodes[at].ends = append(t.nodes[at].ends, int32(n))
	}
	a.link(&t)
	return a, nil
}

// A trie is the keywords as a tree. The root is the first node. It has many children and is asked
// for most often, so they are in a table of their own, by class.
type trie struct {
	nodes []node
	root  [256]int32
}

type node struct {
	class       uint8 // of the byte that leads here from the parent
	depth       uint16
	child, next int32 // the first child, and the next child of the same parent; 0 if there is none
	fail        int32 // the node of the longest proper suffix that begins a keyword
	ends        []int32
}

// child returns a node's child by a class. If there is none it makes it with that depth, or
// returns 0 if depth is 0.
func (t *trie) child(at int32, class uint8, depth uint16) int32 {
	if at == 0 && (t.root[class] != 0 || depth == 0) {
		return t.root[class]
	}
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
	if at == 0 {
		t.root[class] = c
	}
	return c
}

// link makes the automaton's tables of the tree.
func (a *Automaton) link(t *trie) {
	// Breadth first, so that a node's suffixes, which are shorter, are done before it.
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

	// Number the states: first those at which no keyword ends, so that one comparison tells.
	place := make([]uint32, len(t.nodes))
	states := uint32(0)
	for _, at := range order {
		if len(t.nodes[at].ends) == 0 {
			place[at] = states * a.width
			states++
		}
	}
	a.first = states * a.width
	for _, at := range order {
		if ends := t.nodes[at].ends; len(ends) > 0 {
			place[at] = states * a.width
			states++
			a.ends = append(a.ends, ends)
		}
	}

	// Fill the rows. Where a node has no child, its row goes where that of its longest suffix goes.
	a.next = make([]uint32, len(t.nodes)*int(a.width))
	a.depth = make([]uint16, len(t.nodes))
	a.fail = make([]uint32, len(t.nodes))
	for _, at := range order {
		n := &t.nodes[at]
		row := a.next[place[at] : place[at]+a.width]
		if at != 0 {
			copy(row, a.next[place[n.fail]:place[n.fail]+a.width])
		}
		for c := n.child; c != 0; c = t.nodes[c].next {
			row[t.nodes[c].class] = place[c]
		}
		i := place[at] / a.width
		a.depth[i] = n.depth
		a.fail[i] = place[n.fail]
	}
}

// Step returns the state after a byte.
func (a *Automaton) Step(state uint32, b byte) uint32 { return a.next[state+uint32(a.class[b])] }

// Ends tells whether a keyword ends at a state.
func (a *Automaton) Ends(state uint32) bool { return state >= a.first }

// Found returns the numbers of the keywords that end at a state, longest first. Ends must be true
// of it.
func (a *Automaton) Found(state uint32) []int32 { return a.ends[(state-a.first)/a.width] }

// Size returns the length in bytes of a keyword.
func (a *Automaton) Size(keyword int32) int { return int(a.size[keyword]) }

// States returns how many states there are.
func (a *Automaton) States() int { return len(a.depth) }

// Index numbers a state from 0 to States()-1, for tables of one's own.
func (a *Automaton) Index(state uint32) int { return int(state / a.width) }

// Depth returns the length in bytes of the longest suffix of what was read that is a keyword or
// begins one.
func (a *Automaton) Depth(state uint32) int { return int(a.depth[state/a.width]) }

// Begun calls yield with each suffix of what was read that is a keyword or begins one: its length
// in bytes and its own state. It begins with the longest, and goes on until yield returns false.
func (a *Automaton) Begun(state uint32, yield func(length int, suffix uint32) bool) {
	for ; state != 0; state = a.fail[state/a.width] {
		if !yield(int(a.depth[state/a.width]), state) {
			return
		}
	}
}

// lower makes an ASCII letter small.
func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
