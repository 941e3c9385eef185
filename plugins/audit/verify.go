package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrBroken is a chain that does not hold: a line was changed, removed, added, moved, or cut off.
var ErrBroken = errors.New("the chain is broken")

// Chain is what Verify has found to hold.
type Chain struct {
	// First and Last are the numbers of the first and last line, 0 if there is none. A First above 1 says that
	// the chain began in files that were not read.
	First, Last int64
	// Hash is that of the last line. Kept elsewhere, with Last, it shows later that nothing up to there was
	// changed or cut off.
	Hash string
	// Repairs counts the lines that say that a line was cut off when its writer died.
	Repairs int
}

// Verify reads lines and checks that each follows the one before. key is the plugin's (without the line feed at
// the end of a key file), nil if it has none. Files that were put aside are read in the order of their numbers
// and the current one last, as one (io.MultiReader). What holds up to the error, which is ErrBroken unless reading
// failed, is returned with it.
func Verify(r io.Reader, key []byte) (Chain, error) {
	var c Chain
	var k *keys
	if key != nil {
		var err error
		if k, err = newKeys(key, "Verify"); err != nil {
			return c, err
		}
	}
	in := bufio.NewReader(r)
	for at := int64(1); ; at++ {
		text, err := in.ReadBytes('\n')
		if err == io.EOF && len(text) == 0 {
			return c, nil
		}
		if err != nil && err != io.EOF {
			return c, fmt.Errorf("audit: line %d: %w", at, err)
		}
		broken := func(why string) (Chain, error) { return c, fmt.Errorf("audit: line %d: %w: %s", at, ErrBroken, why) }
		text, whole := bytes.CutSuffix(text, []byte("\n"))
		if !whole {
			return broken("it is cut off")
		}
		l, err := parse(text)
		switch {
		case err != nil:
			return broken("it is no line of an audit")
		case c.First == 0 && l.N == 1 && l.Prev != "":
			return broken("it is the first of all, and names one before it")
		case c.First != 0 && l.N != c.Last+1:
			return broken(fmt.Sprintf("its number is %d, after %d", l.N, c.Last))
		case c.First != 0 && l.Prev != c.Hash:
			return broken(fmt.Sprintf("line number %d was changed, or this one, or the key is another", c.Last))
		case c.First == 0:
			c.First = l.N
		}
		if l.Kind == "repair" {
			c.Repairs++
		}
		c.Last, c.Hash = l.N, k.hash(text)
	}
}
