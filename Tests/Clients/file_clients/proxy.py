"""A network that breaks: it forwards connections, and cuts each one after some bytes."""

import select
import socket
import threading


class CuttingProxy:
    """Forwards TCP connections to a service, and closes each one after `limit` bytes of the client.

    The port of the service is looked up for each. `before` is called before it, one call at a time, with the number of
    bytes that clients have sent so far.
    """

    def __init__(self, port, limit: int, before=lambda sent: None):
        self.limit = limit
        #: The number of connections that were cut.
        self.cuts = 0
        self._sent = 0
        self._port = port
        self._before = before
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        # A thread that waits for a connection is not woken by close(2) alone.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket):
        with client:
            with self._lock:
                self._before(self._sent)
            try:
                with socket.create_connection(("127.0.0.1", self._port())) as server:
                    self._forward(client, server)
            except OSError:
                return  # One side has closed the connection, and so does the proxy.

    def _forward(self, client: socket.socket, server: socket.socket):
        left = self.limit
        while True:
            for source in select.select([client, server], [], [])[0]:
                part = source.recv(min(left, 65536) if source is client else 65536)
                if not part:
                    return
                (server if source is client else client).sendall(part)
                if source is client:
                    left -= len(part)
                    self._sent += len(part)
            if left == 0:
                self.cuts += 1
                return
