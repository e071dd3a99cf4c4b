"""A fuzzer: what anybody may hand to this package, altered at random, by seed. `make fuzz` runs it,
`tests/test_fuzz.py` a little of it.

Of every case one of three things must become: it is accepted, it is refused in one line (`InputError`, or exit code 2),
or it is a fault: another exception, a crash, a hang, a half-written file, a result that differs in silence.

A hang is more than ten seconds of processor time, this process and its children together, of a case that trains nothing
(other work on the machine does not count against it), or more seconds by the clock than a target allows. Kernels are
compiled before the first case, as they are once on every machine.
"""
