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
