package session

import (
	"context"
	"time"
)

// A Notice is a message about a session that is to be sent to somebody outside: a server keeps it in the store until it was
// sent, so that no crash loses it. It goes with its session.
type Notice struct {
	Key Key
	// ID names the notice among those of its session.
	ID string
	// Data is what its sender needs to know. It is not empty.
	Data []byte
}

// A NoticeKeeper is a Service that can keep notices. Times are those of the store's clock.
type NoticeKeeper interface {
	Service
	// KeepNotice keeps a notice, in place of the one with its ID if there is one. It is due after a time. It is
	// ErrNotFound if the session is not there.
	KeepNotice(ctx context.Context, n Notice, in time.Duration) error
	// ReplaceNotice is KeepNotice with other data, if the data in the store still are those of the notice; nil data
	// delete it. A notice without data stands for none: then it is kept only if there is none. ReplaceNotice reports
	// whether it has changed anything.
	ReplaceNotice(ctx context.Context, n Notice, data []byte, in time.Duration) (bool, error)
	// TakeNotices returns notices of an app that are due, not more than a limit, those that are due longest first. Each is
	// due again after a time: until then no other process gets it.
	TakeNotices(ctx context.Context, app string, again time.Duration, limit int) ([]Notice, error)
}
