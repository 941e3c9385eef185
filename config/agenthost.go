package config

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plughook/plughook/agenthooks"
	"github.com/plughook/plughook/agenthooks/web"
	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugins/agenthost"
	"github.com/plughook/plughook/plugins/audit"
)

// agenthostConfig says which interceptors of AGENT-HOOKS judge runs, and how their verdicts become one.
type agenthostConfig struct {
	Interceptors []interceptorConfig `yaml:"interceptors" json:"interceptors" jsonschema:"who judges, in this order"`
	Within       time.Duration       `yaml:"within" json:"within,omitempty" jsonschema:"how long each interceptor may take each time; 5s if empty. One that is late has denied"`

	Profile             agenthooks.Profile `yaml:"profile" json:"profile,omitempty" jsonschema:"sequential/first_deny (the default), sequential/run_all, parallel/strictest or parallel/unanimous"`
	OnApproval          string             `yaml:"on_approval" json:"on_approval,omitempty" jsonschema:"what follows under sequential/first_deny when a human has lifted a denial: stop (the default) or resume, which asks the next ones"`
	OnDisagreement      string             `yaml:"on_disagreement" json:"on_disagreement,omitempty" jsonschema:"what it is under parallel/unanimous if not all allow: deny (the default) or approval, which a human may lift"`
	OnTransformConflict string             `yaml:"on_transform_conflict" json:"on_transform_conflict,omitempty" jsonschema:"what two changes of the same are under a parallel profile: deny (the default) or approval"`

	Mode        agenthooks.Mode `yaml:"mode" json:"mode,omitempty" jsonschema:"enforce (the default), or evaluate_only: verdicts are recorded, and everything goes on"`
	Hold        bool            `yaml:"hold" json:"hold,omitempty" jsonschema:"a denial of a call that a human may lift holds the call until somebody decides"`
	Incremental bool            `yaml:"incremental" json:"incremental,omitempty" jsonschema:"an answer is judged and shown while it is made; else it is shown when it was judged as a whole"`
	Segment     size            `yaml:"segment" json:"segment,omitempty" jsonschema:"how many bytes of an answer come together before it is judged again; each chunk if empty"`
	Terminate   bool            `yaml:"terminate" json:"terminate,omitempty" jsonschema:"the run ends if a call is denied because an interceptor failed; else the model goes on"`
}

type interceptorConfig struct {
	Name     string `yaml:"name" json:"name" jsonschema:"what records call it"`
	URL      string `yaml:"url" json:"url" jsonschema:"where contexts are sent, http://… or https://…; the answer is a verdict"`
	TokenEnv string `yaml:"token_env" json:"token_env,omitempty" jsonschema:"the environment variable with a bearer token for it"`
}

func (c *file) checkAgenthost(bad complaint, path string, p *pluginConfig) {
	if p.OnError == onErrors[1] {
		bad(path+".on_error", "agenthost must stay closed: what nobody has judged is denied")
	}
	if len(p.Agenthost.Interceptors) == 0 {
		bad(path+".agenthost", "there are no interceptors, so all would be denied; name them: interceptors: [{name: …, url: …}]")
	}
	names := c.names("interceptor")
	for i, r := range p.Agenthost.Interceptors {
		names.take(bad, fmt.Sprintf("%s.agenthost.interceptors[%d]", path, i), r.Name)
	}
	checkAbove0(c, bad, path+".agenthost.within", p.Agenthost.Within)
}

// newAgenthost makes the plugin of the kind agenthost. Its records go into the file of the plugin audit, if there is one.
func newAgenthost(pc *pluginConfig, d dependencies) (*plugin.Plugin, error) {
	c := pc.Agenthost
	own := agenthost.Config{
		Name:  pc.Name,
		Agent: d.agent,
		Config: agenthooks.Config{
			Composition: agenthooks.Composition{
				Profile:             c.Profile,
				OnApproval:          c.OnApproval,
				OnDisagreement:      c.OnDisagreement,
				OnTransformConflict: c.OnTransformConflict,
			},
			Mode:    c.Mode,
			Timeout: c.Within,
		},
		Hold:        c.Hold,
		Incremental: c.Incremental,
		Segment:     int(c.Segment),
		Terminate:   c.Terminate,
	}
	for _, r := range c.Interceptors {
		token, err := secret(r.TokenEnv)
		if err != nil && !d.dry {
			return nil, fmt.Errorf("interceptor %s: %w", r.Name, err)
		}
		there, err := web.New(r.URL, token)
		if err != nil {
			return nil, fmt.Errorf("interceptor %s: %w", r.Name, err)
		}
		judge := func(ctx context.Context, c agenthooks.Context) (agenthooks.Verdict, error) {
			v, err := there.Intercept(ctx, c)
			if err != nil { // a record has the kind of the error only
				d.log.Warn("An interceptor has failed, which is a denial", "interceptor", r.Name, "error", err)
			}
			return v, err
		}
		own.Interceptors = append(own.Interceptors, agenthooks.Registered{Name: r.Name, Interceptor: agenthooks.InterceptorFunc(judge)})
	}
	closeRecords := func(context.Context) error { return nil }
	if d.audit != nil && !d.dry {
		var err error
		if own.Keep, closeRecords, err = audit.Hooks(auditConfig(d.audit, d.path)); err != nil {
			return nil, err
		}
	}
	p, err := agenthost.New(own)
	if err != nil {
		return nil, errors.Join(err, closeRecords(context.Background()))
	}
	closeHost := p.Close
	p.Close = func(ctx context.Context) error { return errors.Join(closeHost(ctx), closeRecords(ctx)) }
	return p, nil
}

// auditConfig returns the configuration of the plugin audit, with paths of this process.
func auditConfig(c *audit.Config, path func(string) string) audit.Config {
	own := *c
	if own.Path != "" {
		own.Path = path(own.Path)
	}
	if own.KeyFile != "" {
		own.KeyFile = path(own.KeyFile)
	}
	return own
}
