"""What is kept of much output."""

CUT = b"\n[... cut ...]\n"


class Kept:
    """Bytes of one descriptor: the first and the last `cap / 2`."""

    def __init__(self, cap: int):
        self.half = cap // 2
        self.head = bytearray()
        self.tail = bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        room = self.half - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 2 * self.half:  # not every time: moving the tail costs
            self._trim()

    def _trim(self) -> None:
        excess = max(0, len(self.tail) - self.half)
        self.dropped += excess
        del self.tail[:excess]

    def bytes(self) -> bytes:
        self._trim()
        return bytes(self.head) + (CUT if self.dropped else b"") + bytes(self.tail)
