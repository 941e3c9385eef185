package sandbox

import "errors"

// ErrIsolation says that a process was not started because it could not be isolated.
var ErrIsolation = errors.New("remote: the plugin cannot be isolated")

// Limits are resource limits; 0 is no limit. See remote.Limits.
type Limits struct {
	Memory    int64
	OpenFiles int
	Processes int
	Cgroup    string
}

// What an order may say of isolation; see remote.Config.
const (
	Required = "required"
	None     = "none"
)
