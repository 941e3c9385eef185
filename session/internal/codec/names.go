package codec

import (
	"errors"
	"strings"
)

// CheckNames returns an error that names what is missing of the names that a session has in JSON.
func CheckNames(appName, userID, id string) error {
	var missing []string
	for _, n := range []struct{ key, value string }{{"appName", appName}, {"userId", userID}, {"id", id}} {
		if n.value == "" {
			missing = append(missing, "no "+n.key)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	list := strings.Join(missing, ", ")
	if i := strings.LastIndex(list, ", "); i >= 0 {
		list = list[:i] + " and " + list[i+2:]
	}
	return errors.New("it has " + list + ": a session is named by appName, userId and id together")
}
