package agenthooks

import (
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// A Record says what was decided at one emission, without what it was about.
type Record struct {
	Point                  Point       `json:"interception_point"`
	Mode                   Mode        `json:"mode"`
	Verdict                Verdict     `json:"verdict"`
	InputIdentity          *string     `json:"input_identity"`
	EnforcedIdentity       *string     `json:"enforced_identity"`
	IdentityProvider       *string     `json:"identity_provider"`
	SessionID              string      `json:"session_id"`
	Sequence               int64       `json:"sequence"`
	Timestamp              string      `json:"timestamp,omitzero"`
	Trace                  *Trace      `json:"trace,omitzero"`
	DecidedBy              *int        `json:"decided_by"`
	Composition            Composition `json:"composition"`
	Verdicts               []Summary   `json:"verdicts,omitzero"`
	FoldTruncated          *bool       `json:"fold_truncated,omitzero"`
	ResolvedBy             string      `json:"resolved_by,omitzero"`
	InterceptorsRegistered int         `json:"interceptors_registered"`
}

// A Trace is the W3C trace context of the context's member "trace".
type Trace struct {
	TraceID string `json:"trace_id,omitzero"`
	SpanID  string `json:"span_id,omitzero"`
}

// A Summary is what one interceptor has answered.
type Summary struct {
	Index    int      `json:"index"`
	Decision Decision `json:"decision"`
	Reason   string   `json:"reason,omitzero"`
	Name     string   `json:"name,omitzero"`
}

// result returns what came of the emission.
func (e *emission) result() Result {
	permits := e.verdict.Decision != Deny
	proceed := permits || e.host.Mode == EvaluateOnly
	e.verdict.Warnings, e.verdict.ResultLabels = e.unions(permits)
	r := Result{
		Verdict: e.verdict,
		Proceed: proceed,
		Target:  e.before["target"],
		Labels:  e.verdict.ResultLabels,
		Record:  e.record(),
	}
	if permits && e.host.Mode == Enforce {
		r.Target = e.now["target"]
		r.Changed = string(r.Target) != string(e.before["target"])
	}
	return r
}

// unions returns the warnings of all verdicts that were returned, and, if what was judged proceeds, the labels of those that
// permit.
func (e *emission) unions(permits bool) (warnings []Warning, labels []string) {
	for i := range e.returned {
		v := &e.returned[i]
		for _, w := range v.Warnings {
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
		if v.Decision == Deny || !permits {
			continue
		}
		for _, l := range v.ResultLabels {
			if !slices.Contains(labels, l) {
				labels = append(labels, l)
			}
		}
	}
	return warnings, labels
}

func (e *emission) record() Record {
	r := Record{
		Point:                  e.Point,
		Mode:                   e.host.Mode,
		Verdict:                withoutContent(e.verdict),
		SessionID:              e.session.ID,
		Sequence:               e.sequence,
		Timestamp:              e.timestamp,
		Composition:            e.host.Composition,
		ResolvedBy:             e.resolved,
		InterceptorsRegistered: len(e.host.Interceptors),
	}
	if e.host.Provider != nil {
		r.IdentityProvider = new(e.host.Provider.Name)
		if !e.unbound {
			r.InputIdentity = new(e.input)
		}
		r.EnforcedIdentity = e.enforced
	}
	var trace Trace
	if v := e.Fields["trace"]; v != nil && json.Unmarshal(v, &trace) == nil && trace != (Trace{}) {
		r.Trace = &trace
	}
	if e.decidedBy >= 0 {
		r.DecidedBy = new(e.decidedBy)
	}
	if p := e.host.Composition.Profile; p == FirstDeny || p == RunAll {
		r.FoldTruncated = new(e.truncated)
	}
	if e.host.Composition.Profile != FirstDeny {
		r.Verdicts = []Summary{}
		for i := range min(len(e.returned), len(e.host.Interceptors)) {
			v := &e.returned[i]
			r.Verdicts = append(r.Verdicts, Summary{
				Index:    i,
				Decision: v.Decision,
				Reason:   v.Reason,
				Name:     e.host.Interceptors[i].Name,
			})
		}
	}
	return r
}

// maxMessage is how many bytes of a message a record has.
const maxMessage = 256

// withoutContent returns what a record may have of a verdict.
func withoutContent(v Verdict) Verdict {
	v = v.clone()
	v.Message = short(v.Message)
	for i := range v.Warnings {
		v.Warnings[i].Message = short(v.Warnings[i].Message)
	}
	if v.Approval != nil {
		v.Approval = emptyObject
	}
	if v.Transform != nil {
		v.Transform = &Change{Path: v.Transform.Path}
	}
	return v
}

func short(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	const more = "…"
	cut := maxMessage - len(more)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}
