"""Grid files: what ships, what is refused, and that no name leads out of the folder."""

from pathlib import Path

import pytest

from drspcrl.errors import InputError
from drspcrl.evaluation import load_suite
from drspcrl.experiments.grid import Grid, grid_names, load_grid, parse_grid
from drspcrl.experiments.population import Population
from drspcrl.runfolder.runs import RUN_FOLDER_NAME

SHIPPED = {
    "paper": 420,
    "protocol": 290,
    "worlds": 420,
    "quick": 6,
    "ablation-alpha": 75,
    "ablation-lambda": 75,
    "fixed-budget": 35,
    "divergences": 20,
    "wr2l": 100,
}


def test_all_shipped_grids_are_known():
    assert set(grid_names()) == set(SHIPPED)


@pytest.mark.parametrize(("name", "runs"), SHIPPED.items())
def test_every_shipped_grid_is_whole(name, runs):
    grid = load_grid(name)
    assert grid.runs == runs
    assert len(set(grid.folders())) == runs
    load_suite(grid.evaluation.suite)


def test_the_paper_is_seven_methods_in_twelve_populations():
    grid = load_grid("paper")
    assert len(grid.populations) == 12
    assert {len(p.methods) * len(p.seeds) for p in grid.populations} == {35}
    assert {p.steps for p in grid.populations} == {1_000_000}
    assert grid.compare == "paper"
    assert {p.steps for p in grid.of_length(5_000).populations} == {5_000}


def test_the_protocol_is_the_papers_with_nominal_beside_it():
    paper, protocol = load_grid("paper"), load_grid("protocol")
    assert [(p.algorithm, p.env) for p in protocol.populations] == [
        ("sac", "HalfCheetah"),
        ("sac", "Hopper"),
        ("ppo", "HalfCheetah"),
        ("ppo", "Hopper"),
        ("ddpg", "HalfCheetah"),
        ("sac", "Walker2d"),
        ("ppo", "Walker2d"),
    ]
    methods = {*paper.populations[0].methods, "nominal"}
    off = {"sac": {"self_paced:sensor=0"}, "ppo": {"self_paced:process=0.03,sensor=0"}}
    for p in protocol.populations:
        own = off.get(p.algorithm, set()) if p.env == "HalfCheetah" else set()
        assert set(p.methods) == methods | own
    assert {(p.seeds, p.steps) for p in protocol.populations} == {((0, 1, 2, 3, 4), 1_000_000)}
    assert (protocol.evaluation, protocol.compare) == (paper.evaluation, "paper")


def test_what_shapes_a_program_makes_a_population_of_its_own():
    populations = load_grid("divergences").populations
    assert [p.settings["divergence"] for p in populations] == ["kl", "chi2", "tv", "wasserstein"]
    assert {p.methods for p in populations} == {("self_paced",)}
    assert populations[1].settings["epsilon_budget"] == 2.0


def test_variants_that_may_share_a_program_do():
    ppo = load_grid("ablation-alpha").populations[0]
    assert ppo.methods[0] == "self_paced:pacing=0.1"
    assert ppo.size == 25


def test_grids_say_what_their_uncertainty_is():
    forms = {name: load_grid(name).uncertainty for name in SHIPPED}
    assert forms.pop("worlds") == "worlds"
    assert set(forms.values()) == {"transitions"}
    worlds, paper = load_grid("worlds"), load_grid("paper")
    assert worlds.populations[0].methods == paper.populations[0].methods
    assert {(p.algorithm, p.env) for p in worlds.populations} == {
        (p.algorithm, p.env) for p in paper.populations
    }
    assert worlds.compare is None


GROUP = "{algorithm: ppo, env: Hopper, methods: [vanilla], seeds: [0], steps: 10000}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("groups: [", "is not YAML"),
        ("[1, 2]", "give names with values"),
        ("groups: []", "give a list of groups"),
        (f"groups: [{GROUP}]\nspeed: 3", "has 'speed'; it may have evaluation, groups"),
        ("groups: [{env: Hopper}]", "group 1: it lacks 'algorithm'"),
        (f"groups: [{GROUP.replace('ppo', 'dqn')}]", "group 1: algorithm is 'dqn'; choose one of"),
        (f"groups: [{GROUP.replace('vanilla', 'vanila')}]", "method is 'vanila'"),
        (f"groups: [{GROUP.replace('[0]', '[a]')}]", "seeds is .*whole numbers"),
        (f"groups: [{GROUP.replace('[0]', '[0, 0]')}]", "seeds are .*repetition"),
        (f"groups: [{GROUP.replace('[0]', '[]')}]", "seeds is empty"),
        (f"groups: [{GROUP.replace('[vanilla]', '[]')}]", "methods is empty"),
        (f"groups: [{GROUP.replace('10000', 'many')}]", "steps is 'many'"),
        (f"groups: [{GROUP.replace('}', ', settings: {lr: 3}}')}]", "ppo has no setting 'lr'"),
        (f"groups: [{GROUP}, {GROUP}]", "is in two groups"),
        (f"groups: [{GROUP}]\ntraining: {{device: cpu}}", "training has 'device'"),
        (f"groups: [{GROUP}]\nevaluation: {{episodes: 0}}", "at least one"),
        (f"groups: [{GROUP}]\nreport: {{compare: us}}", "give paper or nothing"),
        (f"groups: [{GROUP.replace('Hopper', 'H' * 200)}]", "env has 200 characters"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        parse_grid(text, "mine", Path())


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ("{uncertainty: balls}", "uncertainty is 'balls'; choose one of worlds, transitions"),
        ("{uncertainty: transitions, worlds: {sensor: 0.1}}", "leave out one of the two"),
        ("{worlds: nowhere.yaml}", "nowhere.yaml is no file"),
        ("{worlds: {colour: 1}}", "unknown entry 'colour'"),
        ("{uncertainty: worlds}", "'draws' is about noise in every transition"),
    ],
)
def test_uncertainty_that_does_not_fit_is_refused(training, message):
    group = GROUP.replace("}", ", settings: {draws: 4}}")
    with pytest.raises(InputError, match=message):
        parse_grid(f"groups: [{group}]\ntraining: {training}", "mine", Path())


def test_worlds_are_looked_for_beside_the_grid_file(tmp_path):
    (tmp_path / "tank.yaml").write_text("sensor: 0.1\nlaw: ball\n")
    for text in ("tank.yaml", "{sensor: 0.1, law: ball}"):
        (tmp_path / "mine.yaml").write_text(f"groups: [{GROUP}]\ntraining: {{worlds: {text}}}")
        (population,) = load_grid(tmp_path / "mine.yaml").populations
        found = population.config(tmp_path).declared
        assert found is not None
        assert (found.sensor, found.law) == (0.1, "ball")
        assert Population.of(population.plain()) == population
    before = population.name
    (tmp_path / "mine.yaml").write_text(f"groups: [{GROUP}]\ntraining: {{worlds: tank.yaml}}")
    (tmp_path / "tank.yaml").write_text("sensor: 0.2\nlaw: ball\n")
    assert load_grid(tmp_path / "mine.yaml").populations[0].name != before


def test_both_forms_are_two_grids():
    both = [Population("Hopper", "ppo", ("vanilla",), (k,), 10_000, {}, {"uncertainty": form})
            for k, form in enumerate(("worlds", "transitions"))]  # fmt: skip
    with pytest.raises(InputError, match="make a grid of each"):
        Grid("mine", "mine", tuple(both))


def test_names_that_are_no_grid():
    with pytest.raises(InputError, match="'papers' is unknown; choose one of ablation-alpha"):
        load_grid("papers")
    with pytest.raises(InputError, match="cannot be read"):
        load_grid("nowhere/mine.yaml")


def test_a_suite_is_looked_for_beside_the_grid_file(tmp_path):
    (tmp_path / "mine.yaml").write_text(f"groups: [{GROUP}]\nevaluation: {{suite: own.yaml}}")
    grid = load_grid(tmp_path / "mine.yaml")
    assert grid.evaluation.suite == str(tmp_path / "own.yaml")


@pytest.mark.parametrize(
    "env", ["../../etc/x", "/abs/x", "..", ".hidden", "a/../../b", "x\ny", "-s1"]
)
@pytest.mark.parametrize("value", ["", "../../../up", "x-s1", "/tmp/x"])
def test_hostile_names_stay_in_the_folder(env, value, tmp_path):
    settings = f"yoked_to: {value!r}" if value else ""
    text = f"""
groups:
  - {{algorithm: sac, env: {env!r}, methods: [vanilla], seeds: [0], steps: 10000,
      settings: {{{settings}}}}}
"""
    text = text.replace("'x\\ny'", '"x\\ny"')
    (population,) = parse_grid(text, "mine", Path()).populations
    (folder,) = population.folders()
    inside = (tmp_path / folder).resolve()
    assert inside.parent.parent == tmp_path.resolve()
    assert not inside.parent.name.startswith(".")
    assert not set("/\n") & set(population.name)
    # A group's folder must not look like a run's, or its runs would not be found.
    assert not RUN_FOLDER_NAME.fullmatch(inside.parent.name)
