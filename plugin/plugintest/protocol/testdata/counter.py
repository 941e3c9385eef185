"""A plugin in Python that keeps docs/protocol.md by hand, or breaks one of its rules: counter.py HAS AUTHOR FLAW

It counts the events of a run that its filter selects, and what a user has had in all sessions, and denies more than
a few. HAS and AUTHOR are its filter, "" is none. Without a flaw, FLAW is "none".
"""
import json, os, signal, sys, threading
import wire

HAS, AUTHOR, FLAW = sys.argv[1:4]
IN_A_RUN, IN_ALL = 2, 100


class Session:
    """What the host sends once."""

    def __init__(self):
        self.events, self.offered, self.state = {}, {}, {}


class Sessions:
    def __init__(self):
        self.all = {}
        self.seen = set()  # invocations

    def take(self, call):
        """take takes in a call. It returns the invocation's ID, the live view and the state."""
        invocation = wire.decode(call[4][0])
        key = invocation[2][0]
        if FLAW == "has one session":
            key = b""
        if FLAW == "tells sessions apart by their id alone":
            key = wire.decode(key)[3][0]
        fresh = 12 in invocation
        session = self.all.get(key)
        if session is None or fresh and FLAW != "ignores fresh":
            session = self.all[key] = Session()
        for data in invocation.get(9, []):
            event = json.loads(data)
            session.events[event["seq"]] = event
        for data in invocation.get(10, []):
            appended = wire.decode(data)
            if FLAW != "ignores appended":
                session.events[appended[2][0]] = session.offered[appended[1][0].decode()]
        live = []
        for data in invocation.get(8, []):
            span = wire.decode(data)
            live += [session.events[seq] for seq in range(span[1][0], span[2][0] + 1)]
        if 11 in invocation and (fresh or FLAW != "takes state only with fresh"):
            if FLAW == "takes state as a whole":
                session.state = {}
            for name, value in json.loads(invocation[11][0]).items():
                if value is not None:
                    session.state[name] = value
                elif FLAW != "keeps keys that are gone":
                    session.state.pop(name, None)
        return invocation[1][0].decode(), live, session

    def forget(self, key):
        self.all.pop(key, None)


SESSIONS = Sessions()


def selected(event):
    if HAS == "":
        return AUTHOR in ("", event.get("author"))
    parts = (event.get("content") or {}).get("parts") or []
    actions = event.get("actions") or {}
    fields = {"text": ["text"], "call": ["functionCall"], "response": ["functionResponse"], "media": ["inlineData", "fileData"]}
    if HAS in fields:
        return any(part.get(f) for part in parts if part for f in fields[HAS])
    return any({
        "state": [actions.get("stateDelta"), actions.get("stateIncrement")],
        "error": [event.get("errorCode")],
        "confirmation": [actions.get("requestedToolConfirmations")],
        "transfer": [actions.get("transferToAgent")],
        "marker": [actions.get("compaction"), actions.get("rewind")],
    }[HAS])


def on_event(invocation, live, session, event):
    """on_event returns an outcome."""
    if FLAW == "answers only the first event of a run":
        if invocation in SESSIONS.seen:
            return []
        SESSIONS.seen.add(invocation)
    if FLAW == "counts in memory":
        session.made = getattr(session, "made", 0) + 1
        made = session.made
    else:
        made = 1 + sum(1 for e in live if e.get("invocationId") == invocation and selected(e))
    if made > IN_A_RUN or session.state.get("user:counter:n", 0) > IN_ALL:
        why = "more than %d in a run" % IN_A_RUN if made > IN_A_RUN else "more than %d" % IN_ALL
        denied = {"content": {"role": "model", "parts": [{"text": "No."}]}, "errorCode": "DENIED"}
        return [(2, json.dumps(denied)), (5, why)]
    return [(2, json.dumps({"actions": {"stateIncrement": {"user:counter:n": 1}}}))]


def converse(stream):
    def message(data):
        m = wire.decode(data)
        seq = m.get(1, [0])[0]
        if 2 in m:
            answer(seq, wire.decode(m[2][0]))
        elif 4 in m:
            stream.send([(4, [])])  # a pong
        elif 5 in m:
            stream.end(then=leave)
        elif 6 in m:
            SESSIONS.forget(wire.decode(m[6][0])[1][0])

    def answer(seq, call):
        try:
            invocation, live, session = SESSIONS.take(call)
        except Exception as err:
            if FLAW == "ignores appended":
                os._exit(1)
            stream.send([(1, seq), (3, [(1, [(1, "the host's message: %r" % err)])])])
            return
        outcome = []
        if call.get(1) == [3]:
            event = json.loads(call[5][0])
            if not event.get("partial") and event.get("id"):
                session.offered[event["id"]] = event
            if FLAW == "answers only one event of a run at all":
                if invocation in SESSIONS.seen:
                    return
                SESSIONS.seen.add(invocation)
            outcome = on_event(invocation, live, session, event)
        stream.send([(1, seq), (2, outcome)])

    stream.message, stream.gone = message, leave
    stream.connection.out.put(stream.begin)


def leave(*_):
    os._exit(0)


def serve(path, stream):
    def unary(answer, then=lambda: None):
        stream.message = lambda data: (stream.send(answer), stream.end(then=then))

    if path.endswith("/Describe"):
        unary([(1, 1), (2, "counter"), (5, '{"type":"object","additionalProperties":false}')])
    elif path.endswith("/Configure"):
        chosen = [(2, HAS)] if HAS else []
        if AUTHOR:
            chosen.append((1, AUTHOR))
        unary([(1, 3), (2, 1)] + ([(5, chosen)] if chosen else []))
    elif path.endswith("/Shutdown"):
        unary([], leave)
    elif path.endswith("/Check"):
        unary([(1, 1)])
    elif path.endswith("/Serve"):
        converse(stream)
    else:
        stream.end(12, "there is no " + path)


def main():
    if os.environ.get("PLUGHOOK_PLUGIN") != "v1":
        print("counter is a plugin of Plughook, which a runner starts")
        sys.exit(2)
    signal.signal(signal.SIGTERM, leave)
    socket = os.path.join(os.environ["PLUGIN_UNIX_SOCKET_DIR"], "counter.sock")
    wire.listen(socket, serve)
    print("1|1|unix|%s|grpc" % socket, flush=True)
    while sys.stdin.buffer.read(1):
        pass
    leave()


main()
