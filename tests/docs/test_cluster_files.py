"""The files of `examples/cluster`, as far as one machine allows.

`ssh`, `srun` and `scontrol` stand in for their namesakes and run commands on this machine. Machines
that join are written down instead: two that listen to one machine alone cannot join each other.
"""

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tyro
import yaml
from mini_cluster import settings

from drspcrl.cli import command

FILES = Path(__file__).parents[2] / "examples" / "cluster"
GRID = """
title: tiny
groups:
  - {algorithm: ppo, env: probe/noise, methods: [vanilla], seeds: [0], steps: 512,
     settings: {hidden: [8], rollout_size: 64, minibatches: 4, envs_per_member: 4}}
evaluation: {suite: noise, episodes: 1}
"""
JOIN = 'if [[ "$*" == *"start --address"* ]]; then echo "$*" >> joined; exit; fi'
STAND_INS = {
    "ssh": f'shift; {JOIN}; exec bash -c "$*"',
    "scontrol": "echo localhost; echo 127.0.0.1",
    "srun": f"""
        while [[ $1 == --* ]]; do shift; done
        {JOIN}
        if [ "$1" = hostname ]; then echo 127.0.0.1; else exec "$@"; fi
    """,
    "drspcrl": f'exec {shlex.quote(sys.executable)} -m drspcrl "$@"',
}


@pytest.mark.parametrize("name", ["ssh_nodes.sh", "slurm.sh"])
def test_scripts_parse_and_say_what_is_missing(name):
    subprocess.run(["bash", "-n", FILES / name], check=True)
    told = subprocess.run(["bash", FILES / name], capture_output=True, text=True, check=False)
    assert told.returncode != 0
    assert "up or down" in told.stderr or "the name of a grid" in told.stderr


def test_the_job_of_kubernetes_is_a_command():
    job = yaml.safe_load((FILES / "kuberay.yaml").read_text())
    program, name, *options = shlex.split(job["spec"]["entrypoint"])
    assert (job["kind"], program, name) == ("RayJob", "drspcrl", "grid")
    assert tyro.cli(command("grid"), args=options).engine == "ray"
    cluster = job["spec"]["rayClusterSpec"]
    assert cluster["authOptions"] == {"mode": "token"}
    (workers,) = cluster["workerGroupSpecs"]
    (container,) = workers["template"]["spec"]["containers"]
    assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in container["env"]


@pytest.fixture
def machine(tmp_path) -> Iterator[dict[str, str]]:
    """An environment in which the stand-ins are found; what it leaves running is ended."""
    programs = tmp_path / "bin"
    programs.mkdir()
    ray = Path(sys.executable).parent / "ray"
    start = f'{shlex.quote(sys.executable)} -c "from ray.scripts.scripts import main; main()"'
    stand_ins = STAND_INS if ray.exists() else {**STAND_INS, "ray": f'exec {start} "$@"'}
    for name, text in stand_ins.items():
        (programs / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
        (programs / name).chmod(0o755)
    path = f"{programs}:{ray.parent}:{os.environ['PATH']}"
    mark = {"DRSPCRL_TEST_OF": str(tmp_path)}
    yield {**os.environ, **settings(tmp_path / "ray"), "PATH": path, **mark}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            ours = f"DRSPCRL_TEST_OF={tmp_path}".encode() in (process / "environ").read_bytes()
            if ours and int(process.name) != os.getpid():
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            continue


@pytest.fixture
def grid(tmp_path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(GRID)
    return path


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def run(words: list[object], environment: dict[str, str], folder: Path) -> str:
    told = subprocess.run(
        [str(word) for word in words], env=environment, cwd=folder, timeout=400,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout
    return told.stdout


@pytest.mark.slow
def test_machines_that_ssh_reaches(machine, grid, tmp_path):
    port = free_port()
    environment = {**machine, "PORT": str(port)}
    told = run([FILES / "ssh_nodes.sh", "up", "127.0.0.1", "one"], environment, tmp_path)
    assert f"drspcrl grid … --engine ray --address 127.0.0.1:{port}" in told
    engine = ["--engine", "ray", "--address", f"127.0.0.1:{port}", "--device", "cpu"]
    told = run(
        ["drspcrl", "grid", grid, "--out", "out", "--no-report", "--threads", 1, *engine],
        environment, tmp_path,
    )  # fmt: skip
    assert "1 run evaluated" in told
    (joined,) = (tmp_path / "joined").read_text().splitlines()
    token = machine["RAY_AUTH_TOKEN_PATH"]
    settings_there = f"RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH={token} RAY_USAGE_STATS_ENABLED=0"
    assert joined == f"env {settings_there} ray start --address=127.0.0.1:{port}"


@pytest.mark.slow
def test_a_job_of_slurm(machine, grid, tmp_path):
    job = {"SLURM_JOB_ID": str(os.getpid()), "SLURM_JOB_NODELIST": "x", "SLURM_CPUS_PER_TASK": "1"}
    options = ["--device", "cpu", "--no-report"]
    told = run([FILES / "slurm.sh", grid, "out", *options], {**machine, **job}, tmp_path)
    assert "1 run evaluated" in told
    assert not list(tmp_path.glob(".ray-*"))
    (joined,) = (tmp_path / "joined").read_text().splitlines()
    port = 20_000 + os.getpid() % 20_000
    assert joined == f"ray start --address=127.0.0.1:{port} --num-cpus=1 --block"
