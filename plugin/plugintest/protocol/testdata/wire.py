"""As much of gRPC as a plugin needs, with Python's standard library alone: HTTP/2 on a Unix socket, and protobuf."""
import queue, socket, struct, threading

# Protobuf: a message is a dict from the number of a field to the list of its values, numbers or bytes.


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def encode(fields):
    """encode writes a message of fields (number, value). A value is a number, a text, bytes or a list of fields."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
            continue
        if isinstance(value, list):
            value = encode(value)
        elif isinstance(value, str):
            value = value.encode()
        out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def decode(data):
    fields, pos = {}, 0

    def number():
        nonlocal pos
        n = shift = 0
        while True:
            byte = data[pos]
            pos += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n

    while pos < len(data):
        tag = number()
        kind = tag & 7
        if kind == 0:
            value = number()
        else:
            size = {1: 8, 5: 4}.get(kind) or number()
            value = data[pos:pos + size]
            pos += size
        fields.setdefault(tag >> 3, []).append(value)
    return fields


# Headers: the path of a request is all that counts. The table of HPACK is switched off, so each header stands as it is.

LENGTHS = """DNSSSSSSSOUSSUSSSSSSSSUSSSSSSSSS6AACD68BAA8B8666555666666678F6CA
D67777777777777777777777878DJDE6F56565666577666567655677777FBEDS
KMKKMMMNMNNNNNONOOMNONNNNLMNMNNOMLKMMNNLNMMOLMNNLLMLNMNNKMMMNMMN
QQKJMNMPQQQRRQOPJLQRRQROLLQQSRRRKOKLMLLNMMPPOOQNQRQQRRRRRSRRRRRQ"""


def _codes():
    codes, code, before = {}, 0, 0
    lengths = [int(c, 36) for c in LENGTHS.replace("\n", "")]
    for length, symbol in sorted((n, s) for s, n in enumerate(lengths)):
        code <<= length - before
        before = length
        codes[length, code] = symbol
        code += 1
    return codes


CODES = _codes()


def unpacked(data):
    """unpacked decodes a text in HPACK's Huffman code."""
    out, length, code = bytearray(), 0, 0
    for byte in data:
        for bit in range(7, -1, -1):
            code = code << 1 | byte >> bit & 1
            length += 1
            if (length, code) in CODES:
                out.append(CODES[length, code])
                length = code = 0
    return bytes(out)


def path_of(block):
    """path_of returns :path of a block of headers."""
    pos = 0

    def integer(bits):
        nonlocal pos
        most = (1 << bits) - 1
        n = block[pos] & most
        pos += 1
        shift = 0
        while n >= most:
            byte = block[pos]
            pos += 1
            n += (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        return n

    def text():
        nonlocal pos
        packed = block[pos] & 128
        size = integer(7)
        data = block[pos:pos + size]
        pos += size
        return unpacked(data) if packed else data

    path = b""
    while pos < len(block):
        first = block[pos]
        if first & 128:  # a header of the static table
            integer(7)
        elif first & 0xE0 == 0x20:  # the size of the table
            integer(5)
        else:
            index = integer(6 if first & 64 else 4)
            name = text() if index == 0 else None
            value = text()
            if index in (4, 5) or name == b":path":
                path = value
    return path.decode()


def literal(name, value):
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


BEGIN = b"\x88" + literal(b"content-type", b"application/grpc")  # status 200


class Connection:
    """One connection of the host. serve is called with the path of a call and its Call."""

    def __init__(self, sock, serve):
        self.sock, self.serve = sock, serve
        self.calls, self.lock = {}, threading.RLock()
        self.room = threading.Condition(self.lock)  # of flow control
        self.window, self.initial = 65535, 65535
        self.out = queue.Queue()  # of functions that send something and may wait for room
        threading.Thread(target=self.write, daemon=True).start()

    def write(self):
        while True:
            try:
                self.out.get()()
            except OSError:
                return

    def frame(self, kind, flags, stream, data=b""):
        with self.lock:
            self.sock.sendall(struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data)

    def exactly(self, n):
        data = b""
        while len(data) < n:
            more = self.sock.recv(min(n - len(data), 1 << 20))
            if not more:
                raise EOFError
            data += more
        return data

    def run(self):
        try:
            self.exactly(24)  # the preface
            self.frame(4, 0, 0, struct.pack(">HIHIHI", 1, 0, 4, 1 << 30, 5, 1 << 20))
            self.frame(8, 0, 0, struct.pack(">I", 1 << 30))
            while True:
                head = self.exactly(9)
                size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
                self.take(kind, flags, int.from_bytes(head[5:], "big") & 0x7FFFFFFF, self.exactly(size))
        except (EOFError, OSError):
            for call in list(self.calls.values()):
                call.gone()

    def take(self, kind, flags, stream, data):
        call = self.calls.get(stream)
        if kind == 0 and data:  # DATA
            self.frame(8, 0, 0, struct.pack(">I", len(data)))
            if call:
                self.frame(8, 0, stream, struct.pack(">I", len(data)))
                call.take(data)
        elif kind == 1:  # HEADERS
            self.calls[stream] = Call(self, stream)
            self.serve(path_of(data), self.calls[stream])
        elif kind == 3 and call:  # RST_STREAM
            call.gone()
        elif kind == 4 and not flags & 1:  # SETTINGS
            for i in range(0, len(data), 6):
                key, value = struct.unpack(">HI", data[i:i + 6])
                if key == 4:
                    with self.room:
                        for other in self.calls.values():
                            other.window += value - self.initial
                        self.initial = value
                        self.room.notify_all()
            self.frame(4, 1, 0)
        elif kind == 6 and not flags & 1:  # PING
            self.frame(6, 1, 0, data)
        elif kind == 8:  # WINDOW_UPDATE
            with self.room:
                more = struct.unpack(">I", data)[0] & 0x7FFFFFFF
                if stream == 0:
                    self.window += more
                elif call:
                    call.window += more
                self.room.notify_all()


class Call:
    """One call of gRPC. Who serves it sets message, which takes each message, and gone."""

    def __init__(self, connection, stream):
        self.connection, self.stream = connection, stream
        self.window, self.bytes, self.begun = connection.initial, b"", False
        self.message, self.gone = lambda data: None, lambda: None

    def take(self, data):
        self.bytes += data
        while len(self.bytes) >= 5:
            size = struct.unpack(">I", self.bytes[1:5])[0]
            if len(self.bytes) < 5 + size:
                return
            data, self.bytes = self.bytes[5:5 + size], self.bytes[5 + size:]
            self.message(data)

    def begin(self):
        with self.connection.lock:
            if not self.begun:
                self.begun = True
                self.connection.frame(1, 4, self.stream, BEGIN)

    def send(self, fields):
        self.connection.out.put(lambda: self.write(fields))

    def write(self, fields):
        data = encode(fields)
        data = b"\0" + struct.pack(">I", len(data)) + data
        c = self.connection
        with c.room:  # messages are not mixed
            self.begin()
            while data:
                c.room.wait_for(lambda: c.window > 0 and self.window > 0)
                n = min(len(data), 16384, c.window, self.window)
                c.window -= n
                self.window -= n
                c.frame(0, 0, self.stream, data[:n])
                data = data[n:]

    def end(self, status=0, why="", then=lambda: None):
        self.connection.out.put(lambda: (self.finish(status, why), then()))

    def finish(self, status, why):
        with self.connection.lock:
            self.begin()
            trailers = literal(b"grpc-status", str(status).encode()) + literal(b"grpc-message", why.encode()[:100])
            self.connection.frame(1, 5, self.stream, trailers)
            self.connection.calls.pop(self.stream, None)


def listen(path, serve):
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()

    def accept():
        while True:
            sock, _ = server.accept()
            threading.Thread(target=Connection(sock, serve).run, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
