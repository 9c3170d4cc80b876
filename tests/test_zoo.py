"""The zoo: where it is, what its names may be, and that nothing leads out of it."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hopper_runs import hopper_policy, make_run

import drspcrl
from drspcrl import zoo
from drspcrl.errors import InputError
from drspcrl.policy import load_policy, save_policy


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "zoo"
    for seed, name in ((0, "Hopper-sac-vanilla"), (1, "Hopper-sac-self_paced")):
        make_run(place, seed).rename(place / name)
    monkeypatch.setenv("DRSPCRL_ZOO", str(place))
    return place


def test_a_name_is_its_run_folder(folder):
    assert zoo.names() == ["Hopper-sac-self_paced", "Hopper-sac-vanilla"]
    assert zoo.located("zoo:Hopper-sac-vanilla") == folder / "Hopper-sac-vanilla"
    assert zoo.located("runs/zoo:x").name == "zoo:x"
    observation = np.linspace(-1, 1, 11)
    found = drspcrl.load_policy("zoo:Hopper-sac-vanilla")
    np.testing.assert_array_equal(found(observation), hopper_policy(0)(observation))


@pytest.mark.parametrize(
    "name",
    ["../zoo/Hopper-sac-vanilla", "..", ".", "", "/etc", "Hopper-sac-vanilla/", ".hidden", "-x"],
)
def test_no_name_leads_out_of_the_zoo(folder, name):
    make_run(folder, 7).rename(folder / ".hidden")
    make_run(folder, 8).rename(folder / "-x")
    with pytest.raises(InputError, match="the zoo has no policy"):
        load_policy(f"zoo:{name}")


def test_a_link_in_the_zoo_is_not_followed(folder, tmp_path):
    elsewhere = make_run(tmp_path, 5)
    (folder / "Hopper-sac-linked").symlink_to(elsewhere)
    with pytest.raises(InputError, match="is a symbolic link"):
        load_policy("zoo:Hopper-sac-linked")
    (folder / "Hopper-sac-vanilla/policy.safetensors").unlink()
    (folder / "Hopper-sac-vanilla/policy.safetensors").symlink_to(elsewhere / "policy.safetensors")
    with pytest.raises(InputError, match="is a symbolic link"):
        load_policy("zoo:Hopper-sac-vanilla")


def test_a_wrong_name_gets_those_that_are_near(folder):
    with pytest.raises(InputError, match=r"'Hopper-sac-selfpaced'; choose one of Hopper-sac-self_"):
        zoo.located("zoo:Hopper-sac-selfpaced")


def test_where_the_zoo_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("DRSPCRL_ZOO", str(tmp_path / "none"))
    with pytest.raises(InputError, match="which is no folder"):
        zoo.names()
    monkeypatch.setenv("DRSPCRL_ZOO", str(tmp_path))
    with pytest.raises(InputError, match="holds no policies; DRSPCRL_ZOO must name"):
        zoo.names()
    monkeypatch.delenv("DRSPCRL_ZOO")
    # As installed: two folders above the package is no checkout, whatever is called zoo there.
    (tmp_path / "zoo").mkdir()
    monkeypatch.setattr(zoo, "_CHECKOUT", tmp_path)
    with pytest.raises(InputError, match=r"not installed with the package.*set DRSPCRL_ZOO"):
        zoo.names()


def test_a_copy_stays_what_it_is(folder, tmp_path):
    source, out = folder / "Hopper-sac-vanilla", tmp_path / "runs"
    target = zoo.copied(source, out)
    assert target == out / "Hopper-sac-vanilla"
    (source / "evaluation.csv").write_text("")
    names = {"policy.safetensors", "config.yaml", "run.json"}
    assert {file.name for file in target.iterdir()} == names
    assert zoo.copied(source, out) == target
    save_policy(target / "policy.safetensors", hopper_policy(9))
    with pytest.raises(InputError, match="holds another run"):
        zoo.copied(source, out)


def test_half_precision_is_read_as_single(tmp_path):
    whole = hopper_policy(3)
    save_policy(tmp_path / "half.safetensors", whole, half=True)
    save_policy(tmp_path / "whole.safetensors", whole)
    half = load_policy(tmp_path / "half.safetensors")
    for (kernel, _), (kept, _) in zip(whole.layers, half.layers, strict=True):
        assert kept.dtype == np.float32
        np.testing.assert_array_equal(kept, kernel.astype(np.float16))
    np.testing.assert_array_equal(half.observation_scale, whole.observation_scale)
    sizes = [(tmp_path / f"{n}.safetensors").stat().st_size for n in ("half", "whole")]
    assert sizes[0] < sizes[1]
    observations = np.random.default_rng(0).normal(size=(1000, 11))
    apart = np.abs(half(observations) - whole(observations)).max()
    assert 0 < apart < 0.01
    # As it is on the disk, it is written again without loss.
    save_policy(tmp_path / "again.safetensors", half, half=True)
    assert (tmp_path / "again.safetensors").read_bytes() == (
        tmp_path / "half.safetensors"
    ).read_bytes()


def test_weights_too_large_for_half_precision_are_refused(tmp_path):
    whole = hopper_policy(3)
    whole.layers[0][0][0, 0] = 1e6
    with pytest.raises(InputError, match="cannot be written in half precision"):
        save_policy(tmp_path / "half.safetensors", whole, half=True)
    assert not list(tmp_path.iterdir())


def test_the_package_alone_says_where_the_zoo_is_expected(tmp_path):
    """As a wheel lays it out: src/drspcrl in site-packages, and no zoo anywhere."""
    site = tmp_path / "site-packages"
    package = Path(zoo.__file__).parent
    shutil.copytree(package, site / "drspcrl", ignore=shutil.ignore_patterns("__pycache__"))
    program = f"import sys; sys.path.insert(0, {str(site)!r}); from drspcrl.cli import main; "
    result = subprocess.run(
        [sys.executable, "-c", program + "sys.exit(main(['zoo']))"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert "zoo/ of drspcrl's source: set DRSPCRL_ZOO" in line
