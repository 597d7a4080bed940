"""``dico tune``."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import chain
from pathlib import Path
from statistics import fmean

from rich.console import Console
from tyro.conf import OmitArgPrefixes, Positional

from dico._checks import check_choice, check_number, pairs
from dico._files import write_json
from dico.analysis import sentences
from dico.commands import say, say_where
from dico.commands._progress import make_progress
from dico.control import METHODS
from dico.experiments import preset
from dico.tasks import from_settings
from dico.training.config import Config
from dico.training.options import SessionOptions
from dico.training.session import Interrupted
from dico.tuning import PID, Bench, Halving, Target, Trial, Tuned, find_metric, largest_diversity, maximize, meet
from dico.tuning.halving import stage_ends, within_frames, within_minutes
from dico.tuning.trials import read_request
from dico.viz.files import check_place, output_file

OWN = ("task", "task_options", "algorithm", "snd", "seeds", "vary")
"""Settings of a training that are options here, or are what is looked for."""
HISTORY = "history.png"
MEANS = {
    "converged": "the target is met at a desired diversity of",
    "saturated": "no diversity meets the target; nearest is",
    "exhausted": "the target was not met in time; nearest is",
}
"""What each outcome means, in words."""
NO_GAIN = "whether diversity pays is not known"


@dataclass(frozen=True, kw_only=True)
class Options:
    """What it takes."""

    task: Positional[str]
    """A task's name, as `dico tasks` lists them, vmas:SCENARIO, pettingzoo:MODULE, or module:function for your own."""
    maximize: str | None = None
    """Find the diversity with the greatest metric, and say whether diversity pays: reward, return, success, coverage,
    resilience, resilience-noise, resilience-weak, or module:function for your own."""
    metric: str | None = None
    """With --target: find the diversity at which this metric meets it; the same names."""
    target: float | None = None
    """What the metric should be."""
    tolerance: float | None = None
    """With --target: the greatest error; by default a twentieth of the target."""
    method: str = "safeguarded"
    """With --target: safeguarded, a search that needs no gains and stays within bounds, or pid, the paper's loop."""
    gains: tuple[float, float, float] | None = None
    """With --method pid: of the error, its change and its sum, by default 1 0 0; negative for a metric that falls with
    diversity."""
    initial: float | None = None
    """With --method pid: the first diversity, by default 0."""
    high: float | None = None
    """The greatest diversity; by default the largest SND of the action box; --method pid has no bound."""
    seeds: int = 3
    """Members for each level; fewer than three have no intervals."""
    frames: int | None = None
    """Budget: environment steps of all members together; by default trainings last as long as the preset's."""
    minutes: float | None = None
    """Budget in minutes, about, by the pace of the first population; with --maximize."""
    at_once: int | None = None
    """With --target: levels that a population trains, by default 4; with --method pid it is one."""
    evaluations: int = 16
    """With --target: levels that are trained in all, at most."""
    preset: str = "quick"
    """Where the settings of a training come from: quick, paper or tuned."""
    algorithm: str | None = None
    """By default the preset's."""
    task_options: tuple[str, ...] = ()
    """The task's own settings as name=value."""
    settings: tuple[str, ...] = ()
    """Other settings of a training than the preset's, as name=value: any of `dico train`; frames=N is how long a whole
    training of each member is."""
    folder: Path | None = None
    """Where populations, history and answer go; by default runs/tune-TASK-METRIC. The same command again goes on."""
    json: Path | None = None
    """Write the answer there too."""
    session: OmitArgPrefixes[SessionOptions] = field(default_factory=SessionOptions)


def run(options: Options, console: Console) -> int:
    """Tune, with the progress of each training shown, and print what came of it."""
    name = _metric(options)
    config = _config(options)
    metric = find_metric(name, from_settings(config.task, config.task_options))
    if options.json is not None:
        check_place(options.json)
    options.session.check_stage()
    folder = options.folder or Path("runs", f"tune-{config.task}-{name}".replace(":", "-"))
    bench = Bench(config, metric, folder, options.session, lambda: [make_progress(console)], lambda t: say(t, console))
    search = _halving(bench, options) if options.target is None else _target(bench, options)
    try:
        tuned = search()
    except Interrupted as stopped:
        say(f"{str(stopped).partition(';')[0]}; the same dico tune again goes on", Console(stderr=True))
        return 130
    for path in (folder / "answer.json", *([] if options.json is None else [options.json])):
        with output_file(path) as scratch:
            write_json(scratch, tuned.to_json())
        say_where(path, console)
    say_where(folder / HISTORY, console)
    for line in _lines(tuned, options, metric.short):
        say(line, console)
    return 0


def _halving(bench: Bench, options: Options) -> Callable[[], Tuned]:
    """The search for the greatest metric, on its budget, in a folder that is there."""
    halving = Halving(_high(options, bench.config))
    bench.config = _budgeted(bench.config, halving, options, bench.folder)
    stage_ends(bench.config)
    bench.noted = lambda trials: _draw(bench, trials)
    bench.begin({"maximize": asdict(halving), "minutes": options.minutes})
    spends, dense = halving.frames(bench.config), halving.dense_frames(bench.config)
    bench.say(f"up to {spends:,} frames on all members together; a dense sweep would take {dense:,}")
    return lambda: maximize(bench, halving)


def _target(bench: Bench, options: Options) -> Callable[[], Tuned]:
    """The search for a target, in a folder that is there."""
    assert options.target is not None
    pid = _pid(options)
    high = _high(options, bench.config) if pid is None else None
    if bench.metric.episodes is not None:
        check_number("target", options.target, 0, 1)
    most = options.evaluations
    if options.frames is not None:
        each = bench.config.iterations * bench.config.frames_per_batch * options.seeds
        check_number("frames", options.frames, each, whole=True)
        most = min(most, options.frames // each)
    at_once = 4 if options.at_once is None else options.at_once
    target = Target(options.target, high, options.tolerance, at_once, most, pid)
    target.loop(lambda _: ())
    bench.noted = lambda trials: _draw(bench, trials, (target.value, target.allowed))
    bench.begin({"target": target.to_json()})
    return lambda: meet(bench, target)


def _high(options: Options, config: Config) -> float:
    """The greatest level."""
    return largest_diversity(config) if options.high is None else options.high


def _pid(options: Options) -> PID | None:
    """The paper's controller, if it is asked for."""
    given = {name: value for name in ("gains", "initial") if (value := getattr(options, name)) is not None}
    return PID(**given) if options.method == "pid" else None


def _metric(options: Options) -> str:
    """What is tuned by; an error unless it is one thing or the other."""
    if (options.maximize is None) == (options.target is None) or (options.metric is None) != (options.target is None):
        raise ValueError("give either --maximize METRIC, or --metric METRIC with --target VALUE")
    check_choice("method", options.method, METHODS)
    if options.maximize and options.method == "pid":
        raise ValueError("method must be unset with --maximize: pid is for --metric METRIC with --target VALUE")
    of_pid, of_search = ("gains", "initial"), ("high", "at_once")
    foreign = ("tolerance", "at_once") if options.maximize else ("minutes",)
    for names, why in (
        (foreign, "it is for the other of --maximize and --target"),
        (of_search if options.method == "pid" else (), "--method pid trains one level at a time, without a bound"),
        (of_pid if options.method != "pid" else (), "it is for --method pid"),
    ):
        for name in names:
            if getattr(options, name) is not None:
                raise ValueError(f"{name} must be unset here: {why}")
    if options.frames is not None and options.minutes is not None:
        raise ValueError("give one budget, --frames or --minutes, not both")
    if options.frames is not None and "frames" in pairs("settings", options.settings):
        raise ValueError("give either --frames or frames in --settings, not both")
    return options.maximize or options.metric or ""


def _config(options: Options) -> Config:
    """The settings of every training."""
    given = pairs("settings", options.settings)
    for name in given:
        check_choice("name in settings", name, [each.name for each in fields(Config) if each.name not in OWN])
    changes = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    if options.algorithm is not None:
        changes["algorithm"] = options.algorithm
    return preset(options.preset, options.task, seeds=options.seeds, task_options=options.task_options, **changes)


def _budgeted(config: Config, halving: Halving, options: Options, folder: Path) -> Config:
    """A training as long as the budget allows; what a pace was once measured to allow stays."""
    if options.frames is not None:
        return within_frames(config, halving, options.frames)
    if options.minutes is None:
        return config
    before = read_request(folder)
    if before is not None:
        return replace(config, frames=before["config"]["frames"], noise_frames=before["config"]["noise_frames"])
    return within_minutes(config, halving, options.minutes, options.session)


def _draw(bench: Bench, trials: Sequence[Trial], target: tuple[float, float] | None = None) -> None:
    """Draw the history anew, if there is something to draw with."""
    try:
        from dico.viz.style import save_figure
        from dico.viz.tuning import draw_history
    except ModuleNotFoundError as missing:
        bench.say(f'the history is not drawn without {missing.name}: pip install "dico-marl[viz]"')
        return
    config = bench.config
    metric, seeds = bench.metric, "1 seed" if config.seeds == 1 else f"{config.seeds} seeds"
    about = f"{config.task}, {config.algorithm.upper()}, {seeds} for each level"
    if metric.short != metric.about:
        about = f"{metric.short}: {metric.about}, {about}"
    figure = draw_history([trial.to_json() for trial in trials], metric.short, about, target=target)
    save_figure(figure, bench.folder / HISTORY)


def _lines(tuned: Tuned, options: Options, metric: str) -> list[str]:
    """What came of it, in a few lines."""
    lines = [] if tuned.answer is None else sentences(tuned.answer, metric)
    if options.target is not None:
        of_level = [trial.known for trial in tuned.history if trial.level == tuned.level and trial.known]
        by_pid = options.method == "pid"  # which goes by each evaluation alone
        value = fmean(of_level[-1] if by_pid else chain.from_iterable(of_level))
        lines = [
            f"{tuned.outcome}: {MEANS[tuned.outcome]} {tuned.level}, with {value:.4g} for {options.target:g}",
            *lines[1:2],
        ]
        tolerance = Target(options.target, 1.0, options.tolerance).allowed
        if tuned.outcome == "exhausted" and not by_pid and abs(value - options.target) <= tolerance:
            lines.append(
                f"that is within {tolerance:g}, but its seeds leave it open: give more --evaluations or --seeds"
            )
    if tuned.why and not any(tuned.why in line for line in lines):
        lines.append(tuned.why if tuned.answer is None or tuned.why != tuned.answer.why else f"{NO_GAIN}: {tuned.why}")
    spent = f"{tuned.frames:,} frames on all members together; a dense sweep would have taken {tuned.dense_frames:,}"
    return [*lines, spent]
