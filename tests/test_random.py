"""Random numbers against the published generator, their distributions, and each other."""

import pytest
import torch

from dico.random import Random, mix

WORD = 2**64


def splitmix64(z):
    """The output function as published, in unbounded integers."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)


def test_the_hash_is_splitmix64():
    words = torch.randint(-(2**62), 2**62, (500,), generator=torch.Generator().manual_seed(0))
    assert [h % WORD for h in mix(words).tolist()] == [splitmix64(w % WORD) for w in words.tolist()]


def test_numbers_have_their_distributions():
    rng = Random([0, 1])
    uniform, normal, whole = rng.uniform(200_000, low=-1, high=3), rng.normal(200_000), rng.integers(7, 70_000)
    assert uniform.min() >= -1
    assert uniform.max() < 3
    torch.testing.assert_close(uniform.mean(-1), torch.ones(2), rtol=0, atol=0.02)
    torch.testing.assert_close(normal.std(-1), torch.ones(2), rtol=0, atol=0.01)
    torch.testing.assert_close(normal.pow(4).mean(-1), torch.full((2,), 3.0), rtol=0, atol=0.1)
    assert whole[0].bincount(minlength=7).tolist() == pytest.approx([10_000] * 7, rel=0.05)
    assert rng.permutation(50)[1].sort().values.tolist() == list(range(50))
    orders = rng.permutation(5, 1000)[0]
    assert orders.sort(-1).values.tolist() == 1000 * [list(range(5))]
    assert orders.unique(dim=0).shape[0] == 120


def test_streams_and_seeds_differ_and_members_do_not_depend_on_each_other():
    together = Random([5, 6, 7]).normal(10, 2)
    assert torch.equal(together[2], Random([7]).normal(10, 2)[0])
    assert not torch.equal(together[0], together[1])
    assert not torch.equal(Random([5], stream=1).normal(10, 2), together[:1])


def test_the_counter_is_the_whole_state():
    rng, again = Random([3]), Random([3])
    rng.uniform(17)
    again.counter.copy_(rng.counter)
    assert torch.equal(rng.normal(9), again.normal(9))
