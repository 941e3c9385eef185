//go:build !unix

package remote

import (
	"context"
	"errors"
)

var verifyCases = []verifyCase{{name: "starts", why: "Plugins in processes of their own need Unix.", first: true,
	run: func(context.Context, target) error {
		return errors.New("plugins in processes of their own need a Unix system")
	}}}
