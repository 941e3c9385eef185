package audit

import (
	"time"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// line is a line of the file. Its fields are written in this order; new ones may come.
type line struct {
	N    int64  `json:"n"`    // counts the lines of all files of a chain from 1 on
	Prev string `json:"prev"` // hash of the line before, "" in the first
	Kind string `json:"kind"`
	// Time is of the event; of a begin the input's, of an end the last event's of the invocation.
	Time    time.Time `json:"time,omitzero"`
	Written time.Time `json:"written,omitzero"`

	App        string `json:"app,omitzero"`
	User       string `json:"user,omitzero"`
	Session    string `json:"session,omitzero"`
	Invocation string `json:"invocation,omitzero"`
	// Position is that of the log's last event, at a begin and an end.
	Position int64 `json:"position,omitzero"`

	ID      string `json:"id,omitzero"` // of the event
	Author  string `json:"author,omitzero"`
	Branch  string `json:"branch,omitzero"`
	Agent   string `json:"agent,omitzero"` // in whose place a plugin made calls
	Command string `json:"command,omitzero"`
	// Reason is why a plugin emitted the event.
	Reason    string        `json:"reason,omitzero"`
	Changed   []plugin.Note `json:"changed,omitzero"`
	Unchecked []plugin.Note `json:"unchecked,omitzero"`
	// Policy is the revision of the policy whose rules made the decisions.
	Policy    string     `json:"policy,omitzero"`
	Decisions []decision `json:"decisions,omitzero"`

	// Sizes are in bytes.
	Text          int            `json:"text,omitzero"`
	Thoughts      int            `json:"thoughts,omitzero"`
	Calls         []call         `json:"calls,omitzero"`
	Responses     []call         `json:"responses,omitzero"`
	Media         []media        `json:"media,omitzero"`
	Others        int            `json:"others,omitzero"` // parts of other kinds, such as executable code
	State         []string       `json:"state,omitzero"`  // the keys that are set, deleted or added to
	Artifacts     int            `json:"artifacts,omitzero"`
	Confirmations []confirmation `json:"confirmations,omitzero"`
	TransferTo    string         `json:"transferTo,omitzero"`
	Through       int64          `json:"through,omitzero"` // a compaction's
	RewindTo      *int64         `json:"rewindTo,omitzero"`
	More          int            `json:"more,omitzero"` // list entries that were left out

	Error        string `json:"error,omitzero"` // its code
	FinishReason string `json:"finishReason,omitzero"`
	Interrupted  bool   `json:"interrupted,omitzero"`
	Model        string `json:"model,omitzero"` // its version
	Tokens       tokens `json:"tokens,omitzero"`
	Fingerprint  string `json:"fingerprint,omitzero"`

	End *end `json:"end,omitzero"`
	// Cut is how many bytes a repair took away.
	Cut int64 `json:"cut,omitzero"`
}

type call struct {
	Name string `json:"name"`
	ID   string `json:"id,omitzero"`
	Size int    `json:"size"`            // of the arguments, or of the response, as JSON
	Fail bool   `json:"failed,omitzero"` // the response has an error
}

type media struct {
	Type string `json:"type,omitzero"`
	Size int    `json:"size,omitzero"`
	Link bool   `json:"link,omitzero"` // an address, not the data
}

type confirmation struct {
	Call      string `json:"call"`
	Confirmed bool   `json:"confirmed"`
}

type tokens struct {
	Prompt   int32 `json:"prompt,omitzero"`
	Cached   int32 `json:"cached,omitzero"`
	Answer   int32 `json:"answer,omitzero"`
	Thoughts int32 `json:"thoughts,omitzero"`
	Tools    int32 `json:"tools,omitzero"`
	Total    int32 `json:"total,omitzero"`
}

type end struct {
	Kind   string `json:"kind"`
	Plugin string `json:"plugin,omitzero"` // who stopped it, or whose failure it was
	Hook   string `json:"hook,omitzero"`
	Reason string `json:"reason,omitzero"`
	// Error is what kind of error it was: errors' texts may quote.
	Error string `json:"error,omitzero"`
}

// about returns a line on an invocation.
func about(inv *session.Invocation, kind string) *line {
	return &line{Kind: kind, App: inv.Key.App, User: inv.Key.User, Session: inv.Key.ID, Invocation: name(inv.ID)}
}

// lastTime returns the time of the invocation's last live event, or else of its input.
func lastTime(inv *session.Invocation) time.Time {
	for i := len(inv.Live) - 1; i >= 0; i-- {
		if e := inv.Live[i]; e.InvocationID == inv.ID {
			return e.Timestamp.UTC()
		}
	}
	if inv.Input != nil {
		return inv.Input.Timestamp.UTC()
	}
	return time.Time{}
}
