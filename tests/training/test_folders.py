"""What a training leaves behind is what the reader reads."""

import json
import struct

import numpy as np
import yaml

from drspcrl.envs import make
from drspcrl.policy import load_policy
from drspcrl.runfolder.runs import read_run
from drspcrl.training.folder import FIRST_COLUMNS
from drspcrl.training.telemetry import EventWriter, crc32c


def test_folders_are_named_and_read_as_runs(trained):
    config, folders = trained
    names = [f"Pendulum-v1-{config.algorithm}-vanilla-s{seed}" for seed in (3, 4)]
    assert [folder.name for folder in folders] == names
    for folder, seed in zip(folders, (3, 4), strict=True):
        run = read_run(folder)
        assert run.identity == ("Pendulum-v1", config.algorithm, "vanilla", seed)
        assert run.status == "finished"
        assert tuple(run.metrics)[: len(FIRST_COLUMNS)] == FIRST_COLUMNS
        assert run.metrics["step"][-1] == 256
        assert np.isfinite(run.metrics["critic_loss"][-1])
        assert np.all(run.metrics["epsilon"] == 0)


def test_run_json_says_what_it_was_made_with(trained):
    _, folders = trained
    info = json.loads((folders[0] / "run.json").read_text())
    assert {"python", "drspcrl", "jax", "mujoco", "numpy"} <= set(info["versions"])
    assert info["machine"]["cores"] >= 1
    assert info["steps"] == 256
    assert info["best"]["step"] in (128, 256)


def test_config_yaml_is_resolved(trained):
    config, folders = trained
    content = yaml.safe_load((folders[1] / "config.yaml").read_text())
    assert content["settings"]["hidden"] == [16, 16]
    assert content["settings"]["discount"] == 0.99
    assert content["seed"] == 4
    shared = {"methods": ["vanilla"], "seeds": [3, 4], "settings": dict(config.settings)}
    assert content["population"] == shared
    assert set(content["settings"]) == set(config.resolved.flat())


def test_policies_act_within_bounds_and_members_differ(trained):
    _, folders = trained
    observations = np.random.default_rng(0).normal(size=(50, 3))
    actions = [load_policy(folder)(observations) for folder in folders]
    assert np.abs(actions).max() <= 2.0
    assert not np.allclose(actions[0], actions[1])


def test_best_policy_reaches_the_return_it_was_kept_for(trained):
    _, folders = trained
    best = load_policy(folders[0] / "policy-best.safetensors")
    claimed = json.loads((folders[0] / "run.json").read_text())["best"]["return"]
    env = make("Pendulum-v1", 2)
    observation = env.reset(seeds=[(3, e, 0, 11) for e in range(2)])
    total = np.zeros(2)
    for _ in range(200):
        step = env.step(best(observation))
        total += step.reward
        observation = step.observation
    np.testing.assert_allclose(total.mean(), claimed, rtol=1e-3)


def test_nothing_is_left_aside(trained):
    _, folders = trained
    for folder in folders:
        names = {file.name for file in folder.iterdir()}
        assert not [name for name in names if name.startswith(".")]
        events = {name for name in names if name.startswith("events.out.tfevents.")}
        assert names - events == {
            "checkpoint",
            "config.yaml",
            "metrics.csv",
            "policy-best.safetensors",
            "policy.safetensors",
            "run.json",
        }
        assert len(events) == 1


def records(content: bytes) -> list[bytes]:
    """The payloads of an event file, after their checksums are checked."""
    payloads = []
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        for start, size in ((0, 8), (12, length)):
            (stored,) = struct.unpack("<I", content[start + size : start + size + 4])
            unmasked = (stored - 0xA282EAD8) & 0xFFFFFFFF
            assert (unmasked >> 17 | unmasked << 15 & 0xFFFFFFFF) == crc32c(
                content[start : start + size]
            )
        payloads.append(content[12 : 12 + length])
        content = content[16 + length :]
    return payloads


def test_checksum_has_its_published_value():
    assert crc32c(b"123456789") == 0xE3069283


def test_events_byte_by_byte(tmp_path):
    writer = EventWriter(tmp_path)
    writer.add(300, {"a": 1.5})
    writer.close()
    (file,) = tmp_path.iterdir()
    version, event = records(file.read_bytes())
    assert version[9:] == b"\x1a\x0dbrain.Event:2"
    # Field 2 is 300 as a varint, field 5 the summary {1: {1: "a", 2: 1.5}}.
    value = b"\x0a\x01a\x15" + struct.pack("<f", 1.5)
    summary = b"\x0a" + bytes([len(value)]) + value
    assert event[9:] == b"\x10\xac\x02" + b"\x2a" + bytes([len(summary)]) + summary


def test_events_hold_every_row(trained):
    _, folders = trained
    (file,) = folders[0].glob("events*")
    rows = len(read_run(folders[0]).metrics["step"])
    assert len(records(file.read_bytes())) == rows + 1
