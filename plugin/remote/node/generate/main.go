// Command generate writes the library for Node.js into a directory, for a plugin with a transport of its own: see
// node.WriteWithTransport.
package main

import (
	"fmt"
	"os"

	"github.com/plughook/plughook/plugin/remote/node"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate DIRECTORY TRANSPORT.mjs")
		os.Exit(2)
	}
	if err := node.WriteWithTransport(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}
