"""`Queue`: the calls of one thread that have been recorded and not run."""

from __future__ import annotations

import bisect
import threading
from typing import Any
from weakref import ref

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from torchlike._core import modes
from torchlike._core.dispatch.executable import Residuals
from torchlike._extensions.deferred import cuts, pieces, prices
from torchlike._extensions.deferred.account import Account
from torchlike._extensions.deferred.calls import DeferredCall, known
from torchlike._extensions.deferred.listening import RecurrenceListener
from torchlike._extensions.deferred.liveness import alive_among, dead_among
from torchlike._extensions.deferred.policy import Policy, count_node, root
from torchlike._extensions.deferred.running import is_running, not_recording, queue_that_runs
from torchlike._extensions.deferred.value import Deferred, Failed, holds, is_absent, values_of
from torchlike._runtime import first_calls, platforms
from torchlike._runtime.first_calls import DECLINED, defer
from torchlike._runtime.first_calls.program import NUMBERS
from torchlike._runtime.first_calls.settings import settings
from torchlike._runtime.jax_private.arrays import ArrayImpl

_ndarray = np.ndarray
_new = object.__new__
_config: Any = jax.config  # gets its fields one by one
#: Calls of a chain that is worth going on with when one of its values is read.
_LONG = 16
#: Flushes within which a chain should have recurred, once calls are recorded.
_ATTEMPT = 12


class _Interrupted(RuntimeError):
    """A call was interrupted, by the keyboard or by a signal, while it was recorded or run."""

    def __init__(self) -> None:
        super().__init__(
            "this tensor was to be computed by calls that were interrupted (KeyboardInterrupt); "
            "compute it again"
        )


class _Within(RuntimeError):
    """A value is asked for within its own computation, and what that was computed from is gone."""

    def __init__(self) -> None:
        super().__init__(
            "this tensor is being computed: a signal's handler, a finalizer or a debugger asks for "
            "it meanwhile; have the handler set a flag, and read the tensor where that is looked at"
        )


class _Unknown(Exception):
    """An operand is nothing that a program takes."""


class Queue:
    """The chain of calls since the last flush: where it stands in the tree of calls, its values and
    its inputs. It is told of the cells that its thread makes and writes."""

    is_eager = True

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        #: What puts off calls, where this is the thread's watcher.
        self.defers = self
        #: Whether a chain may begin with the read of a view of an array.
        self.defers_reads = policy.defers_reads
        self._lock = threading.RLock()
        self._account = Account()
        self._listener = RecurrenceListener(self._account, self._begin_to_record)
        #: What is told of the thread's cells: this, or the listener while nothing is recorded.
        self.watcher: Queue | RecurrenceListener = self._listener
        self._account.allowance = policy.allowance
        #: Flushes for which forms that are due wait for what they are part of.
        self._attempt = 0
        #: Whether a program was bought that may not have been used yet.
        self._owes_program = False
        #: Whether a call is being recorded or the chain run. What finalizers, signals' handlers and
        #: debuggers do meanwhile, between any two instructions of ours, leaves the chain alone.
        self._is_busy = False
        #: The values that are being computed, the calls, their inputs, and what is there by number.
        self._running: tuple[list[Deferred], list[DeferredCall], list[Any], dict[int, Any]] | None
        self._running = None
        self._device: Any = None
        self._known_sharding: Any = None
        #: Those of arrays that are here, by their ids: comparing two takes longer.
        self._shardings: dict[int, Any] = {}
        self._begin()
        if not policy.begins_listening:  # this is no thread's watcher yet
            self.watcher = self
            settings.count_recording(1)

    def __del__(self) -> None:
        if self.watcher is self:  # its thread has ended
            settings.count_recording(-1)

    def _begin(self) -> None:
        """Begin a chain."""
        self._node = root()
        self._values: list[Deferred] = []
        self._inputs: list[Any] = []
        #: Which input an array is, by its id.
        self._known: dict[int, int] = {}
        self._path: list[DeferredCall] = []
        #: Whether a module was called since.
        self._in_module = False

    @property
    def device(self) -> Any:
        """The device of all values, one of JAX's."""
        if self._device is None:
            self._device = platforms.default_device()
        return self._device

    @property
    def sharding(self) -> Any:
        """The sharding of all values, as JAX has it."""
        if self._known_sharding is None:
            self._known_sharding = SingleDeviceSharding(self.device)
        return self._known_sharding

    def _is_here(self, array: Any) -> bool:
        """Return whether an array is where the values are, and nowhere else."""
        sharding = array.sharding
        if id(sharding) in self._shardings:
            return True
        if sharding != self.sharding:
            return False
        self._shardings[id(sharding)] = sharding
        return True

    # -- whether anything is recorded --------------------------------------------------------------

    def _begin_to_record(self) -> None:
        self._attempt = _ATTEMPT
        self._watch_by(self)

    def _listen(self) -> None:
        """Record no more until what recurs says that it pays."""
        self._has_had_its_turn()
        self._listener.listen()
        self._watch_by(self._listener)

    def _has_had_its_turn(self) -> None:
        """Take note that calls were recorded for a while: a program that was there was used."""
        if not self._account.waits:
            self._owes_program = False

    def _watch_by(self, watcher: Queue | RecurrenceListener) -> None:
        current = modes.current
        if current.watcher is self.watcher:
            current.watcher = watcher
        settings.count_recording((watcher is self) - (self.watcher is self))
        self.watcher = watcher

    # -- cells -------------------------------------------------------------------------------------

    def adopt(self, storage: Any) -> None:
        """Take note of a new storage."""
        cell = storage.cell
        if type(cell) is Deferred:
            if cell.home is None:
                cell.home = ref(storage)
            else:
                cell.held_by(storage)

    def write(self, storage: Any, array: Any) -> None:
        """Write to a cell."""
        if storage.host is not None:
            storage._write_host(array)
            return
        storage.cell = array
        if type(array) is Deferred:
            array.held_by(storage)

    # -- recording ---------------------------------------------------------------------------------

    def record_op(self, exe: Any, arrays: list[Any]) -> Any:
        """Record the forward of an executable."""
        return self.record(exe.first, tuple(arrays), True)

    def record(self, form: first_calls.FirstCalls, args: tuple[Any, ...], starts: bool) -> Any:
        """Record a call and return its results, deferred; run it now and return them where that is
        better; DECLINED for what is no call of a queue's. ``starts``: whether arrays alone may be
        operands."""
        if not starts and not holds(args):
            return DECLINED
        if self._is_busy:
            args = values_of(args)
            with not_recording(self):
                return form.run(*args)
        self._is_busy = True
        try:
            return self._record(form, args)
        finally:
            self._is_busy = False

    def _record(self, form: first_calls.FirstCalls, args: tuple[Any, ...]) -> Any:
        inputs, held = self._inputs, self._known
        before = len(inputs)
        key: list[Any] = [form]
        try:
            for a in args:
                kind = type(a)
                if kind is Deferred:
                    if a.array is None and a.queue is self:
                        key.append(a.number)
                        continue
                elif kind in NUMBERS:
                    inputs.append(a)
                    key.append(kind)
                    continue
                elif kind is tuple:
                    key.append((kind, len(a)))
                    self._describe(a, key)
                    continue
                elif (at := held.get(id(a))) is not None:  # which is held, so no other has its id
                    key.append(~at)
                    continue
                self._describe((a,), key)
            call = self._node.edges.get(tuple(key))
            if call is None:
                call = self._extend(form, args, key, before)
        except BaseException as error:
            self._forget(before)
            self._is_busy = False
            if type(error) is _Unknown:
                return DECLINED if not holds(args) else form.run(*values_of(args))
            raise
        if call is None:
            self._forget(before)
            return self._run_now(form, args)
        values, aval = self._values, call.aval
        if aval is None or call.is_last or len(values) != call.first:
            return self._results_of(call)
        # One result, as most calls have.
        self._node = call
        self._path.append(call)
        out: Any = _new(Deferred)  # as its __init__ does, which takes as long again
        out.shape, out.dtype = aval
        out.number, out.queue = call.first, self
        out.array = out.home = None
        values.append(out)
        return out

    def _describe(self, args: Any, key: list[Any]) -> None:
        """Append what a call is, as far as these operands say; take those met for the first time
        among the inputs."""
        inputs, known = self._inputs, self._known
        for a in args:
            kind = type(a)
            if kind is Deferred:
                array = a.array
                if array is None:
                    if a.queue is self:
                        key.append(a.number)
                        continue
                    array = a.value()
                a, kind = array, type(array)
            if kind is ArrayImpl or kind is _ndarray:
                at = known.get(id(a))
                if at is not None:
                    key.append(~at)
                    continue
                if kind is ArrayImpl and not self._is_here(a):
                    raise _Unknown
                known[id(a)] = len(inputs)
                inputs.append(a)
                key.append((a.shape, a.dtype, kind is ArrayImpl and a.weak_type))
            elif kind in NUMBERS:
                inputs.append(a)
                key.append(kind)
            elif a is None:
                key.append(None)
            elif kind is tuple or kind is list:
                key.append((kind, len(a)))
                self._describe(a, key)
            elif kind is Residuals:
                if is_absent(a):
                    key.append(None)
                else:
                    key.append(("residuals", id(a.plan)))
                    self._describe(a.arrays, key)
            elif isinstance(a, np.generic):
                inputs.append(a)
                key.append(kind)
            else:
                raise _Unknown

    def _forget(self, before: int) -> None:
        """Take back the inputs of a call that is not recorded."""
        for a in self._inputs[before:]:
            self._known.pop(id(a), None)
        del self._inputs[before:]

    def _extend(
        self, form: first_calls.FirstCalls, args: Any, key: list[Any], before: int
    ) -> DeferredCall | None:
        """Return a new node for a call that never came at this place; None where it is to be run at
        once."""
        if not _config.jax_enable_x64:
            raise _Unknown  # the form refuses
        args = tuple([None if type(a) is Residuals and is_absent(a) else a for a in args])
        leaves, tree = jax.tree.flatten(args)
        about = known.of(form, leaves, tree)
        results = about.results
        if results is None:
            about.met += 1
            # One that may be given its operands' memory is run in another way at once.
            if form.donating is None and not self.policy.records_unknown(about.met - 1):
                return None
            results = about.traced()
            self._account.charge(prices.EVALUATED)
        spec, fresh = [], iter(range(before, len(self._inputs)))
        for code, leaf in zip(_of_leaves(key), leaves, strict=True):
            if type(code) is not int:
                code = ~next(fresh)
            spec.append(code)
            del leaf
        kept = [a.plan for a in args if type(a) is Residuals]
        call = DeferredCall(self._node, form, tree, tuple(spec), kept)
        call.give(about, results)
        self._node.follow(tuple(key), call)
        count_node()
        self._account.charge(prices.NEW)
        return call

    def _results_of(self, call: DeferredCall) -> Any:
        """Return deferred values for the results of a call, which is the last of the chain now."""
        if len(self._values) != call.first:  # what came before was interrupted
            self._is_busy = False
            self.flush("an interruption")
            self._is_busy = True
        self._node = call
        self._path.append(call)
        values, number = self._values, call.first
        avals, tree = call.results
        if tree is None:
            ((shape, dtype),) = avals
            out: Any = Deferred(shape, dtype, number, self)
            values.append(out)
        else:
            made = [Deferred(*aval, number + i, self) for i, aval in enumerate(avals)]
            values += made
            out = tuple(made) if call.gives_tuple else tree.unflatten(made)
            del made
        if call.is_last:  # before they are in a cell, so that the flush puts nothing there
            self._is_busy = False
            self.flush("the chain is long")
            out = values_of(out)
        return out

    def _run_now(self, form: first_calls.FirstCalls, args: tuple[Any, ...]) -> Any:
        """Run a call that is not known yet, and learn from it."""
        self._is_busy = False
        args = values_of(args)
        with not_recording(self):
            out = form.run(*args)
        leaves, tree = jax.tree.flatten(args)
        known.of(form, leaves, tree).learn(out)
        self._account.charge(prices.NEW)
        return out

    def enter_module(self, module: Any) -> None:
        """Take note that a module is called. The first call cuts the chain: what a script does to
        prepare its data may differ while the model is the same."""
        if not self._in_module:
            if self._values:
                self.flush("a module is called")
            self._in_module = True

    def before_draw(self) -> None:
        """Take note that numbers are drawn. What draws alone have made ends the chain: the weights
        of a model, of which those of one size share a program."""
        if self._values and not any(type(x) is ArrayImpl for x in self._inputs):
            self.flush("numbers are drawn after others")

    # -- running -----------------------------------------------------------------------------------

    def flush(self, cause: str) -> None:
        """Run what has been recorded; ``cause`` says why, for the report. Raise the error of a call
        that fails."""
        if not self._values:
            if self._inputs and not self._is_busy:
                self._begin()
            if self.watcher is self._listener:
                self._listener.cut()
            return
        with self._lock:
            if self._is_busy:
                self._compute_meanwhile()
                return
            self._is_busy = True
            try:
                if self._values:
                    cuts.note(cause)
                    self._run_chain()
            finally:
                self._is_busy, self._running = False, None
            self._attempt -= 1
            if self._attempt <= 0:
                self._has_had_its_turn()
            if self._account.allowance < 0 and self.policy.listens:
                self._listen()

    def _run_chain(self) -> None:
        path, values, inputs = self._path, self._values, self._inputs
        self._running = values, path, inputs, (found := {})
        self._begin()
        try:
            if len(values) != path[-1].next:
                raise _Interrupted
            alive, dead = alive_among(values), dead_among(inputs)
            piece = path[-1].pieces.get(alive)
            if piece is None:
                piece = path[-1].pieces[alive] = pieces.DeferredPiece(path, alive)
                piece.heard = prices.heard(values)
            with not_recording(self):
                arrays = piece.run(inputs, dead, self.policy, self._account)
            found.update(zip(alive, arrays, strict=True))
            for i, array in found.items():
                values[i].settle(array)
        except BaseException as error:
            reason = error if isinstance(error, Exception) else _Interrupted()
            failed = Failed(reason, self)
            for value in values:
                if value.array is None:
                    value.queue = failed  # type: ignore[assignment]
            raise

    def puts_off(self, program: Any) -> bool:
        """Return whether a form that is due to be compiled waits: it is part of what recurs, and a
        program of that is being compiled already, or may soon be."""
        if not self.policy.listens:
            return False
        if self._account.waits:
            self._owes_program = True
        if self._owes_program:  # also behind that, until it has had its turn
            return True
        if -program.calls_left > max(program.calls / 3, _ATTEMPT):
            return False
        if self.watcher is not self:
            return self._listener.is_near()
        return self._attempt > 0 and self._account.is_near

    def compute(self, value: Deferred) -> None:
        """Compute a value that somebody asks for."""
        if modes.current.queue is self and not self._is_busy:
            if len(self._path) > _LONG and self.compute_small(value):
                return
            self.flush("a value is read")
        with self._lock:  # while its thread does not flush
            if value.array is None and value.queue is self:
                self._compute_alone(value)
        if value.array is None:
            value.queue.compute(value)

    def compute_small(self, value: Deferred) -> bool:
        """Compute one value of a long chain alone, where little is needed for it; the chain goes
        on. Return whether it was."""
        if self._is_busy:
            return False
        self._is_busy = True
        try:
            return value.array is None and self._compute_small(value)
        finally:
            self._is_busy = False

    def _compute_small(self, value: Deferred) -> bool:
        number = value.number
        at = bisect.bisect_right(self._path, number, key=_first) - 1
        alone = self._path[at].alone
        piece = alone.get(number)
        if piece is None:
            piece = alone[number] = pieces.DeferredPiece(
                self._path[: at + 1], (number,), alone=True
            )
        if not piece.is_small:
            return False
        with not_recording(self):
            (array,) = piece.replay(self._inputs)
        value.settle(array)
        return True

    def _compute_alone(self, value: Deferred) -> None:
        """Compute one value, in another thread than that which records or within what it does: what
        it goes on to record is as it was."""
        number, path, inputs = value.number, self._path, self._inputs
        if self._running is not None and any(x is value for x in self._running[0]):
            _, path, inputs, found = self._running
            if number in found:
                value.settle(found[number])
                return
            if any(type(x) is ArrayImpl and x.is_deleted() for x in inputs):
                raise _Within
        self._replay_some(path, inputs, {number: value})

    def _compute_meanwhile(self) -> None:
        """Compute what has been recorded, within the recording of a call."""
        values = self._values
        self._replay_some(self._path, self._inputs, {i: values[i] for i in alive_among(values)})

    def _replay_some(
        self, path: list[DeferredCall], inputs: list[Any], values: dict[int, Deferred]
    ) -> None:
        piece = pieces.DeferredPiece(list(path), tuple(values), alone=True)
        # A copy of the list holds them, too, so that they are not given up.
        with not_recording(self):
            arrays = piece.replay(list(inputs))
        for value, array in zip(values.values(), arrays, strict=True):
            value.settle(array)


def _first(call: DeferredCall) -> int:
    return call.first


def _of_leaves(key: list[Any]) -> list[Any]:
    """Return the parts of a key that stand for leaves."""
    return [
        code
        for code in key[1:]
        if code is not None and not (type(code) is tuple and code and code[0] in _OUTER)
    ]


_OUTER = (tuple, list, "residuals")


@first_calls.put_off.by
def _puts_off(program: Any) -> bool:
    queue = modes.current.queue or queue_that_runs()
    return queue is not None and queue.puts_off(program)


@defer.by
def _record_or_compute(form: first_calls.FirstCalls, args: tuple[Any, ...], starts: bool) -> Any:
    """Have this thread's queue record a call; without one, compute what is deferred among its
    operands."""
    current = modes.current.__dict__  # of this thread
    queue = current["queue"]
    if queue is not None and current["watcher"] is queue:
        return queue.record(form, args, starts)
    if starts:  # a form that meets a deferred value asks again
        return DECLINED
    if is_running() or not holds(args):
        return DECLINED
    args = values_of(args)
    if "donate_argnums" in form.options:  # another thread's chain may have it among its inputs
        args = (jax.numpy.array(args[0], copy=True), *args[1:])
    return form.run(*args)
