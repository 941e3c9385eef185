package session

import (
	"slices"
	"strings"
)

// Roles that every system has. All others are names of its own, such as "finance".
const (
	// UserRole is the role of the session's own user, and of whoever acts in that user's place.
	UserRole = "user"
	// AnyRole is every role: an operator's.
	AnyRole = "*"
)

// A Sender is who sends an input. The zero Sender is the session's own user.
type Sender struct {
	// Name is the person's, or the service's; the session's user if it is empty.
	Name string
	// Roles are what the sender may decide: it answers the calls that wait for one of these roles. nil is UserRole.
	Roles []string
}

// Has reports whether the sender has a role. "" is UserRole.
func (s Sender) Has(role string) bool {
	if role == "" {
		role = UserRole
	}
	return s.Roles == nil && role == UserRole || slices.Contains(s.Roles, role) || slices.Contains(s.Roles, AnyRole)
}

// An Approver says whose yes a call waits for.
type Approver struct {
	By    string `yaml:"by" json:"by" jsonschema:"the role whose yes is needed, such as finance; user is the session's own user"`
	Names int    `yaml:"names" json:"names,omitzero" jsonschema:"how many different people of this role must say yes; 1 if empty"`
}

// Check returns an error that is ErrInvalid if nobody could be such an Approver.
func (a Approver) Check() error {
	switch err := CheckRole(a.By); {
	case err != nil:
		return err
	case a.Names < 0 || a.Names > 10:
		return invalid("names: %d: it is how many people must say yes, 1 to 10", a.Names)
	case a.Names > 1 && a.By == UserRole:
		return invalid("names: %d: a session has one user; name another role in by", a.Names)
	}
	return nil
}

// A question is one that a call waits for: an Approver's, until as many people have said yes as it wants.
type question struct {
	Approver
	asker string
	yes   []string // the names of those who have said yes
}

func (q *question) open() bool { return len(q.yes) < max(1, q.Names) }

// ask takes in that an event asks about the call. What the same author has asked before, and what was decided, counts no
// more; what others have asked does, so that nobody asks for less than they do.
func (c *Call) ask(e *Event, asked Confirmation) {
	var list []question
	for _, q := range c.questions {
		if c.Decision == nil && q.asker != e.Author {
			list = append(list, q)
		}
	}
	if len(asked.Ask) == 0 {
		list = append(list, question{Approver: Approver{By: UserRole}, asker: e.Author})
	}
	for _, a := range asked.Ask {
		list = append(list, question{Approver: a, asker: e.Author})
	}
	c.questions = list
	c.asks = append(slices.Clip(c.asks), e)
	c.Held = e
	c.Decision = nil
}

// decide takes in a user's answer to the questions about the call, as far as its sender has the roles for them. A no to one
// question declines the call; a yes approves it once no question is open.
func (c *Call) decide(e *Event, answer Confirmation) {
	sender := Sender{Name: answer.Name, Roles: answer.Roles}
	list := slices.Clone(c.questions) // copies of the Call share it
	counts := false
	left := false
	for i := range list {
		q := &list[i]
		if q.open() && sender.Has(q.By) && !(answer.Confirmed && slices.Contains(q.yes, answer.Name)) {
			counts = true
			q.yes = append(slices.Clip(q.yes), answer.Name)
		}
		left = left || q.open()
	}
	if !counts {
		return
	}
	c.Decisions = append(slices.Clip(c.Decisions), e)
	if !answer.Confirmed || !left {
		c.Decision = e
		return
	}
	c.questions = list
}

// Asked returns whose yes the call still waits for, with how many more people; nil if it does not wait for any.
func (c *Call) Asked() []Approver {
	var list []Approver
	for _, q := range c.questions {
		if c.Response == nil && c.Decision == nil && q.open() {
			list = append(list, Approver{By: q.By, Names: max(1, q.Names) - len(q.yes)})
		}
	}
	return list
}

// MayDecide reports whether a sender can answer one of the questions that the call waits for.
func (c *Call) MayDecide(s Sender) bool {
	return slices.ContainsFunc(c.Asked(), func(a Approver) bool { return s.Has(a.By) })
}

// CheckRole returns an error that is ErrInvalid if a string is no role that a call may wait for: 1 to 64 letters,
// digits and "-_.:/@".
func CheckRole(role string) error {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:/@", r)
	}
	if role == "" || len(role) > 64 || strings.ContainsFunc(role, other) {
		return invalid("%q is no role: it has 1 to 64 letters, digits and -_.:/@", role)
	}
	return nil
}
