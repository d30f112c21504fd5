"""Rotary embeddings of other libraries, replaced by exact ones: the same models, exact phases."""

from __future__ import annotations

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import primal  # noqa: E402
from primal.exact import round_turns, static_turns, waves  # noqa: E402
from primal.torch import PrimePositions, use_exact_rotary  # noqa: E402

SIZES = {
    "hidden_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 64,
    "vocab_size": 50,
    "head_dim": 16,
}
SCALED = [
    {"rope_type": "default", "rope_theta": 10000.0},
    {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0},
    {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 4.0,
        "original_max_position_embeddings": 512,
    },
]


def pair(model):
    """Return a model with exact rotary embeddings, how many, and the model as it was."""
    before = copy.deepcopy(model).eval()
    return model.eval(), use_exact_rotary(model), before


class TestTransformers:
    @pytest.fixture(autouse=True)
    def _installed(self):
        self.transformers = pytest.importorskip("transformers")

    def make(self, name="Llama", **options):
        torch.manual_seed(0)
        config = getattr(self.transformers, f"{name}Config")(
            **SIZES | {"pad_token_id": 0, "eos_token_id": 1}, **options
        )
        return getattr(self.transformers, f"{name}Model")(config)

    @pytest.mark.parametrize("rope", SCALED, ids=lambda rope: rope["rope_type"])
    @torch.no_grad()
    def test_scaled_models_compute_what_they_did(self, rope):
        model = self.make(rope_parameters=rope, max_position_embeddings=2048)
        model, n, before = pair(model)
        assert n == 1
        tokens = torch.arange(40).reshape(2, 20)
        found, expected = (m(tokens).last_hidden_state for m in (model, before))
        assert float((found - expected).abs().max()) < 1e-5
        assert model.state_dict().keys() == before.state_dict().keys()

    # Halves, pairs, one column for each pair, and two sets of frequencies.
    @pytest.mark.parametrize("name", ["Qwen3", "Cohere", "GptOss", "Gemma3Text"])
    @torch.no_grad()
    def test_conventions_of_other_models(self, name):
        model, n, before = pair(self.make(name))
        assert n == 1
        tokens = torch.arange(20)[None]
        found, expected = (m(tokens).last_hidden_state for m in (model, before))
        assert float((found - expected).abs().max()) < 1e-5

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
    def test_phases_are_exact_far_out(self, dtype):
        model = self.make()
        host = copy.deepcopy(model.rotary_emb)
        use_exact_rotary(model)
        t = np.array([3, 10**6 + 1, 10**12 + 7])
        cos, sin = model.rotary_emb(torch.zeros(1, dtype=dtype), torch.from_numpy(t)[None])
        radians = host.inv_freq.double().numpy()
        f = radians / (2 * np.pi)
        increments = np.array([round(float(v) * 2**64) for v in f], dtype=np.uint64)
        expected = waves(round_turns(static_turns(t.astype(np.uint64), increments)))
        for found, wave in zip((cos, sin), expected, strict=True):
            wave = torch.from_numpy(wave).to(dtype)
            assert torch.equal(found[0], torch.cat((wave, wave), dim=-1))
        # What was there before is noise at the last of them.
        theirs, _ = host(torch.zeros(1), torch.from_numpy(t)[None])
        assert float((theirs[0, 2] - cos[0, 2].float()).abs().max()) > 0.5

    def test_prime_frequencies_for_a_new_model(self):
        model = self.make()
        positions = PrimePositions(16, trained_length=128)
        assert use_exact_rotary(model, positions) == 1
        cos, _ = model.rotary_emb(torch.zeros(1), torch.tensor([[5]]))
        assert torch.equal(cos[0, 0, :8], positions(torch.tensor(5))[0::2])

    @torch.no_grad()
    def test_yarn_is_the_one_of_transformers(self):
        rope = SCALED[2]
        for theta, head_dim, length in ((1e4, 16, 512), (5e5, 128, 8192), (1e6, 64, 4096)):
            own = {"rope_theta": theta, "original_max_position_embeddings": length}
            options = {"rope_parameters": rope | own, "max_position_embeddings": 4 * length}
            config = self.transformers.LlamaConfig(**SIZES | {"head_dim": head_dim}, **options)
            initial = self.transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS["yarn"]
            radians, scaling = initial(config, "cpu")
            rotary = PrimePositions(head_dim, spacing="rotary", base=theta)
            found = rotary.stretched(4.0, trained_length=length).radians
            torch.testing.assert_close(found, radians.double(), rtol=3e-7, atol=0)
            assert scaling == pytest.approx(0.1 * np.log(4.0) + 1)

    def test_what_cannot_be_exact_is_refused(self):
        moving = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
        with pytest.raises(primal.PrimalError, match="'dynamic', which change with the length"):
            use_exact_rotary(self.make(rope_parameters=moving))
        with pytest.raises(primal.PrimalError, match=r"rounded to torch.bfloat16.*before"):
            use_exact_rotary(self.make().bfloat16())
        with pytest.raises(primal.PrimalError, match="turns 16 columns, got positions of D = 8"):
            use_exact_rotary(self.make(), PrimePositions(8))


class TestXTransformers:
    @torch.no_grad()
    def test_a_model_computes_what_it_did(self):
        library = pytest.importorskip("x_transformers")
        torch.manual_seed(0)
        layers = library.Decoder(
            dim=64, depth=1, heads=2, rotary_pos_emb=True, rotary_interpolation_factor=2.0
        )
        model = library.TransformerWrapper(num_tokens=50, max_seq_len=64, attn_layers=layers)
        model, n, before = pair(model)
        tokens = torch.arange(40).reshape(2, 20)
        assert n == 1
        assert float((model(tokens) - before(tokens)).abs().max()) < 1e-5
        assert model.state_dict().keys() == before.state_dict().keys()
        angles, _ = model.attn_layers.rotary_pos_emb(torch.tensor([10**12]))
        assert float(angles.abs().max()) < 3.2  # reduced in integers

    def test_scales_with_positions_are_refused(self):
        library = pytest.importorskip("x_transformers")
        model = library.Decoder(dim=64, depth=1, heads=2, rotary_xpos=True)
        with pytest.raises(primal.PrimalError, match="rotary_xpos"):
            use_exact_rotary(model)


def test_a_model_without_rotary_embeddings_says_so():
    with pytest.raises(primal.PrimalError, match="Linear has no rotary embedding"):
        use_exact_rotary(torch.nn.Linear(2, 2))


def test_a_second_call_says_that_the_model_is_exact():
    x_transformers = pytest.importorskip("x_transformers")
    model = x_transformers.Decoder(dim=32, depth=1, heads=2, rotary_pos_emb=True)
    assert use_exact_rotary(model) == 1
    kept = model.rotary_pos_emb
    for positions in (None, PrimePositions(16)):
        with pytest.raises(primal.PrimalError, match="that is not exact already"):
            use_exact_rotary(model, positions)
    assert model.rotary_pos_emb is kept


def test_a_module_that_does_something_else_is_refused():
    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("inv_freq", torch.tensor([1.0, 0.1]))
            self.attention_scaling, self.rope_type = 1.0, "default"

        def forward(self, x, position_ids):
            radians = position_ids[..., None] ** 2 * self.inv_freq
            return radians.cos(), radians.sin()

    with pytest.raises(primal.PrimalError, match="Odd does not compute what its frequencies say"):
        use_exact_rotary(torch.nn.Sequential(Odd()))


def test_a_model_without_values_is_refused():
    class Empty(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("inv_freq", torch.empty(2, device="meta"))
            self.attention_scaling, self.rope_type = 1.0, "default"

    with pytest.raises(primal.errors.DataError, match="Empty lies on the meta device: load"):
        use_exact_rotary(torch.nn.Sequential(Empty()))
