"""A port for a server that a test starts."""

import socket


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
