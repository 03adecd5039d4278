"""Held signals are delivered later."""

import signal
import threading

import pytest

from pyunitok.interrupts import Interrupts

NUMBERS = [signal.SIGINT, signal.SIGTERM]


class Terminated(BaseException):
    pass


@pytest.fixture(autouse=True)
def handlers():
    def on_sigterm(*_):
        raise Terminated

    old = signal.signal(signal.SIGTERM, on_sigterm), signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, old[0])
    signal.signal(signal.SIGINT, old[1])


@pytest.mark.parametrize(("number", "raised"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)])
def test_held(number, raised):
    before = [signal.getsignal(n) for n in NUMBERS]
    done = []
    with pytest.raises(raised), Interrupts() as interrupts:
        with interrupts.held():
            done.append(1)
        with interrupts.held():
            signal.raise_signal(number)
            signal.raise_signal(number)
            done.append(2)
        done.append(3)
    assert done == [1, 2]
    assert [signal.getsignal(n) for n in NUMBERS] == before
    with pytest.raises(raised), Interrupts():
        signal.raise_signal(number)


def test_ignored_signals_stay_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interrupts() as interrupts, interrupts.held():
        signal.raise_signal(signal.SIGINT)


def test_other_threads_are_not_affected():
    seen = []

    def work():
        with Interrupts() as interrupts, interrupts.held():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
