package remote

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/plughook/plughook/plugin"
	"github.com/plughook/plughook/plugin/internal/caller"
	"github.com/plughook/plughook/plugin/internal/message"
	"github.com/plughook/plughook/plugin/remote/wire"
	"github.com/plughook/plughook/session"
)

// stream carries messages to a plugin and back. One goroutine sends and one receives.
type stream interface {
	Send(*wire.HostMessage) error
	Recv() (*wire.PluginMessage, error)
}

// promptStream is a stream that can send a message without waiting, while nobody else sends: that
// saves a switch to the goroutine that writes.
type promptStream interface {
	stream
	// try sends what can be sent without waiting, and returns the rest. It returns false if it
	// did not try.
	try(*wire.HostMessage) (rest []byte, ok bool)
	// sendRest sends the rest of a message.
	sendRest([]byte) error
}

// outgoing is a message, or the rest of one.
type outgoing struct {
	*wire.HostMessage
	rest []byte
}

// A decoded message takes many times the memory of its bytes. So of the large messages of all
// plugins of this process, those that are decoded at once have maxDecoding bytes at most. A larger
// one is decoded alone. A message that is still read counts for nothing: its plugin may never end
// it, and would keep all others from being decoded.
const (
	largeMessage = 1 << 20 // bytes; smaller ones do not wait
	maxDecoding  = 64 << 20
)

var decoding = semaphore.NewWeighted(maxDecoding)

// hookAnswer is what a plugin has answered. Who has it decodes it, and releases it.
type hookAnswer struct {
	*wire.PluginMessage
	held int64 // what it takes of decoding
}

func (a hookAnswer) release() { decoding.Release(a.held) }

// conn calls the hooks of one plugin over a stream.
type conn struct {
	stream stream
	prompt promptStream // the stream, if it is one; nil otherwise
	max    int          // bytes of a message
	out    chan outgoing
	unsent atomic.Int64    // messages in out, and the one that is being sent
	log    func(*wire.Log) // takes what the plugin logs
	secret message.Secrets // not to be in what the plugin says; set before the first call
	pong   chan struct{}   // has an element after each pong
	// waits is whether a large message of the plugin waits for others to be decoded. Until then
	// nothing else that the plugin has sent is read.
	waits atomic.Bool

	mu      sync.Mutex
	seq     uint64                     // of the last call
	waiting map[uint64]chan hookAnswer // for answers, by seq
	sent    caller.Sent

	life  context.Context // done when gone is closed
	gone  chan struct{}   // closed when the connection has ended
	cause error           // why, once gone is closed
	end   func(error)
	all   sync.WaitGroup
}

// newConn starts the goroutines of a connection. They end when the stream does. A message of more
// than max bytes is not sent.
func newConn(s stream, max int, log func(*wire.Log)) *conn {
	c := &conn{
		stream:  s,
		max:     max,
		log:     log,
		out:     make(chan outgoing, 1024),
		pong:    make(chan struct{}, 1),
		waiting: map[uint64]chan hookAnswer{},
		gone:    make(chan struct{}),
	}
	c.prompt, _ = s.(promptStream)
	life, end := context.WithCancel(context.Background())
	c.life = life
	var once sync.Once
	c.end = func(err error) {
		once.Do(func() {
			c.cause = err
			close(c.gone)
			end()
		})
	}
	c.all.Go(c.write)
	c.all.Go(c.read)
	return c
}

// write sends what is enqueued.
func (c *conn) write() {
	for {
		select {
		case m := <-c.out:
			var err error
			if m.rest != nil {
				err = c.prompt.sendRest(m.rest)
			} else {
				err = c.stream.Send(m.HostMessage)
			}
			if err != nil {
				c.end(fmt.Errorf("%w: %w", ErrGone, err))
				return
			}
			c.unsent.Add(-1)
		case <-c.gone:
			return
		}
	}
}

// read receives answers, logs and pongs.
func (c *conn) read() {
	for {
		m, err := c.stream.Recv()
		a := hookAnswer{PluginMessage: m}
		if err == nil {
			a.held, err = c.hold(proto.Size(m))
		}
		if err != nil {
			c.end(fmt.Errorf("%w: %w", ErrGone, err))
			return
		}
		switch m.Message.(type) {
		case *wire.PluginMessage_Log:
			c.log(m.GetLog())
			a.release()
		case *wire.PluginMessage_Pong:
			select {
			case c.pong <- struct{}{}:
			default:
			}
			a.release()
		default:
			c.deliver(a)
		}
	}
}

// hold waits until a message of so many bytes may be decoded, and returns what that takes of
// decoding. It returns an error if the connection has ended.
func (c *conn) hold(size int) (held int64, err error) {
	if size < largeMessage {
		return 0, nil
	}
	held = int64(min(size, maxDecoding))
	c.waits.Store(true)
	defer c.waits.Store(false)
	if err := decoding.Acquire(c.life, held); err != nil {
		return 0, c.cause
	}
	return held, nil
}

// deliver hands an answer to the call that waits for it.
func (c *conn) deliver(a hookAnswer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waits := c.waiting[a.Seq]
	delete(c.waiting, a.Seq)
	if waits == nil { // nobody waits any more
		a.release()
		return
	}
	waits <- a // it has room
}

// leave ends the wait of a call. It returns the answer if that came before.
func (c *conn) leave(seq uint64, answers <-chan hookAnswer) (a hookAnswer, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, seq)
	select {
	case a = <-answers:
		return a, true
	default:
		return hookAnswer{}, false
	}
}

// enqueue hands a message to the writer. c.mu is held, so that messages are sent in the order in
// which c.sent has noted them. So it must not wait: it fails if too many messages wait already.
func (c *conn) enqueue(m *wire.HostMessage) error {
	if size := proto.Size(m); size > c.max {
		return fmt.Errorf("%w: a message to the plugin has %d bytes; at most %d are allowed", ErrTooLarge, size, c.max)
	}
	select {
	case <-c.gone:
		return c.cause
	default:
	}
	o := outgoing{HostMessage: m}
	if c.prompt != nil && c.unsent.Load() == 0 { // the writer is idle, and stays so while c.mu is held
		rest, ok := c.prompt.try(m)
		if ok && len(rest) == 0 {
			return nil
		}
		o.rest = rest
	}
	c.unsent.Add(1)
	select {
	case c.out <- o:
		return nil
	default:
		c.unsent.Add(-1)
		return fmt.Errorf("remote: the plugin takes no message: %d messages wait already", cap(c.out))
	}
}

// ping sends a ping. Its answer is in pong.
func (c *conn) ping() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.enqueue(&wire.HostMessage{Message: &wire.HostMessage_Ping{Ping: &wire.Ping{}}})
}

// Gone is closed when the connection has ended.
func (c *conn) Gone() <-chan struct{} { return c.gone }

// Close ends the connection, and returns when its goroutines have ended, which the end of the
// stream makes them do.
func (c *conn) Close(err error) {
	c.end(err)
	c.all.Wait()
}

// Drain asks the plugin to answer the calls that it has, and to end the stream.
func (c *conn) Drain() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.enqueue(&wire.HostMessage{Message: &wire.HostMessage_Drain{Drain: &wire.Drain{}}})
}

// call calls a hook and waits for what it answers.
func (c *conn) call(ctx context.Context, inv *session.Invocation, a plugin.Args) (plugin.Outcome, error) {
	answers := make(chan hookAnswer, 1)
	seq, err := c.send(ctx, inv, a, answers)
	if err != nil {
		return plugin.Outcome{}, err
	}
	select {
	case m := <-answers:
		return c.take(ctx, m, a)
	case <-c.gone:
		if m, ok := c.leave(seq, answers); ok { // it came before the end
			return c.take(ctx, m, a)
		}
		return plugin.Outcome{}, c.cause
	case <-ctx.Done():
		if m, ok := c.leave(seq, answers); ok { // too late
			m.release()
			return plugin.Outcome{}, context.Cause(ctx)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		// If the plugin takes no message, it does not take this one either.
		_ = c.enqueue(&wire.HostMessage{Seq: seq, Message: &wire.HostMessage_Cancel{Cancel: &wire.Cancel{}}})
		return plugin.Outcome{}, context.Cause(ctx)
	}
}

// take decodes an answer, releases it, and changes the request as it says. If ctx is done by then,
// the answer is late and changes nothing.
func (c *conn) take(ctx context.Context, m hookAnswer, a plugin.Args) (plugin.Outcome, error) {
	defer m.release()
	out, request, err := caller.DecodeAnswer(m.PluginMessage, a, c.secret)
	if err != nil {
		return plugin.Outcome{}, err
	}
	if ctx.Err() != nil {
		return plugin.Outcome{}, context.Cause(ctx)
	}
	if request != nil {
		*a.Request = *request
	}
	return out, nil
}

// send encodes a call and hands it to the writer.
func (c *conn) send(ctx context.Context, inv *session.Invocation, a plugin.Args, answers chan hookAnswer) (seq uint64, err error) {
	// Encode what does not depend on earlier calls. It is most of the work, so the lock is not
	// held.
	call, err := caller.NewCall(a)
	if err != nil {
		return 0, err
	}
	call.Traceparent = message.Traceparent(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		call.Remaining = durationpb.New(time.Until(deadline))
	}

	// Add what the plugin has not got yet. If the message is not sent, nobody knows what the
	// plugin has.
	c.mu.Lock()
	defer c.mu.Unlock()
	defer func() {
		if err != nil {
			c.sent.Drop(inv.Key)
		}
	}()
	if err := c.sent.Complete(call, inv, a); err != nil {
		return 0, err
	}

	// Send it.
	c.seq++
	c.waiting[c.seq] = answers
	err = c.enqueue(&wire.HostMessage{Seq: c.seq, Message: &wire.HostMessage_Call{Call: call}})
	if err != nil {
		delete(c.waiting, c.seq)
		return 0, err
	}

	// Have the plugin forget sessions that were not used for long, if it has too much.
	for {
		key, ok := c.sent.Forget(inv.Key)
		if !ok {
			return c.seq, nil
		}
		forget := &wire.Forget{Key: message.WireKey(key)}
		err = c.enqueue(&wire.HostMessage{Message: &wire.HostMessage_Forget{Forget: forget}})
		if err != nil {
			return 0, err
		}
	}
}
