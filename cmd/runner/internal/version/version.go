// Package version says what the program was built from.
package version

import (
	"runtime"
	"runtime/debug"
)

// A Build is what the program was built from.
type Build struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Revision string `json:"revision,omitzero"`
	Time     string `json:"time,omitzero"` // of the revision, in RFC 3339
}

// Get returns what the program was built from.
func Get() Build {
	b := Build{Version: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		}
	}
	return b
}
