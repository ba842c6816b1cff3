#!/usr/bin/env python3
"""Ports of loopback for servers that must know theirs before they listen. Run as a program, it prints one."""
import random
import socket

# Below those that systems give to outgoing connections (32768 and up on Linux), or a connection of
# another test may take the port first; and 10,000 more is a port as well, which a node of a Redis
# Cluster opens too.
FIRST, LAST = 15000, 30000
given = set()  # who got one may not listen yet


def free_port():
    """One that nobody listens on."""
    while True:
        port = random.SystemRandom().randint(FIRST, LAST)
        if port in given:
            continue
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        given.add(port)
        return port


if __name__ == "__main__":
    print(free_port())
