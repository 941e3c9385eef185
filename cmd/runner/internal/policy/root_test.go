package policy

import "github.com/plughook/plughook/cmd/runner/internal/clitest"

// root is a command line with the command policy alone.
var root = clitest.Only(Command)
