"""Checks of gpuprof findings: of programs with one fault, and of their mended twins (examples/twins.py)."""

import json
import sys

from check import EXAMPLES, ROOT, alone, run
from frameworks import python

TWINS = EXAMPLES / "twins.py"
# Of the time of the steps.
LEAST_LEFT = 0.01
FAULTS = {
    "small_kernels": "launch_bound",
    "parameters_one_by_one": "launch_bound",
    "item_of_each_loss": "blocking_waits",
    "synchronize_each_layer": "blocking_waits",
    "wait_for_an_event": "blocking_waits",
    "pageable_batches": "pageable_copies",
    "pageable_results": "pageable_copies",
    "blocking_batches": "blocking_copies",
    "sets_of_what_is_written": "memory_sets",
    "copies_before_the_work": "unhidden_copies",
    "many_small_copies": "launch_bound",
    "memory_given_back": "allocations",
    "slow_loader": "host_away",
    "work_of_the_host": "host_away",
    "garbage_looked_for": "host_away",
    "few_blocks": "small_grids",
    "registers_spilled": "local_traffic",
    "one_block_too_many": "partial_waves",
    "launches_of_another_length": "uneven_launches",
    "pools_that_shrink": "pool_growth",
    "code_loaded_in_each_step": "module_loading",
    "a_function_of_the_host": "waiting_work",
    "graphs_of_two_kernels": "small_graphs",
    "products_in_fp32": "fp32_matrix_products",
    "a_checkpoint_now_and_then": "slow_steps",
    "streams_in_turns": "serial_streams",
    "loads_with_a_stride": "scattered_accesses",
    "threads_at_one_bank": "bank_conflicts",
    "threads_that_part": "divergent_warps",
    "atomics_of_each_thread": "many_atomics",
    "warps_at_a_barrier": "barrier_stalls",
}
FOR_FINDINGS = ("--metrics", "@findings", "--replay-mode", "kernel")
# What a trace does not show: how findings proposes to record it.
OPTIONS = {
    "registers_spilled": (
        "--metrics",
        "gld_transactions,gst_transactions,local_load_transactions,local_store_transactions",
        "--replay-mode",
        "kernel",
    ),
    "loads_with_a_stride": FOR_FINDINGS,
    "threads_at_one_bank": FOR_FINDINGS,
    "threads_that_part": FOR_FINDINGS,
    "atomics_of_each_thread": (
        "--metrics",
        "l2_atomic_transactions,l2_read_transactions,l2_write_transactions",
        "--replay-mode",
        "kernel",
    ),
    "warps_at_a_barrier": ("--pc-sampling",),
}


def mean_step(document):
    return document["devices"][0]["time_ns"] / document["steps"]


def step_times(faulty, twin, rule):
    """Of a step: recorded, simulated with the finding mended, and of the twin, ns. Medians, since a busy host
    holds single steps up; means if the finding is about single steps. The second is None if the rule found
    nothing, or is not simulated."""
    finding = next((each for each in faulty["findings"] if each["rule"] == rule), None)
    if finding is None or finding["simulated_ns"] is None:
        return faulty["median_step_ns"], None, twin["median_step_ns"]
    if finding["simulated_step_ns"] is None:
        before = mean_step(faulty)
        return before, before - finding["simulated_ns"] / faulty["steps"], mean_step(twin)
    return faulty["median_step_ns"], finding["simulated_step_ns"], twin["median_step_ns"]


@alone
def twins(c):
    """Each fault is found first, and its mended twin is without."""
    seen = c.folder / "twins.json"
    ran = run([sys.executable, ROOT / "scripts/twins", "--gpuprof", c.options.gpuprof, "--json", seen,
               "--python", python(c, "torch", "triton", "cupy")], timeout=400)  # fmt: skip
    c.equal(ran.code, 0, f"exit code of scripts/twins; {ran.stderr.strip()[-300:]}")
    twins_seen = json.loads(seen.read_text())
    c.equal({one["fault"] for one in twins_seen}, set(FAULTS), "programs")
    for one in twins_seen:
        fault = one["fault"]
        if "left_out" in one:
            c.seen[fault] = one["left_out"]
        elif c.expect("problem" not in one, f"{fault}: {one.get('problem')}"):
            c.expect(one["found"] == 1, f"{fault}: first are {one['first']}, not {one['rule']}")
            c.expect(
                one["in_twin"] < LEAST_LEFT, f"{fault}: the twin has {one['in_twin']:.1%} of it"
            )
            c.seen[fault] = {
                name: one[name] for name in ("step_us", "simulated_us", "twin_us", "ratio")
            }
