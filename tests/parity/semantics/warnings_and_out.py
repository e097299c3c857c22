"""What PyTorch warns of, and what it says of an ``out=`` that does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np


def addcmul_with_the_value_in_front(t: Any) -> Any:
    x = t.ones(2)
    return t.addcmul(x, 3, x, x)


def addcdiv_with_the_value_in_front(t: Any) -> Any:
    x = t.ones(2)
    return t.addcdiv(x, 3, x, x)


def addmm_with_numbers_in_front(t: Any) -> Any:
    x = t.ones(2, 2)
    return t.addmm(2, x, 3, x, x)


def addmm_with_beta_in_front(t: Any) -> Any:
    x = t.ones(2, 2)
    return t.addmm(2, x, x, x)


def addmv_with_numbers_in_front(t: Any) -> Any:
    return t.addmv(2, t.ones(2), 3, t.ones(2, 2), t.ones(2))


def addr_with_numbers_in_front(t: Any) -> Any:
    return t.addr(2, t.ones(2, 2), 3, t.ones(2), t.ones(2))


def baddbmm_with_numbers_in_front(t: Any) -> Any:
    x = t.ones(1, 2, 2)
    return t.baddbmm(2, x, 3, x, x)


def addbmm_with_numbers_in_front(t: Any) -> Any:
    x = t.ones(1, 2, 2)
    return t.addbmm(2, t.ones(2, 2), 3, x, x)


def add_with_the_factor_in_front(t: Any) -> Any:
    return t.add(t.ones(2), 3, t.ones(2))


def sub_with_the_factor_in_front(t: Any) -> Any:
    return t.sub(t.ones(2), 3, t.ones(2))


def the_method_add_with_the_factor_in_front(t: Any) -> Any:
    return t.ones(2).add(3, t.ones(2))


def add_in_place_with_the_factor_in_front(t: Any) -> Any:
    return t.ones(2).add_(3, t.ones(2))


def addcmul_in_place_with_the_value_in_front(t: Any) -> Any:
    x = t.ones(2)
    return x.addcmul_(3, t.ones(2), t.ones(2))


def addmm_in_place_with_numbers_in_front(t: Any) -> Any:
    return t.ones(2, 2).addmm_(2, 3, t.ones(2, 2), t.ones(2, 2))


def an_array_that_cannot_be_written(t: Any) -> Any:
    a = np.ones(2, np.float32)
    a.flags.writeable = False
    return t.from_numpy(a)


def an_array_that_cannot_be_written_as_tensor(t: Any) -> Any:
    a = np.ones(2, np.float32)
    a.flags.writeable = False
    return t.as_tensor(a)


def a_copy_of_an_array_that_cannot_be_written(t: Any) -> Any:
    a = np.ones(2, np.float32)
    a.flags.writeable = False
    return t.tensor(a)


def a_buffer_that_cannot_be_written(t: Any) -> Any:
    return t.frombuffer(b"abcd", dtype=t.uint8)


def a_buffer_that_can_be_written(t: Any) -> Any:
    return t.frombuffer(bytearray(b"abcd"), dtype=t.uint8)


def a_tensor_of_a_tensor(t: Any) -> Any:
    return t.tensor(t.ones(2))


def new_tensor_of_a_tensor(t: Any) -> Any:
    return t.ones(2).new_tensor(t.ones(2))


def a_list_of_arrays(t: Any) -> Any:
    return t.tensor([np.ones(2), np.ones(2)])


def a_mask_of_bytes_as_an_index(t: Any) -> Any:
    return t.arange(3)[t.tensor([1, 0, 1], dtype=t.uint8)]


def a_mask_of_bytes_written_through(t: Any) -> Any:
    x = t.arange(3)
    x[t.tensor([1, 0, 1], dtype=t.uint8)] = 7
    return x


def a_mask_of_bytes_in_masked_fill(t: Any) -> Any:
    return t.arange(3).masked_fill(t.tensor([1, 0, 1], dtype=t.uint8), 7)


def a_mask_of_bytes_in_masked_select(t: Any) -> Any:
    return t.arange(3).masked_select(t.tensor([1, 0, 1], dtype=t.uint8))


def a_mask_of_bytes_in_masked_scatter(t: Any) -> Any:
    return t.arange(3).masked_scatter(t.tensor([1, 0, 1], dtype=t.uint8), t.tensor([8, 9]))


def a_condition_of_bytes(t: Any) -> Any:
    return t.where(t.tensor([1, 0], dtype=t.uint8), t.ones(2), t.zeros(2))


def a_condition_of_integers(t: Any) -> Any:
    return t.where(t.tensor([1, 0]), t.ones(2), t.zeros(2))


def a_list_as_an_index_in_a_list(t: Any) -> Any:
    return t.arange(4).view(2, 2)[[[0, 1], [1, 0]]]


def backward_with_create_graph(t: Any) -> Any:
    x = t.ones(1, requires_grad=True)
    (x * x).sum().backward(create_graph=True)
    g = x.grad
    x.grad = None
    return g


def grad_of_a_result(t: Any) -> Any:
    return (t.ones(1, requires_grad=True) * 2).grad


def a_complex_number_made_real(t: Any) -> Any:
    return t.tensor([1 + 2j]).to(t.float32)


def a_transpose_of_three_dimensions(t: Any) -> Any:
    return t.ones(1, 2, 3).T


def h_of_three_dimensions(t: Any) -> Any:
    return t.ones(1, 2, 3).H


def a_resized_out(t: Any) -> Any:
    return t.add(t.ones(2), 1, out=t.empty(3))


def an_empty_out(t: Any) -> Any:
    return t.add(t.ones(2), 1, out=t.empty(0))


def lr_scheduler_before_the_optimizer(t: Any) -> Any:
    o = t.optim.SGD([t.ones(1, requires_grad=True)], lr=0.1)
    s = t.optim.lr_scheduler.StepLR(o, 1)
    s.step()
    return s.get_last_lr()


def an_implicit_dimension_of_softmax(t: Any) -> Any:
    return t.nn.functional.softmax(t.ones(2, 2))


def a_loss_of_other_sizes(t: Any) -> Any:
    return t.nn.functional.mse_loss(t.ones(2, 1), t.ones(2))


def size_average(t: Any) -> Any:
    return t.nn.functional.mse_loss(t.ones(2), t.ones(2), size_average=False)


def functional_tanh(t: Any) -> Any:
    return t.nn.functional.tanh(t.ones(2))


def functional_sigmoid(t: Any) -> Any:
    return t.nn.functional.sigmoid(t.ones(2))


def initialised_by_an_old_name(t: Any) -> Any:
    return t.nn.init.constant(t.empty(2), 3.0)


def an_empty_tensor_initialised(t: Any) -> Any:
    return t.nn.init.kaiming_uniform_(t.empty(0, 2))


def a_standard_deviation_of_one_number(t: Any) -> Any:
    return t.ones(1).std()


def a_variance_of_nothing_left(t: Any) -> Any:
    return t.var(t.ones(2, 1), dim=1)


def range_of_numbers(t: Any) -> Any:
    return t.range(0, 2)


def meshgrid_without_indexing(t: Any) -> Any:
    return t.meshgrid(t.arange(2), t.arange(2))


def a_product_of_transposed_without_dim(t: Any) -> Any:
    return t.cross(t.ones(2, 3), t.ones(2, 3))


def the_norm_of_a_gradient_that_is_none(t: Any) -> Any:
    return t.nn.utils.clip_grad_norm_([t.ones(2, requires_grad=True)], 1.0)


def an_old_clip(t: Any) -> Any:
    p = t.ones(2, requires_grad=True)
    p.grad = t.ones(2)
    return t.nn.utils.clip_grad_norm(p, 1.0)


def an_even_kernel_with_padding_same(t: Any) -> Any:
    return t.nn.functional.conv1d(t.ones(1, 1, 4), t.ones(1, 1, 2), padding="same")


def a_lstm_with_dropout_of_one_layer(t: Any) -> Any:
    return t.nn.LSTM(2, 2, dropout=0.5).dropout


def an_old_upsample(t: Any) -> Any:
    return t.nn.functional.upsample(t.ones(1, 1, 2), scale_factor=2)


def align_corners_not_said(t: Any) -> Any:
    return t.nn.functional.grid_sample(t.ones(1, 1, 2, 2), t.zeros(1, 2, 2, 2))


def storage_of_a_tensor(t: Any) -> Any:
    return t.ones(2).storage().size()


def out_of_integers_for_a_float(t: Any) -> Any:
    return t.add(t.ones(2), 1.0, out=t.empty(2, dtype=t.int64))


def out_of_floats_for_a_complex(t: Any) -> Any:
    return t.add(t.ones(2, dtype=t.complex64), 1.0, out=t.empty(2))


def out_of_another_dtype_of_mm(t: Any) -> Any:
    return t.mm(t.ones(2, 2), t.ones(2, 2), out=t.empty(2, 2, dtype=t.float64))


def out_of_another_dtype_of_sum(t: Any) -> Any:
    return t.sum(t.ones(2), 0, out=t.empty((), dtype=t.int64))


def out_of_another_dtype_of_cat(t: Any) -> Any:
    return t.cat([t.ones(2), t.ones(2)], out=t.empty(4, dtype=t.int64))


def out_of_another_dtype_of_sort(t: Any) -> Any:
    return t.sort(t.ones(2), out=(t.empty(2, dtype=t.float64), t.empty(2, dtype=t.int64)))


def out_of_another_dtype_of_sort_indices(t: Any) -> Any:
    return t.sort(t.ones(2), out=(t.empty(2), t.empty(2, dtype=t.int32)))


def out_of_another_dtype_of_topk(t: Any) -> Any:
    return t.topk(t.ones(3), 2, out=(t.empty(2, dtype=t.float64), t.empty(2, dtype=t.int64)))


def out_of_another_dtype_of_max(t: Any) -> Any:
    return t.max(t.ones(2), 0, out=(t.empty(()), t.empty((), dtype=t.int32)))


def out_of_another_dtype_of_argmax(t: Any) -> Any:
    return t.argmax(t.ones(2), 0, out=t.empty((), dtype=t.float32))


def out_of_another_dtype_of_cumsum(t: Any) -> Any:
    return t.cumsum(t.ones(2), 0, out=t.empty(2, dtype=t.float64))


def out_of_another_dtype_of_gather(t: Any) -> Any:
    i = t.tensor([0, 1])
    return t.gather(t.ones(2), 0, i, out=t.empty(2, dtype=t.float64))


def out_of_another_dtype_of_index_select(t: Any) -> Any:
    i = t.tensor([0, 1])
    return t.index_select(t.ones(2), 0, i, out=t.empty(2, dtype=t.float64))


def out_of_another_dtype_of_take(t: Any) -> Any:
    return t.take(t.ones(2), t.tensor([0]), out=t.empty(1, dtype=t.float64))


def out_of_another_dtype_of_masked_select(t: Any) -> Any:
    return t.masked_select(t.ones(2), t.tensor([True, False]), out=t.empty(1, dtype=t.float64))


def out_of_another_dtype_of_nonzero(t: Any) -> Any:
    return t.nonzero(t.ones(2), out=t.empty(2, 1, dtype=t.int32))


def out_of_another_dtype_of_arange(t: Any) -> Any:
    return t.arange(3, out=t.empty(3, dtype=t.float64))


def out_of_another_dtype_of_linspace(t: Any) -> Any:
    return t.linspace(0, 1, 3, out=t.empty(3, dtype=t.float64))


def out_of_another_dtype_of_zeros(t: Any) -> Any:
    return t.zeros(2, out=t.empty(2, dtype=t.float64))


def out_of_another_dtype_than_said_of_zeros(t: Any) -> Any:
    return t.zeros(2, dtype=t.float32, out=t.empty(2, dtype=t.float64))


def out_of_another_dtype_of_eq(t: Any) -> Any:
    return t.eq(t.ones(2), 1, out=t.empty(2))


def out_of_another_dtype_of_isfinite(t: Any) -> Any:
    return t.all(t.ones(2), out=t.empty(()))


def out_of_another_dtype_of_inv(t: Any) -> Any:
    return t.linalg.inv(t.eye(2), out=t.empty(2, 2, dtype=t.float64))


def out_of_another_dtype_of_solve(t: Any) -> Any:
    return t.linalg.solve(t.eye(2), t.ones(2), out=t.empty(2, dtype=t.int64))


def out_of_another_dtype_of_svd(t: Any) -> Any:
    e = t.empty(0, dtype=t.int64)
    return t.linalg.svd(t.eye(2), out=(e, e.clone(), e.clone()))


def out_of_another_dtype_of_norm(t: Any) -> Any:
    return t.linalg.vector_norm(t.ones(2), out=t.empty((), dtype=t.float64))


def out_of_another_dtype_of_fft(t: Any) -> Any:
    return t.fft.fft(t.ones(2), out=t.empty(2))


def out_of_another_dtype_of_bmm(t: Any) -> Any:
    x = t.ones(1, 2, 2)
    return t.bmm(x, x, out=t.empty(1, 2, 2, dtype=t.float64))


def out_of_another_dtype_of_dot(t: Any) -> Any:
    return t.dot(t.ones(2), t.ones(2), out=t.empty((), dtype=t.float64))


def out_of_another_dtype_of_where(t: Any) -> Any:
    c = t.tensor([True, False])
    return t.where(c, t.ones(2), t.zeros(2), out=t.empty(2, dtype=t.float64))


def out_of_another_dtype_of_median(t: Any) -> Any:
    return t.median(t.ones(2), 0, out=(t.empty(()), t.empty((), dtype=t.int32)))


def out_of_another_dtype_of_the_values_of_median(t: Any) -> Any:
    return t.median(t.ones(2), 0, out=(t.empty((), dtype=t.int32), t.empty((), dtype=t.int64)))


def out_of_another_dtype_of_mode(t: Any) -> Any:
    return t.mode(t.ones(2), 0, out=(t.empty(()), t.empty((), dtype=t.int32)))


def out_of_another_dtype_of_kthvalue(t: Any) -> Any:
    return t.kthvalue(t.ones(2), 1, 0, out=(t.empty(()), t.empty((), dtype=t.int32)))


def out_of_another_dtype_of_cummax(t: Any) -> Any:
    return t.cummax(t.ones(2), 0, out=(t.empty(2), t.empty(2, dtype=t.int32)))


def out_that_is_no_tensor(t: Any) -> Any:
    return t.add(t.ones(2), 1, out=3)


def out_that_requires_grad(t: Any) -> Any:
    return t.add(t.ones(2), 1, out=t.empty(2, requires_grad=True))


def out_with_an_input_that_requires_grad(t: Any) -> Any:
    return t.mm(t.ones(2, 2, requires_grad=True), t.ones(2, 2), out=t.empty(2, 2))


def out_of_the_wrong_number(t: Any) -> Any:
    return t.sort(t.ones(2), out=(t.empty(2),))


def backward_of_several_with_create_graph(t: Any) -> Any:
    x = t.ones(1, requires_grad=True)
    t.autograd.backward([x * x, x * 3], create_graph=True)
    g = x.grad
    x.grad = None
    return g


def backward_into_inputs_with_create_graph(t: Any) -> Any:
    x = t.ones(1, requires_grad=True)
    (x * x).backward(create_graph=True, inputs=[x])
    g = x.grad
    x.grad = None
    return g


def grad_with_create_graph(t: Any) -> Any:
    x = t.ones(1, requires_grad=True)
    return t.autograd.grad(x * x, x, create_graph=True)


def the_method_sub_with_the_factor_in_front(t: Any) -> Any:
    return t.ones(2).sub(3, t.ones(2))


def the_method_addmm_with_numbers_in_front(t: Any) -> Any:
    return t.ones(2, 2).addmm(2, 3, t.ones(2, 2), t.ones(2, 2))


def the_method_addcdiv_with_the_value_in_front(t: Any) -> Any:
    return t.ones(2).addcdiv(3, t.ones(2), t.ones(2))


def add_with_the_factor_in_front_and_out(t: Any) -> Any:
    return t.add(t.ones(2), 3, t.ones(2), out=t.empty(2))


def a_readonly_view_of_an_array(t: Any) -> Any:
    return t.from_numpy(np.broadcast_to(np.ones(1, np.float32), (2,)))


def a_readonly_array_by_asarray(t: Any) -> Any:
    a = np.ones(2, np.float32)
    a.flags.writeable = False
    return t.asarray(a)


def a_readonly_memoryview(t: Any) -> Any:
    return t.frombuffer(memoryview(b"abcd"), dtype=t.uint8, count=2, offset=1)


def an_array_of_negative_strides(t: Any) -> Any:
    return t.from_numpy(np.ones(3, np.float32)[::-1])


def a_mask_of_bytes_in_place(t: Any) -> Any:
    return t.arange(3).masked_fill_(t.tensor([1, 0, 1], dtype=t.uint8), 7)


def a_mask_of_bytes_beside_an_index(t: Any) -> Any:
    return t.arange(6).view(2, 3)[t.tensor([0]), t.tensor([1, 0, 0], dtype=t.uint8)]


def index_put_by_a_mask_of_bytes(t: Any) -> Any:
    m = t.tensor([1, 0, 1], dtype=t.uint8)
    return t.arange(3).index_put((m,), t.tensor(7))
