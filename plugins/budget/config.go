package budget

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/plughook/plughook/internal/lazyregexp"
	"github.com/plughook/plughook/session"
)

// Config has the limits. At least one is needed.
type Config struct {
	// Name is the plugin's name, with which the state keys of the counts begin; "budget" if empty.
	// Another name counts anew.
	Name string `yaml:"-" json:"-"`
	// TenantKey names the state key that has the tenant of a session. Only who may be trusted with
	// the tenant's budget should be able to write it.
	TenantKey string  `yaml:"tenant_key" json:"tenant_key,omitempty" jsonschema:"the state key that has the session's tenant, such as user:tenant; limits per tenant need it"`
	Limits    []Limit `yaml:"limits" json:"limits" jsonschema:"what may be used; all limits hold at once"`
	// Now is the clock; the runner's if nil.
	Now func() time.Time `yaml:"-" json:"-"`
}

// A Limit says how much of one thing may be used. Name, Count, Max and Per are needed. Without
// Every and Until it counts for ever.
type Limit struct {
	Name  string `yaml:"name" json:"name" jsonschema:"the limit's name: up to 64 letters, digits, dots, - and _; it is a part of the keys in the state, so a limit with a new name begins at 0"`
	Count string `yaml:"count" json:"count" jsonschema:"what is counted: runs, model_calls, tool_calls, tokens or node_runs (of workflows' nodes, each item of an each included)"`
	Max   int    `yaml:"max" json:"max" jsonschema:"how much there is in a window: 1 or more"`
	Per   string `yaml:"per" json:"per" jsonschema:"whose use is counted together: that of a session, user, tenant or app"`
	// Tools are patterns as those of path.Match.
	Tools []string `yaml:"tools" json:"tools,omitempty" jsonschema:"with count: tool_calls, the names of the tools that are counted, such as send_*; all tools if it is not set"`
	// Every is the length of a rolling window. It is looked at in twelfths: what was used is free
	// again after the window and at most a twelfth of it.
	Every time.Duration `yaml:"every" json:"every,omitempty" jsonschema:"a rolling window, such as 1h: no span of this length has more than max; 1m or more"`
	// Until is a time of day at which the window ends and the next one begins. On a day on which
	// the clock skips that time, the window ends when it skips; on a day that has the time twice,
	// at the first.
	Until   string           `yaml:"until" json:"until,omitempty" jsonschema:"a window that ends each day at a time in a time zone, such as 00:00 Europe/Berlin"`
	Warn    float64          `yaml:"warn" json:"warn,omitempty" jsonschema:"the share of max, such as 0.8, at which a warning is emitted, once in each window; none if it is not set"`
	Beyond  string           `yaml:"beyond" json:"beyond,omitempty" jsonschema:"what is done when nothing is left: deny (the default), or, with count: tool_calls, ask a human about each call"`
	Ask     session.Approver `yaml:"ask" json:"ask,omitzero" jsonschema:"with beyond: ask, who is asked; the session's own user if it is not set"`
	Message string           `yaml:"message" json:"message,omitempty" jsonschema:"what is said then; a sentence with the limit, and when it is free again, if it is not set"`
}

// What limits count, for whom, and what they do.
const (
	countRuns       = "runs"
	countModelCalls = "model_calls"
	countToolCalls  = "tool_calls"
	countTokens     = "tokens"
	countNodeRuns   = "node_runs"

	perSession = "session"
	perUser    = "user"
	perTenant  = "tenant"
	perApp     = "app"

	beyondDeny = "deny"
	beyondAsk  = "ask"
)

const (
	maxMax   = 1 << 53 // the greatest number up to which a float64 counts exactly
	minEvery = time.Minute
)

var limitName = lazyregexp.New(`^[\w.-]{1,64}$`)

// A limit is a Limit that was checked.
type limit struct {
	Limit
	daily *timeOfDay // of Until; nil if there is none
}

// check returns the limits of a configuration, or an error for each thing that is wrong with it.
func check(c Config) ([]*limit, error) {
	var errs []error
	bad := func(at, format string, args ...any) {
		errs = append(errs, fmt.Errorf("budget: %s: %w", at, fmt.Errorf(format, args...)))
	}
	if len(c.Limits) == 0 {
		bad("limits", "there are none; give it at least one")
	}
	var limits []*limit
	first := map[string]int{}
	for i := range c.Limits {
		l := &limit{Limit: c.Limits[i]}
		limits = append(limits, l)
		at := fmt.Sprintf("limits[%d]", i)
		if other, taken := first[l.Name]; taken {
			bad(at+".name", "%q is the name of limits[%d] too; counts go by name, so give each its own", l.Name, other)
		}
		first[l.Name] = i
		l.check(func(field, format string, args ...any) { bad(at+"."+field, format, args...) })
		if l.Per == perTenant && c.TenantKey == "" {
			bad(at+".per", "no session has a tenant: set tenant_key to the state key that says which")
		}
	}
	return limits, errors.Join(errs...)
}

// check says what is wrong with a limit alone, and reads its Until.
func (l *limit) check(bad func(field, format string, args ...any)) {
	oneOf := func(field, value string, words ...string) {
		if !slices.Contains(words, value) {
			bad(field, "%q is not known; it is one of %s", value, strings.Join(words, ", "))
		}
	}
	if !limitName.MatchString(l.Name) {
		bad("name", "%.100q cannot be a name: it needs 1 to 64 letters, digits, dots, - and _", l.Name)
	}
	oneOf("count", l.Count, countRuns, countModelCalls, countToolCalls, countTokens, countNodeRuns)
	oneOf("per", l.Per, perSession, perUser, perTenant, perApp)
	if l.Max < 1 || l.Max > maxMax {
		bad("max", "%d is no limit: it is 1 or more, and at most 2^53", l.Max)
	}
	if l.Warn < 0 || l.Warn > 1 {
		bad("warn", "%v is no share: it is more than 0 and at most 1, such as 0.8", l.Warn)
	}

	// the window
	if l.Every != 0 && l.Every < minEvery {
		bad("every", "a window of %v is too short: it is %v or more", l.Every, minEvery)
	}
	if l.Every != 0 && l.Until != "" {
		bad("until", "a limit has one window: every or until; make a second limit for the other")
	}
	if l.Until != "" {
		daily, err := parseTimeOfDay(l.Until)
		if err != nil {
			bad("until", "%w", err)
		}
		l.daily = daily
	}

	// what only tool calls have
	for _, pattern := range l.Tools {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			bad("tools", "%q is no pattern of names: * is any text, ? any character, [a-z] one of these", pattern)
		}
	}
	if l.Beyond == "" {
		l.Beyond = beyondDeny
	}
	oneOf("beyond", l.Beyond, beyondDeny, beyondAsk)
	if l.Count != countToolCalls && len(l.Tools) > 0 {
		bad("tools", "only tool_calls are of a tool, and this limit counts %s", l.Count)
	}
	if l.Ask != (session.Approver{}) {
		if err := l.Ask.Check(); err != nil {
			bad("ask", "%w", err)
		}
		if l.Beyond != beyondAsk {
			bad("ask", "nobody is asked; add beyond: ask")
		}
	}
	if l.Count != countToolCalls && l.Beyond == beyondAsk {
		bad("beyond", "only tool_calls can wait for a human, and this limit counts %s; use deny", l.Count)
	}
}

// about reports whether a limit of tool calls counts calls of a tool.
func (l *limit) about(tool string) bool {
	if len(l.Tools) == 0 {
		return true
	}
	return slices.ContainsFunc(l.Tools, func(pattern string) bool {
		matches, _ := path.Match(pattern, tool) // check has tried the pattern
		return matches
	})
}

// exact reports whether the limit is one that is never passed: what it counts is counted before it
// happens.
func (l *limit) exact() bool { return l.Count == countRuns || l.Count == countToolCalls }
