"""What the plugin has of the sessions: the host sends each event and each state key once, and this keeps them."""
import threading
from datetime import datetime, timezone
from typing import Any

from .exactjson import FrozenDict, parse
from .values import Error, End, Event, Invocation, Request


class Sessions:
    """Takes in what calls bring, in the order in which they come."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str, str], _Session] = {}

    def take(self, call: Any, cancelled: threading.Event) -> tuple[Any, ...]:
        """Returns what the hook of a call is called with. Raises if the host has told nonsense."""
        inv = call.invocation
        key = _key(inv.key)
        session = self._sessions.get(key)
        if session is None or inv.fresh:
            session = self._sessions[key] = _Session()
        session.take(inv)
        invocation = _invocation(call, session, cancelled)
        if call.event:
            event = parse(call.event)
            if event.get("id") and not event.get("partial"):
                session.offered[event["id"]] = event
            return invocation, event
        if call.HasField("request"):
            return invocation, session.request(call.request)
        if call.HasField("end"):
            session.offered.clear()
            end = call.end
            error = Error(end.error.message, tuple(end.error.kinds)) if end.HasField("error") else None
            return invocation, End(end.kind, error, end.plugin, end.reason)
        return (invocation,)

    def forget(self, key: Any) -> None:
        """Drops a session: it will be sent anew."""
        self._sessions.pop(_key(key), None)


def _key(key: Any) -> tuple[str, str, str]:
    return key.app, key.user, key.id


class _Session:
    def __init__(self) -> None:
        self.events: dict[int, Event] = {}  # by position
        self.offered: dict[str, Event] = {}  # by id: seen in on_event, not known to be in the log
        self.spans: list[tuple[int, int]] = []
        self.live: tuple[Event, ...] = ()
        self.state = FrozenDict()
        self.contents: tuple[Any, ...] = ()  # of the last request
        self.run = ""  # the invocation of the last call

    def take(self, inv: Any) -> None:
        for data in inv.events:
            event = parse(data)
            self.events[event["seq"]] = event
        for appended in inv.appended:
            offered = self.offered.pop(appended.id, None)
            if offered is None:
                raise ValueError(f"event {appended.id} at {appended.seq} was never offered")
            self.events[appended.seq] = FrozenDict({**offered, "seq": appended.seq})
        spans = [(span.first, span.last) for span in inv.live]
        if spans != self.spans:
            self.live = tuple(self.at(seq) for first, last in spans for seq in range(first, last + 1))
            self.spans = spans
        if inv.state:
            state = {**self.state, **parse(inv.state)}
            self.state = FrozenDict((key, value) for key, value in state.items() if value is not None)
        self._drop(inv)

    def _drop(self, inv: Any) -> None:
        """Drops what the host sends again if it is needed."""
        if len(self.events) > len(self.live) + 1:
            kept = {event["seq"]: event for event in self.live}
            if inv.input:
                kept[inv.input] = self.at(inv.input)
            self.events = kept
        if self.run != inv.id:
            self.run = inv.id
            self.offered.clear()

    def at(self, seq: int) -> Event:
        if seq not in self.events:
            raise ValueError(f"the event at {seq} was never sent")
        return self.events[seq]

    def request(self, r: Any) -> Request:
        if r.keep > len(self.contents):
            raise ValueError(f"the request keeps {r.keep} contents of {len(self.contents)}")
        self.contents = (*self.contents[: r.keep], *map(parse, r.contents))
        config = parse(r.config) if r.config else None
        return Request(r.agent, r.branch, r.model, r.stream, config, self.contents)


def _invocation(call: Any, session: _Session, cancelled: threading.Event) -> Invocation:
    inv = call.invocation
    now = datetime.now(timezone.utc)
    if inv.HasField("now"):
        now = inv.now.ToDatetime(timezone.utc)
    remaining = call.remaining.ToNanoseconds() / 1e9 if call.HasField("remaining") else None
    return Invocation(
        inv.id, inv.key.app, inv.key.user, inv.key.id, inv.create, inv.streaming, inv.position, inv.frontier,
        session.at(inv.input) if inv.input else None, session.live, session.state,
        now, call.traceparent, remaining, cancelled,
    )
