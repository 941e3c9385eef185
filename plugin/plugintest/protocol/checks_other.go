//go:build !unix

package protocol

import (
	"context"
	"errors"
)

// checks has one check, which fails: there are no plugins in processes of their own on this system.
var checks = []check{{
	name:      "starts",
	why:       "Plugins in processes of their own need Unix.",
	essential: true,
	run: func(context.Context, target) error {
		return errors.New("plugins in processes of their own need a Unix system")
	},
}}
