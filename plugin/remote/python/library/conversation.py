"""One stream of calls: what comes is taken in order, hooks run beside each other, each call is answered once."""
import queue
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .exactjson import write
from .messages import PluginMessage
from .sessions import Sessions
from .values import Outcome, Plugin, Request

HOOKS = {1: "before_run", 2: "before_model", 3: "on_event", 4: "after_run"}  # by their numbers on the wire
MOST_AT_ONCE = 1000  # hooks; others wait for them
BUGS = (TypeError, NameError, AttributeError, LookupError, AssertionError, RecursionError)
LONGEST_MESSAGE = 64 << 10


class Conversation:
    """What is to be sent stands in a queue: any thread may put messages there, and the stream takes them."""

    def __init__(self, plugin: Plugin, largest: int, drained: Callable[[], None]) -> None:
        self._plugin = plugin
        self._largest = largest  # message that may be sent
        self._drained = drained
        self._out: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._sessions = Sessions()
        self._hooks = ThreadPoolExecutor(MOST_AT_ONCE, "hook")
        self._change = threading.Condition()
        self._running: dict[int, threading.Event] = {}  # by the call's seq; set when nobody waits any more
        self._refusing = False

    def messages(self) -> Iterator[Any]:
        """Returns what is sent, until the conversation has ended."""
        while (message := self._out.get()) is not None:
            yield message

    def take(self, m: Any) -> None:
        """Takes a message of the host."""
        kind = m.WhichOneof("message")
        if kind == "call":
            self._call(m.seq, m.call)
        elif kind == "cancel":
            with self._change:
                if m.seq in self._running:
                    self._running[m.seq].set()
        elif kind == "ping":
            self._out.put(PluginMessage(pong={}))
        elif kind == "forget":
            self._sessions.forget(m.forget.key)
        elif kind == "drain":
            self._drained()  # what else there is, is of a later version

    def log(self, level: str, message: str, attrs: Mapping[str, Any]) -> None:
        """Sends a record of the log."""
        self._out.put(PluginMessage(log={"level": level, "message": _text(message), "attrs": write(attrs)}))

    def cancel(self) -> None:
        """Tells all hooks that nobody waits any more."""
        with self._change:
            for cancelled in self._running.values():
                cancelled.set()

    def refuse(self) -> None:
        """Refuses the calls that come from now on, and returns once all others are answered."""
        with self._change:
            self._refusing = True
            self._change.wait_for(lambda: not self._running)

    def end(self) -> None:
        """Ends the stream after what is to be sent."""
        self._out.put(None)

    def _call(self, seq: int, call: Any) -> None:
        cancelled = threading.Event()
        try:
            arguments = self._sessions.take(call, cancelled)
        except Exception as err:
            self._fail(seq, ValueError(f"the host's message: {err}"))
            return
        with self._change:
            if not self._refusing:
                self._running[seq] = cancelled
                self._hooks.submit(self._answer, seq, call.hook, arguments)
                return
        self._fail(seq, ValueError("the plugin's process is ending"))

    def _answer(self, seq: int, number: int, arguments: tuple[Any, ...]) -> None:
        try:
            hook = getattr(self._plugin, HOOKS.get(number, ""), None)
            if hook is None:
                raise ValueError(f"the plugin has no hook for this call ({number})")
            outcome = hook(*arguments)
        except BaseException as err:  # SystemExit, too: a hook does not end the process
            self._fail(seq, err)
        else:
            try:
                message = PluginMessage(seq=seq, outcome=_outcome(outcome, arguments))
                if message.ByteSize() > self._largest:
                    raise ValueError(f"it has {message.ByteSize()} bytes, the limit is {self._largest}")
                self._out.put(message)
            except Exception as err:
                self._fail(seq, err, "outcome")
        finally:
            with self._change:
                del self._running[seq]
                self._change.notify_all()

    def _fail(self, seq: int, err: BaseException, *kinds: str) -> None:
        stack = ""
        if isinstance(err, BUGS) and not kinds:
            stack = "".join(traceback.format_exception(err))[-LONGEST_MESSAGE:]
        error = {"message": _text(message_of(err))[:LONGEST_MESSAGE], "kinds": kinds}
        self._out.put(PluginMessage(seq=seq, failure={"error": error, "stack": _text(stack)}))


def message_of(err: BaseException) -> str:
    """Returns what an exception says: with its type, unless the type says nothing that a person needs."""
    text = str(err)
    if type(err) in (ValueError, RuntimeError, Exception) and text:
        return text
    return f"{type(err).__name__}: {text}" if text else type(err).__name__


def _text(text: str) -> str:
    """Returns a text that is UTF-8: half a pair of surrogates is not."""
    return text.encode(errors="replace").decode()


def _event(event: Any, what: str) -> bytes:
    if not isinstance(event, Mapping):
        raise ValueError(f"{what} is not an event")
    return write(event)


def _outcome(out: Any, arguments: tuple[Any, ...]) -> dict[str, Any]:
    if out is None:
        return {}
    if not isinstance(out, Outcome):
        raise ValueError(f"a hook answers an Outcome or None, and not {type(out).__name__}")
    message: dict[str, Any] = {
        "emit": [_event(event, f"emit[{i}]") for i, event in enumerate(out.emit)],
        "withhold": out.withhold,
        "stop": out.stop,
        "reason": _text(out.reason),
    }
    if out.replace is not None:
        message["replace"] = _event(out.replace, "replace")
    if out.request is not None:
        was = arguments[-1]
        if not isinstance(was, Request):
            raise ValueError("only before_model may change the request")
        message["request"] = _changed(was, out.request)
    return message


def _changed(was: Request, now: Request) -> dict[str, Any]:
    """Returns a changed request for the wire: what was kept is not sent again."""
    keep = 0
    while keep < min(len(was.contents), len(now.contents)) and now.contents[keep] is was.contents[keep]:
        keep += 1
    return {
        "model": now.model,
        "stream": now.stream,
        "keep": keep,
        "contents": [write(content) for content in now.contents[keep:]],
        "config": b"" if now.config is was.config else write(now.config or {}),
    }
