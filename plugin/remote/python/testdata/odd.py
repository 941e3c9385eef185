# A plugin that does what an event's text tells it to.
import dataclasses
import json
import logging
import os
import sys
import threading

from plughook import About, Filter, Outcome, Plugin, deny, map_text, serve

release = threading.Event()


def said(text):
    return Outcome(emit=[{"content": {"role": "model", "parts": [{"text": str(text)}]}}])


def fail(err):
    raise err


def log(inv, e):
    logging.warning("something odd", extra={"count": 3})
    print("on stdout")


def hang(inv, e):
    inv.cancelled.wait()
    print("hang was cancelled", file=sys.stderr)


def circular(inv, e):
    e = {}
    e["e"] = e
    return Outcome(replace=e)


does = {
    "nothing": lambda inv, e: None,
    "now": lambda inv, e: said(inv.now.isoformat()),
    "throw": lambda inv, e: fail(ValueError("no luck")),
    "bug": lambda inv, e: None.nothing,
    "leave": lambda inv, e: sys.exit("left"),
    "freeze": lambda inv, e: e.update(author="me"),
    "freezeDeep": lambda inv, e: e["content"]["parts"].append({}),
    "freezeLive": lambda inv, e: inv.live.append({}),
    "freezeState": lambda inv, e: inv.state.pop("a"),
    "denied": lambda inv, e: deny("no", "why not"),
    "shout": lambda inv, e: Outcome(replace=map_text(e, str.upper), reason="loud"),
    "reason": lambda inv, e: Outcome(reason=None),
    "letters": lambda inv, e: Outcome(emit="text"),
    "bad": lambda inv, e: {"replace": {}},
    "badEmit": lambda inv, e: Outcome(emit=["text"]),
    "nan": lambda inv, e: Outcome(emit=[{"n": float("nan")}]),
    "circular": circular,
    "big": lambda inv, e: said("x" * (1 << 20)),
    "hang": hang,
    "wait": lambda inv, e: release.wait() and None,
    "release": lambda inv, e: release.set(),
    "exit": lambda inv, e: os._exit(7),
    "log": log,
    "what": lambda inv, e: said(json.dumps([
        inv.id, [inv.app, inv.user, inv.session], inv.create, inv.streaming, inv.position,
        inv.input and inv.input["id"], [f"{at['seq']}:{at['id']}" for at in inv.live], inv.state,
        inv.remaining > 0, inv.traceparent])),
}


def create(settings):
    if settings.get("refuse"):
        raise ValueError("refuse: this is not done here")
    if settings.get("mistake") == "key":
        settings["words"]
    if settings.get("mistake") == "filter":
        return Plugin(on_event=lambda inv, e: None, filter=Filter(authors="user"))

    def before_model(inv, request):
        last = {"role": "user", "parts": [{"text": f"{len(request.contents)} contents"}]}
        contents = [*request.contents[:-1], last]
        return Outcome(request=dataclasses.replace(request, model=request.model + "!", contents=contents))

    return Plugin(
        on_event=lambda inv, e: does[e["content"]["parts"][0]["text"].split(" ")[0]](inv, e),
        before_model=before_model,
        after_run=lambda inv, end: said(json.dumps(dataclasses.asdict(end))),
        close=lambda: print("closed", file=sys.stderr),
    )


serve(About(
    name="odd",
    version="1",
    doc="does what it is told",
    schema={"type": "object", "properties": {"refuse": {"type": "boolean"}, "mistake": {"type": "string"}}, "additionalProperties": False},
), create)
