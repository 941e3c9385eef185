package artifact

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"

	"github.com/plughook/plughook/session"
)

// reserved are the names that Windows does not give to files, whatever comes after a dot.
var reserved = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// element returns a name for a file that stands for s and for nothing else: lower case, for file systems
// that do not tell the cases apart; ASCII, for those that compose letters; with neither "." nor "~" at its
// begin; and short. What is escaped is as in a URL. A long one ends in "~" and a digest.
func element(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		inner := i > 0 && i < len(s)-1
		switch {
		case i == 0 && reserved.MatchString(s), !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-_@", c) >= 0 || c == '.' && inner):
			fmt.Fprintf(&b, "%%%02x", c)
		default:
			b.WriteByte(c)
		}
	}
	if b.Len() > 200 { // most file systems take 255 bytes
		return fmt.Sprintf("%s~%x", b.String()[:120], sha256.Sum256([]byte(s)))
	}
	return b.String()
}

// folder returns the path of the directory that has a session's artifacts, or, without an ID, a user's.
func folder(of session.Key) string {
	user := element(of.App) + "/" + element(of.User)
	if of.ID == "" {
		return user + "/user"
	}
	return user + "/sessions/" + element(of.ID)
}
