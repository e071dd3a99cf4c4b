"""A fuzzer: what anybody may hand to this package, altered at random, by seed. `make fuzz` runs it, `tests/test_fuzz.py` a little of it.

Of every case one of three things must become: it is accepted, it is refused in one line (`InputError`, or exit code 2), or it is a fault: another
exception, a crash, more than ten seconds, a half-written file, a result that differs in silence.
"""
