"""Keys stay out of everything that is shown or stored; templates match, revoke and rotate."""

import copy
import hashlib
import io
import json
import logging
import pickle
import traceback

import numpy as np
import pytest

from primal import PrimalError
from primal.decoding import Box
from primal.exact import primes
from primal.privacy import Key, KeyedPrime
from primal.privacy._keyed import KEYED_BASES

SECRET = bytes(range(100, 132))


def key(number=1):
    return Key(SECRET, application="tests", version=number)


def made(basis="hadamard", bits=8, d=4, D=64, sigma=0.3, number=1):
    return KeyedPrime(key(number), d, D, sigma, basis=basis, bits=bits)


def rows(n, d=4, seed=0):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (n, d))


def test_the_stream_is_blake2b_of_secret_application_and_version():
    derived = hashlib.blake2b(
        (3).to_bytes(8, "little") + b"door", key=SECRET, person=b"primal.privacy.1"
    ).digest()
    person = hashlib.blake2b(b"signs", digest_size=16).digest()
    expected = b"".join(
        hashlib.blake2b(i.to_bytes(8, "little"), key=derived, person=person).digest()
        for i in range(2)
    )[:70]
    assert Key(SECRET, application="door", version=3)._stream("signs", 70).tobytes() == expected


@pytest.mark.parametrize(
    "other",
    [
        Key(SECRET, application="tests", version=2),
        Key(SECRET, application="test", version=1),
        Key(SECRET[::-1], application="tests"),
    ],
)
def test_version_application_and_secret_each_change_every_stream(other):
    same = np.unpackbits(key()._stream("x", 1 << 12) ^ other._stream("x", 1 << 12)).mean()
    assert abs(same - 0.5) < 0.02  # 7 deviations of 32768 fair bits
    assert key() == key()
    assert key() != other


def _leaks(text: str) -> list[str]:
    """Forms of the secret, or of what is derived from it, that occur in a text."""
    derived = key()._derived
    forms = [repr(part)[2:-1] for part in (SECRET, derived, SECRET[:8], derived[:8])]
    forms += [part.hex() for part in (SECRET[:8], derived[:8])]
    forms += [", ".join(map(str, part[:6])) for part in (SECRET, derived)]
    return [form for form in forms if form in text]


def test_the_check_for_leaks_can_fail():
    assert _leaks(f"it was {SECRET!r}")
    assert _leaks(json.dumps(list(SECRET)))


@pytest.mark.parametrize("show", [repr, str, "{}".format])
def test_keys_are_in_no_text(show):
    m = made()
    stream = io.StringIO()
    logger = logging.Logger("keyed")
    logger.addHandler(logging.StreamHandler(stream))
    logger.error("%s %r", m, m._key)
    for text in (show(m), show(m._key), json.dumps(m.spec), stream.getvalue()):
        assert "Key" in text
        assert not _leaks(text)


@pytest.mark.parametrize("thing", [key(), made()], ids=["key", "map"])
@pytest.mark.parametrize("store", [pickle.dumps, copy.copy, copy.deepcopy])
def test_keys_are_not_pickled_or_copied(thing, store):
    with pytest.raises(PrimalError, match="is not pickled or copied") as caught:
        store(thing)
    assert not _leaks(str(caught.value))


WRONG = {
    "text": lambda: Key(SECRET.decode("latin1"), application="tests"),
    "short": lambda: Key(SECRET[:9], application="tests"),
    "long": lambda: Key(SECRET * 3, application="tests"),
    "application": lambda: Key(SECRET, application=7),
    "version": lambda: Key(SECRET, application="tests", version=-1),
    "no key": lambda: KeyedPrime(SECRET, 4, 64, 0.3),
    "same key": lambda: made().revoke(key()),
    "template": lambda: made().match(np.zeros(3, np.uint8), rows(1)[0]),
    "data": lambda: made().template(np.full(4, 1e20)),
    "spec": lambda: KeyedPrime.from_spec(made().spec, key(2)),
    "bits": lambda: made(bits=40),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_errors_show_no_key_even_with_all_variables(call):
    with pytest.raises(PrimalError) as caught:
        call()
    # The tests' own frames hold the secret as a global; those of the library must not show it.
    found = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    for frame in found.stack:
        assert not _leaks(f"{frame.locals}"), frame.name
    assert not _leaks("".join(found.format_exception_only()))
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("basis", KEYED_BASES)
def test_phases_are_those_of_the_frequencies_and_offsets(basis):
    m, x = made(basis), rows(20)
    exact = x @ m._table.values.T + m._offsets * 2.0**-32
    off = m.turns(x) * 2.0**-32 - exact
    assert np.abs(off - np.rint(off)).max() < 1e-9


def test_entries_are_distinct_primes_with_signs_in_keyed_order():
    m = made("signed", d=5, D=20, sigma=1.0)
    listed = primes(8 * 50).astype(float)
    squares = np.square(m._table.values) * listed.mean()
    nearest = np.abs(squares[:, :, None] - listed).argmin(axis=2)
    np.testing.assert_allclose(listed[nearest], squares, rtol=1e-12)
    assert len(set(nearest.ravel())) == 50
    assert 10 < np.count_nonzero(m._table.values < 0) < 40


@pytest.mark.parametrize("basis", KEYED_BASES)
def test_frequencies_have_a_mean_square_of_one(basis):
    values = made(basis, d=32, D=512, sigma=1.0)._table.values
    assert abs(np.square(values).mean() - 1.0) < 0.05


@pytest.mark.parametrize("bits", [3, 8, 32])
@pytest.mark.parametrize("n_axes", [1, 32, 34, 62])
def test_templates_have_as_many_axes_as_rows(n_axes, bits):
    m, x = made(bits=bits), rows(1)[0]
    shape = (1,) * (n_axes - 1)
    many, template = x.reshape(*shape, -1), m.template(x)
    np.testing.assert_array_equal(m.template(many), template.reshape(*shape, -1))
    assert m.features(many).shape == (*shape, m.D)
    assert m.match(m.template(many), many).shape == shape
    assert m.decode(m.template(many), prior=Box(2.0)).x.shape == many.shape


def test_templates_of_the_same_row_match_and_under_a_new_key_do_not():
    m, x = made(d=8, D=512), rows(200, 8)
    new = m.revoke(key(2))
    templates = m.template(x)
    assert templates.shape == (200, m.n_bytes) == (200, 256)
    assert m.match(templates, x).min() > 0.9999
    across = m.scores(templates, new.template(x))
    # 256 independent phases: cosines of deviation 1/sqrt(512).
    assert np.abs(np.diagonal(across)).max() < 6 / np.sqrt(512)
    np.testing.assert_allclose(np.diagonal(m.scores(templates, templates)), 1.0)


@pytest.mark.parametrize("basis", KEYED_BASES)
def test_a_spec_makes_the_same_map_with_the_key(basis):
    m, x = made(basis), rows(3)
    again = KeyedPrime.from_spec(json.loads(json.dumps(m.spec)), key())
    np.testing.assert_array_equal(again.template(x), m.template(x))


@pytest.mark.parametrize("basis", KEYED_BASES)
def test_rotation_moves_templates_to_the_new_key(basis):
    old, x = made(basis, bits=16), rows(20)
    new = old.revoke(key(2))
    rotated, done = old.rotate(old.template(x), new, prior=Box(1.0))
    assert done.all()
    assert new.match(rotated, x).min() > 0.99999
    # What fits no row is not passed on.
    noise = np.random.default_rng(5).integers(0, 256, (4, old.n_bytes), dtype=np.uint8)
    rotated, done = old.rotate(noise, new, prior=Box(1.0))
    assert not done.any()
    assert not rotated.any()


def test_golden_template():
    """Bits of a template never change: stored ones must match for ever."""
    x = np.linspace(-1.0, 1.0, 6)
    found = {
        basis: KeyedPrime(key(), 6, 32, 0.5, basis=basis).template(x).tobytes().hex()
        for basis in KEYED_BASES
    }
    assert found == {
        "hadamard": "1c705a684d56835d",
        "signed": "9ef797d2fbf4ad98",
        "table": "c8fbcb0bd994d723",
    }


@pytest.mark.parametrize("bits", [1, 4, 32])
def test_no_rows_have_no_templates(bits):
    m = KeyedPrime(Key(SECRET, application="test"), 3, 18, 1.0, bits=bits)
    none = np.empty((0, 3))
    assert m.template(none).shape == (0, -(-9 * bits // 8))
    assert m.features(none).shape == (0, 18)


def test_a_spec_with_another_field_is_not_blamed_on_the_key():
    key = Key(bytes(32), application="test")
    spec = KeyedPrime(key, 3, 16, 0.1).spec
    with pytest.raises(PrimalError, match="the spec has more; a KeyedPrime has exactly"):
        KeyedPrime.from_spec(spec | {"more": 1}, key)
    with pytest.raises(PrimalError, match="is for application 'other'"):
        KeyedPrime.from_spec(spec | {"application": "other"}, key)


def test_an_application_that_has_no_bytes_is_rejected():
    with pytest.raises(PrimalError, match="application must be a name"):
        Key(bytes(32), application="\ud800")
