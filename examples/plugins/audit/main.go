// Command audit is the audit plugin (package plugins/audit) in a process of its own. A runner starts it. By
// hand, it reads what it has written:
//
//	audit verify [-key FILE] audit.jsonl       # several files of one chain, oldest first
//	audit fingerprint -key FILE < text         # what the lines of events with this text have
package main

import (
	"os"

	"github.com/plughook/plughook/plugin/remote/serve"
	"github.com/plughook/plughook/plugins/audit"
)

func main() {
	if len(os.Args) > 1 {
		os.Exit(byHand(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	serve.WithSettings(serve.About{
		Name: "audit", Version: "1.0.0",
		Doc: "Writes a line for each event, begin and end of a run into a file, without what was said.",
	}, audit.New)
}
