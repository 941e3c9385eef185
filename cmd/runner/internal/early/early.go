// Package early answers a hook of a coding agent before the rest of the program is initialised, if a server
// answers it: an agent waits for each of its hooks, and most of the time of one would be that
// initialisation. The rules are the server's. If there is no server, or anything else is asked than a hook,
// the program goes on as if this package were not there.
//
// It has to be imported by the program's main package. Go initialises a package behind those that it needs,
// and else in the order of import paths: nothing here may need os or unicode, behind which most of them
// come. TestEarly holds to it.
package early

var (
	payload []byte // what was read of standard input
	wasRead bool
	failure error
)

// Payload is what was read of standard input; wasRead is false if nothing was.
func Payload() (data []byte, read bool) { return payload, wasRead }

// Failure is why a server that is there has not answered the hook that this process is; nil if there is none,
// or if this process is no hook. The hook has to fail closed, and not to ask again.
func Failure() error { return failure }

// hookOf returns the agent and the event of a command line as it stands in agents' settings.
func hookOf(args []string) (agent, event string, ok bool) {
	switch {
	case len(args) != 5 && len(args) != 7, args[1] != "hook", args[3] != "--event":
		return "", "", false
	case len(args) == 7 && args[5] != "--config":
		return "", "", false
	}
	return args[2], args[4], true
}
