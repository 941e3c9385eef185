package compaction

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/model"
	"github.com/plughook/plughook/session"
)

// Tokens estimates how many tokens a content has, by the kinds of its characters: about 4.4 characters of English prose
// a token, 3 of JSON, 1 of Chinese. It was fitted to the vocabulary o200k, and is within a fifth of it for prose in
// several languages, code, JSON and identifiers; other vocabularies differ by about a fifth more. An image counts 258,
// as with Gemini; other inline data counts 1,000.
func Tokens(c *genai.Content) int {
	if c == nil {
		return 0
	}
	n := 4.0 // the role
	for _, p := range c.Parts {
		if p == nil {
			continue
		}
		n += weight(p.Text)
		n += float64(len(p.ThoughtSignature)) / 3
		switch {
		case p.FunctionCall != nil:
			n += 6 + weight(p.FunctionCall.Name) + weightJSON(p.FunctionCall.Args)
		case p.FunctionResponse != nil:
			n += 6 + weight(p.FunctionResponse.Name) + weightJSON(p.FunctionResponse.Response)
		case p.InlineData != nil:
			n += weightFile(p.InlineData.MIMEType)
		case p.FileData != nil:
			n += weightFile(p.FileData.MIMEType)
		case p.ExecutableCode != nil:
			n += weight(p.ExecutableCode.Code)
		case p.CodeExecutionResult != nil:
			n += weight(p.CodeExecutionResult.Output)
		}
	}
	return int(n + 0.999)
}

// Tokens of ASCII characters, in hundredths.
const (
	lowerWeight = 25
	upperWeight = 32
	digitWeight = 40
	otherWeight = 50
	mixedWeight = 90 // is added between a letter and a digit: vocabularies have few such pieces
)

var asciiWeights = func() (weights [utf8.RuneSelf]uint8) {
	for c := range weights {
		switch {
		case c == ' ':
		case 'a' <= c && c <= 'z':
			weights[c] = lowerWeight
		case 'A' <= c && c <= 'Z':
			weights[c] = upperWeight
		case '0' <= c && c <= '9':
			weights[c] = digitWeight
		default:
			weights[c] = otherWeight
		}
	}
	return weights
}()

// weight estimates the tokens of a text.
func weight(s string) float64 {
	n := 0
	afterDigit := false
	afterLetter := false
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			w := asciiWeights[c]
			isDigit := w == digitWeight
			isLetter := w == lowerWeight || w == upperWeight
			if isDigit && afterLetter || isLetter && afterDigit {
				n += mixedWeight
			}
			n += int(w)
			afterDigit = isDigit
			afterLetter = isLetter
			i++
			continue
		}
		afterDigit = false
		afterLetter = false
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case r < 0x530: // Latin with accents, Greek, Cyrillic
			n += 32
		case r < 0x2e80 && unicode.IsLetter(r): // Arabic, Devanagari and others
			n += 50
		default:
			n += 100
		}
	}
	return float64(n) / 100
}

func weightJSON(v map[string]any) float64 {
	if len(v) == 0 {
		return 1
	}
	data, err := json.Marshal(v)
	if err != nil {
		return 1
	}
	return weight(string(data))
}

func weightFile(mime string) float64 {
	if strings.HasPrefix(mime, "image/") {
		return 258
	}
	return 1000
}

// A meter counts tokens as the model of a session does, as far as its reports (usageMetadata) tell.
type meter struct {
	count  func(*genai.Content) int
	factor float64 // the tokens of the configuration for each counted one: reported times scale
	beside int     // what the model reported beyond the view, such as instruction and tools, in tokens of the configuration

	reported float64 // the model's tokens for each counted one, by its reports
	scale    float64 // what else was learned from prompts that the provider refused; see lesson
	lessons  int     // how many such prompts there were
	head     int     // what a prompt puts around a summary
	of       map[*session.Event]int

	cleared  cleared // what the prompt does not have as it is in the log
	saveFrom int     // tokens from which on what is cleared is saved as an artifact, 0 for never
}

const (
	headTokens = 40 // the words that a prompt puts around a summary: builder.summary in agent/llm/contents.go
	minSteps   = 3  // how many steps between reports are needed for a factor
)

// meter returns the meter for a live view. If Config.Count is not set, the model's reports in the view correct the
// count. The steps between two reports give the factor. It is their median, since some steps are not only about the
// conversation: another agent has another instruction, or a tool is added. The last report gives what is beside the view.
func (k *compactor) meter(live []*session.Event) meter {
	m := meter{
		count:    k.Count,
		factor:   1,
		reported: 1,
		scale:    1,
		head:     headTokens,
		of:       make(map[*session.Event]int, len(live)),
		cleared:  clearedIn(live),
	}
	if k.measureTextOnly {
		m.head = 0
	}
	if k.Artifacts != nil {
		m.saveFrom = k.Clear.Artifacts
	}
	if m.count != nil {
		return m
	}
	m.count = Tokens
	beside := 0
	if n := headNote(live); n != nil {
		if n.Factor > 0 {
			m.reported = clamp(n.Factor)
			beside = max(0, n.Beside)
		}
		if n.Lessons > 0 {
			m.lessons = n.Lessons
			m.scale = math.Min(maxScale, math.Max(1, n.Scale))
		}
	}

	type report struct{ counted, reported int }
	var last report
	var steps []float64
	before := m.unclearedIn(live)
	counted := 0 // the prompt up to an event, as it was sent then
	for i, e := range live {
		counted += before.note(e)
		u := e.UsageMetadata
		isReport := u != nil && u.PromptTokenCount > 0 && !e.Marker() && e.Branch == ""
		afterHead := i == 0 || e.Seq > live[0].Seq // the model saw the summary that heads the view
		if isReport && afterHead {
			now := report{counted: counted, reported: int(u.PromptTokenCount)}
			step := now.counted - last.counted
			if last.reported > 0 && step >= smallest {
				steps = append(steps, float64(now.reported-last.reported)/float64(step))
			}
			last = now
		}
		if agent.Sees("", e.Branch) {
			counted += before.add(e)
		}
	}
	if len(steps) >= minSteps {
		slices.Sort(steps)
		m.reported = clamp(steps[len(steps)/2])
	}
	if last.reported > 0 {
		beside = max(0, last.reported-int(m.reported*float64(last.counted)))
	}
	m.factor = m.reported * m.scale
	m.beside = int(float64(beside) * m.scale)
	return m
}

// An uncleared counts events as earlier prompts had them. A model's report is about the prompt of its time, in which some
// results that are cleared by now were whole.
type uncleared struct {
	*meter
	then    cleared        // what is cleared up to an event
	changes map[int64]bool // the positions of events of which something is cleared, or that are hidden, by now
	counted map[int64]int  // the tokens of those, by position
	events  map[int64]*session.Event
}

func (m *meter) unclearedIn(live []*session.Event) *uncleared {
	u := &uncleared{
		meter:   m,
		then:    cleared{parts: map[place]bool{}, hidden: map[int64]bool{}, saved: m.cleared.saved},
		changes: map[int64]bool{},
		counted: map[int64]int{},
		events:  map[int64]*session.Event{},
	}
	for p := range m.cleared.parts {
		u.changes[p.seq] = true
	}
	for seq := range m.cleared.hidden {
		u.changes[seq] = true
	}
	return u
}

// add returns the tokens of an event, without the factor.
func (u *uncleared) add(e *session.Event) int {
	if !u.changes[e.Seq] || e.Content == nil {
		return u.unscaled(e)
	}
	u.events[e.Seq] = e
	u.counted[e.Seq] = u.shownAs(u.then, e)
	return u.counted[e.Seq]
}

// note takes in what an event clears, and returns by how many tokens the events before it grow.
func (u *uncleared) note(e *session.Event) (growth int) {
	n := noteOf(e)
	if n == nil {
		return 0
	}
	changed := map[int64]bool{}
	for _, p := range n.Cleared {
		at := place{seq: p[0], part: int(p[1])}
		if !u.then.parts[at] {
			u.then.parts[at] = true
			changed[at.seq] = true
		}
	}
	for _, seq := range n.Hidden {
		if !u.then.hidden[seq] && u.cleared.hidden[seq] {
			u.then.hidden[seq] = true
			changed[seq] = true
		}
	}
	for seq := range changed {
		event := u.events[seq]
		if event != nil {
			now := u.shownAs(u.then, event)
			growth += now - u.counted[seq]
			u.counted[seq] = now
		}
	}
	return growth
}

// maxScale bounds what is learned from refused prompts.
const maxScale = 64

// figure matches a number of tokens in a provider's message, such as 1048576 or 128,000; address matches a URL, whose port
// is no such number.
var (
	figure  = regexp.MustCompile(`\d{1,3}(?:,\d{3})+|\d{3,}`)
	address = regexp.MustCompile(`\w+://\S+`)
)

// leastFigure is more than any HTTP status, which messages have too.
const leastFigure = 600

// lesson returns the scale that follows from a prompt of so many tokens that the provider refused with a message: the
// factor by which all counts grow, so that such a prompt has as many tokens as the window. If the message tells how many
// tokens the prompt has and how many are allowed, that is exact. Otherwise the refused prompt is taken for one that is just
// as long as the window; or, if it is not the first, for one that is twice as long, so that there is hardly a third.
func (m *meter) lesson(prompt, window int, message string) float64 {
	if prompt <= 0 {
		return m.scale
	}
	more := float64(window) / float64(prompt)
	if m.lessons > 0 {
		more *= 2
	}
	var figures []int
	for _, text := range figure.FindAllString(address.ReplaceAllString(message, ""), -1) {
		n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
		if err == nil && n >= leastFigure {
			figures = append(figures, n)
		}
	}
	slices.Sort(figures)
	n := len(figures)
	if m.lessons == 0 && n >= 2 && figures[n-1] > figures[n-2] {
		told := float64(figures[n-1]) / float64(prompt) // the provider's tokens for each of ours
		allowed := float64(window) / float64(figures[n-2])
		if told > 0.25 && told < 4 { // else the message speaks of something else
			more = told * math.Max(1, allowed)
		}
	}
	return math.Min(maxScale, m.scale*math.Max(more, minLesson))
}

// minLesson is the least that a refused prompt teaches.
const minLesson = 1.1

// clamp bounds a factor. A report that is further off must count something else.
func clamp(f float64) float64 { return math.Min(2, math.Max(0.5, f)) }

// copy returns a meter with which something else can be cleared.
func (m *meter) copy() meter {
	c := *m
	c.of = maps.Clone(m.of)
	c.cleared = cleared{
		parts:  maps.Clone(m.cleared.parts),
		hidden: maps.Clone(m.cleared.hidden),
		saved:  maps.Clone(m.cleared.saved),
	}
	return c
}

// content returns the tokens of a content.
func (m *meter) content(c *genai.Content) int { return m.scaled(m.count(c)) }

// text returns the tokens of a text.
func (m *meter) text(s string) int {
	return m.content(&genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: s}}})
}

// event returns the tokens of an event.
func (m *meter) event(e *session.Event) int { return m.scaled(m.unscaled(e)) }

// heading returns the tokens of the summary that heads a view.
func (m *meter) heading(live []*session.Event) int {
	if len(live) == 0 || !live[0].Marker() {
		return 0
	}
	return m.event(live[0])
}

// seen returns the tokens of those events of a group that a branch sees.
func (m *meter) seen(g *group, branch string) int { return m.view(g.events, branch) }

// view returns the tokens of those events that a branch sees.
func (m *meter) view(events []*session.Event, branch string) (n int) {
	for _, e := range events {
		if agent.Sees(branch, e.Branch) {
			n += m.event(e)
		}
	}
	return n
}

// request returns the tokens of a request's contents, and of its instruction and tools.
func (m *meter) request(req *model.Request) (contents, fixed int) {
	for _, c := range req.Contents {
		contents += m.content(c)
	}
	if req.Config == nil {
		return contents, 0
	}
	if req.Config.SystemInstruction != nil {
		fixed += m.content(req.Config.SystemInstruction)
	}
	if len(req.Config.Tools) > 0 {
		data, err := json.Marshal(req.Config.Tools)
		if err == nil {
			fixed += m.text(string(data))
		}
	}
	return contents, fixed
}

// unscaled returns the tokens of an event without the factor.
func (m *meter) unscaled(e *session.Event) int {
	if n, ok := m.of[e]; ok {
		return n
	}
	n := 0
	switch {
	case e.Marker() && e.Actions.Compaction != nil:
		n = m.head
		if c := e.Actions.Compaction.Content; c != nil { // another plugin's compaction may have none
			n += m.count(c)
		}
	case e.Content != nil:
		n = m.shownAs(m.cleared, e)
	}
	m.of[e] = n
	return n
}

// shownAs returns the tokens of an event's content, as a prompt has it with what is cleared, without the factor. What is hidden
// has none, not even those of a turn.
func (m *meter) shownAs(c cleared, e *session.Event) int {
	if c.hidden[e.Seq] {
		return 0
	}
	return m.count(c.shown(e))
}

func (m *meter) scaled(n int) int {
	if m.factor == 1 {
		return n
	}
	return int(math.Ceil(m.factor * float64(n)))
}
