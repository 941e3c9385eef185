// An HTTP handler around a runner: a POST is a turn, and its events are streamed as they are appended.
//
//	go run ./examples/http &
//	curl -d '{"user":"ada","session":"s1","text":"Hello"}' localhost:8080/run
//	curl -d '{"user":"ada","session":"s1","text":"Hello"}' -H 'Accept: text/event-stream' localhost:8080/run
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"log"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/plughook/plughook/agent"
	"github.com/plughook/plughook/runner"
	"github.com/plughook/plughook/session"
	"github.com/plughook/plughook/session/memory"
)

func main() {
	addr := flag.String("addr", "localhost:8080", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *addr); err != nil {
		log.Fatal(err)
	}
}

// serve serves until ctx is done, and lets the turns under way end.
func serve(ctx context.Context, addr string) error {
	r, err := runner.New(runner.Options{Agent: agent.New("echo", "", echo), Sessions: memory.New()})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /run", handler{r})
	srv := &http.Server{Addr: addr, Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.ListenAndServe() }()
	fmt.Println("listening on", addr)
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, srv.Shutdown(late), r.Close(late))
}

func echo(_ context.Context, host *agent.Host) iter.Seq2[*session.Event, error] {
	return func(yield func(*session.Event, error) bool) {
		yield(session.Reply("You said: "+host.Now().Input.Text()), nil)
	}
}
