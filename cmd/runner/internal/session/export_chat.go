package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/plughook/plughook/cmd/runner/internal/exit"
	"github.com/plughook/plughook/cmd/runner/internal/phrase"
	"github.com/plughook/plughook/config"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/trajectory"
)

// chats have what chats have beside the conversations.
type chats struct {
	prompts map[string]config.Prompt                  // by the agent; nil if no configuration is named
	reward  func(s *session.Session) (float64, error) // nil if none is asked for

	without   int   // chats without a system instruction, though there is a configuration
	reason    error // of the first of them
	unrated   int   // chats without a reward, though one is asked for
	unratedBy error // of the first of them
}

// openChats reads the configuration that --config names, and what --reward names.
func (x *export) openChats(ctx context.Context, c *config.Config) error {
	var err error
	if x.ConfigFile != "" {
		x.chats.prompts, err = c.Prompts(ctx, config.Options{})
		if err != nil && !errors.Is(err, config.ErrNoAgent) {
			return exit.OfConfig(err)
		}
	}
	kind, name, _ := strings.Cut(x.rewardFrom, ":")
	switch {
	case x.rewardFrom == "":
	case kind == "state" && name != "":
		x.chats.reward = func(s *session.Session) (float64, error) { return rewardInState(s, name) }
	case kind == "file" && name != "":
		rewards, err := x.readRewards(ctx, name)
		if err != nil {
			return exit.Usage.As(err)
		}
		x.chats.reward = func(s *session.Session) (float64, error) {
			if reward, ok := rewards[s.ID]; ok {
				return reward, nil
			}
			return 0, fmt.Errorf("%s has no line for session %s", name, s.ID)
		}
	default:
		return exit.Usage.Errorf("--reward is state:KEY or file:FILE")
	}
	return nil
}

// rewardInState returns the value of a state key: a number, or a boolean as 1 or 0.
func rewardInState(s *session.Session, key string) (float64, error) {
	switch v := s.State[key].(type) {
	case float64:
		return v, nil
	case json.Number:
		return v.Float64()
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case nil:
		return 0, fmt.Errorf("the state of session %s has no %q", s.ID, key)
	}
	return 0, fmt.Errorf("the %q in the state of session %s is no number", key, s.ID)
}

// readRewards reads the rewards of sessions, by their ids: a line {"session":"ID","reward":0.5} for each.
func (x *export) readRewards(ctx context.Context, name string) (map[string]float64, error) {
	f, err := x.OpenInput(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	rewards := map[string]float64{}
	lines := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			var in struct {
				Session *string  `json:"session"`
				Reward  *float64 `json:"reward"`
			}
			if err := json.Unmarshal(line, &in); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
			if in.Session == nil || in.Reward == nil {
				return nil, fmt.Errorf(`%s:%d: a line has a session and a reward: {"session":"ID","reward":0.5}`, name, n)
			}
			if _, twice := rewards[*in.Session]; twice {
				return nil, fmt.Errorf("%s:%d: session %s has a reward already", name, n, *in.Session)
			}
			rewards[*in.Session] = *in.Reward
		}
		if err == io.EOF {
			return rewards, nil
		}
	}
}

// chatOf returns what a chat of one of the agents has beside the conversation. The agents are those that speak in it.
func (x *export) chatOf(ctx context.Context, s *session.Session, agents []string) trajectory.Chat {
	var chat trajectory.Chat
	if len(agents) == 0 { // it is not written
		return chat
	}
	if x.chats.reward != nil {
		reward, err := x.chats.reward(s)
		if err == nil {
			chat.Reward = &reward
		} else if x.chats.unrated++; x.chats.unratedBy == nil {
			x.chats.unratedBy = err
		}
	}
	if x.chats.prompts == nil {
		return chat
	}

	// The first agent that the configuration knows has the instruction.
	err := fmt.Errorf("the configuration has no agent of session %s", s.ID)
	for _, agent := range agents {
		prompt := x.chats.prompts[agent]
		if prompt == nil {
			continue
		}
		chat.System, chat.Tools, err = prompt(ctx, &session.Invocation{Key: s.Key, State: x.redactedState(s)})
		if detect := x.detector(); detect != nil {
			chat.System = detect(chat.System)
		}
		break
	}
	if err != nil {
		x.chats.without++
		if x.chats.reason == nil {
			x.chats.reason = err
		}
	}
	return chat
}

// redactedState returns the state that fills in an instruction.
func (x *export) redactedState(s *session.Session) map[string]any {
	keys := x.redact
	switch {
	case x.noRedact:
		return s.State
	case keys == nil:
		keys = trajectory.SensitiveKeys()
	}
	state, _ := trajectory.Redact(s.State, keys).(map[string]any)
	return state
}

// noteChats says what chats lack.
func (x *export) noteChats() {
	if x.chats.without > 0 {
		x.Note("%s without the system instruction; the first because: %v", phrase.Count(x.chats.without, "chat"), x.chats.reason)
	}
	if x.chats.unrated > 0 {
		x.Note("%s without a reward; the first because: %v", phrase.Count(x.chats.unrated, "chat"), x.chats.unratedBy)
	}
}
