"""What plugins are made of, and what hooks get and answer."""
import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

Event = Mapping[str, Any]  # docs/protocol.md says what is in it

Feature = Literal[
    "text", "call", "response", "media", "state", "error", "confirmation", "transfer", "marker"
]


@dataclasses.dataclass(frozen=True)
class About:
    """What a plugin says of itself before it has its settings."""
    name: str  # lower case letters, digits, - _ .
    doc: str = ""  # a sentence
    version: str = ""
    schema: Mapping[str, Any] | None = None  # the JSON Schema of its settings; None if it takes none


@dataclasses.dataclass(frozen=True)
class Invocation:
    """The invocation as it is when a hook is called."""
    id: str
    app: str
    user: str
    session: str
    create: bool  # the caller's configuration of the run
    streaming: str  # the same
    position: int
    frontier: int
    input: Event | None
    live: Sequence[Event]  # the events that count, in order
    state: Mapping[str, Any]
    now: datetime  # by the runner's clock: count by it, and not by the machine's
    traceparent: str
    remaining: float | None  # how many seconds the runner waits for this hook; None if for ever
    cancelled: threading.Event  # set when nobody waits for this hook any more


@dataclasses.dataclass(frozen=True)
class Request:
    """A request to a model. To change it, answer with dataclasses.replace(request, …)."""
    agent: str
    branch: str
    model: str
    stream: bool
    config: Mapping[str, Any] | None
    contents: Sequence[Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class Error:
    message: str
    kinds: Sequence[str]


@dataclasses.dataclass(frozen=True)
class End:
    """How a run has ended."""
    kind: str  # done, stopped, failed, cancelled, left
    error: Error | None
    plugin: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a hook asks for. Outcome(), or None, asks for nothing."""
    replace: Event | None = None
    emit: Sequence[Event] = ()
    withhold: bool = False
    stop: bool = False
    reason: str = ""
    request: Request | None = None  # before_model only

    def __post_init__(self) -> None:
        if isinstance(self.emit, (str, Mapping)) or not isinstance(self.emit, Sequence):
            raise TypeError(f"emit of an Outcome is a list of events, and not {type(self.emit).__name__}")
        for name, kind in (("reason", str), ("withhold", bool), ("stop", bool)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} of an Outcome is {kind.__name__}, and not {type(getattr(self, name)).__name__}")


@dataclasses.dataclass(frozen=True)
class Filter:
    """The events that on_event takes: an empty list takes all."""
    authors: Sequence[str] = ()
    has: Sequence[Feature] = ()

    def __post_init__(self) -> None:
        for name in ("authors", "has"):  # a text is a sequence of its letters, so that no event would be taken
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} of a Filter is a list, and not the text {getattr(self, name)!r}")


@dataclasses.dataclass(frozen=True)
class Plugin:
    """The hooks of a plugin, and how they want to be called. Hooks run in threads, many at once."""
    before_run: Callable[[Invocation], Outcome | None] | None = None
    before_model: Callable[[Invocation, Request], Outcome | None] | None = None
    on_event: Callable[[Invocation, Event], Outcome | None] | None = None
    after_run: Callable[[Invocation, End], Outcome | None] | None = None
    filter: Filter | None = None
    partials: bool = False
    observer: bool = False
    background: bool = False
    shared_state: bool = False
    close: Callable[[], None] | None = None


def deny(text: str, reason: str) -> Outcome:
    """Returns the outcome that ends a run with a refusal in place of the thing at hand."""
    content = {"role": "model", "parts": [{"text": text}]}
    refusal = {"content": content, "errorCode": "DENIED", "errorMessage": reason}
    return Outcome(emit=[refusal], withhold=True, stop=True, reason=reason)


def map_text(event: Event, change: Callable[[str], str]) -> Event:
    """Returns an event with its texts changed, or the event itself if none was."""
    content = event.get("content") or {}
    parts = content.get("parts") or []
    changed = [
        {**part, "text": change(part["text"])}
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        else part
        for part in parts
    ]
    if changed == list(parts):
        return event
    return {**event, "content": {**content, "parts": changed}}
