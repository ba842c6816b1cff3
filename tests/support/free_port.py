#!/usr/bin/env python3
"""Ports of loopback for servers that must know theirs before they listen. Run as a program, it prints the first of
as many in a row as its argument says (1)."""
import random
import socket
import sys

# Below those that systems give to outgoing connections (32768 and up on Linux), or a connection of
# another test may take the port first; and 10,000 more is a port as well, which a node of a Redis
# Cluster opens too.
FIRST, LAST = 15000, 30000
given = set()  # who got one may not listen yet


def is_free(port):
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(in_a_row=1):
    """One that nobody listens on; the first of several in a row."""
    while True:
        first = random.SystemRandom().randint(FIRST, LAST)
        row = range(first, first + in_a_row)
        if given.isdisjoint(row) and all(map(is_free, row)):
            given.update(row)
            return first


if __name__ == "__main__":
    print(free_port(*map(int, sys.argv[1:])))
