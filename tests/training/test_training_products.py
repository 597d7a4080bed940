"""Products of float32 on a CPU may come from the faster library where they stay of float32, and only while training."""

import pytest
import torch

from dico.training.products import allowed_bf16, onednn_keeps_float32, quick_float32
from dico.training.staging import Stage

SETTINGS = torch.backends.mkldnn.matmul


def test_within_a_stage_onednn_is_asked_where_it_keeps_float32(monkeypatch):
    monkeypatch.setattr("dico.training.products.onednn_keeps_float32", lambda: True)
    with Stage("eager", "cpu").entered():
        assert SETTINGS.fp32_precision == "bf16"


def test_of_several_threads_the_last_one_puts_the_setting_back():
    before = SETTINGS.fp32_precision
    first, second = allowed_bf16(), allowed_bf16()
    with first:
        second.__enter__()
    assert SETTINGS.fp32_precision == "bf16"
    second.__exit__(None, None, None)
    assert SETTINGS.fp32_precision == before


def test_products_within_a_stage_are_of_float32():
    left, right = torch.randn(4, 700, 256), torch.randn(4, 256, 32)
    exact = left.double() @ right.double()
    with Stage("eager", "cpu").entered():
        for product in (left @ right, (right.mT @ left.mT).mT):
            torch.testing.assert_close(product.double(), exact, rtol=1e-5, atol=1e-4)


def test_a_library_that_rounds_to_bf16_is_found_out_and_left_alone(monkeypatch):
    product = torch.Tensor.__matmul__

    def rounded(left, right):
        return product(left.bfloat16(), right.bfloat16()).float()

    monkeypatch.setattr(torch.Tensor, "__matmul__", rounded)
    assert not onednn_keeps_float32.__wrapped__()
    monkeypatch.setattr("dico.training.products.onednn_keeps_float32", lambda: False)
    before = SETTINGS.fp32_precision
    with quick_float32():
        assert SETTINGS.fp32_precision == before


def test_the_setting_is_put_back_whatever_happens():
    before = SETTINGS.fp32_precision
    with pytest.raises(KeyError), quick_float32():
        raise KeyError
    assert SETTINGS.fp32_precision == before
    onednn_keeps_float32.__wrapped__()
    assert SETTINGS.fp32_precision == before


def test_it_is_tried_with_float32_whatever_the_default_is(monkeypatch):
    product, kinds = torch.Tensor.__matmul__, set()

    def noted(left, right):
        kinds.add((left.dtype, left.device.type))
        return product(left, right)

    monkeypatch.setattr(torch.Tensor, "__matmul__", noted)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.device("meta"):
            onednn_keeps_float32.__wrapped__()
    finally:
        torch.set_default_dtype(torch.float32)
    assert kinds == {(torch.float32, "cpu")}
