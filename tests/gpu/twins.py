"""Checks of gpuprof findings: of programs with one fault, and of their mended twins (examples/twins.py)."""

import json

from check import EXAMPLES, each, run
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
    "copies_before_the_work": "unhidden_copies",
    "many_small_copies": "launch_bound",
    "memory_given_back": "allocations",
    "slow_loader": "host_away",
    "work_of_the_host": "host_away",
    "few_blocks": "small_grids",
    "registers_spilled": "spills",
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
OF_CUPY = {
    "registers_spilled",
    "one_block_too_many",
    "launches_of_another_length",
    "pools_that_shrink",
    "loads_with_a_stride",
    "threads_at_one_bank",
    "threads_that_part",
    "atomics_of_each_thread",
    "warps_at_a_barrier",
}
FOR_FINDINGS = ("--metrics", "@findings", "--replay-mode", "kernel")
# What a trace does not show: how findings proposes to record it.
OPTIONS = {
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


def findings_of(c, fault, *options):
    path = c.folder / f"{fault}{''.join(options)}.sqlite"
    modules = ("torch", "triton", *(("cupy",) if fault in OF_CUPY else ()))
    words = [python(c, *modules), TWINS, fault, *options]
    recorded = run([c.options.gpuprof, "-q", *OPTIONS.get(fault, ()), "-o", path, *words])
    c.equal(recorded.code, 0, f"exit code; {recorded.stderr.strip()[-300:]}")
    asked = run([c.options.gpuprof, "findings", path, "--json", "--min", "0"])
    c.equal(asked.code, 0, f"exit code of findings; {asked.stderr.strip()}")
    return json.loads(asked.stdout)


def step_time(document):
    return document["devices"][0]["time_ns"] / document["steps"]


def simulated_step(document, rule):
    """With the finding mended; None: it is not found, or not simulated."""
    for finding in document["findings"]:
        if finding["rule"] == rule and finding["simulated_ns"] is not None:
            return step_time(document) - finding["simulated_ns"] / document["steps"]
    return None


@each("twins", FAULTS)
def twins(c, fault):
    """A fault is found first, and its twin is without."""
    rule = FAULTS[fault]
    faulty, mended = findings_of(c, fault), findings_of(c, fault, "--mended")
    found = [each["rule"] for each in faulty["findings"]]
    c.equal(found[:1], [rule], f"what is found first, of {found}")
    left = sum(each["share"] for each in mended["findings"] if each["rule"] == rule)
    c.expect(left < LEAST_LEFT, f"the twin has {left:.1%} of it")
    before, after = step_time(faulty), step_time(mended)
    c.seen.update(step_us=round(before / 1e3, 1), step_of_the_twin_us=round(after / 1e3, 1))
    for finding in faulty["findings"]:
        if finding["rule"] == rule:
            c.seen["share"] = round(finding["share"], 4)
    if simulated := simulated_step(faulty, rule):
        c.seen["simulated_step_us"] = round(simulated / 1e3, 1)
        c.seen["simulated_of_the_twin"] = round(simulated / after, 3)
