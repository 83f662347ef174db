"""PyTorch as a client: what Weft writes, torch.distributed.pipelining runs, and the other way.

usage: client_test.py WEFT

- Our CSV at compute and at transfers level is loaded by PyTorch and run on Gloo processes with a
  small model; gradients and losses equal those of PyTorch's own schedule class of that kind and
  those of plain autograd in one process.
- The orders of PyTorch's own classes, as it dumps them, pass our verifiers and the simulator, and
  training by them gives the digests of the built-in schedule.

What PyTorch's runtime cannot express, and why nothing of it is here:
- the steps level and woven pairs: PyTorch has no action below a stage, so it runs the forward of a
  pair, then its backward (`--moe-fb-overlap` and `--overlap-outside-steady` change no compute cell
  but pairs; those are here);
- a reduction before a stage's last weight gradient (`--overlap-grad-reduce`): its REDUCE_GRAD is of
  a whole stage and also divides the gradients by M;
- last-stage forwards out of micro-batch order: it looks losses up by the order they were made in;
- stages of a placement other than one rank per stage, tied embeddings and losses on several stages:
  gradients and hand-overs run along neighbouring stages alone.

Exit code 77 where there is no PyTorch with that runtime.
"""
import concurrent.futures
import datetime
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import typing
import unittest

SKIPPED = 77

try:
    import torch
    import torch.distributed as dist
    from torch.distributed import pipelining
    from torch.distributed.pipelining import schedules
    RUNTIME = schedules._PipelineScheduleRuntime
    dist.ProcessGroupGloo
except (ImportError, AttributeError) as missing:
    print(f"skipped: {sys.executable} has no PyTorch with pipeline schedules over Gloo: {missing}")
    sys.exit(SKIPPED)

WEFT = None
FOLDER = None
WORLD = 4
WIDTH = 6
ROWS = 2  # of a micro-batch
TOLERANCE = 1e-12
LEVELS = {"compute": "compute_only", "transfers": "compute_comms"}
GLOO_TIMEOUT = datetime.timedelta(seconds=60)


class Case(typing.NamedTuple):
    """A schedule: its flags, and PyTorch's class of the same kind where there is one."""
    method: str
    ranks: int
    micro_batches: int
    more: tuple = ()
    own: typing.Any = None

    @property
    def name(self):
        more = "".join(word.removeprefix("--") + "_" for word in self.more)
        return f"{self.method}_{more}p{self.ranks}_m{self.micro_batches}"

    @property
    def flags(self):
        return ["--schedules-method", self.method, *self.more,
                "--pipeline-model-parallel-size", str(self.ranks),
                "--num-microbatches", str(self.micro_batches)]

    def csv(self, level):
        return FOLDER / f"{self.name}.{level}.csv"

    def own_csv(self, level):
        return FOLDER / f"{self.name}.pytorch.{level}.csv"


DETACH, WEAVE = "--dualpipev-dw-detach", "--moe-fb-overlap"
OWN = {
    ("gpipe",): pipelining.ScheduleGPipe,
    ("1f1b",): pipelining.Schedule1F1B,
    ("interleaved",): pipelining.ScheduleInterleaved1F1B,
    ("interleaved", WEAVE): None,
    ("zb-h1",): pipelining.ScheduleInterleavedZeroBubble,
    ("zb-h2",): None,
    ("zb-v",): pipelining.ScheduleZBVZeroBubble,
    ("dualpipev", WEAVE): None,
    ("dualpipev", DETACH): pipelining.ScheduleDualPipeV,
}
CASES = [Case(words[0], ranks, micro_batches, words[1:], own)
         for (ranks, micro_batches) in [(2, 4), (4, 8)] for words, own in OWN.items()]
# What PyTorch's own classes refuse: M no multiple of P, fewer micro-batches than stages.
CASES += [Case("interleaved", 2, 5), Case("dualpipev", 2, 3, (DETACH, WEAVE)), Case("zb-v", 4, 3),
          Case("no-pipeline", 1, 4, (WEAVE,)),
          Case("interleaved", 2, 6, ("--num-virtual-stages-per-pipeline-rank", "3"),
               pipelining.ScheduleInterleaved1F1B),
          Case("auto", 2, 4, ("--max-live-chunks", "4")),
          Case("auto", 4, 8, ("--max-live-chunks", "8", WEAVE))]

# Orders that are meant to be the very same on both sides.
SAME_ORDER = [("gpipe",), ("1f1b",), ("interleaved",), ("dualpipev", DETACH)]


def weft(*words):
    return subprocess.run([WEFT, *map(str, words)], capture_output=True, text=True, timeout=120)


def weft_output(*words):
    done = weft(*words)
    if done.returncode != 0:
        command = " ".join(map(str, words))
        raise AssertionError(f"weft {command}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def cells_of(text):
    """The cells of each rank, without blank ones and without what sharded parameters need."""
    return [[cell for cell in line.split(",") if cell and not cell.endswith("SHARD")]
            for line in text.splitlines()]


def without_reductions(cells):
    return [[cell for cell in row if not cell.endswith("REDUCE_GRAD")] for row in cells]


# --- In the ranks: one process group, all schedules one after the other. ---


def make_stage(index):
    generator = torch.Generator().manual_seed(100 + index)
    stage = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh(),
                                torch.nn.Linear(WIDTH, WIDTH)).double()
    with torch.no_grad():
        for parameter in stage.parameters():
            parameter.normal_(std=0.5, generator=generator)
    return stage


def make_batch(micro_batches):
    generator = torch.Generator().manual_seed(7)
    shape = (ROWS * micro_batches, WIDTH)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2)]


def gradients_of(stage):
    return torch.cat([parameter.grad.flatten() for parameter in stage.parameters()])


def largest_difference(one, other):
    return (one - other).abs().max().item()


class Outcome(typing.NamedTuple):
    gradients: dict  # by stage
    losses: typing.Any  # of each micro-batch; None without the last stage


def plain_autograd(stage_count, micro_batches, used=None):
    """The whole model in this process; gradients of the mean over the micro-batches `used`."""
    stages = [make_stage(index) for index in range(stage_count)]
    inputs, targets = make_batch(micro_batches)
    model = torch.nn.Sequential(*stages)
    losses = torch.stack([
        torch.nn.functional.mse_loss(model(x), y)
        for x, y in zip(inputs.split(ROWS), targets.split(ROWS))])
    (losses[:used].sum() / micro_batches).backward()
    return Outcome({i: gradients_of(stage) for i, stage in enumerate(stages)}, losses.detach())


def record_actions(stage):
    """The list that the actions of `stage` are added to as they run."""
    ran = []

    def recording(method, computation):
        def call(micro_batch, *args, **kwargs):
            ran.append(schedules._Action(stage.stage_index, computation, micro_batch))
            return method(micro_batch, *args, **kwargs)
        return call

    stage.forward_one_chunk = recording(stage.forward_one_chunk, schedules.FORWARD)
    stage.backward_one_chunk = recording(stage.backward_one_chunk, schedules.FULL_BACKWARD)
    return ran


class Ranks:
    """This rank's part in a group of the first `case.ranks` ranks."""

    def __init__(self, case, group):
        self.case, self.group = case, group
        cells = cells_of(case.csv("compute").read_text())
        stages_of = [sorted({schedules._Action.from_str(cell).stage_index for cell in row} |
                            {sub.stage_index for cell in row
                             for sub in schedules._Action.from_str(cell).sub_actions or ()})
                     for row in cells]
        stages_of = [[stage for stage in row if stage >= 0] for row in stages_of]
        self.mine = stages_of[dist.get_rank(group)]
        self.stage_count = sum(map(len, stages_of))

    def stages(self):
        def example(needs_gradient):
            return torch.zeros(ROWS, WIDTH, dtype=torch.float64, requires_grad=needs_gradient)

        return [pipelining.PipelineStage(make_stage(index), index, self.stage_count,
                                         torch.device("cpu"), input_args=example(index > 0),
                                         output_args=example(True), group=self.group)
                for index in self.mine]

    def make(self, schedule_class):
        stages = self.stages()
        single = issubclass(schedule_class, schedules.PipelineScheduleSingle)
        return stages, schedule_class(stages[0] if single else stages, self.case.micro_batches,
                                      loss_fn=torch.nn.functional.mse_loss)

    def run(self, stages, schedule):
        inputs, targets = make_batch(self.case.micro_batches)
        losses = []
        schedule.step(*([inputs] if 0 in self.mine else []), target=targets, losses=losses)
        return Outcome({stage.stage_index: gradients_of(stage.submod) for stage in stages},
                       torch.stack(losses).detach() if self.stage_count - 1 in self.mine else None)

    def run_own(self):
        """Runs PyTorch's class, and writes its order as PyTorch lowers and writes it."""
        stages, own = self.make(self.case.own)
        if isinstance(own, schedules.PipelineScheduleSingle):
            # Its _get_pipeline_order() is for drawing, that of 1F1B off by one on the last rank.
            ran = record_actions(stages[0])
            outcome = self.run(stages, own)
            (FOLDER / f"ran.{dist.get_rank()}").write_text(",".join(map(str, ran)))
            dist.barrier(self.group)
            order = {rank: [schedules._Action.from_str(cell) for cell in
                            (FOLDER / f"ran.{rank}").read_text().split(",")]
                     for rank in range(self.case.ranks)}
            dist.barrier(self.group)
        else:
            order, outcome = own.pipeline_order, self.run(stages, own)
        if dist.get_rank() == 0:
            self.write_own(order)
        return outcome

    def run_ours(self, level):
        stages, schedule = self.make(RUNTIME)
        schedule._load_csv(self.case.csv(level), format=LEVELS[level])
        outcome = self.run(stages, schedule)
        if "REDUCE_GRAD" not in map(lambda action: action.computation_type.value,
                                    schedule.pipeline_order_with_comms[schedule.rank]):
            # It is PyTorch's REDUCE_GRAD that makes a mean of the sum.
            for gradients in outcome.gradients.values():
                gradients /= self.case.micro_batches
        return outcome

    def write_own(self, order):
        _, runtime = self.make(RUNTIME)
        runtime.pipeline_order = order
        runtime._prepare_schedule_with_comms(order)
        for level, torch_format in LEVELS.items():
            runtime._dump_csv(self.case.own_csv(level), format=torch_format)


def differences(outcome, reference):
    gradients = max(largest_difference(outcome.gradients[stage], reference.gradients[stage])
                    for stage in outcome.gradients)
    losses = 0.0 if outcome.losses is None else largest_difference(outcome.losses, reference.losses)
    return max(gradients, losses)


def rank_main(rank, cases):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{FOLDER}/rendezvous", rank=rank,
                            world_size=WORLD, timeout=GLOO_TIMEOUT)
    groups = {ranks: dist.new_group(range(ranks), timeout=GLOO_TIMEOUT) for ranks in (1, 2, 4)}
    found = {}
    for case in cases:
        if rank >= case.ranks:
            continue
        try:
            ranks = Ranks(case, groups[case.ranks])
            references = {"autograd": plain_autograd(ranks.stage_count, case.micro_batches)}
            if case.own:
                references["PyTorch's own"] = ranks.run_own()
            for level, (against, reference) in itertools.product(LEVELS, references.items()):
                found[f"{case.name}, {level}, against {against}"] = differences(
                    ranks.run_ours(level), reference)
        except Exception as error:
            raise RuntimeError(f"rank {rank}, {case.name}") from error
    (FOLDER / f"found.{rank}.json").write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


# --- In the test itself. ---


def for_each(action, *lists):
    """Calls action(case, level) for all, side by side: most of it is the start of a program."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        pairs = list(itertools.product(*lists))
        return dict(zip(pairs, pool.map(lambda pair: action(*pair), pairs)))


def write_ours(case, level):
    # Transfers of P = 2 come without reductions, those of P = 4 with them.
    replicas = ["--data-parallel-size", case.ranks // 2] if case.ranks == 4 else []
    weft_output("schedule", *case.flags, *replicas, "--level", level, "--format", "csv",
                "--output", case.csv(level))


def setUpModule():
    for_each(write_ours, CASES, LEVELS)
    # Forked, they have what is imported here.
    torch.multiprocessing.start_processes(rank_main, args=(CASES,), nprocs=WORLD,
                                          start_method="fork")


class PyTorchRunsOurs(unittest.TestCase):
    def test_gradients_and_losses_are_the_same(self):
        for rank in range(WORLD):
            found = json.loads((FOLDER / f"found.{rank}.json").read_text())
            expected = sum(len(LEVELS) * (2 if case.own else 1)
                           for case in CASES if rank < case.ranks)
            self.assertEqual(len(found), expected)
            for what, difference in found.items():
                with self.subTest(what, rank=rank):
                    self.assertLessEqual(difference, TOLERANCE)

    def test_a_micro_batch_that_is_missing_is_noticed(self):
        whole, less = plain_autograd(4, 4), plain_autograd(4, 4, used=3)
        for stage in whole.gradients:
            self.assertGreater(
                largest_difference(whole.gradients[stage], less.gradients[stage]), 1e-4)

    def test_both_refuse_a_backward_before_its_forward(self):
        case = next(case for case in CASES if case.method == "1f1b")
        rows = cells_of(case.csv("compute").read_text())
        first, second = rows[1].index("1F0"), rows[1].index("1B0")
        rows[1][first], rows[1][second] = rows[1][second], rows[1][first]
        swapped = FOLDER / "swapped.csv"
        swapped.write_text("".join(",".join(row) + "\n" for row in rows))
        self.assertEqual(weft("schedule", "--schedules-method", swapped).returncode, 3)
        actions = {rank: list(map(schedules._Action.from_str, row))
                   for rank, row in enumerate(rows)}
        with self.assertRaisesRegex(AssertionError, "without first running Forward"):
            schedules._validate_schedule(actions, 2, 2, case.micro_batches)


class WeftRunsPyTorchs(unittest.TestCase):
    CASES = [case for case in CASES if case.own]

    def test_orders_meant_to_be_the_same_are(self):
        for case in self.CASES:
            if (case.method, *case.more) in SAME_ORDER:
                with self.subTest(case.name):
                    self.assertEqual(cells_of(case.csv("compute").read_text()),
                                     cells_of(case.own_csv("compute").read_text()))

    def test_they_pass_the_verifiers_and_print_as_they_were(self):
        def printed(case, level):
            return weft_output("schedule", "--schedules-method", case.own_csv(level), "--level",
                               level, "--format", "csv")

        cases = [case for case in self.CASES if case.ranks == 4]
        for (case, level), text in for_each(printed, cases, LEVELS).items():
            with self.subTest(case.name, level=level):
                self.assertEqual(without_reductions(cells_of(text)),
                                 without_reductions(cells_of(case.own_csv(level).read_text())))

    def test_the_simulator_takes_them(self):
        for case in (case for case in self.CASES if case.ranks == 4):
            with self.subTest(case.name):
                done = json.loads(weft_output("simulate", "--schedules-method",
                                              case.own_csv("compute"), "--format", "json"))
                self.assertGreater(done["makespan"], 0)

    def test_training_by_them_gives_the_digests_of_the_built_in_ones(self):
        weft_output("data", "prepare", "--input", os.path.abspath(__file__),
                    "--output-prefix", FOLDER / "data")

        def digests(case, source):
            return self.digests(case.flags if source == "built in" else
                                ["--schedules-method", case.own_csv(source)])

        cases = [case for case in self.CASES if case.ranks == 2]
        runs = for_each(digests, cases, ["built in", *LEVELS])
        for (case, source), found in runs.items():
            with self.subTest(case.name, source=source):
                self.assertEqual(len(found), 2)
                self.assertEqual(found, runs[case, "built in"])

    def digests(self, flags):
        metrics = pathlib.Path(tempfile.mkdtemp(dir=FOLDER)) / "metrics.jsonl"
        weft_output(
            "train", *flags, "--communicator", "threads", "--data-path", FOLDER / "data", "--split",
            "100", "--num-layers=12", "--hidden-size=16", "--ffn-hidden-size=24",
            "--num-attention-heads=2", "--num-query-groups=1", "--seq-length=8", "--vocab-size=256",
            "--num-experts=4", "--moe-router-topk=2", "--moe-ffn-hidden-size=12",
            "--moe-aux-loss-coeff=0.01", "--init-method-std=0.2", "--micro-batch-size=1",
            "--lr=1e-2", "--lr-decay-iters=100", "--seed=7", "--train-iters=2", "--log-digests",
            "--metrics", metrics)
        steps = map(json.loads, metrics.read_text().splitlines())
        return [(step["loss"], step["gradient_digest"], step["parameter_digest"]) for step in steps]


if __name__ == "__main__":
    WEFT = sys.argv.pop(1)
    with tempfile.TemporaryDirectory(prefix="weft_client_") as folder:
        FOLDER = pathlib.Path(folder)
        done = unittest.main(verbosity=2, exit=False)
    sys.exit(not done.result.wasSuccessful())
