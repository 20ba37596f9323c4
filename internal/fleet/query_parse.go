package fleet

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// operator is what a term does with its field.
type operator string

const (
	opHas          operator = ":"
	opEqual        operator = "=="
	opNotEqual     operator = "!="
	opGreater      operator = ">"
	opGreaterEqual operator = ">="
	opLess         operator = "<"
	opLessEqual    operator = "<="
	opRegexp       operator = "~"
)

// maxDepth bounds the nesting of parentheses and negations.
const maxDepth = 100

// ParseQuery reads a filter. It knows no fields: see Query.Check.
func ParseQuery(s string) (Query, error) {
	p := queryParser{s: s}
	if p.skip(); p.pos == len(s) {
		return Query{text: s}, nil
	}
	root, err := p.or()
	if err != nil {
		return Query{}, err
	}
	if p.pos < len(s) { // only a closing parenthesis stops or
		return Query{}, p.fail(p.pos, "a closing parenthesis without an opening one")
	}
	return Query{text: s, root: root, terms: p.terms}, nil
}

type queryParser struct {
	s     string
	pos   int
	depth int
	terms []*term
}

func (p *queryParser) fail(pos int, why string) error {
	return fmt.Errorf("%w: %s at position %d", ErrQuery, why, utf8.RuneCountInString(p.s[:pos])+1)
}

func (p *queryParser) rest() string { return p.s[p.pos:] }

func (p *queryParser) skip() {
	p.pos = len(p.s) - len(strings.TrimLeft(p.rest(), " \t\r\n"))
}

// take consumes token and the blanks after it, if it comes next.
func (p *queryParser) take(token string) bool {
	if !strings.HasPrefix(p.rest(), token) {
		return false
	}
	p.pos += len(token)
	p.skip()
	return true
}

func (p *queryParser) or() (expr, error) {
	var either anyOf
	for {
		e, err := p.and()
		if err != nil {
			return nil, err
		}
		either = append(either, e)
		if !p.take("||") {
			break
		}
	}
	if len(either) == 1 {
		return either[0], nil
	}
	return either, nil
}

func (p *queryParser) and() (expr, error) {
	var all allOf
	for {
		e, err := p.unary()
		if err != nil {
			return nil, err
		}
		all = append(all, e)
		if p.take("&&") {
			continue
		}
		if p.pos == len(p.s) || p.rest()[0] == ')' || strings.HasPrefix(p.rest(), "||") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func (p *queryParser) unary() (expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(p.pos, "nested too deeply")
	}
	defer func() { p.depth-- }()
	start := p.pos
	switch {
	case p.take("!"):
		e, err := p.unary()
		return not{e}, err
	case p.take("("):
		e, err := p.or()
		if err != nil {
			return nil, err
		}
		if !p.take(")") {
			return nil, p.fail(start, "no closing parenthesis for the one")
		}
		return e, nil
	}
	return p.leaf()
}

// leaf reads a term or a bare word.
func (p *queryParser) leaf() (expr, error) {
	start := p.pos
	field, op := p.fieldAndOperator()
	if op == "" {
		text, _, err := p.value(false)
		if err != nil {
			return nil, err
		}
		if text == "" {
			return nil, p.fail(start, "expected a word or a field")
		}
		return word(strings.ToLower(text)), nil
	}
	text, quoted, err := p.value(op == opRegexp)
	if err != nil {
		return nil, err
	}
	if text == "" && !quoted {
		return nil, p.fail(p.pos, "expected a value after "+field+string(op))
	}
	t := &term{field: strings.ToLower(field), op: op, lit: newLiteral(text)}
	if op == opRegexp {
		if t.lit.re, err = regexp.Compile(text); err != nil {
			return nil, fmt.Errorf("%w: regular expression of %s: %w", ErrQuery, field, err)
		}
	}
	p.terms = append(p.terms, t)
	return t, nil
}

// operators in the order in which they are tried: longest first.
func operators() []operator {
	return []operator{opEqual, opNotEqual, opGreaterEqual, opLessEqual, opHas, opGreater, opLess, opRegexp, "="}
}

// fieldAndOperator consumes "field op"; it leaves everything when that does not
// come next.
func (p *queryParser) fieldAndOperator() (string, operator) {
	end := p.pos
	for end < len(p.s) && (isLetter(p.s[end]) || end > p.pos && (isDigit(p.s[end]) || strings.IndexByte("_.-", p.s[end]) >= 0)) {
		end++
	}
	field := p.s[p.pos:end]
	after := strings.TrimLeft(p.s[end:], " \t")
	if field == "" {
		return "", ""
	}
	for _, op := range operators() {
		if !strings.HasPrefix(after, string(op)) {
			continue
		}
		p.pos = len(p.s) - len(after) + len(op)
		p.skip()
		if op == "=" {
			op = opEqual
		}
		return field, op
	}
	return "", ""
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// value reads a quoted or bare text and the blanks after it. A regular expression
// may hold parentheses, as long as they are in pairs.
func (p *queryParser) value(re bool) (text string, quoted bool, err error) {
	defer p.skip()
	if p.pos < len(p.s) && (p.s[p.pos] == '"' || p.s[p.pos] == '\'') {
		start, quote := p.pos, p.s[p.pos:p.pos+1]
		text, _, closed := strings.Cut(p.s[start+1:], quote)
		if !closed {
			return "", true, p.fail(start, "no closing quote for the one")
		}
		p.pos += len(text) + 2
		return text, true, nil
	}
	start, open := p.pos, 0
	for ; p.pos < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.pos]) < 0; p.pos++ {
		c := p.s[p.pos]
		if re && c == '(' {
			open++
			continue
		}
		if c == ')' && open > 0 {
			open--
			continue
		}
		if open == 0 && (c == '(' || c == ')' || strings.HasPrefix(p.rest(), "&&") || strings.HasPrefix(p.rest(), "||")) {
			break
		}
	}
	return p.s[start:p.pos], false, nil
}
