"""PrimeINR: its features are NumPy's, its sigma is the rule's, it learns, it refuses bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import primal  # noqa: E402
from primal.errors import ParameterError  # noqa: E402
from primal.torch import PrimeINR, sampling_sigma  # noqa: E402


def test_the_first_layer_has_the_bits_of_the_numpy_map():
    net = PrimeINR(2, samples_per_unit=128, n_features=64)
    x = np.random.default_rng(0).uniform(-1, 1, (50, 2)).astype(np.float32)
    m = primal.DynamicPrime(2, 64, sampling_sigma(128), basis="auto", layout="interleaved")
    np.testing.assert_array_equal(net.features(torch.from_numpy(x)).numpy(), m.encode(x))


def test_sigma_grows_with_the_sampling_rate_and_stays_below_nyquist():
    assert sampling_sigma(200.0) == 2 * sampling_sigma(100.0)
    assert 3 * sampling_sigma(100.0) < 50.0  # three standard deviations


def test_parameters_are_those_of_the_dense_layers():
    net = PrimeINR(3, 4, sigma=1.0, n_features=10, width=7, n_hidden=2)
    shapes = [tuple(p.shape) for p in net.parameters()]
    assert shapes == [(7, 10), (7,), (7, 7), (7,), (4, 7), (4,)]
    assert net(torch.zeros(2, 5, 3)).shape == (2, 5, 4)


def test_learned_frequencies_are_parameters_that_start_at_the_primes():
    fixed, learned = (
        PrimeINR(1, sigma=2.0, n_features=8, learnable_frequencies=flag) for flag in (False, True)
    )
    x = torch.linspace(-1, 1, 9)[:, None]
    torch.testing.assert_close(learned.features(x), fixed.features(x), rtol=0, atol=1e-6)
    assert len(list(learned.parameters())) == len(list(fixed.parameters())) + 1
    learned(x).sum().backward()
    assert learned.features.frequency_shift.grad.abs().max() > 0


def test_a_sine_body_starts_as_siren_does():
    torch.manual_seed(0)
    net = PrimeINR(2, sigma=1.0, n_features=64, width=128, body="sine")
    weights = [p for p in net.body.parameters() if p.dim() == 2]
    for weight in weights:
        limit = math.sqrt(6 / weight.shape[1]) / 30
        assert 0.9 * limit < weight.abs().max() <= limit
    # What the weights send into a sine then has a standard deviation near one.
    x = torch.rand(500, 2) * 2 - 1
    entering = 30 * (net.features(x) @ weights[0].T)
    assert 0.7 < entering.std() < 1.4


@pytest.mark.parametrize("body", ["relu", "sine"])
def test_it_fits_what_plain_coordinates_do_not(body):
    """A wave of 20 periods: a network of bare coordinates stays near the mean."""
    x = torch.linspace(-1, 1, 256)[:, None]
    y = torch.sin(2 * math.pi * 10 * x)

    def error(net: torch.nn.Module) -> float:
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
        for _ in range(150):
            optimizer.zero_grad()
            loss = (net(x) - y).square().mean()
            loss.backward()
            optimizer.step()
        return loss.item()

    torch.manual_seed(0)
    prime = PrimeINR(1, samples_per_unit=256, n_features=32, width=64, body=body)
    plain = torch.nn.Sequential(
        torch.nn.Linear(1, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 1),
    )
    assert error(prime) < 0.01
    assert error(plain) > 0.3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ParameterError, "samples_per_unit or sigma"),
        ({"sigma": 1.0, "samples_per_unit": 5}, ParameterError, "one of the two"),
        ({"samples_per_unit": 0}, ParameterError, "samples_per_unit must"),
        ({"samples_per_unit": math.nan}, ParameterError, "samples_per_unit must"),
        ({"sigma": 1.0, "n_features": 7}, ParameterError, "^n_features must be even"),
        ({"sigma": 1.0, "n_hidden": 0}, ParameterError, "n_hidden"),
        ({"sigma": 1.0, "width": 0}, ParameterError, "width"),
        ({"sigma": 1.0, "body": "gelu"}, ParameterError, "gelu"),
        ({"sigma": 1.0, "basis": "gauss"}, ParameterError, "gauss"),
    ],
)
def test_bad_arguments_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        PrimeINR(2, **options)
