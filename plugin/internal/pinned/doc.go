// Package pinned makes sure that what is executed as a plugin is what was pinned by a digest: of an executable a copy
// is hashed and executed that nobody can change (copy.go), and files that an interpreter opens are hashed before the
// start and watched until the interpreter has read them (files.go, folders_linux.go). Digests (digests.go) says what to
// pin.
//
// A system on which copies can be kept in another way has its own copy_SYSTEM.go and folders_SYSTEM.go.
package pinned

import "errors"

// ErrDigest says that a file is not the one that is pinned.
var ErrDigest = errors.New("remote: the plugin is not the one that is pinned")
