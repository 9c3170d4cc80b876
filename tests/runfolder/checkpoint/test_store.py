"""Checkpoints come back bit for bit, and at every moment of their writing one is whole."""

import hashlib
import json
import os
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hanging import no_hang

from drspcrl import files
from drspcrl.errors import InputError
from drspcrl.runfolder.checkpoint import Store, join, member
from drspcrl.runfolder.checkpoint.tree import LEAST_BYTES, flatten, to_host


class Node(NamedTuple):
    """A node as the learners have them."""

    kernel: object
    bias: object


def tree(seed: int = 0) -> dict:
    """One leaf of every kind."""
    random = np.random.default_rng(seed)
    return {
        "state": (Node(jnp.asarray(random.normal(size=(2, 3)), jnp.float32), jnp.zeros(2)), None),
        "half": jnp.ones((2, 4), jnp.bfloat16) * 1.5,
        "keys": jax.random.split(jax.random.key(seed), 2),
        "counts": np.arange(2, dtype=np.int64),
        "flags": np.array([True, False]),
        "words": np.array([2**64 - 1, 3], np.uint64),
        "scalar": np.float64(0.1),
        "steps": 2**70,
        "level": 0.1 + 0.2,
        "missing": float("nan"),
        "on": True,
        "name": "self_paced",
        "empty": np.zeros((2, 0), np.float32),
        "ring": random.normal(size=(2, 3, LEAST_BYTES // 8)).astype(np.float32),
    }


def fresh(like: dict) -> dict:
    """The same structure with other values."""
    return jax.tree.map(_other, like)


def _other(leaf):
    if isinstance(leaf, bool | str):
        return leaf
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.split(jax.random.key(99), leaf.shape)
    return np.zeros_like(leaf) if isinstance(leaf, np.ndarray) else leaf * 0


def assert_same(left, right) -> None:
    one, two = flatten(left), flatten(right)
    assert list(one) == list(two)
    for path in one:
        assert type(one[path]) is type(two[path]), path
        np.testing.assert_array_equal(to_host(one[path]), to_host(two[path]), err_msg=path)


def test_every_kind_of_leaf_comes_back(tmp_path):
    saved = tree()
    Store(tmp_path).write(7, {"all": saved}, {"note": [1]}, {"extra.txt": b"x"})
    found = Store(tmp_path).read(7)
    assert_same(found.like("all", fresh(saved)), saved)
    assert (found.step, found.notes, found.files) == (7, {"note": [1]}, {"extra.txt": b"x"})


def test_a_population_is_split_and_joined(tmp_path):
    population = tree()
    shared = ("scalar", "steps", "level", "missing", "on", "name")
    stores = [Store(tmp_path / str(k)) for k in range(2)]
    for k, store in enumerate(stores):
        store.write(1, {"all": member(population, k)})
    saved = [store.read(1) for store in stores]
    assert saved[0].value("all", "ring").shape == population["ring"].shape[1:]
    joined = join(saved, "all", fresh(population))
    assert_same(joined, population)
    assert all(name in joined for name in shared)


def test_only_what_changed_is_written_again(tmp_path):
    store, ring = Store(tmp_path), np.zeros((8, LEAST_BYTES), np.float32)  # 32 blocks
    store.write(1, {"ring": ring})
    blocks = tmp_path / "checkpoint" / "blocks"
    assert len(list(blocks.iterdir())) == 1  # rows that are still empty are all the same
    ring[:, 5] = 1.0
    store.write(2, {"ring": ring})
    assert len(list(blocks.iterdir())) == 2
    unchanged = {file: file.stat().st_mtime_ns for file in blocks.iterdir()}
    ring[:, -5] = 2.0
    store.write(3, {"ring": ring})
    store.keep()
    assert store.steps() == [2, 3]
    assert len(list(blocks.iterdir())) == 3
    assert all(file.stat().st_mtime_ns == t for file, t in unchanged.items())
    np.testing.assert_array_equal(Store(tmp_path).read(3).value("ring", ""), ring)
    for step in (4, 5):
        store.write(step, {"ring": ring * step})
        store.keep()
    assert len(list(blocks.iterdir())) == 5  # zeros, and two rows of each of the last two


@pytest.mark.parametrize("call", ["write_and_sync", "sync_folder", "replace", "fsync"])
def test_a_crash_at_any_call_leaves_the_one_before(tmp_path, monkeypatch, call):
    """Cut the writing off at its n-th call of the disk, for every n."""
    saved, later = tree(0), tree(1)
    n = 0
    while True:
        n += 1
        folder = tmp_path / f"{call}-{n}"
        store = Store(folder)
        store.write(1, {"all": saved})
        crashed = crash_at(monkeypatch, call, n, lambda s=store: s.write(2, {"all": later}))
        steps = Store(folder).steps()
        assert steps in ([1], [1, 2])
        for step in steps:
            expected = saved if step == 1 else later
            assert_same(Store(folder).read(step).like("all", fresh(saved)), expected)
        # What is left over does not stand in the way of the next process.
        again = Store(folder)
        again.write(2, {"all": later})
        again.keep()
        assert again.steps() == [1, 2]
        assert not list((folder / "checkpoint").rglob(".*"))
        if not crashed:
            break
    assert n > 1


class Crash(BaseException):
    """The power fails."""


def crash_at(monkeypatch, call: str, n: int, work) -> bool:
    """Run `work` with the n-th call failing; whether it came to that."""
    modules = [files, os] if call in ("replace", "fsync") else [files]
    if call in ("write_and_sync", "sync_folder"):
        from drspcrl.runfolder.checkpoint import store
        from drspcrl.runfolder.checkpoint import tree as trees

        modules += [m for m in (store, trees) if hasattr(m, call)]
    count = 0

    def failing(own):
        def wrapper(*arguments, **named):
            nonlocal count
            count += 1
            if count == n:
                raise Crash
            return own(*arguments, **named)

        return wrapper

    with monkeypatch.context() as patch:
        for module in modules:
            if hasattr(module, call):
                patch.setattr(module, call, failing(getattr(module, call)))
        try:
            work()
        except Crash:
            return True
    return False


def damage(file, how: str) -> None:
    content = file.read_bytes()
    if how == "missing":
        file.unlink()
    elif how == "cut":
        file.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        file.write_bytes(b"")
    else:
        middle = len(content) // 2
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])


@pytest.mark.parametrize("how", ["missing", "cut", "empty", "flipped"])
@pytest.mark.parametrize("what", ["manifest.json", "state.safetensors", "block", "extra.txt"])
def test_every_damage_is_seen(tmp_path, what, how):
    store = Store(tmp_path)
    store.write(1, {"all": tree()}, files={"extra.txt": b"something"})
    folder = tmp_path / "checkpoint"
    files = {"block": next((folder / "blocks").iterdir())}
    damage(files.get(what, folder / "step-000000000001" / what), how)
    with pytest.raises(InputError, match="step-000000000001") as caught:
        Store(tmp_path).read(1)
    assert "\n" not in str(caught.value)


BLOCK = hashlib.sha256(bytes(2**20)).hexdigest()


def blocks(shape: list[int], rows: int, count: int = 1) -> dict:
    """What a manifest says of an array in blocks."""
    array = {"kind": "array", "dtype": "float32", "shape": shape}
    return array | {"axis": 0, "rows": rows, "blocks": [BLOCK] * count}


def seal(manifest: dict) -> bytes:
    from drspcrl.runfolder.checkpoint import store

    return store._sealed(manifest)


@pytest.mark.parametrize(
    "change",
    [
        {"format_version": 2},
        {"files": {"../../secret": "0" * 64}},
        {"files": []},
        {"leaves": {"x": {"kind": "array", "dtype": "O", "shape": [1]}}},
        {"leaves": {"x": {"kind": "array", "dtype": "float32", "shape": [-1, "a"]}}},
        {"leaves": {"x": {"kind": "pickle", "value": "cos\nsystem"}}},
        {"leaves": {"x": {"kind": "int", "value": "seven"}}},
        {
            "leaves": {
                "x": {
                    "kind": "array",
                    "dtype": "float32",
                    "shape": [4],
                    "axis": 0,
                    "rows": 4,
                    "blocks": ["../../secret"],
                }
            }
        },
        {"step": None},
        {"leaves": {"x": {"kind": "float", "value": "0x1p99999"}}},
        {"leaves": {"x": blocks([10**12], 1)}},  # a list of 10¹² slices
        {"leaves": {"x": blocks([10**12], 10**12)}},  # 4 TB
        {"leaves": {"x": blocks([2**18 * 1000], 2**18, 1000)}},  # one block again and again
        {"leaves": {"x": blocks([4], 0)}},
        {"leaves": {"x": blocks([4], 4) | {"axis": 3}}},
        {"leaves": {"x": blocks([4], 4) | {"axis": "x"}}},
    ],
)
def test_a_manifest_that_lies_is_refused(tmp_path, change):
    store = Store(tmp_path)
    store.write(1, {"x": np.zeros(4, np.float32)})
    file = tmp_path / "checkpoint" / "step-000000000001" / "manifest.json"
    manifest = json.loads(json.loads(file.read_bytes())["manifest"])
    file.write_bytes(seal(manifest | change))
    (tmp_path / "checkpoint" / "blocks").mkdir()
    (tmp_path / "checkpoint" / "blocks" / BLOCK).write_bytes(bytes(2**20))
    with no_hang(20), pytest.raises(InputError, match="step-000000000001"):
        Store(tmp_path).read(1)


def test_a_template_of_another_shape_is_named(tmp_path):
    Store(tmp_path).write(1, {"x": {"w": np.zeros(4, np.float32)}})
    saved = Store(tmp_path).read(1)
    with pytest.raises(InputError, match=r"x/w has float32\[4\] where float32\[5\] is needed"):
        saved.like("x", {"w": np.zeros(5, np.float32)})
    with pytest.raises(InputError, match="has no x/v"):
        saved.like("x", {"v": np.zeros(4, np.float32)})


def test_objects_are_never_written(tmp_path):
    with pytest.raises(TypeError, match="arrays and plain values"):
        Store(tmp_path).write(1, {"x": np.array([object()])})


def written(tmp_path, steps=(1, 2, 3)) -> Store:
    """A store with a checkpoint of each step, each with a block of its own."""
    store = Store(tmp_path)
    for step in steps:
        ring = np.full((2, LEAST_BYTES), step, np.float32)
        store.write(step, {"ring": ring}, files={"policy.safetensors": b"x"})
    return store


def test_what_the_store_did_not_write_stays_and_stops_nothing(tmp_path):
    folder = tmp_path / "checkpoint"
    store = written(tmp_path)
    foreign = [
        *(folder / name for name in (".DS_Store", ".nfs000000000001", "notes.txt", "step-7")),
        *(folder / "blocks" / name for name in (".DS_Store", "notes.txt", "ab" * 31)),
        *(folder / "step-000000000001" / name for name in ("notes.txt", ".DS_Store")),
    ]
    for file in foreign:
        file.write_text("mine")
    for name in (".Trash", "blocks/old", f"blocks/{'ab' * 32}", f"blocks/.{'ab' * 32}.1.2"):
        (folder / name).mkdir()
        (folder / name / "mine").write_text("mine")
    for step in (4, 5):
        store.keep()
        written(tmp_path, (step,))
    store.keep()
    assert store.steps() == [4, 5]
    left = [file for file in folder.rglob("*") if file.is_file() and file.read_bytes() == b"mine"]
    assert len(left) == len(foreign) + 4
    for step in store.steps():
        assert Store(tmp_path).read(step).value("ring", "").min() == step
    own = [file for file in (folder / "blocks").iterdir() if len(file.name) == 64]
    assert len([file for file in own if file.is_file()]) == 2


def test_names_do_not_grow_however_often_a_removal_is_killed(tmp_path, monkeypatch):
    folder = tmp_path / "checkpoint"
    store = written(tmp_path, (1, 2))

    def killed(_):
        raise Crash

    for step in range(3, 40):
        written(tmp_path, (step,))
        with monkeypatch.context() as patch:
            patch.setattr("drspcrl.runfolder.checkpoint.store.remove_own", killed)
            with pytest.raises(Crash):
                store.keep()
        assert max(len(path.name) for path in folder.iterdir()) < 40
    written(tmp_path, (40,)).keep()
    assert sorted(path.name for path in folder.iterdir()) == [
        "blocks",
        "step-000000000039",
        "step-000000000040",
    ]
    assert len(list((folder / "blocks").iterdir())) == 2


def test_what_earlier_versions_left_aside_is_removed(tmp_path):
    folder = tmp_path / "checkpoint"
    written(tmp_path)
    left = (".step-000000000001.aside", "..step-000000000001.aside.doomed.17")
    for name in left:
        (folder / name).mkdir()
        (folder / name / "state.safetensors").touch()
    (folder / "blocks" / f".{'0' * 64}.17.140").touch()
    written(tmp_path, (4,)).keep()
    assert not list(folder.rglob(".*"))


@pytest.mark.parametrize("name", ["checkpoint", "blocks", "step-000000000002"])
def test_links_are_not_followed(tmp_path, name):
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    run.mkdir()
    written(run, (1, 2))
    place = {"checkpoint": run / "checkpoint"}.get(name, run / "checkpoint" / name)
    place.rename(elsewhere)
    hidden = elsewhere / ".hidden"
    hidden.mkdir()
    (hidden / "mine").touch()
    place.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    store = Store(run)
    with pytest.raises(InputError, match=f"{name} is a symbolic link"):
        store.read(2)
    with pytest.raises(InputError, match=f"{name} is a symbolic link"):
        store.write(2, {"ring": np.zeros((2, LEAST_BYTES), np.float32)})
    assert sorted(elsewhere.rglob("*")) == before


@pytest.mark.parametrize("name", ["manifest.json", "state.safetensors", "policy.safetensors"])
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_files_that_are_none_are_not_read(tmp_path, name, kind):
    written(tmp_path, (1,))
    file = tmp_path / "checkpoint" / "step-000000000001" / name
    file.rename(tmp_path / "moved")
    file.symlink_to(tmp_path / "moved") if kind == "link" else os.mkfifo(file)
    with no_hang(), pytest.raises(InputError, match=f"{name} is (a symbolic link|no regular)"):
        Store(tmp_path).read(1)


def test_a_process_that_only_reads_and_keeps_clears_up_too(tmp_path):
    """A run that was killed after its last step continues without another checkpoint."""
    written(tmp_path, (1,))
    left = tmp_path / "checkpoint" / ".drspcrl-aside-0123456789abcdef"
    left.mkdir()
    for name in ("state.safetensors", "policy.safetensors"):
        (left / name).touch()
    store = Store(tmp_path)
    store.read(1)
    store.keep()
    assert not left.exists()
