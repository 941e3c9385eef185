package hooks_test

import (
	"context"
	"regexp"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/session"
)

// Ends a run early with content: no agent runs. The answer is an event like any other, so it is
// stored, and offered to the plugins after this one.
func Example_earlyExit() {
	maintenance := true
	closed := &plugin.Plugin{
		Name: "closed",
		BeforeRun: func(context.Context, *session.Invocation) (plugin.Outcome, error) {
			if !maintenance {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{
				Emit:   []*session.Event{session.Reply("We are back at nine.")},
				Stop:   true,
				Reason: "maintenance",
			}, nil
		},
	}
	run(bot(), []*plugin.Plugin{closed}, "Hello?")
	// Output:
	// user: Hello?
	// plugin/closed: We are back at nine.
}

// Blocks an input. It is not stored and no agent hears of it; what is stored is the refusal.
func Example_blockInput() {
	card := regexp.MustCompile(`\b(?:\d{4} ?){4}\b`)
	guard := &plugin.Plugin{
		Name: "guard",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author == session.User && card.MatchString(e.Text()) {
				return plugin.Deny("Please do not send card numbers.", "a card number"), nil
			}
			return plugin.Outcome{}, nil
		},
	}
	run(bot("Noted."), []*plugin.Plugin{guard}, "My card is 4111 1111 1111 1111.", "Call me Ada.")
	// Output:
	// plugin/guard: Please do not send card numbers. [DENIED]
	// user: Call me Ada.
	// bot: Noted.
}

// Changes what the user says, before anything is stored. The event says who has changed it, and
// why.
func Example_changeInput() {
	card := regexp.MustCompile(`\b(?:\d{4} ?){4}\b`)
	mask := &plugin.Plugin{
		Name: "mask",
		OnEvent: func(_ context.Context, _ *session.Invocation, e *session.Event) (plugin.Outcome, error) {
			if e.Author != session.User || !card.MatchString(e.Text()) {
				return plugin.Outcome{}, nil
			}
			masked := e.Clone()
			for _, p := range masked.Content.Parts {
				p.Text = card.ReplaceAllString(p.Text, "(card)")
			}
			return plugin.Outcome{Replace: masked, Reason: "a card number"}, nil
		},
	}
	run(bot("Noted."), []*plugin.Plugin{mask}, "My card is 4111 1111 1111 1111.")
	// Output:
	// user: My card is (card).
	// bot: Noted.
}

// Gives a new session something to begin with: an event that sets state. It has no content, so the
// model is shown nothing of it.
func Example_initialState() {
	begin := &plugin.Plugin{
		Name: "begin",
		BeforeRun: func(_ context.Context, inv *session.Invocation) (plugin.Outcome, error) {
			if inv.State["language"] != nil {
				return plugin.Outcome{}, nil
			}
			return plugin.Outcome{
				Emit: []*session.Event{
					{Actions: session.Actions{StateDelta: map[string]any{"language": "en"}}},
				},
			}, nil
		},
	}
	run(bot("Hello.", "Hello again."), []*plugin.Plugin{begin}, "Hi.", "Hi again.")
	// Output:
	// user: Hi.
	// plugin/begin: [language is en]
	// bot: Hello.
	// user: Hi again.
	// bot: Hello again.
}
