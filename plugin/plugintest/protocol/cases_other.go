//go:build !unix

package protocol

import (
	"context"
	"errors"
)

var verifyCases = []testCase{{name: "starts", why: "Plugins in processes of their own need Unix.", first: true,
	run: func(context.Context, target) error {
		return errors.New("plugins in processes of their own need a Unix system")
	}}}
