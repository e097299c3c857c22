"""Functions that ask for a value that a capture has not, and catch the refusal."""

import concurrent.futures
import contextlib
import functools
import threading
import warnings

import jax
import jax.numpy as jnp
import pytest

import torchlike as torch
from torchlike import nn

X = torch.tensor([1.0, -2.0, 4.0])


def except_exception(x):
    try:
        k = float(x.abs().max())
    except Exception:
        k = 1.0
    return x / k


def except_base_exception(x):
    try:
        k = x.abs().max().item()
    except BaseException:
        k = 1.0
    return x / k


def bare_except(x):
    try:
        k = x.tolist()[0]
    except:  # noqa: E722
        k = 3.0
    return x + k


def except_its_own_class(x):
    try:
        k = int(x[2])
    except torch.jit.JitCaptureError:
        k = 3
    return x + k


def finally_return(x):
    try:
        return x * x.numpy()[1].item()
    finally:
        return x + 5  # noqa: B012, SIM107


def finally_continue(x):
    k = 0.0
    for i in range(3):
        try:
            k += x[i].item()
        finally:
            continue  # noqa: B012
    return x + k


def suppress(x):
    k = 1.0
    with contextlib.suppress(RuntimeError):
        k = x.sum().item()
    return x * k


class _Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def exit_that_says_true(x):
    k = 1.0
    with _Quiet():
        k = x.sum().item()
    return x * k


def exit_stack(x):
    k = 1.0
    with contextlib.ExitStack() as stack:
        stack.push(lambda *error: True)
        k = x.sum().item()
    return x * k


def pytest_raises(x):
    k = 2.0
    if torch.compiler.is_compiling():
        with pytest.raises(RuntimeError):
            x.sum().item()
    else:
        k = x.sum().item()
    return x * k


def _numbers(x):
    for row in x:
        try:
            yield row.item()
        except RuntimeError:
            yield 0.5


def generator(x):
    return x * sum(_numbers(x))


def _patient(x):
    k = 1.0
    while True:
        try:
            yield x * k
        except RuntimeError:
            k = 7.0


def generator_throw(x):
    numbers = _patient(x)
    y = next(numbers)
    try:
        return y * x.sum().item()
    except RuntimeError as error:
        return numbers.throw(error)


def _closing(x, found):
    try:
        yield x
    finally:
        try:
            found.append(x.sum().item())
        except RuntimeError:
            found.append(9.0)


def generator_close(x):
    found = []
    numbers = _closing(x, found)
    next(numbers)
    numbers.close()
    return x * found[0]


def _larger(a, b):
    try:
        return a if a.item() > b.item() else b
    except RuntimeError:
        return b


def functools_reduce(x):
    return x * functools.reduce(_larger, list(x * -1))


def _by_value(row):
    try:
        return row.item()
    except RuntimeError:
        return 0


def sorted_by_key(x):
    return torch.stack(sorted(x, key=_by_value))


def map_and_filter(x):
    return x * sum(map(_by_value, filter(None, [x[0], x[1]])))


def jax_tree_map(x):
    return x * jax.tree.map(lambda n: _by_value(x[n]), [0, 1, 2])[2]


class _Lazy:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        try:
            return self.__dict__["x"].sum().item()
        except RuntimeError as error:
            raise AttributeError(name) from error


def hasattr_of_a_getattr(x):
    return x * (2.0 if hasattr(_Lazy(x), "total") else 3.0)


def getattr_with_a_default(x):
    return x * getattr(_Lazy(x), "total", 5.0)


class _Property:
    def __init__(self, x):
        self.x = x

    @property
    def total(self):
        return self.x.sum().item()


def a_property(x):
    try:
        return x * _Property(x).total
    except Exception as error:
        warnings.warn(f"no total: {error}", UserWarning, stacklevel=2)
        return x


def nested_functions(x):
    def total():
        def inner():
            return x.sum().item()

        return inner()

    def or_else(default):
        try:
            return total()
        except RuntimeError:
            return default

    return x * or_else(4.0)


class _Scaled(nn.Module):
    def forward(self, x):
        try:
            return x * x.sum().item()
        except RuntimeError:
            return x * 0


scaled = _Scaled()


def in_a_forward(x):
    return scaled(x)


def _read(module, args):
    try:
        return (args[0] * args[0][2].item(),)
    except RuntimeError:
        return None


hooked = nn.Identity()
hooked.register_forward_pre_hook(_read)


def in_a_hook(x):
    return hooked(x)


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        try:
            ctx.k = x[2].item()
        except RuntimeError:
            ctx.k = 1.0
        return x * ctx.k

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k


def in_a_function(x):
    return _Function.apply(x)


class _Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        try:
            return g * ctx.saved_tensors[0][2].item()
        except RuntimeError:
            return g


def in_a_backward(x):
    leaf = x.detach().requires_grad_()
    _Backward.apply(leaf).sum().backward()
    return leaf.grad


def in_a_tensor_hook(x):
    leaf = x.detach().requires_grad_()
    y = leaf * 2

    def hook(g):
        try:
            return g * x[2].item()
        except RuntimeError:
            return g

    y.register_hook(hook)
    y.sum().backward()
    return leaf.grad


def equal_in_a_list(x):
    try:
        found = x[1] in [x[0], x[2]]
    except RuntimeError:
        found = True
    return x * found


class _Truth:
    def __init__(self, x):
        self.x = x

    def __bool__(self):
        try:
            return self.x.item() > 0
        except RuntimeError:
            return True


def truth_of_an_object(x):
    return x if _Truth(x[1]) else -x


class _Finalized:
    def __init__(self, x, found):
        self.x, self.found = x, found

    def __del__(self):
        with contextlib.suppress(RuntimeError):
            self.found.append(self.x.item())


def finalizer(x):
    found = []
    _Finalized(x[2], found)
    return x * len(found)


def errors_own_words(x):
    try:
        x.sum().item()
    except RuntimeError as error:
        return x * len(str(error))
    return x * 2


def another_error_in_its_place(x):
    try:
        k = x.sum().item()
    except RuntimeError as error:
        try:
            raise KeyError("no number") from error
        except KeyError:
            k = 6.0
    return x * k


def a_value_of_jax(x):
    try:
        k = float(jnp.max(x.jax()))
    except Exception:
        k = 1.0
    return x / k


def a_size_of_jax(x):
    try:
        return torch.from_jax(jnp.arange(x.jax()[2]))
    except TypeError:
        return x


def an_error_in_a_branch(x):
    try:
        if x.sum() > 0:
            y = x * 2
        else:
            raise ValueError("negative")
    except Exception:
        y = x * 0
    return y


def a_list_in_a_branch(x):
    found = []
    try:
        if x.sum() > 100:
            found.append(1)
    except Exception:
        found.append(2)
    return x * len(found)


def random_in_a_loop(x):
    i, y = x[0] * 0, x
    try:
        while i < 3:
            y = y + torch.bernoulli(y * 0)
            i = i + 1
    except RuntimeError:
        y = x * 0
    return y


def a_gradient_through_a_branch(x):
    leaf = x.detach().requires_grad_()
    y = leaf * leaf * 2 if x.sum() > 0 else leaf
    try:
        (g,) = torch.autograd.grad(y.sum(), leaf, create_graph=True)
    except Exception:
        g = leaf
    return (g * 1).detach()


def sparse_without_a_size(x):
    try:
        return torch.sparse_coo_tensor(torch.tensor([[0, 2]]), x[:2]).to_dense()
    except RuntimeError:
        return x


def a_name_of_one_branch(x):
    if x.sum() > 0:
        y = x * 2
    try:
        z = y
    except NameError:
        z = x * 0
    return z


def _bound_in_one_branch(x):
    if x.sum() > 0:
        y = x * 2
    return y


def a_name_of_a_called_functions_branch(x):
    try:
        return _bound_in_one_branch(x)
    except Exception:
        return x * 0


def a_name_of_one_branch_suppressed(x):
    z = x
    if x.sum() > 0:
        y = x * 2
    with contextlib.suppress(NameError):
        z = y
    return z


def a_name_of_a_loop_that_is_left(x):
    for i in range(5):
        if x.sum() > i:
            y = x * 2
            break
    try:
        return y
    except UnboundLocalError:
        return x * 0


def a_name_of_a_loop(x):
    i = x[0] * 0
    while i < x[2]:
        y = x * i
        i = i + 1
    try:
        return y
    except NameError:
        return x


def a_thread(x):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: x * 2).result()


def a_thread_that_fails(x):
    found = []
    thread = threading.Thread(target=lambda: found.append(x.sum().item()))
    try:
        thread.start()
        thread.join()
    except Exception:
        found.append(0.0)
    return x * found[0]


CATALOGUE = [
    except_exception,
    except_base_exception,
    bare_except,
    except_its_own_class,
    finally_return,
    finally_continue,
    suppress,
    exit_that_says_true,
    exit_stack,
    pytest_raises,
    generator,
    generator_throw,
    generator_close,
    functools_reduce,
    sorted_by_key,
    map_and_filter,
    jax_tree_map,
    hasattr_of_a_getattr,
    getattr_with_a_default,
    a_property,
    nested_functions,
    in_a_forward,
    in_a_hook,
    in_a_function,
    in_a_backward,
    in_a_tensor_hook,
    equal_in_a_list,
    truth_of_an_object,
    finalizer,
    errors_own_words,
    another_error_in_its_place,
    a_value_of_jax,
    a_size_of_jax,
    an_error_in_a_branch,
    a_list_in_a_branch,
    random_in_a_loop,
    sparse_without_a_size,
    a_gradient_through_a_branch,
    a_name_of_one_branch,
    a_name_of_a_called_functions_branch,
    a_name_of_one_branch_suppressed,
    a_name_of_a_loop_that_is_left,
    a_name_of_a_loop,
    a_thread,
    a_thread_that_fails,
]
