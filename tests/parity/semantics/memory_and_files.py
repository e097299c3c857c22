"""Tensors on one memory as other dtypes, ranks that do not fit, many dimensions, and files."""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import Any


def as_strided_of_memory_as_another_dtype(t: Any) -> Any:
    x = t.arange(4, dtype=t.float32)
    return x.view(t.int32).as_strided((2,), (2,), 1)


def as_strided_of_memory_as_a_wider_dtype(t: Any) -> Any:
    x = t.arange(4, dtype=t.int32)
    return x.view(t.int64).as_strided((2,), (1,), 0)


def as_strided_of_memory_as_bytes(t: Any) -> Any:
    x = t.arange(2, dtype=t.int32)
    return x.view(t.uint8).as_strided((2, 2), (4, 1), 0)


def a_write_through_as_strided_as_another_dtype(t: Any) -> Any:
    x = t.zeros(4)
    x.view(t.int32).as_strided((2,), (2,), 0).fill_(1065353216)
    return x


def as_strided_past_the_memory(t: Any) -> Any:
    return t.ones(4).as_strided((5,), (1,))


def as_strided_past_the_memory_as_a_wider_dtype(t: Any) -> Any:
    return t.ones(4).view(t.float64).as_strided((4,), (1,))


def as_strided_with_a_negative_stride(t: Any) -> Any:
    return t.ones(4).as_strided((2,), (-1,))


def as_strided_with_other_lengths(t: Any) -> Any:
    return t.ones(4).as_strided((2, 2), (1,))


def as_strided_of_a_part(t: Any) -> Any:
    return t.arange(6.0)[2:].as_strided((2,), (2,))


def as_strided_of_a_part_from_the_start(t: Any) -> Any:
    return t.arange(6.0)[2:].as_strided((2,), (2,), 0)


def as_strided_in_place(t: Any) -> Any:
    x = t.arange(6.0)
    return x.as_strided_((2, 2), (3, 1)), x.is_contiguous()


def a_view_as_a_dtype_that_does_not_fit(t: Any) -> Any:
    return t.ones(3).view(t.float64)


def a_view_as_a_dtype_of_a_scalar(t: Any) -> Any:
    return t.tensor(1.0).view(t.float64)


def a_view_as_a_dtype_of_strided_rows(t: Any) -> Any:
    return t.ones(4, 4)[:, ::2].view(t.float64)


def a_view_as_a_narrower_dtype(t: Any) -> Any:
    return t.tensor([1.0]).view(t.int16)


def a_view_as_a_dtype_at_an_odd_offset(t: Any) -> Any:
    return t.ones(5)[1:].view(t.float64)


def the_storage_of_a_real_part(t: Any) -> Any:
    z = t.tensor([1 + 2j, 3 + 4j])
    r = z.real
    return r.untyped_storage().nbytes(), r.stride(), r.storage_offset(), r._is_view()


def the_storage_of_an_imaginary_part(t: Any) -> Any:
    z = t.tensor([1 + 2j, 3 + 4j])
    i = z.imag
    return i.untyped_storage().nbytes(), i.stride(), i.storage_offset()


def the_storage_of_numbers_as_pairs(t: Any) -> Any:
    z = t.tensor([1 + 2j, 3 + 4j])
    p = t.view_as_real(z)
    same = p.untyped_storage().data_ptr() == z.untyped_storage().data_ptr()
    return p.untyped_storage().nbytes(), p.stride(), same


def the_elements_of_the_storage_of_a_real_part(t: Any) -> Any:
    return t.tensor([1 + 2j, 3 + 4j]).real.untyped_storage().tolist()


def a_write_to_an_imaginary_part(t: Any) -> Any:
    z = t.tensor([1 + 2j, 3 + 4j])
    z.imag.mul_(10)
    return z


def the_imaginary_part_of_a_conjugate(t: Any) -> Any:
    z = t.tensor([1 + 2j, 3 + 4j])
    i = z.conj().imag
    return i, i.is_neg(), z.conj().is_conj()


def as_strided_of_a_real_part(t: Any) -> Any:
    return t.tensor([1 + 2j, 3 + 4j]).real.as_strided((4,), (1,), 0)


def pairs_of_a_conjugate(t: Any) -> Any:
    return t.view_as_real(t.tensor([1 + 2j]).conj())


def complex_numbers_of_pairs_that_are_not(t: Any) -> Any:
    return t.view_as_complex(t.ones(3))


def complex_numbers_of_strided_pairs(t: Any) -> Any:
    return t.view_as_complex(t.ones(2, 4)[:, ::2])


def mt_of_a_vector(t: Any) -> Any:
    return t.ones(2).mT


def mt_of_a_scalar(t: Any) -> Any:
    return t.tensor(1.0).mT


def mh_of_a_vector(t: Any) -> Any:
    return t.ones(2).mH


def mh_of_a_scalar(t: Any) -> Any:
    return t.tensor(1.0).mH


def t_of_a_vector(t: Any) -> Any:
    return t.arange(3).T


def h_of_a_vector(t: Any) -> Any:
    return t.ones(2).H


def h_of_a_scalar(t: Any) -> Any:
    return t.tensor(1.0).H


def t_of_three_dimensions(t: Any) -> Any:
    return t.ones(1, 2, 3).t()


def adjoint_of_a_vector(t: Any) -> Any:
    return t.ones(2).adjoint()


def transposed_out_of_range(t: Any) -> Any:
    return t.ones(2).transpose(0, 1)


def sixty_four_dimensions(t: Any) -> Any:
    return t.ones([1] * 64).sum()


def sixty_five_dimensions(t: Any) -> Any:
    return t.ones([1] * 65).dim()


def sixty_five_dimensions_added(t: Any) -> Any:
    y = t.ones([1] * 65) + 1
    return y.dim(), y.item(), y.view(-1) * 3


def sixty_five_dimensions_summed(t: Any) -> Any:
    return t.ones([1] * 65).sum(64)


def sixty_five_dimensions_summed_over_none(t: Any) -> Any:
    return t.ones([1] * 65).sum(())


def sixty_five_dimensions_averaged(t: Any) -> Any:
    return t.ones([1] * 65).mean(0)


def _matrix(t: Any) -> Any:
    n = 12
    a = t.diag(t.arange(1.0, n + 1))
    a[0, 1] = a[1, 0] = 0.5
    return a


def the_largest_eigenvalues(t: Any) -> Any:
    values, vectors = t.lobpcg(_matrix(t), k=2, niter=60)
    return (values * 1000).round() / 1000, vectors.shape


def the_smallest_eigenvalues(t: Any) -> Any:
    values, _ = t.lobpcg(_matrix(t), k=2, niter=60, largest=False)
    return (values * 1000).round() / 1000


def eigenvalues_from_a_start(t: Any) -> Any:
    start = t.eye(12)[:, :3].contiguous()
    values, _ = t.lobpcg(_matrix(t), X=start, niter=60, largest=False, method="basic")
    return (values * 100).round() / 100


def generalised_eigenvalues(t: Any) -> Any:
    b = t.diag(t.full((12,), 2.0))
    values, _ = t.lobpcg(_matrix(t), k=1, B=b, niter=60)
    return (values * 1000).round() / 1000


def eigenvalues_of_a_small_matrix(t: Any) -> Any:
    return t.lobpcg(t.eye(2), k=1)


def eigenvalues_of_an_unknown_method(t: Any) -> Any:
    values, _ = t.lobpcg(_matrix(t), k=1, niter=60, method="some")
    return (values * 1000).round() / 1000


def the_gradient_of_eigenvalues(t: Any) -> Any:
    a = _matrix(t).double().requires_grad_()
    values, _ = t.lobpcg(a, k=1, niter=80)
    return (t.autograd.grad(values.sum(), a)[0] * 100).round() / 100


def _saved(t: Any, value: Any, **how: Any) -> io.BytesIO:
    buffer = io.BytesIO()
    t.save(value, buffer, **how)
    buffer.seek(0)
    return buffer


class _Reader:
    """A file that counts how it is read."""

    def __init__(self, data: bytes, *, fills: bool = False) -> None:
        self._file, self.calls = io.BytesIO(data), set[str]()
        if fills:
            self.readinto = self._readinto

    def read(self, n: int = -1) -> bytes:
        self.calls.add("read")
        return self._file.read(n)

    def readline(self) -> bytes:
        return self._file.readline()

    def seek(self, *at: int) -> int:
        return self._file.seek(*at)

    def tell(self) -> int:
        return self._file.tell()

    def _readinto(self, buffer: Any) -> int:
        self.calls.add("readinto")
        return self._file.readinto(buffer)


def a_file_with_readinto(t: Any) -> Any:
    return t.load(_Reader(_saved(t, t.arange(4)).getvalue(), fills=True))


def a_file_without_readinto(t: Any) -> Any:
    return t.load(_Reader(_saved(t, t.arange(4)).getvalue()))


def an_old_file_without_readinto(t: Any) -> Any:
    data = _saved(t, t.arange(4), _use_new_zipfile_serialization=False).getvalue()
    return t.load(_Reader(data))


def an_old_file_uses_readinto(t: Any) -> Any:
    data = _saved(t, t.arange(4), _use_new_zipfile_serialization=False).getvalue()
    reader = _Reader(data, fills=True)
    return t.load(reader), "readinto" in reader.calls


def an_object_that_is_no_file(t: Any) -> Any:
    return t.load(3)


def an_object_without_seek(t: Any) -> Any:
    class Stream:
        def read(self, n: int = -1) -> bytes:
            return b""

        def readline(self) -> bytes:
            return b""

    return t.load(Stream())


def saving_to_an_object_that_is_no_file(t: Any) -> Any:
    t.save(1, 3)


def an_empty_file(t: Any) -> Any:
    return t.load(io.BytesIO())


def a_zip_of_something_else(t: Any) -> Any:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as z:
        z.writestr("hello.txt", "hello")
    buffer.seek(0)
    return t.load(buffer)


def a_file_that_ends_as_a_zip(t: Any) -> Any:
    buffer = io.BytesIO()
    t.save(t.arange(2), buffer, _use_new_zipfile_serialization=False)
    with zipfile.ZipFile(buffer, "a") as z:
        z.writestr("more.txt", "more")
    buffer.seek(0)
    return t.load(buffer)


def a_file_that_begins_as_a_zip(t: Any) -> Any:
    return t.load(io.BytesIO(b"PK\x03\x04" + b"\0" * 40))


def a_truncated_file(t: Any) -> Any:
    data = _saved(t, t.arange(100)).getvalue()
    return t.load(io.BytesIO(data[: len(data) // 2]))


def a_file_from_the_middle(t: Any) -> Any:
    buffer = io.BytesIO()
    buffer.write(b"in front")
    start = buffer.tell()
    t.save(t.arange(2), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(start)
    return t.load(buffer)


def two_tensors_in_one_old_file(t: Any) -> Any:
    buffer = io.BytesIO()
    for n in (2, 3):
        t.save(t.arange(n), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    return t.load(buffer), t.load(buffer)


def a_parameter(t: Any) -> Any:
    p = t.load(_saved(t, t.nn.Parameter(t.ones(2))))
    return type(p).__name__, p.requires_grad, p


def a_view_keeps_its_storage(t: Any) -> Any:
    x = t.load(_saved(t, t.arange(10)[2:4]))
    return x, x.untyped_storage().nbytes(), x.storage_offset()


def tensors_that_share_memory(t: Any) -> Any:
    x = t.arange(4)
    a, b = t.load(_saved(t, [x, x[1:]]))
    a.zero_()
    return b


def memory_as_two_dtypes(t: Any) -> Any:
    x = t.arange(4, dtype=t.float32)
    return t.save([x, x.view(t.int32)], io.BytesIO())


def a_conjugate(t: Any) -> Any:
    z = t.load(_saved(t, t.tensor([1 + 2j]).conj()))
    return z, z.is_conj()


def attributes_of_a_tensor(t: Any) -> Any:
    x = t.ones(2)
    x.note = "kept"
    return t.load(_saved(t, x), weights_only=False).note


def attributes_of_a_parameter(t: Any) -> Any:
    p = t.nn.Parameter(t.ones(2))
    p.note = "kept"
    return t.load(_saved(t, p), weights_only=False).note


def a_tensor_with_hooks(t: Any) -> Any:
    class Hook:
        def __call__(self, g: Any) -> Any:
            return g

        def __repr__(self) -> str:
            return "Hook()"

    x = t.ones(2, requires_grad=True)
    x.register_hook(Hook())
    y = t.load(_saved(t, x), weights_only=False)
    return y, y.requires_grad


def a_result_of_a_graph(t: Any) -> Any:
    y = t.load(_saved(t, t.ones(2, requires_grad=True) * 2))
    return y, y.requires_grad, y.is_leaf


def a_copy_of_a_result_of_a_graph(t: Any) -> Any:
    import copy

    return copy.deepcopy(t.ones(2, requires_grad=True) * 2)


def a_copy_keeps_attributes(t: Any) -> Any:
    import copy

    x = t.ones(2)
    x.note = [1]
    y = copy.deepcopy(x)
    return y.note, y.note is x.note, hasattr(copy.copy(x), "note")


def a_lambda(t: Any) -> Any:
    t.save(lambda: 1, io.BytesIO())


def a_class_that_is_not_allowed(t: Any) -> Any:
    import decimal

    return t.load(_saved(t, {"x": decimal.Decimal(1)}))


def mapped_to_a_device_that_is_not_there(t: Any) -> Any:
    return t.load(_saved(t, t.ones(1)), map_location="cuda")


def mapped_by_a_function(t: Any) -> Any:
    said: list[str] = []
    x = t.load(_saved(t, t.ones(1)), map_location=lambda s, where: said.append(where) or s)
    return x, said


def a_byte_order(t: Any) -> Any:
    buffer = _saved(t, t.ones(1))
    with zipfile.ZipFile(buffer) as z:
        return sorted(n.partition("/")[2] for n in z.namelist())


def as_strided_of_a_conjugates_parts(t: Any) -> Any:
    return t.view_as_real(t.tensor([1 + 2j, 3 + 4j])).as_strided((2,), (2,), 1)


def as_strided_then_another_dtype(t: Any) -> Any:
    return t.arange(6, dtype=t.int32).as_strided((2, 2), (2, 1), 2).view(t.int64)


def as_strided_of_another_dtype_seen_by_both(t: Any) -> Any:
    x = t.zeros(2, dtype=t.float64)
    y = x.view(t.int32).as_strided((4,), (1,), 0)
    x.fill_(1.0)
    return y


def as_strided_of_another_dtype_of_a_part(t: Any) -> Any:
    x = t.arange(8, dtype=t.int16)[4:].view(t.int32)
    return x.as_strided((2,), (1,)), x.storage_offset(), x.as_strided((2,), (1,), 0)


def as_strided_of_bools_as_bytes(t: Any) -> Any:
    return t.tensor([True, False, True]).view(t.uint8).as_strided((2,), (2,), 0)


def as_strided_of_halves_of_floats(t: Any) -> Any:
    return t.tensor([1.0, 2.0]).view(t.bfloat16).as_strided((2,), (2,), 1)


def as_strided_written_with_an_operation(t: Any) -> Any:
    x = t.zeros(4, dtype=t.int32)
    x.view(t.int64).as_strided((1,), (1,), 1).add_(1)
    return x


def a_view_as_another_dtype_of_a_leaf(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    return x.view(t.int32).requires_grad, x.view(t.complex64).requires_grad


def a_pickle_of_protocol_two(t: Any) -> Any:
    return t.load(io.BytesIO(pickle.dumps({"x": 1}, protocol=2)))


def _many(t: Any) -> Any:
    return t.ones([1] * 64)


def unsqueezed_to_sixty_five_dimensions(t: Any) -> Any:
    return _many(t).unsqueeze(0).dim()


def expanded_to_sixty_five_dimensions(t: Any) -> Any:
    return t.ones(1).expand([1] * 65).dim()


def reshaped_to_sixty_five_dimensions(t: Any) -> Any:
    return t.ones(1).reshape([1] * 65).dim()


def stacked_to_sixty_five_dimensions(t: Any) -> Any:
    return t.stack([_many(t), _many(t)]).shape


def indexed_to_sixty_five_dimensions(t: Any) -> Any:
    return _many(t)[None].dim()


def a_product_of_sixty_four_dimensions(t: Any) -> Any:
    return (_many(t) @ _many(t)).dim()


def permuted_in_sixty_four_dimensions(t: Any) -> Any:
    return _many(t).permute(list(range(64))[::-1]).shape


def summed_in_sixty_four_dimensions(t: Any) -> Any:
    x = t.ones([1] * 63 + [3])
    return x.sum(-1).dim(), x.sum(list(range(64))), x.mean(63).dim()


def a_block_of_eigenvectors_too_large(t: Any) -> Any:
    return t.lobpcg(_matrix(t), k=5)


def eigenvalues_of_a_batch(t: Any) -> Any:
    a = t.stack([_matrix(t), _matrix(t) * 2])
    values, vectors = t.lobpcg(a, k=1, niter=60)
    return (values * 1000).round() / 1000, vectors.shape


def eigenvalues_of_what_is_not_square(t: Any) -> Any:
    return t.lobpcg(t.ones(12, 11), k=1)


def eigenvalues_of_a_vector(t: Any) -> Any:
    return t.lobpcg(t.ones(12), k=1)


def eigenvalues_seen_by_a_tracker(t: Any) -> Any:
    seen: list[Any] = []
    t.lobpcg(_matrix(t), k=1, niter=2, tracker=lambda worker: seen.append(type(worker).__name__))
    return set(seen)


class _Writer:
    """A file that can be written to, and no more."""

    def __init__(self) -> None:
        self.data = bytearray()

    def write(self, data: Any) -> int:
        self.data += bytes(data)
        return len(data)


def saving_to_an_object_that_only_writes(t: Any) -> Any:
    file = _Writer()
    t.save(t.arange(3), file)
    return t.load(io.BytesIO(bytes(file.data)))


def saving_an_old_file_to_an_object_that_only_writes(t: Any) -> Any:
    file = _Writer()
    t.save(t.arange(3), file, _use_new_zipfile_serialization=False)
    return t.load(io.BytesIO(bytes(file.data)))


def a_file_that_is_closed(t: Any) -> Any:
    buffer = _saved(t, t.arange(3))
    buffer.close()
    return t.load(buffer)


def a_zip_file_with_a_prefix(t: Any) -> Any:
    return t.load(io.BytesIO(b"in front" + _saved(t, t.arange(3)).getvalue()))


def a_zip_file_from_the_middle(t: Any) -> Any:
    buffer = io.BytesIO()
    buffer.write(b"in front")
    t.save(t.arange(2), buffer)
    buffer.seek(8)
    return t.load(buffer)


def a_pickle_of_something_else(t: Any) -> Any:
    return t.load(io.BytesIO(pickle.dumps({"x": 1})))


def a_pickle_of_something_else_without_safety(t: Any) -> Any:
    return t.load(io.BytesIO(pickle.dumps({"x": 1})), weights_only=False)


def a_path_that_is_not_there(t: Any) -> Any:
    return t.load("/nowhere/at/all.pt")


def saving_to_a_directory_that_is_not_there(t: Any) -> Any:
    t.save(1, "/nowhere/at/all.pt")


def _with_records(t: Any, change: Any) -> io.BytesIO:
    """A file whose records were changed: ``change`` takes and gives their dictionary."""
    with zipfile.ZipFile(_saved(t, t.arange(4.0))) as z:
        records = {n: z.read(n) for n in z.namelist()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as z:
        for name, content in change(records).items():
            z.writestr(name, content)
    buffer.seek(0)
    return buffer


def a_zip_whose_data_is_missing(t: Any) -> Any:
    return t.load(
        _with_records(t, lambda r: {n: c for n, c in r.items() if not n.endswith("data/0")})
    )


def a_zip_whose_pickle_is_missing(t: Any) -> Any:
    return t.load(_with_records(t, lambda r: {n: c for n, c in r.items() if "pkl" not in n}))


def a_zip_without_a_version(t: Any) -> Any:
    return t.load(_with_records(t, lambda r: {n: c for n, c in r.items() if "version" not in n}))


def a_zip_of_a_later_version(t: Any) -> Any:
    def later(records: Any) -> Any:
        return {n: b"99\n" if n.endswith("/version") else c for n, c in records.items()}

    return t.load(_with_records(t, later))


def a_zip_of_two_directories(t: Any) -> Any:
    def moved(records: Any) -> Any:
        return {n.replace("archive/data/", "other/data/"): c for n, c in records.items()}

    return t.load(_with_records(t, moved))


def a_zip_with_compressed_records(t: Any) -> Any:
    with zipfile.ZipFile(_saved(t, t.arange(4.0))) as z:
        records = {n: z.read(n) for n in z.namelist()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in records.items():
            z.writestr(name, content)
    buffer.seek(0)
    return t.load(buffer)
