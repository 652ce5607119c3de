package builtin

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

type calculateInput struct {
	// such as (2+3)*4
	Expression string `json:"expression"`
}

// calculate evaluates arithmetic: + - * / % ^, brackets, sqrt, round, log, sin, pi ...
//
//etui:tool groups=util risk=read
//etui:zh 计算算术表达式。
//etui:example what is 17 * 23?
//etui:alias calc, math, sum, numbers, 2 + 3, plus, add up, 5 - 4, minus, subtract, 6 * 7, times, multiply, 8 / 9, divided by, 2 ^ 8, power, percent, square root, how much is
//etui:alias 计算器, 算一下, 等于多少, 加减乘除, 加, 减, 相加, 数字, 乘以, 除以
func calculate(in calculateInput) (string, error) { return Evaluate(in.Expression) }

const (
	maxExpression = 1000 // bytes
	maxBrackets   = 100  // depth
	maxBits       = 4096 // of an exact number; after that it is a float
)

// Evaluate computes an arithmetic expression. Decimals are exact: 0.1+0.2 is 0.3.
// Functions and roots use floating point.
func Evaluate(expression string) (string, error) {
	if len(expression) > maxExpression {
		return "", fmt.Errorf("the expression is longer than %d characters", maxExpression)
	}
	p := &parser{text: expression}
	v, err := p.sum(0)
	if err == nil && p.peek() != 0 {
		err = p.fail("unexpected %q", p.peek())
	}
	if err != nil {
		return "", err
	}
	return v.String(), nil
}

// number is exact as long as possible, else a float.
type number struct {
	exact *big.Rat
	float float64
}

func (n number) value() float64 {
	if n.exact != nil {
		f, _ := n.exact.Float64()
		return f
	}
	return n.float
}

func (n number) String() string {
	if n.exact == nil || n.exact.Num().BitLen() > 128 {
		return fmt.Sprintf("%.15g", n.value())
	}
	if n.exact.IsInt() {
		return n.exact.Num().String()
	}
	if digits, exact := n.exact.FloatPrec(); exact && digits <= 15 {
		return n.exact.FloatString(digits)
	}
	return fmt.Sprintf("%.15g", n.value())
}

func float(f float64) (number, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return number{}, fmt.Errorf("the result is not a number or too large")
	}
	return number{float: f}, nil
}

func rational(r *big.Rat) (number, error) {
	if r.Num().BitLen() > maxBits || r.Denom().BitLen() > maxBits {
		f, _ := r.Float64()
		return float(f)
	}
	return number{exact: r}, nil
}

// both returns the result of an operation: the exact one if both numbers are exact.
func both(x, y number, exact func(z, x, y *big.Rat) *big.Rat, inexact float64) (number, error) {
	if x.exact == nil || y.exact == nil {
		return float(inexact)
	}
	return rational(exact(new(big.Rat), x.exact, y.exact))
}

// parser is a recursive descent parser that computes as it reads.
type parser struct {
	text string
	at   int
}

func (p *parser) fail(format string, args ...any) error {
	return fmt.Errorf("at position %d of %q: %s", p.at+1, p.text, fmt.Sprintf(format, args...))
}

// peek returns the next character that is not a space, 0 at the end.
func (p *parser) peek() rune {
	p.text = p.text[:p.at] + strings.TrimLeft(p.text[p.at:], " \t\n\r")
	for _, r := range p.text[p.at:] {
		return r
	}
	return 0
}

func (p *parser) take(signs string) rune {
	if r := p.peek(); r != 0 && strings.ContainsRune(signs, r) {
		p.at += len(string(r))
		return r
	}
	return 0
}

func (p *parser) sum(depth int) (number, error) {
	if depth > maxBrackets {
		return number{}, p.fail("brackets are nested too deeply")
	}
	left, err := p.product(depth)
	for err == nil {
		sign := p.take("+-−")
		if sign == 0 {
			return left, nil
		}
		var right number
		if right, err = p.product(depth); err != nil {
			break
		}
		if sign == '+' {
			left, err = both(left, right, (*big.Rat).Add, left.value()+right.value())
		} else {
			left, err = both(left, right, (*big.Rat).Sub, left.value()-right.value())
		}
	}
	return left, err
}

func (p *parser) product(depth int) (number, error) {
	left, err := p.power(depth)
	for err == nil {
		sign := p.take("*/%×÷·")
		if sign == 0 {
			return left, nil
		}
		if sign == '%' && !p.operand() {
			left, err = p.quotient(left, number{exact: big.NewRat(100, 1)})
			continue
		}
		var right number
		if right, err = p.power(depth); err != nil {
			break
		}
		switch sign {
		case '/', '÷':
			left, err = p.quotient(left, right)
		case '%':
			if right.value() == 0 {
				return left, p.fail("division by zero")
			}
			left, err = float(math.Mod(left.value(), right.value()))
		default:
			left, err = both(left, right, (*big.Rat).Mul, left.value()*right.value())
		}
	}
	return left, err
}

// operand reports whether a value follows: then % is a remainder, else a percentage.
func (p *parser) operand() bool {
	r := p.peek()
	return r >= '0' && r <= '9' || r == '.' || r == '(' || r >= 'a' && r <= 'z'
}

func (p *parser) quotient(left, right number) (number, error) {
	if right.value() == 0 && (right.exact == nil || right.exact.Sign() == 0) {
		return left, p.fail("division by zero")
	}
	return both(left, right, (*big.Rat).Quo, left.value()/right.value())
}

// power parses signs and powers, which are right-associative: -2^2 is -4.
func (p *parser) power(depth int) (number, error) {
	if depth > maxBrackets {
		return number{}, p.fail("too many signs")
	}
	if sign := p.take("-−+"); sign != 0 {
		v, err := p.power(depth + 1)
		if err != nil || sign == '+' {
			return v, err
		}
		if v.exact != nil {
			return rational(new(big.Rat).Neg(v.exact))
		}
		return float(-v.float)
	}
	base, err := p.value(depth)
	if err != nil || p.take("^") == 0 {
		return base, err
	}
	exponent, err := p.power(depth + 1)
	if err != nil {
		return base, err
	}
	if e := exponent.exact; e != nil && e.IsInt() && e.Num().IsInt64() && base.exact != nil && base.exact.Sign() != 0 {
		n := e.Num().Int64()
		bits := int64(max(base.exact.Num().BitLen(), base.exact.Denom().BitLen()))
		if abs := max(n, -n); abs <= maxBits && abs*bits <= maxBits {
			x := big.NewInt(abs)
			r := new(big.Rat).SetFrac(new(big.Int).Exp(base.exact.Num(), x, nil),
				new(big.Int).Exp(base.exact.Denom(), x, nil))
			if n < 0 {
				r.Inv(r)
			}
			return rational(r)
		}
	}
	return float(math.Pow(base.value(), exponent.value()))
}

func (p *parser) value(depth int) (number, error) {
	switch r := p.peek(); {
	case r == '(':
		p.at++
		return p.closed(p.sum(depth + 1))
	case r >= '0' && r <= '9' || r == '.':
		return p.literal()
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == 'π':
		return p.name(depth)
	case r == 0:
		return number{}, p.fail("a value is missing")
	default:
		return number{}, p.fail("unexpected %q", r)
	}
}

// closed takes the bracket after a value.
func (p *parser) closed(v number, err error) (number, error) {
	if err == nil && p.take(")") == 0 {
		err = p.fail("a closing bracket is missing")
	}
	return v, err
}

func (p *parser) literal() (number, error) {
	end := p.at
	for end < len(p.text) {
		c := p.text[end]
		exponent := (c == '+' || c == '-') && end > p.at && (p.text[end-1] == 'e' || p.text[end-1] == 'E')
		digit := c >= '0' && c <= '9'
		letter := (c == 'e' || c == 'E') && end+1 < len(p.text) &&
			strings.ContainsRune("0123456789+-", rune(p.text[end+1]))
		if !digit && c != '.' && !letter && !exponent {
			break
		}
		end++
	}
	text := p.text[p.at:end]
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > 5 {
		return number{}, p.fail("the exponent of %s is too large", text)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return number{}, p.fail("%q is not a number", text)
	}
	p.at = end
	return rational(r)
}

var functions = map[string]func(float64) float64{
	"sqrt": math.Sqrt, "abs": math.Abs, "round": math.Round, "floor": math.Floor, "ceil": math.Ceil,
	"log": math.Log10, "ln": math.Log, "exp": math.Exp, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan,
}

func (p *parser) name(depth int) (number, error) {
	rest := strings.TrimLeft(p.text[p.at:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	end := len(p.text) - len(rest)
	if strings.HasPrefix(p.text[p.at:], "π") {
		p.at += len("π")
		return float(math.Pi)
	}
	name := strings.ToLower(p.text[p.at:end])
	if value, ok := map[string]float64{"pi": math.Pi, "e": math.E}[name]; ok {
		p.at = end
		return float(value)
	}
	f, single := functions[name]
	if !single && name != "min" && name != "max" {
		return number{}, p.fail("unknown name %q; known are sqrt abs round floor ceil min max log ln exp sin cos tan pi e", name)
	}
	p.at = end
	if p.take("(") == 0 {
		return number{}, p.fail("%s needs brackets", name)
	}
	best, err := p.sum(depth + 1)
	for err == nil && !single && p.take(",") != 0 {
		var next number
		if next, err = p.sum(depth + 1); err == nil && (next.value() < best.value()) == (name == "min") {
			best = next
		}
	}
	if best, err = p.closed(best, err); err != nil || !single {
		return best, err
	}
	v, err := float(f(best.value()))
	// Integral results of rounding stay exact.
	if err == nil && (name == "round" || name == "floor" || name == "ceil" || name == "abs" || name == "sqrt") &&
		v.float == math.Trunc(v.float) && math.Abs(v.float) < 1<<53 {
		return number{exact: new(big.Rat).SetInt64(int64(v.float))}, nil
	}
	return v, err
}
