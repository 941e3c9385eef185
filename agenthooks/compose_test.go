package agenthooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plughook/plughook/agenthooks"
)

var ctx = context.Background()

// says returns interceptors that answer with these verdicts; "panic" and "fail" are what they sound like.
func says(verdicts ...string) (list []agenthooks.Registered) {
	for _, text := range verdicts {
		list = append(list, agenthooks.Registered{Name: "i", Interceptor: agenthooks.InterceptorFunc(
			func(_ context.Context, c agenthooks.Context) (agenthooks.Verdict, error) {
				switch {
				case text == "panic":
					panic("a secret")
				case text == "fail":
					return agenthooks.Verdict{}, errors.New("a secret")
				case text == "sees":
					var m struct{ Target json.RawMessage }
					err := json.Unmarshal(c, &m)
					return agenthooks.Verdict{Decision: agenthooks.Allow, Reason: "saw " + string(m.Target)}, err
				}
				v, err := agenthooks.ParseVerdict([]byte(text))
				if err != nil {
					err = fmt.Errorf("%w: %w", agenthooks.ErrVerdict, err)
				}
				return v, err
			})})
	}
	return list
}

const (
	allow     = `{"decision":"allow"}`
	deny      = `{"decision":"deny","reason":"no"}`
	askHuman  = `{"decision":"deny","reason":"ask","approval":{"who":"boss"}}`
	setURL    = `{"decision":"transform","reason":"set","transform":{"path":"$target.url","value":"clean"}}`
	setOther  = `{"decision":"transform","reason":"other","transform":{"path":"$target.url","value":"other"}}`
	setNoPath = `{"decision":"transform","transform":{"path":"$target.none.deep","value":1}}`
)

// resolver returns a resolver with this outcome and verdict.
func resolver(outcome, verdict string) agenthooks.Resolver {
	return agenthooks.ResolverFunc(func(_ context.Context, r agenthooks.Request) (agenthooks.Resolution, error) {
		res := agenthooks.Resolution{Outcome: outcome, Identity: r.Identity}
		if verdict == "" {
			return res, nil
		}
		res.Verdict = &agenthooks.Verdict{}
		return res, json.Unmarshal([]byte(verdict), res.Verdict)
	})
}

// emit emits a call with the argument url, which is "dirty".
func emit(t *testing.T, c agenthooks.Config) agenthooks.Result {
	h, err := agenthooks.NewHost(c)
	require.NoError(t, err)
	s := &agenthooks.Session{Host: h, ID: "s", Agent: "bot", Framework: "plughook"}
	r, err := s.Emit(ctx, agenthooks.Ask{
		Point:  agenthooks.PreToolCall,
		Fields: agenthooks.Fields{"tool_call": []byte(`{"id":"t","name":"get","args":{"url":"dirty"}}`)},
	})
	require.NoError(t, err)
	return r
}

// TestAgentHooksComposition has the profiles with their knobs: what the interceptors say, and what comes of it.
func TestAgentHooksComposition(t *testing.T) {
	stop := agenthooks.Composition{}
	resume := agenthooks.Composition{OnApproval: "resume"}
	all := agenthooks.Composition{Profile: agenthooks.RunAll}
	strict := agenthooks.Composition{Profile: agenthooks.Strictest}
	arbiter := agenthooks.Composition{Profile: agenthooks.Strictest, OnTransformConflict: "approval"}
	one := agenthooks.Composition{Profile: agenthooks.Unanimous}
	vote := agenthooks.Composition{Profile: agenthooks.Unanimous, OnDisagreement: "approval"}
	yes := resolver(agenthooks.Approve, allow)
	for _, c := range []struct {
		name     string
		by       agenthooks.Composition
		says     []string
		resolver agenthooks.Resolver
		want     string // decision, reason, by whom, resolved by; * is truncated; then the target's url
	}{
		{"all allow", stop, []string{allow, allow}, nil, "allow  - ; dirty"},
		{"first denial counts", stop, []string{allow, deny, askHuman}, yes, "deny no 1 *; dirty"},
		{"last is no truncation", stop, []string{allow, deny}, yes, "deny no 1 ; dirty"},
		{"fold", stop, []string{setURL, "sees", setOther}, nil, "transform other 2 ; other"},
		{"fold is seen", stop, []string{setURL, "sees"}, nil, "transform set 0 ; clean"},
		{"no resolver", stop, []string{askHuman, allow}, nil, "deny ask 0 *; dirty"},
		{"lifted, stop", stop, []string{setURL, askHuman, deny}, yes, "allow  1 approval*; clean"},
		{"lifted, resume", resume, []string{askHuman, setURL}, yes, "transform set 1 approval; clean"},
		{"lifted, resume, denied", resume, []string{askHuman, deny, allow}, yes, "deny no 1 approval*; dirty"},
		{"lifted twice", resume, []string{askHuman, askHuman}, yes, "allow  1 approval; dirty"},
		{"lifted by a transform", stop, []string{askHuman}, resolver(agenthooks.Approve, setOther), "transform other 0 approval; other"},
		{"rejected", resume, []string{askHuman, allow}, resolver(agenthooks.Reject, deny), "deny no 0 rejection*; dirty"},
		{"unresolved", stop, []string{askHuman}, resolver(agenthooks.Unresolved, ""), "deny host_error:approval_unresolved 0 rejection; dirty"},
		{"no outcome", stop, []string{askHuman}, resolver("maybe", allow), "deny host_error:approval_resolver_failed 0 rejection; dirty"},
		{"no verdict", stop, []string{askHuman}, resolver(agenthooks.Approve, ""), "deny host_error:approval_resolver_failed 0 rejection; dirty"},
		{"rejects by allow", stop, []string{askHuman}, resolver(agenthooks.Reject, allow), "deny host_error:verdict_invalid 0 rejection; dirty"},
		{"transform fails", stop, []string{setNoPath, deny}, nil, "deny host_error:transform_invalid - *; dirty"},
		{"panic", stop, []string{"panic"}, nil, "deny host_error:interceptor_failed 0 ; dirty"},
		{"no verdict at all", stop, []string{"[]"}, nil, "deny host_error:verdict_invalid 0 ; dirty"},

		{"run all: strictest", all, []string{setURL, askHuman, deny, deny}, yes, "deny no 2 ; dirty"},
		{"run all: last transform", all, []string{setURL, setOther, "sees"}, nil, "transform other 1 ; other"},
		{"run all: lifted keeps the fold", all, []string{setURL, askHuman, askHuman}, yes, "allow  1 approval; clean"},
		{"run all: failure in its slot", all, []string{"fail", allow}, nil, "deny host_error:interceptor_failed 0 ; dirty"},
		{"run all: transform fails", all, []string{setNoPath, allow}, nil, "deny host_error:transform_invalid - *; dirty"},

		{"strictest: one transform", strict, []string{allow, setURL}, nil, "transform set 1 ; clean"},
		{"strictest: conflict", strict, []string{setURL, setOther}, yes, "deny host_error:transform_conflict - ; dirty"},
		{"strictest: arbitrated", arbiter, []string{setURL, setOther}, resolver(agenthooks.Approve, setOther), "transform other - approval; other"},
		{"strictest: denial beats transform", strict, []string{setURL, setOther, deny}, nil, "deny no 2 ; dirty"},
		{"strictest: lifted, transforms lose", strict, []string{setURL, askHuman}, yes, "allow  1 approval; dirty"},
		{"unanimous", one, []string{allow, allow}, nil, "allow  - ; dirty"},
		{"unanimous: transform", one, []string{allow, setURL}, yes, "deny host_error:composition_disagreement - ; dirty"},
		{"unanimous: vote", vote, []string{allow, deny}, yes, "allow  - approval; dirty"},
		{"unanimous: nobody to vote", vote, []string{allow, deny}, nil, "deny host_error:composition_disagreement - ; dirty"},
		{"nobody", stop, nil, yes, "deny host_error:no_interceptor - ; dirty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := emit(t, agenthooks.Config{Interceptors: says(c.says...), Composition: c.by, Resolver: c.resolver})
			by, cut := "-", ""
			if r.Record.DecidedBy != nil {
				by = fmt.Sprint(*r.Record.DecidedBy)
			}
			if r.Record.FoldTruncated != nil && *r.Record.FoldTruncated {
				cut = "*"
			}
			var target struct{ URL string }
			require.NoError(t, json.Unmarshal(r.Target, &target))
			got := fmt.Sprintf("%s %s %s %s%s; %s", r.Verdict.Decision, r.Verdict.Reason, by, r.Record.ResolvedBy, cut, target.URL)
			require.Equal(t, c.want, got)
			require.Equal(t, r.Verdict.Decision != agenthooks.Deny, r.Proceed)
			require.Equal(t, len(c.says), r.Record.InterceptorsRegistered)
			text, err := json.Marshal(r.Record)
			require.NoError(t, err)
			require.NotContains(t, string(text), "secret")
			require.NotContains(t, string(text), `"clean"`)
			require.NotContains(t, string(text), "boss")
		})
	}
}

// TestAgentHooksWhatIsSeen says what later interceptors see of a transform.
func TestAgentHooksWhatIsSeen(t *testing.T) {
	for profile, sees := range map[agenthooks.Profile]string{agenthooks.RunAll: "clean", agenthooks.Strictest: "dirty"} {
		c := agenthooks.Config{Interceptors: says(setURL, "sees"), Composition: agenthooks.Composition{Profile: profile}}
		r := emit(t, c)
		require.Equal(t, `saw {"url":"`+sees+`"}`, r.Record.Verdicts[1].Reason)
		c.Mode = agenthooks.EvaluateOnly
		require.Equal(t, `saw {"url":"dirty"}`, emit(t, c).Record.Verdicts[1].Reason)
	}
}

// TestAgentHooksUnions says which warnings and labels a verdict carries.
func TestAgentHooksUnions(t *testing.T) {
	one := `{"decision":"allow","warnings":[{"reason":"w"}],"result_labels":["a","b"]}`
	two := `{"decision":"allow","warnings":[{"reason":"w"},{"reason":"w","message":"m"}],"result_labels":["b","c"]}`
	r := emit(t, agenthooks.Config{Interceptors: says(one, two)})
	require.Equal(t, []agenthooks.Warning{{Reason: "w"}, {Reason: "w", Message: "m"}}, r.Verdict.Warnings)
	require.Equal(t, []string{"a", "b", "c"}, r.Labels)
	r = emit(t, agenthooks.Config{Interceptors: says(one, deny)})
	require.Len(t, r.Verdict.Warnings, 1)
	require.Empty(t, r.Labels, "what does not proceed has no labels")
}

// TestAgentHooksSeam says what a resolver is shown, and what its answer must repeat.
func TestAgentHooksSeam(t *testing.T) {
	var shown agenthooks.Request
	asks := agenthooks.ResolverFunc(func(_ context.Context, r agenthooks.Request) (agenthooks.Resolution, error) {
		shown = r
		return agenthooks.Resolution{Outcome: agenthooks.Unresolved, Identity: r.Identity}, nil
	})
	hides := func(c agenthooks.Context) (agenthooks.Context, error) {
		return agenthooks.Context(strings.ReplaceAll(string(c), "clean", "hidden")), nil
	}
	c := agenthooks.Config{Interceptors: says(setURL, askHuman), Resolver: asks, Redact: hides}
	r := emit(t, c)
	id, err := agenthooks.Identity(agenthooks.Context(shown.Context))
	require.NoError(t, err)
	require.Equal(t, id, *shown.Identity)
	require.Contains(t, string(shown.Context), "hidden")
	require.NotContains(t, string(shown.Context), "dirty")
	require.NotEqual(t, id, *r.Record.EnforcedIdentity)
	require.JSONEq(t, `{"who":"boss"}`, string(shown.Verdict.Approval))

	// Another identity counts before all else that is wrong.
	forges := agenthooks.ResolverFunc(func(context.Context, agenthooks.Request) (agenthooks.Resolution, error) {
		return agenthooks.Resolution{Outcome: "maybe", Identity: new("sha256:0")}, nil
	})
	for reason, res := range map[string]agenthooks.Resolver{
		agenthooks.ApprovalIdentityMismatch: forges,
		agenthooks.ApprovalResolverFailed: agenthooks.ResolverFunc(func(ctx context.Context, _ agenthooks.Request) (agenthooks.Resolution, error) {
			<-ctx.Done()
			return agenthooks.Resolution{}, nil
		}),
	} {
		c := agenthooks.Config{Interceptors: says(askHuman), Resolver: res, ApprovalTimeout: 10 * time.Millisecond}
		r := emit(t, c)
		require.Equal(t, reason, r.Verdict.Reason)
		require.Equal(t, "rejection", r.Record.ResolvedBy)
	}
	c.Redact = func(agenthooks.Context) (agenthooks.Context, error) { panic("fault") }
	require.Equal(t, agenthooks.ApprovalResolverFailed, emit(t, c).Verdict.Reason)
}

// TestAgentHooksVerdicts says what is a verdict.
func TestAgentHooksVerdicts(t *testing.T) {
	for _, text := range []string{
		allow, deny, askHuman, setURL,
		`{"decision":"allow","reason":null,"message":null,"warnings":null,"result_labels":null}`,
		`{"decision":"deny","evidence":{"artefact":"sha256:0","verification_pointers":{"a":"https://a.example"}}}`,
		`{"decision":"transform","transform":{"path":"$target"}}`,
	} {
		_, err := agenthooks.ParseVerdict([]byte(text))
		require.NoError(t, err, text)
	}
	for _, text := range []string{
		``, `null`, `[]`, `"allow"`, `{}`, `{"decision":"ask"}`, `{"decision":"allow","reason":"host_error:x"}`,
		`{"decision":"allow","warnings":[{"reason":"host_error:x"}]}`, `{"decision":"allow","warnings":[null]}`,
		`{"decision":"allow","warnings":{}}`, `{"decision":"allow","approval":{}}`, `{"decision":"deny","approval":true}`,
		`{"decision":"deny","approval":null}`, `{"decision":"transform"}`, `{"decision":"transform","transform":{}}`,
		`{"decision":"deny","transform":{"path":"$target"}}`, `{"decision":"allow","evidence":"x"}`,
		`{"decision":"allow","evidence":{"other":1}}`, `{"decision":"allow","result_labels":[1]}`,
		`{"decision":"allow","result_labels":[null]}`, `{"decision":"allow","decision":"deny"}`, `{"decision":"allow","x":1}`,
		`{"decision":"allow","evidence":{"artefact":"` + strings.Repeat("x", 10240) + `"}}`,
	} {
		_, err := agenthooks.ParseVerdict([]byte(text))
		require.Error(t, err, text)
	}
}

// TestAgentHooksPaths says what a transform's path leads to.
func TestAgentHooksPaths(t *testing.T) {
	for path, want := range map[string]string{
		"$target.url":             `"url":"X"`,
		"$policy_target.url":      `"url":"X"`,
		`$target["url"]`:          `"url":"X"`,
		"$target.list[1].name":    `"name":"X"`,
		"$target":                 agenthooks.TransformInvalid, // arguments are an object
		"$target.none":            agenthooks.TransformInvalid,
		"$target.list[2]":         agenthooks.TransformInvalid,
		"$target.list.name":       agenthooks.TransformInvalid,
		"$target.url[0]":          agenthooks.TransformInvalid,
		"$target.":                agenthooks.TransformInvalid,
		"$target..url":            agenthooks.TransformInvalid,
		"$target[url]":            agenthooks.TransformInvalid,
		"$target['url']":          agenthooks.TransformInvalid,
		"$target.list[-1]":        agenthooks.TransformInvalid,
		"$target.list[+1]":        agenthooks.TransformInvalid,
		"$tool_call.name":         agenthooks.TransformTargetForbidden,
		"$targeturl":              agenthooks.TransformTargetForbidden,
		"":                        agenthooks.TransformTargetForbidden,
		"$policy_target_other.at": agenthooks.TransformTargetForbidden,
	} {
		v, err := json.Marshal(map[string]any{"decision": "transform", "transform": map[string]any{"path": path, "value": "X"}})
		require.NoError(t, err)
		h, err := agenthooks.NewHost(agenthooks.Config{Interceptors: says(string(v))})
		require.NoError(t, err)
		s := &agenthooks.Session{Host: h, ID: "s", Agent: "bot", Framework: "plughook"}
		r, err := s.Emit(ctx, agenthooks.Ask{
			Point:  agenthooks.PreToolCall,
			Fields: agenthooks.Fields{"tool_call": []byte(`{"id":"t","name":"n","args":{"url":"a","list":[{},{"name":"b"}]}}`)},
		})
		require.NoError(t, err)
		require.Contains(t, string(r.Target)+r.Verdict.Reason, want, path)
		require.Equal(t, !agenthooks.HostError(want), r.Proceed)
	}
}

// TestAgentHooksContexts says which contexts nobody is asked about.
func TestAgentHooksContexts(t *testing.T) {
	deep := strings.Repeat("[", 130) + strings.Repeat("]", 130)
	for _, call := range []string{
		`null`, `{}`, `{"id":"","name":"n","args":{}}`, `{"id":"t","name":"n","args":[]}`, `{"id":"t","name":"n"}`,
		`{"id":"t","name":"n","args":{"a":9007199254740993}}`, `{"id":"t","name":"n","args":{"a":1e400}}`,
		`{"id":"t","name":"n","args":{"a":"\ud800"}}`, `{"id":"t","name":"n","args":{"a":1,"a":2}}`,
		`{"id":"t","name":"n","args":{"a":` + deep + `}}`, `{"id":"t","name":"n","args":{"a":"` + strings.Repeat("x", 5<<20) + `"}}`,
	} {
		asked := false
		c := agenthooks.Config{Interceptors: []agenthooks.Registered{{Interceptor: agenthooks.InterceptorFunc(
			func(context.Context, agenthooks.Context) (agenthooks.Verdict, error) {
				asked = true
				return agenthooks.Verdict{Decision: agenthooks.Allow}, nil
			})}}}
		h, err := agenthooks.NewHost(c)
		require.NoError(t, err)
		s := &agenthooks.Session{Host: h, ID: "s", Agent: "bot", Framework: "plughook"}
		r, err := s.Emit(ctx, agenthooks.Ask{Point: agenthooks.PreToolCall, Fields: agenthooks.Fields{"tool_call": []byte(call)}})
		require.NoError(t, err)
		require.False(t, r.Proceed || asked, "%.80s", call)
		require.Equal(t, agenthooks.ContextInvalid, r.Record.Verdict.Reason)
		require.Nil(t, r.Record.InputIdentity)
		require.Nil(t, r.Record.EnforcedIdentity)
	}
}

// TestAgentHooksBounds says that size and depth are bounded without identities, too.
func TestAgentHooksBounds(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 130) + "1" + strings.Repeat("}", 130)
	long := `{"a":"` + strings.Repeat("x", 10_000) + `"}`
	for _, args := range []string{deep, long} {
		h, err := agenthooks.NewHost(agenthooks.Config{Interceptors: says(allow), Unbound: true, MaxBytes: 5_000})
		require.NoError(t, err)
		s := &agenthooks.Session{Host: h, ID: "s", Agent: "bot", Framework: "plughook"}
		r, err := s.Emit(ctx, agenthooks.Ask{
			Point:  agenthooks.PreToolCall,
			Fields: agenthooks.Fields{"tool_call": []byte(`{"id":"t","name":"n","args":` + args + `}`)},
		})
		require.NoError(t, err)
		require.Equal(t, agenthooks.ContextInvalid, r.Verdict.Reason)
	}
}

// TestAgentHooksConfig says what a host refuses to be.
func TestAgentHooksConfig(t *testing.T) {
	id := func(agenthooks.Context) (string, error) { return "id", nil }
	for _, c := range []agenthooks.Config{
		{Composition: agenthooks.Composition{Profile: "quorum"}},
		{Composition: agenthooks.Composition{OnApproval: "go"}},
		{Mode: "loose"},
		{Interceptors: []agenthooks.Registered{{}}},
		{Provider: &agenthooks.Provider{Name: "jcs-own", Identify: id}},
		{Provider: &agenthooks.Provider{Name: "Own", Identify: id}},
		{Provider: &agenthooks.Provider{Name: "own"}},
		{Provider: &agenthooks.Provider{Name: "own", Identify: id}, Unbound: true},
	} {
		_, err := agenthooks.NewHost(c)
		require.Error(t, err)
	}
	r := emit(t, agenthooks.Config{Interceptors: says(allow), Provider: &agenthooks.Provider{Name: "own", Identify: id}})
	require.Equal(t, "id", *r.Record.InputIdentity)
	require.Equal(t, "own", *r.Record.IdentityProvider)
	r = emit(t, agenthooks.Config{Interceptors: says(allow), Unbound: true})
	require.Nil(t, r.Record.InputIdentity)
	require.Nil(t, r.Record.IdentityProvider)
}

// TestAgentHooksRecords says what a record has of a verdict.
func TestAgentHooksRecords(t *testing.T) {
	long := strings.Repeat("é", 200)
	v := `{"decision":"deny","reason":"r","message":"` + long + `","warnings":[{"reason":"w","message":"` + long + `"}],` +
		`"evidence":{"artefact":"sha256:0"},"approval":{"a":"secret"}}`
	r := emit(t, agenthooks.Config{Interceptors: says(v)})
	require.Equal(t, long, r.Verdict.Message)
	got := r.Record.Verdict
	require.LessOrEqual(t, len(got.Message), 256)
	require.True(t, strings.HasSuffix(got.Message, "é…"))
	require.LessOrEqual(t, len(got.Warnings[0].Message), 256)
	require.JSONEq(t, `{"artefact":"sha256:0"}`, string(got.Evidence))
	require.Equal(t, "{}", string(got.Approval))
	require.Equal(t, agenthooks.Composition{Profile: agenthooks.FirstDeny, OnApproval: "stop"}, r.Record.Composition)

	// What a profile does not read is not on its records.
	all := agenthooks.Composition{Profile: agenthooks.RunAll, OnApproval: "resume", OnDisagreement: "approval", OnTransformConflict: "deny"}
	r = emit(t, agenthooks.Config{Interceptors: says(v), Composition: all})
	require.Equal(t, agenthooks.Composition{Profile: agenthooks.RunAll}, r.Record.Composition)

	// Emissions of a session are numbered from 0, and contexts have the number of the record.
	h, err := agenthooks.NewHost(agenthooks.Config{Interceptors: says(allow)})
	require.NoError(t, err)
	s := &agenthooks.Session{Host: h, ID: "s", Agent: "bot", Framework: "plughook"}
	ids := map[string]bool{}
	for i := range 3 {
		r, err := s.Emit(ctx, agenthooks.Ask{Point: agenthooks.Output, Fields: agenthooks.Fields{"output": []byte(`{"content":"x"}`)}})
		require.NoError(t, err)
		require.EqualValues(t, i, r.Record.Sequence)
		ids[*r.Record.InputIdentity] = true
	}
	require.Len(t, ids, 3)
}

// TestAgentHooksInterceptorsInGo says what a host makes of interceptors that are not what they should be.
func TestAgentHooksInterceptorsInGo(t *testing.T) {
	invalid := agenthooks.InterceptorFunc(func(context.Context, agenthooks.Context) (agenthooks.Verdict, error) {
		return agenthooks.Verdict{Decision: agenthooks.Transform}, nil
	})
	require.Equal(t, agenthooks.VerdictInvalid, emit(t, agenthooks.Config{
		Interceptors: []agenthooks.Registered{{Interceptor: invalid}},
	}).Verdict.Reason)
	late := agenthooks.InterceptorFunc(func(ctx context.Context, _ agenthooks.Context) (agenthooks.Verdict, error) {
		<-ctx.Done()
		return agenthooks.Verdict{Decision: agenthooks.Allow}, ctx.Err()
	})
	for range 20 { // the answer and the end of the time race
		r := emit(t, agenthooks.Config{Interceptors: []agenthooks.Registered{{Interceptor: late}}, Timeout: time.Microsecond})
		require.Equal(t, agenthooks.InterceptorTimeout, r.Verdict.Reason)
	}
	mutates := agenthooks.InterceptorFunc(func(_ context.Context, c agenthooks.Context) (agenthooks.Verdict, error) {
		for i := range c {
			c[i] = 'x'
		}
		return agenthooks.Verdict{Decision: agenthooks.Allow}, nil
	})
	for _, profile := range []agenthooks.Profile{agenthooks.RunAll, agenthooks.Strictest} {
		list := append([]agenthooks.Registered{{Interceptor: mutates}}, says("sees")...)
		r := emit(t, agenthooks.Config{Interceptors: list, Composition: agenthooks.Composition{Profile: profile}})
		require.Equal(t, `saw {"url":"dirty"}`, r.Record.Verdicts[1].Reason)
		require.Equal(t, r.Record.InputIdentity, r.Record.EnforcedIdentity)
	}
	h, err := agenthooks.NewHost(agenthooks.Config{
		Interceptors: says(allow),
		Record:       func(agenthooks.Record) error { return errors.New("the disk is full") },
	})
	require.NoError(t, err)
	s := &agenthooks.Session{Host: h, ID: "s", Agent: "bot", Framework: "plughook"}
	_, err = s.Emit(ctx, agenthooks.Ask{Point: agenthooks.Output, Fields: agenthooks.Fields{"output": []byte(`{"content":"x"}`)}})
	require.ErrorContains(t, err, "the disk is full")
}
