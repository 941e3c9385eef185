package guardrail

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/genai"

	"github.com/plughook/plughook/internal/panicked"
	"github.com/plughook/plughook/plugins/guardrail/internal/judge"
	"github.com/plughook/plughook/plugins/guardrail/internal/judging"
	"github.com/plughook/plughook/plugins/guardrail/internal/vault"
	"github.com/plughook/plughook/plugins/guardrail/internal/walk"
	"github.com/plughook/plughook/plugins/guardrail/internal/window"
	"github.com/plughook/plughook/plugins/guardrail/policy"
	"github.com/plughook/plughook/plugins/guardrail/policy/pin"
	"github.com/plughook/plughook/session"
)

// stream is an event that comes in pieces.
type stream struct {
	mu               sync.Mutex
	visible, thought textStream
	tools            []string // whose answers came in it
}

// textStream is a text that comes in pieces, with other things between them.
type textStream struct {
	raw    strings.Builder
	gaps   []int // the bytes of raw at which something else came
	gap    bool  // something else came after raw
	shown  int   // bytes of raw that were shown, edited
	judged int   // bytes of raw when it was judged last
	dark   bool  // nothing more of it is shown

	progress policy.Progress
}

// streamPiece is one partial event of a stream.
type streamPiece struct {
	*stream
	*evaluation
	parts   []*genai.Part  // what is shown
	blocked *evaluatedItem // nil if nothing is
}

// A source is where the policy comes from: a file, or an address.
type source struct {
	name   string
	remote bool
	signed bool // the policy is used only if its signature, which is its end, is right

	// What was there when it was read last.
	files  []string
	stamps []stamp
	etag   string
	asked  time.Time
}

// stamp tells one state of a file from another.
type stamp struct {
	size int64
	time time.Time
	sum  [sha256.Size]byte // of what it says: another text may have the same size and time
}

// runState is what the plugin keeps of a run, until AfterRun.
type runState struct {
	policy *enforced // the one with which the run began

	mu       sync.Mutex         // of the maps; nothing is judged while it is held
	streams  map[string]*stream // by the ids of events
	tools    map[string]*offeredTool
	unpinned map[string]*pin.Tool // tools whose declarations are not those that are pinned
}

// runKey names a run. Callers may give runs of two sessions the same id.
type runKey struct {
	session session.Key
	id      string
}

func runOf(inv *session.Invocation) runKey { return runKey{session: inv.Key, id: inv.ID} }

// guard is the plugin.
type guard struct {
	Config
	secret  []byte // the key, or a random one
	metrics *metrics
	judges  *judge.Pool
	policy  atomic.Pointer[enforced] // the one that new runs get

	mu    sync.Mutex
	runs  map[runKey]*runState
	clean map[digest]bool // contents of requests in which nothing was found

	decisions *decisionLog

	reading sync.Mutex      // held while the policy is read again
	from    *source         // nil if the policy comes from no file
	wrong   string          // why what was read last is not in force; "" if it is
	asking  context.Context // until Close, for requests to the policy's address
	stop    context.CancelFunc
}

// newGuard returns the plugin without a policy.
func newGuard(c Config) *guard {
	metrics := newMetrics()
	g := &guard{
		Config:  c,
		secret:  c.Key,
		metrics: metrics,
		judges:  judge.NewPool(metrics.judges, c.Now, c.Price),
		runs:    map[runKey]*runState{},
		clean:   map[digest]bool{},
	}
	if g.secret == nil {
		g.secret = vault.RandomSecret()
	}
	g.asking, g.stop = context.WithCancel(context.Background())
	return g
}

// enforced is a policy as the plugin enforces it.
type enforced struct {
	*policy.Policy
	judges map[string]*judge.Judge // of rules that ask somebody, by their ids
	taints bool                    // it is noted which tools' answers a session has
	flows  bool                    // it is noted what tools have answered, and what was found
	prompt bool                    // a rule is about what models are asked
	// promptsAlone says that rules about what models are asked depend on a text alone, so that it
	// can be remembered which texts are clean.
	promptsAlone bool

	mu       sync.Mutex
	compared map[digest]*pin.Tool // of declarations that were compared with their pins
	warned   map[*pin.Tool]bool   // of those: the log has a warning
}

// recovering makes a hook's error of a panic in the plugin, which is a mistake in the program.
func (g *guard) recovering(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("guardrail: %w", panicked.WithoutValue(p))
	}
}

type digest [sha256.Size]byte

// maxClean is how many contents are remembered in which nothing was found, so that a conversation
// is not judged again with each call of a model.
const maxClean = 4096

// decisionLog appends decisions to a file. Each line is written at once, so that several processes may
// share the file.
type decisionLog struct {
	log *slog.Logger

	mu   sync.Mutex
	file *os.File
}

// offeredTool is a tool that a model was offered.
type offeredTool struct {
	declaration *genai.FunctionDeclaration
	// check makes, once it is needed, what checks arguments by the declaration; nil if the
	// declaration is wrong.
	check func() func(context.Context, map[string]any) error
}

// evaluation is what a policy makes of an event, or of a request to a model.
type evaluation struct {
	guard  *guard
	policy *enforced
	scope  policy.Scope
	inv    *session.Invocation
	event  *session.Event // of a request: an event with the request's agent and branch
	began  time.Time
	// approval is the input that approves a call, if the call is judged once more.
	approval *session.Event

	// What came of it.
	items   []*evaluatedItem
	edits   map[int][]string // of texts, by their number: the new text, in the text's parts
	records []Record
	err     error         // why a text could not be judged
	tainted bool          // the event has answers of tools that the session did not have
	seen    []policy.Seen // what the event brings, for rules about flows
	// unpinned returns how a tool differs from its pin, nil if it does not. It is nil where nobody can be
	// asked about calls.
	unpinned func(name string) (*pin.Tool, error)
	pinErr   error // why a declaration could not be compared with its pin

	// The item at hand.
	current *evaluatedItem
	active  *policy.Active
	joined  strings.Builder // its texts, for rules about whole texts
	left    []leftText      // what the other rules leave of its texts, if judges see it whole
	texts   int             // texts of the event so far

	// The texts before the one at hand, for rules that look back.
	earlierTexts []saidText
	before       map[windowOf]*window.Before

	// Questions to the judges of rules, and of rules in shadow; nil if no rule has one.
	judges, shadowJudges *pendingJudges
	answers              []*question
	answered             *grounds // what tools have answered in the run, once it was asked for
}

// leftText is what the rules without a judge leave of a text.
type leftText struct {
	text string
	key  bool // it is a key
}

// evaluatedItem is an item of an event, and what becomes of it.
type evaluatedItem struct {
	walk.Item
	verdict   policy.Verdict
	edited    bool // something in it was hidden
	keyEdited bool // something in one of its keys was hidden

	unpinned *pin.Tool // of a call: how its tool differs from its pin, nil if it does not
}

// asks reports whether a human is asked about the item, a call, unless it is blocked.
func (it *evaluatedItem) asks() bool {
	return it.verdict.Action == policy.Ask || it.unpinned != nil
}

// asked says whose yes the call needs.
func (it *evaluatedItem) asked(p *policy.Policy) []session.Approver {
	var list []session.Approver
	if it.verdict.Action == policy.Ask {
		list = slices.Clone(it.verdict.Ask)
	}
	if pins := p.Asks(); it.unpinned != nil && !slices.Contains(list, pins) {
		list = append(list, pins)
	}
	return list
}

// takesOut reports whether a finding takes a part out of the item's texts.
func (it *evaluatedItem) takesOut() bool {
	for i := range it.verdict.Findings {
		f := &it.verdict.Findings[i]
		if f.Action.Hides() && !f.Whole() {
			return true
		}
	}
	return false
}

// evaluatedText is a text of an item, or an item as a whole.
type evaluatedText struct {
	item    *evaluatedItem
	number  int  // of the text in its event, whole for an item as a whole
	key     bool // it is a key
	value   bool // it is a value: if it is JSON, it stays JSON
	text    string
	left    string // of an item as a whole: what the rules without a judge leave of it
	ends    []int  // where the parts end of a text that stands in several
	verdict policy.Verdict
	open    []*question // to judges, without an answer yet

	unfinished bool // its author failed while saying it
	settled    int  // how many bytes of such a text the rules have decided about
}

// whole stands in the place of a text's number where an item is judged as a whole.
const whole = -1

// stageOf returns the stage of what an event's author says.
func stageOf(e *session.Event) policy.Stage {
	if e.Author == session.User {
		return policy.Input
	}
	return policy.Output
}

// stage is the stage of what the event's author says.
func (ev *evaluation) stage() policy.Stage { return stageOf(ev.event) }

// inJSON returns a value as JSON; a text in its place if it cannot be written as JSON.
func inJSON(value any, otherwise string) string {
	data, err := json.Marshal(value)
	if err != nil {
		return otherwise
	}
	return string(data)
}

// pendingJudges are the questions about one event that judges have not answered yet. They are asked
// at once, while the walk over the event goes on.
type pendingJudges struct {
	ctx        context.Context
	cancel     context.CancelFunc
	goroutines sync.WaitGroup
	// decides reports whether the other answers add nothing to an answer; nil if they always do.
	decides func(*evaluatedText, *question) bool

	mu      sync.Mutex
	texts   []*evaluatedText
	missing int           // how many answers
	decided bool          // an answer decides
	over    bool          // no answer is kept any more
	came    chan struct{} // closed when there is nothing to wait for any more
}

// question is a question to the judge of a rule about a text, and its answer.
type question struct {
	judge.Question               // with the text as it is sent
	text           string        // as it came
	left           *judging.Left // nil if it was sent as it came, or as a whole
	spec           judging.Judge
	judge          *judge.Judge
	cancel         context.CancelFunc
	dropped        bool // nobody waits for the answer any more
	answered       bool // answer, err and took are set
	answer         judge.Answer
	err            error
	took           time.Duration
}

// grounds are what tools have answered in a run, as judges of grounding are sent it.
type grounds struct {
	text string
	cut  bool // some of it is left out for its size
}

// saidText is a text that was said, or thought, at a stage.
type saidText struct {
	stage   policy.Stage
	thought bool
	text    string
}

// windowOf names what is in a rule's window: what was said, or thought, at a stage.
type windowOf struct {
	window  string
	stage   policy.Stage
	thought bool
}
