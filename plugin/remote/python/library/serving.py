"""serve: the process of a plugin, from its start to its end."""
import io
import logging
import os
import signal
import stat
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from . import messages
from .conversation import BUGS, HOOKS, Conversation, message_of
from .exactjson import parse, write
from .values import About, Plugin

END_WITHIN = 5.0  # seconds that the process may take to end once it is to
LAST_WORDS = 0.1  # seconds that the host has to close its streams
HEALTHY = b"\x08\x01"  # a grpc.health.v1.HealthCheckResponse: SERVING

BY_HAND = """{name} is a plugin of Plughook. It is not started by hand: a runner starts it, whose configuration names it:

    plugins:
      - command: [{python}, {main}]

To run it under a debugger, have it listen at a socket, to which a runner attaches:

    PLUGHOOK_ATTACH=/tmp/{name}.sock {python} -m pdb {main}

    plugins:
      - attach: /tmp/{name}.sock
"""


def serve(about: About, create: Callable[[Mapping[str, Any]], Plugin]) -> None:
    """Is the whole main of a plugin: create makes it of its settings, and refuses them with an exception.

    What is logged with the package logging gets to the runner's log, and so does what is printed."""
    attach = ""
    if os.environ.get("PLUGHOOK_PLUGIN") != "v1":
        attach = os.environ.get("PLUGHOOK_ATTACH", "")
        if not attach:
            print(BY_HAND.format(name=about.name, python=sys.executable, main=sys.argv[0]), file=sys.stderr)
            sys.exit(2)
    life = _Life(about, create, int(os.environ.get("PLUGHOOK_MAX_MESSAGE", 64 << 20)))
    # A signal's handler interrupts the main thread, which may hold a lock that the end needs.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=life.end).start())
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    if attach:
        signal.signal(signal.SIGINT, lambda *_: threading.Thread(target=life.gone).start())
        if os.path.exists(attach) and stat.S_ISSOCK(os.lstat(attach).st_mode):
            os.unlink(attach)  # left by one that was killed
        life.listen(attach)
        os.chmod(attach, 0o600)
        print(f"plugin {about.name} waits for a runner that has attach: {attach}", file=sys.stderr)
    else:
        threading.Thread(target=life.watch_stdin, daemon=True).start()
        socket = os.path.join(os.environ.get("PLUGIN_UNIX_SOCKET_DIR", "."), f"plugin-{os.getpid()}.sock")
        life.listen(socket)
        print(f"\n1|1|unix|{socket}|grpc", flush=True)
    life.wait()


class _Life:
    """What the host calls, in this order: describe, configure, serve; and how the plugin ends."""

    def __init__(self, about: About, create: Callable[[Mapping[str, Any]], Plugin], largest: int) -> None:
        self._about = about
        self._create = create
        self._largest = largest
        self._lock = threading.Lock()
        self._plugin: Plugin | None = None  # once it has its settings
        self._conversation: Conversation | None = None
        self._to_end = threading.Event()

    def listen(self, path: str) -> None:
        options = [("grpc.max_receive_message_length", self._largest + (64 << 10)),
                   ("grpc.max_send_message_length", -1)]
        self._server = grpc.server(ThreadPoolExecutor(8, "grpc"), options=options)
        m = messages
        self._server.add_generic_rpc_handlers((
            grpc.method_handlers_generic_handler("plughook.plugin.v1.Plugin", {
                "Describe": grpc.unary_unary_rpc_method_handler(
                    self.describe, m.Host.FromString, m.Description.SerializeToString),
                "Configure": grpc.unary_unary_rpc_method_handler(
                    self.configure, m.Configuration.FromString, m.Subscription.SerializeToString),
                "Serve": grpc.stream_stream_rpc_method_handler(
                    self.serve, m.HostMessage.FromString, m.PluginMessage.SerializeToString),
            }),
            grpc.method_handlers_generic_handler("plugin.GRPCController", {
                "Shutdown": grpc.unary_unary_rpc_method_handler(self.shutdown)}),
            grpc.method_handlers_generic_handler("grpc.health.v1.Health", {
                "Check": grpc.unary_unary_rpc_method_handler(lambda _, __: HEALTHY)}),
        ))
        self._server.add_insecure_port(f"unix:{path}")
        self._server.start()

    def describe(self, _: Any, __: grpc.ServicerContext) -> Any:
        a = self._about
        settings = write(a.schema) if a.schema is not None else b""
        return messages.Description(protocol=1, name=a.name, version=a.version, doc=a.doc, settings=settings)

    def configure(self, c: Any, context: grpc.ServicerContext) -> Any:
        with self._lock:
            if self._plugin is not None:
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, "the plugin has its settings")
            try:
                plugin = self._create(parse(c.settings) if c.settings else {})
                hooks = [number for number, hook in HOOKS.items() if getattr(plugin, hook) is not None]
                if not hooks:
                    raise ValueError("the plugin has no hook")
            except Exception as err:
                if isinstance(err, BUGS):  # and no refusal of the settings
                    traceback.print_exc()
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, message_of(err))
            self._plugin = plugin
        subscription = messages.Subscription(
            hooks=hooks, partials=plugin.partials, observer=plugin.observer, background=plugin.background,
            shared_state=plugin.shared_state)
        if plugin.filter is not None:
            subscription.filter.SetInParent()
            subscription.filter.authors.extend(plugin.filter.authors)
            subscription.filter.has.extend(plugin.filter.has)
        return subscription

    def serve(self, requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        with self._lock:
            plugin = self._plugin
            if plugin is None or self._conversation is not None or self._to_end.is_set():
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, "Configure comes before Serve, and Serve once")
                raise AssertionError("abort raises")
            conversation = self._conversation = Conversation(plugin, self._largest, self.end)
        _log_to(conversation)
        # Nobody goes on with this generator once the host is gone: that has to be a callback.
        context.add_callback(self.gone)
        threading.Thread(target=self._read, args=(requests, conversation), daemon=True).start()
        yield from conversation.messages()

    def _read(self, requests: Iterator[Any], conversation: Conversation) -> None:
        try:
            for m in requests:
                conversation.take(m)
        except Exception as err:
            if not self._to_end.is_set():
                print(f"plughook: the stream has ended: {err!r}", file=sys.stderr)
        self.gone()

    def shutdown(self, _: bytes, __: grpc.ServicerContext) -> bytes:
        self.end()
        return b""

    def watch_stdin(self) -> None:
        while os.read(0, 4096):
            pass
        self.gone()

    def gone(self) -> None:
        """Is called when the host is gone: nobody waits for hooks."""
        if self._conversation is not None:
            self._conversation.cancel()
        self.end()

    def end(self) -> None:
        """Lets the process end once the calls are answered."""
        self._to_end.set()

    def wait(self) -> None:
        """Waits until the process is to end, and ends it. Threads that still run are no reason to stay."""
        self._to_end.wait()
        timer = threading.Timer(END_WITHIN, os._exit, [1])
        timer.daemon = True
        timer.start()
        with self._lock:
            plugin, conversation = self._plugin, self._conversation
        if conversation is not None:
            conversation.refuse()
        code = 0
        try:
            if plugin is not None and plugin.close is not None:
                plugin.close()
        except Exception:
            logging.exception("the plugin did not close well")
            code = 1
        if conversation is not None:
            conversation.end()
        self._server.stop(LAST_WORDS).wait()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _log_to(conversation: Conversation) -> None:
    """Sends what the package logging is given to the host, with the attributes that stand in extra."""
    usual = set(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            level = next(name for least, name in LEVELS if record.levelno >= least)
            attrs = {key: value for key, value in record.__dict__.items() if key not in usual}
            try:
                conversation.log(level, self.format(record), attrs)
            except Exception:
                self.handleError(record)

    logging.root.addHandler(Handler())
    if logging.root.level == logging.WARNING:  # nobody has set it
        logging.root.setLevel(logging.INFO)


LEVELS = ((logging.ERROR, "ERROR"), (logging.WARNING, "WARN"), (logging.INFO, "INFO"), (0, "DEBUG"))
