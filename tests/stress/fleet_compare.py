"""Whether fleet_serve.py would notice: a client compares where its stream stands with what must be,
and with all that must not; and how long a stream waited is judged from the right moment.

usage: fleet_compare.py
"""
import sys

from fleet import Broken, Client, Standing, Wait, judged_wait


def client(answers, seq, sent):
    """One that has sent, got answers and gone back to `seq`."""
    made = Client(0, "camera", 0, 1)
    made.answers, made.seq, made.sent = dict(enumerate(answers)), seq, sent
    return made


def problem(found, wanted, answered="abc", seq=3, sent=3, answers="abc"):
    try:
        client(answered, seq, sent).compare(found, list(answers), wanted)
        return ""
    except Broken as broken:
        return str(broken)


def main():
    stands = Standing(3, 12, b"norm")
    for part, said in [
            ("", problem(stands, stands)),
            ("", problem(Standing(4, 32, b"more"), Standing(4, 32, b"more"), sent=4, answers="abcd")),  # one came late
            ("1 of them are lost", problem(Standing(2, 11, b"less"), Standing(2, 11, b"less"), answers="ab")),
            ("4, but 3 requests were sent", problem(Standing(4, 32, b"more"), Standing(4, 32, b"more"), answers="abcd")),
            ("13 images learnt from, not 12", problem(Standing(3, 13, b"norm"), stands)),
            ("other norm layers", problem(Standing(3, 12, b"else"), stands)),
            ("other answers", problem(stands, stands, answers="abx")),
            ("other answers", problem(Standing(4, 32, b"more"), Standing(4, 32, b"more"), answered="abcd", sent=4, answers="abcx")),
            ("never answered", problem(stands, stands, answered="ab")),
            ("next_seq is 3, not 2", problem(stands, Standing(2, 12, b"norm")))]:
        if part not in said or bool(part) != bool(said):
            sys.exit(f"expected '{part}', got '{said}'")
    for wanted, before, begin, end, disturbed in [
            (5, 90, 103, 105, [(100, {"camera"})]),  # the client was not there when it happened
            (2, 90, 104, 106, [(99, {"camera"})]),  # leases have lapsed since
            (4, 90, 104, 106, [(100, {"camera"}), (102, {"camera"})]),
            (2, 90, 104, 106, [(100, {"other"})]),
            (2, 102, 103, 105, [(100, {"camera"})]),  # it had gone on: another cause
            (5, 100.5, 103, 105, [(100, {"camera"})]),  # that answer was on its way
            (2, 90, 104, 106, [(100, set()), (107, {"camera"})])]:
        found = judged_wait(Wait("camera", before, begin, end), [(when, hit, "") for when, hit in disturbed])
        if found != wanted:
            sys.exit(f"a wait is judged as {found} s, not {wanted}: {disturbed}")
    print("every difference is noticed")


main()
