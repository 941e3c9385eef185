// An agent that is served over HTTP, with streams that resume: package server does all of it.
//
//	go run ./examples/http &
//	curl -N -d '{"message":"Hello","session":"ada"}' localhost:8080/chat
//	curl -N 'localhost:8080/v1/apps/echo/sessions/ada/events?after=1&follow=1'
package main

import (
	"context"
	"iter"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/server"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

func main() {
	sessions := memory.New()
	a := agent.New("echo", "Repeats what is said.", echo)
	r, err := runner.New(runner.Options{Agent: a, Sessions: sessions})
	if err != nil {
		log.Fatal(err)
	}
	s, err := server.New(server.Options{Apps: []server.App{{Name: "echo", Runner: r}}})
	if err != nil {
		log.Fatal(err)
	}

	// On Ctrl-C streams are told, and runs have ten seconds to end.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	h := &http.Server{Addr: "localhost:8080", Handler: s, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- h.ListenAndServe() }()
	select {
	case err := <-ended:
		log.Fatal(err)
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s.Shutdown(late)
	_ = h.Shutdown(late)
	_ = r.Close(late)
}

func echo(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		yield(session.Reply("You said: "+host.Now().Input.Text()), nil)
	}
}
