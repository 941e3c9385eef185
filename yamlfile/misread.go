package yamlfile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/plughook/plughook/internal/lazyregexp"
)

var (
	zeroFirst = lazyregexp.New(`^[-+]?0[0-9_]+$`)
	wholeText = lazyregexp.New(`^[-+]?[0-9]+$`)
	floatText = lazyregexp.New(`^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$`)
)

// misread sees to tokens that the YAML package takes for something else than YAML does. Numbers such as 1e-7
// and those of more than 64 bits, which it takes for texts, become numbers (see setNumber). What cannot be
// mended is returned, with what is wrong with it.
func misread(tokens token.Tokens) (*token.Token, error) {
	flow := 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.MappingValueType:
			if joined(t) {
				return t, fmt.Errorf("a colon without a space after it; write a space, or put the text in quotes")
			}
		}
		isBlock := isBlockText(t)
		if isBlock || t.Type == token.CommentType || t.Type == token.SingleQuoteType {
			continue
		}
		for line := range strings.Lines(t.Origin) {
			if strings.Contains(strings.TrimSpace(line), "\t") {
				return t, fmt.Errorf(`a tab in a text; put the text in double quotes, and write the tab as \t`)
			}
		}
		number := t.Type == token.OctetIntegerType || t.Type == token.StringType
		switch {
		case number && zeroFirst.MatchString(t.Value):
			return t, fmt.Errorf("%s begins with 0, which not all take for the same number; "+
				"put it in quotes, or leave out the 0", t.Value)
		case t.Type != token.StringType:
		case wholeText.MatchString(t.Value):
			t.Type = token.IntegerType
		case floatText.MatchString(t.Value):
			if _, err := strconv.ParseFloat(t.Value, 64); err != nil {
				return t, fmt.Errorf("the number %s is too large; put it in quotes", t.Value)
			}
			t.Type = token.FloatType
		case flow > 0 && strings.Contains(t.Value, ": "):
			return t, fmt.Errorf("a second colon; put the text in quotes")
		}
	}
	return nil, nil
}

// joined reports whether the colon ends a key without quotes and has the value right after it, as in {a:1}.
// To YAML, that is the text "a:1"; before a bracket or a comma, it is a key.
func joined(colon *token.Token) bool {
	key := colon.Prev
	value := colon.Next
	if key == nil || value == nil || value.Position.Line != colon.Position.Line ||
		strings.TrimLeft(value.Origin, " \t\r\n") != value.Origin {
		return false
	}
	ended := []token.Type{token.SingleQuoteType, token.DoubleQuoteType, token.SequenceEndType, token.MappingEndType}
	indicators := []token.Type{
		token.SequenceStartType, token.MappingStartType, token.SequenceEndType, token.MappingEndType,
		token.CollectEntryType,
	}
	return !slices.Contains(ended, key.Type) && !slices.Contains(indicators, value.Type)
}

// isBlockText reports whether the token is the text of a block, after | or >.
func isBlockText(t *token.Token) bool {
	before := t.Prev
	for before != nil && before.Type == token.CommentType {
		before = before.Prev
	}
	return before != nil && (before.Type == token.LiteralType || before.Type == token.FoldedType)
}

// setNumber gives a node the number that misread has found in its token: one of more than 64 bits is a
// json.Number.
func setNumber(n ast.Node) {
	switch n := n.(type) {
	case *ast.IntegerNode:
		if n.Value == nil {
			n.Value = json.Number(strings.TrimPrefix(n.Token.Value, "+"))
		}
	case *ast.FloatNode:
		if f, err := strconv.ParseFloat(n.Token.Value, 64); err == nil {
			n.Value = f
		}
	}
}
