// Command generate writes the library for Node.js into a directory, without its transport. It is for go:generate.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/plughook/plughook/plugin/remote/node"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate DIR")
		os.Exit(2)
	}
	for name, data := range node.WithoutTransport() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), data, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "generate:", err)
			os.Exit(1)
		}
	}
}
