# Written by tests/golden/test_docs.py --write. Change schema/ instead of this file.
"""The tables and views of gpuprof's files, for editors and type checkers."""

from ._table import Table

class Tables:
    kernels: Table
    r"""Kernels, one row per execution on the GPU; nodes of CUDA graphs included.

    name: demangled name
    short_name: name of the function alone, without namespace, template arguments and parameters
    display_name: as short as is unique within the file: the function, with the template arguments that tell its kernels apart; of a name without these and longer than 44 characters the words in which it differs; short_name while the run is not over
    mangled_name: name as the compiler made it
    start (ns): start on the GPU, on CUPTI's clock; NULL = not collected
    end (ns): end on the GPU, on CUPTI's clock; NULL = not collected
    duration (ns): from start to end; NULL = not collected
    grid: blocks as text, (x,y,z)
    block: threads of a block as text, (x,y,z)
    grid_x (count): blocks in x
    grid_y (count): blocks in y
    grid_z (count): blocks in z
    block_x (count): threads of a block in x
    block_y (count): threads of a block in y
    block_z (count): threads of a block in z
    blocks (count): blocks of the launch
    threads (count): threads of the launch
    registers (count): registers per thread
    static_shared_memory (bytes): static shared memory per block
    dynamic_shared_memory (bytes): dynamic shared memory per block
    shared_memory_executed (bytes): shared memory size set for the launch
    local_memory_per_thread (bytes): local memory per thread
    cluster_x (count): blocks of a cluster in x; 0 = no clusters
    cluster_y (count): blocks of a cluster in y
    cluster_z (count): blocks of a cluster in z
    max_active_clusters (count): clusters that can run at a time
    theoretical_occupancy (share): warps that fit on a multiprocessor at a time, of those it holds, from 0 to 1, see LAUNCH_SHAPE; NULL = not known
    occupancy_limiter: what lets no more fit: warps, registers, shared memory or blocks; several with commas; NULL = not known
    blocks_per_sm (count): blocks that fit on a multiprocessor at a time; NULL = not known
    waves (count): blocks of the launch, by those that fit on the device at a time; NULL = not known
    tail_share (share): part of the room of all waves that the last one leaves empty, from 0 to 1; NULL = not known
    launch_type: regular, cooperative, ...
    priority: priority of the launch
    queued (ns): put into the command buffer; NULL = not collected
    submitted (ns): submitted to the GPU; NULL = not collected
    device_id: device that ran it
    context_id: context that ran it
    stream_id: stream that ran it
    correlation_id: joins api_calls.correlation_id
    graph_id: executable CUDA graph; 0 = not from a graph
    graph_node_id: node of that graph; 0 = not from a graph
    process_id: process that launched it
    range_id: innermost NVTX range around the call that asked for it: nvtx_ranges.id; NULL = none
    range_name: its message
    range_path: messages of the ranges around it and its own, with / between
    range_match: thread = it is a range of the calling thread; time = that had none, and this one was the last that was opened in the process and still open
    t_ms (ms): start, from the first of the run on
    """
    memcpys: Table
    r"""Memory copies, one row each; those between two contexts or devices included.

    kind: direction: HtoD, DtoH, DtoD, PtoP, ...
    bytes (bytes): how much was copied
    start (ns): start on the GPU, on CUPTI's clock; NULL = not collected
    end (ns): end on the GPU, on CUPTI's clock; NULL = not collected
    duration (ns): from start to end; NULL = not collected
    throughput (bytes/s): NULL = not known
    src_memory: kind of memory read: Pageable, Pinned, Device, ...
    dst_memory: kind of memory written
    is_async: 1 = the call did not wait for it
    device_id: device that ran it
    context_id: context that ran it
    stream_id: stream that ran it
    src_device_id: device read from; NULL = not a copy between contexts
    dst_device_id: device written to; NULL = not a copy between contexts
    correlation_id: joins api_calls.correlation_id
    graph_id: executable CUDA graph; 0 = not from a graph
    graph_node_id: node of that graph; 0 = not from a graph
    process_id: process that asked for it
    range_id: innermost NVTX range around the call that asked for it: nvtx_ranges.id; NULL = none
    range_name: its message
    range_path: messages of the ranges around it and its own, with / between
    range_match: thread = it is a range of the calling thread; time = that had none, and this one was the last that was opened in the process and still open
    t_ms (ms): start, from the first of the run on
    """
    memsets: Table
    r"""Memory sets, one row each.

    bytes (bytes): how much was written
    value: value written
    start (ns): start on the GPU, on CUPTI's clock; NULL = not collected
    end (ns): end on the GPU, on CUPTI's clock; NULL = not collected
    duration (ns): from start to end; NULL = not collected
    throughput (bytes/s): NULL = not known
    memory: kind of memory written: Device, Managed, ...
    is_async: 1 = the call did not wait for it
    device_id: device that ran it
    context_id: context that ran it
    stream_id: stream that ran it
    correlation_id: joins api_calls.correlation_id
    graph_id: executable CUDA graph; 0 = not from a graph
    graph_node_id: node of that graph; 0 = not from a graph
    process_id: process that asked for it
    range_id: innermost NVTX range around the call that asked for it: nvtx_ranges.id; NULL = none
    range_name: its message
    range_path: messages of the ranges around it and its own, with / between
    range_match: thread = it is a range of the calling thread; time = that had none, and this one was the last that was opened in the process and still open
    t_ms (ms): start, from the first of the run on
    """
    api_calls: Table
    r"""Calls of the CUDA API. A runtime call makes driver calls, which have its correlation id. Functions that only ask are left out by default: RUN's calls_left_out names them.

    domain: runtime, driver, or internal for launches that went through no public API
    name: function, without suffixes such as _v3020 and _ptsz
    start (ns): start on the host, on CUPTI's clock; NULL = not collected
    end (ns): end on the host, on CUPTI's clock; NULL = not collected
    duration (ns): from start to end; NULL = not collected
    correlation_id: joins the GPU work it asked for
    return_value: cudaError_t of a runtime call, CUresult of a driver call; 0 = success
    cbid: CUPTI's number of the function
    thread_id: thread that called
    process_id: process that called
    """
    nvtx_ranges: Table
    r"""NVTX ranges with both ends in one row.

    name: message; NULL = none
    domain: NVTX domain; NULL = the default domain
    start (ns): when it was opened, on CUPTI's clock
    end (ns): when it was closed, on CUPTI's clock; NULL = never
    duration (ns): from start to end; NULL = never closed
    kind: push_pop or start_end
    depth: push/pop ranges of its thread and domain around it; NULL for start_end
    id: the range
    parent: id of the innermost of those; NULL = none
    payload_int: payload that is a whole number, else NULL
    payload_double: payload that is a floating-point number, else NULL
    color: 0xAARRGGBB; NULL = none
    category: category number; NULL or 0 = none
    thread_id: thread that opened it
    process_id: process that opened it
    """
    synchronizations: Table
    r"""Waits: of the host for an event, stream or context, of a stream for an event.

    type: event synchronize, stream wait event, stream synchronize or context synchronize
    start (ns): start on the host, on CUPTI's clock; NULL = not collected
    end (ns): end on the host, on CUPTI's clock; NULL = not collected
    duration (ns): from start to end; NULL = not collected
    context_id: context waited for, or that the stream or event was made in
    stream_id: stream waited for, or that waits; NULL = none
    event_id: event waited for, a number that its other waits have too; NULL = none
    return_value: CUresult; 0 = success
    correlation_id: joins api_calls.correlation_id
    process_id: process that waited
    """
    allocations: Table
    r"""Allocations and releases of memory, one row per operation.

    operation: allocation or release
    memory: kind of memory: Device, Pinned, Managed, ...
    bytes (bytes): size of the allocation
    address: address
    time (ns): when, on CUPTI's clock
    is_async: 1 = ordered in a stream (cudaMallocAsync, cudaFreeAsync)
    device_id: device
    context_id: context; 0 = none
    stream_id: stream of an asynchronous operation; 0 = none
    pool_type: local or imported; NULL = not from a pool
    pool_address: address of the pool; NULL = not from a pool
    pool_size (bytes): size of a local pool; NULL = not from a local pool
    pool_utilized_size (bytes): how much of a local pool is in use; NULL = not from a local pool
    variable: name of a static variable; NULL = none
    source: library that asked; NULL = not collected
    correlation_id: joins api_calls.correlation_id
    process_id: process
    """
    devices: Table
    r"""Devices, as each process saw them.

    device_id: the device, as the other views have it
    name: name of the model
    compute_capability: as text, 9.0
    multiprocessors (count): multiprocessors (SM)
    memory (bytes): memory
    memory_bandwidth (bytes/s): of the device's memory
    l2_cache (bytes): second-level cache
    core_clock (Hz): clock of the multiprocessors
    max_threads_per_multiprocessor (count): threads on a multiprocessor, at most
    max_blocks_per_multiprocessor (count): blocks on a multiprocessor, at most
    max_registers_per_multiprocessor (count): 32-bit registers of a multiprocessor
    max_shared_memory_per_multiprocessor (bytes): shared memory of a multiprocessor, at most
    uuid: UUID as nvidia-smi prints it; NULL = not known
    is_mig: 1 = cut into MIG instances
    is_visible: 1 = CUDA_VISIBLE_DEVICES lets the process see it
    process_id: process that saw it
    """
    processes: Table
    r"""Processes of the run that loaded the collector.

    process_id: process id
    number: counts the processes of the run from 0; high 32 bits of its correlation ids
    parent_process_id: process that made it
    executable: path of the program
    command_line: program and arguments
    cupti_version: CUPTI's API version, 130500 for CUDA 13.5; NULL = CUDA not used
    driver_version: CUDA version of the driver, 13000 for 13.0; NULL = CUDA not used
    exit_status: status it ended with; NULL = not known, or ended by a signal
    exit_signal: signal that ended it; NULL = none, or not known
    goodbye: 1 = its collector ended in order and sent everything
    salvaged: 1 = rows were read from its buffers after its death
    rank: which process of a parallel job it is, from 0; NULL = of none that is known
    world_size (count): processes of that job; NULL = not known
    local_rank: which of those on its machine, from 0; NULL = not known
    job: variables that the processes of one job have in common; NULL = none
    first_realtime (ns): when collection began, since 1970; NULL = not known
    last_realtime (ns): when it was over, since 1970; NULL = not known
    """
    losses: Table
    r"""What is missing from this file or went wrong. No rows: nothing.

    name: what was counted
    value: how many
    severity: data_loss or error
    kind: table it is missing from; '' = not of one table
    process_id: process it was counted in; 0 = in gpuprof itself
    help: what it means, and what to do about it
    reason: why, the first that DIAGNOSTIC has of it; NULL = it does not say
    """
    gpu_activities: Table
    r"""Everything the GPU did, in one shape: kernels, memory copies and sets, batches of its decompression engine, and with --trace +graph CUDA graphs as a whole instead of their nodes.

    type: kernel, memcpy, memset, decompress or graph
    name: the kernel's, [CUDA memcpy HtoD], ..., [CUDA memset], [CUDA memory decompression] or [CUDA graph]
    start (ns): start on the GPU, on CUPTI's clock; NULL = not collected
    end (ns): end on the GPU, on CUPTI's clock; NULL = not collected
    duration (ns): from start to end; NULL = not collected
    bytes (bytes): how much was copied, set or read by the decompression; NULL for kernels and graphs
    device_id: device that ran it
    context_id: context that ran it
    stream_id: stream that ran it
    correlation_id: joins api_calls.correlation_id
    graph_id: executable CUDA graph; 0 = not from a graph
    graph_node_id: node of that graph; 0 = not from a graph
    process_id: process that asked for it
    range_id: innermost NVTX range around the call that asked for it: nvtx_ranges.id; NULL = none
    range_name: its message
    range_path: messages of the ranges around it and its own, with / between
    range_match: thread = it is a range of the calling thread; time = that had none, and this one was the last that was opened in the process and still open
    t_ms (ms): start, from the first of the run on
    """
    launches: Table
    r"""Kernels with the API call that launched them: the runtime call, or the driver call where there is none. The kernels of a CUDA graph all have the call that launched the graph.

    name: demangled name of the kernel
    short_name: name of the function alone
    display_name: as short as is unique within the file, see kernels
    api_name: function that was called; NULL = its call was not collected
    api_domain: runtime or driver
    api_start (ns): start of the call on the host, on CUPTI's clock; NULL = not collected
    api_end (ns): end of the call on the host, on CUPTI's clock; NULL = not collected
    api_duration (ns): from start to end; NULL = not collected
    start (ns): start of the kernel on the GPU, on CUPTI's clock; NULL = not collected
    end (ns): end of the kernel on the GPU, on CUPTI's clock; NULL = not collected
    duration (ns): of the kernel; NULL = not collected
    launch_latency (ns): from the start of the call to the start of the kernel
    queue_delay (ns): from the end of the call to the start of the kernel; below 0 = it began earlier
    device_id: device that ran it
    context_id: context that ran it
    stream_id: stream that ran it
    correlation_id: joins api_calls.correlation_id
    graph_id: executable CUDA graph; 0 = not from a graph
    thread_id: thread that called
    process_id: process that called
    range_id: innermost NVTX range around the call that asked for it: nvtx_ranges.id; NULL = none
    range_name: its message
    range_path: messages of the ranges around it and its own, with / between
    range_match: thread = it is a range of the calling thread; time = that had none, and this one was the last that was opened in the process and still open
    """
    kernel_metrics: Table
    r"""Values of metrics by kernel: one row for each kernel and metric that was measured.

    name: demangled name of the kernel
    short_name: name of the function alone, without namespace, template arguments and parameters
    metric: name of the metric
    value: in the unit
    unit: of the value; '' = a plain number
    correlation_id: joins kernels.correlation_id; NULL = none
    device_id: device that ran it
    context_id: context that ran it
    stream_id: stream that ran it; NULL = not known
    process_id: process that launched it
    grid: blocks as text, (x,y,z)
    block: threads of a block as text, (x,y,z)
    start (ns): start on the GPU, on CUPTI's clock; NULL = not collected
    end (ns): end on the GPU, on CUPTI's clock, as start
    duration (ns): from start to end; NULL = not collected
    ordinal: counts the launches of the context from 1
    pass_group: METRIC_GROUP that was measured
    note: why the kernel has no values of other metrics; NULL = it has all
    """
    range_metrics: Table
    r"""Values of metrics over several kernels: one row for each metric that was measured of a range that the user marked, or of a launch of a CUDA graph.

    kind: range or graph
    name: of the range; NULL = none
    metric: name of the metric
    value: in the unit
    unit: of the value; '' = a plain number
    id: METRIC_RANGE that was measured
    correlation_id: of a graph: joins kernels.correlation_id; NULL = none
    device_id: device that was measured
    context_id: context that was measured
    stream_id: stream the graph was launched in; NULL = not known
    process_id: process that was measured
    start (ns): when it began, of a graph its first kernel, on CUPTI's clock; NULL = not known
    end (ns): when it was over, on CUPTI's clock; NULL = not known
    duration (ns): from start to end; NULL = not known
    ordinal: counts the launches of the context from 1; of 'range' the ranges
    pass_group: METRIC_GROUP that was measured
    note: why it has no values of other metrics; NULL = it has all
    """
    metric_coverage: Table
    r"""How well each kernel was measured: one row for each shape (name, grid, block) and metric.

    name: demangled name of the kernel
    short_name: name of the function alone
    grid: blocks as text, (x,y,z)
    block: threads of a block as text, (x,y,z)
    metric: name of the metric
    unit: of mean, min and max; '' = a plain number
    launches (count): kernels of this shape in the run; NULL = kernels were not traced
    measured (count): how many of them have a value; 0 = none
    mean: mean of the values
    min: lowest value
    max: highest value
    variance: of the values, as a sample: square of the unit; NULL = fewer than two
    """
    metric_gaps: Table
    r"""Launches and ranges that lack values, and why.

    kind: kernel, graph or range
    name: demangled name of the kernel, or of the range; NULL = not known
    short_name: name of the function alone
    note: why values are missing
    measured (count): metrics that it has a value of all the same
    correlation_id: joins kernels.correlation_id; NULL = none
    device_id: device that ran it
    context_id: context that ran it
    stream_id: stream that ran it; NULL = not known
    process_id: process that launched it
    grid: blocks of a kernel as text, (x,y,z)
    block: threads of a block as text, (x,y,z)
    ordinal: counts the launches of the context from 1; of 'range' the ranges
    pass_group: METRIC_GROUP that was to be measured
    """
    nvtx_payloads: Table
    r"""Fields of NVTX payloads that have a layout, NCCL's among them: one row per field of a mark or range.

    range_name: message of the mark or range; NULL = none
    domain: NVTX domain; NULL = the default domain
    time (ns): when it was made or opened, on CUPTI's clock
    schema: name of the layout; '' = none
    field: name of the field; a.b = b inside a, a[2] = an element; '' = no layout
    value: a number or a text; of an enum its name where it has one
    int_value: a whole number, or that of an enum's name; else NULL
    thread_id: thread that made or opened it
    process_id: process that did
    """
    threads: Table
    r"""Threads that called CUDA or NVTX, or have a name, one row each.

    name: name that the program gave it through NVTX; NULL = none
    runtime_calls (count): calls of the runtime API
    driver_calls (count): calls of the driver API, those that runtime calls made included
    nvtx_ranges (count): ranges it opened
    first (ns): when it was first seen, on CUPTI's clock; NULL = not known
    last (ns): end of the last call or range, on CUPTI's clock; NULL = not known
    thread_id: the thread
    process_id: its process
    """
    streams: Table
    r"""Streams that were made or had work, one row each.

    name: name that the program gave it through NVTX; NULL = none
    is_default: 1 = the default stream of its context
    priority: its priority, less is more urgent; NULL = its making was not collected
    kernels (count): kernels that ran in it
    copies (count): memory copies and sets that ran in it
    work_time (ns): sum of their durations; work that overlaps counts more than once
    first (ns): start of the first of them, on CUPTI's clock; NULL = none with times
    last (ns): end of the last of them, on CUPTI's clock; NULL = none with times
    device_id: its device; NULL = not known
    context_id: its context
    stream_id: the stream
    process_id: its process
    """
    contexts: Table
    r"""CUDA contexts, one row each.

    name: name that the program gave it through NVTX; NULL = none
    is_green: 1 = a green context, which has a part of the device
    multiprocessors (count): multiprocessors (SM) of a green context; NULL = all of the device
    partition: TPCs of a green context, a mask in hexadecimal, lowest byte first
    parent_id: context it was made from; 0 = none
    default_stream_id: its default stream
    streams (count): streams that were made in it or had work
    kernels (count): kernels that ran in it
    copies (count): memory copies and sets that ran in it
    work_time (ns): sum of their durations; work that overlaps counts more than once
    first (ns): start of the first of them, on CUPTI's clock; NULL = none with times
    last (ns): end of the last of them, on CUPTI's clock; NULL = none with times
    device_id: its device
    context_id: the context
    process_id: its process
    """
    nvtx_gpu: Table
    r"""NVTX ranges with what the GPU did for them and the ranges inside them, one row per range and device. Work belongs to the range in which it was asked for, whenever it ran.

    name: message; NULL = none
    path: messages of the ranges around it and its own, with / between
    host_ms (ms): how long the range was open; NULL = never closed
    gpu_busy_ms (ms): time in which any of its work ran
    work (count): kernels, copies, sets and the like
    kernels (count): of these, kernels
    first (ns): when the first began, on CUPTI's clock
    last (ns): when the last was over, on CUPTI's clock
    start (ns): when the range was opened, on CUPTI's clock
    end (ns): when it was closed, on CUPTI's clock; NULL = never
    t_ms (ms): start, from the first of the run on
    device_id: device that worked
    range_id: nvtx_ranges.id
    thread_id: thread that opened it
    process_id: process that opened it
    """
    nvtx_marks: Table
    r"""NVTX marks: points in time that the program named.

    name: message; NULL = none
    domain: NVTX domain; NULL = the default domain
    time (ns): when it was made, on CUPTI's clock
    payload_int: payload that is a whole number, else NULL
    payload_double: payload that is a floating-point number, else NULL
    color: 0xAARRGGBB; NULL = none
    category: category number; NULL or 0 = none
    thread_id: thread that made it
    process_id: process that made it
    """
    kernel_summary: Table
    r"""Kernels by name and device, with their times summed up.

    name: demangled name
    short_name: name of the function alone
    display_name: as short as is unique within the file, see kernels
    count (count): executions
    timed (count): executions that have times; the columns below are of these
    total (ns): sum of durations
    average (ns): mean duration
    median (ns): duration in the middle; of an even number the mean of the two, rounded down; NULL = the run is not over
    p90 (ns): least duration that 90 % do not exceed (nearest rank); NULL as median
    p99 (ns): the same of 99 %
    shortest (ns): least duration
    longest (ns): greatest duration
    percent (%): share of the durations of all kernels of the device
    first (ns): start of the first, on CUPTI's clock
    last (ns): end of the last, on CUPTI's clock
    device_id: device that ran them
    """
    steps: Table
    r"""Steps of the program: NVTX ranges whose message matches --step REGEX (RUN has it), without it those called step, iteration, iter, batch or ProfilerStep, with or without a number; where there are none, the windows of cudaProfilerStart; else what the launches repeat.

    name: message; cudaProfilerStart = such a window; or how long and alike the periods are
    host_ms (ms): how long the step took on the host; NULL = never closed
    gpu_busy_ms (ms): time in which work that was asked for in it ran, of the busiest device; 0 = none
    work (count): kernels, copies, sets and the like, of all devices
    kernels (count): of these, kernels
    start (ns): when it began, on CUPTI's clock
    end (ns): when it ended, on CUPTI's clock; NULL = never
    t_ms (ms): start, from the first of the run on
    range_id: nvtx_ranges.id; NULL = a window
    thread_id: thread that began it; 0 = not known
    process_id: process it was in
    """
    api_summary: Table
    r"""Calls of the CUDA API by function, with their times summed up. A runtime call makes driver calls, whose times are in its own: do not add the two domains.

    domain: runtime, driver or internal
    name: function, without suffixes
    count (count): calls
    failed (count): calls that returned something else than success
    timed (count): calls that have times; the columns below are of these
    total (ns): sum of durations
    average (ns): mean duration
    median (ns): duration in the middle; of an even number the mean of the two, rounded down; NULL = the run is not over
    p90 (ns): least duration that 90 % do not exceed (nearest rank); NULL as median
    p99 (ns): the same of 99 %
    shortest (ns): least duration
    longest (ns): greatest duration
    """
    gpu_gaps: Table
    r"""Times in which a device had no work, between its first and its last: the 10,000 longest of each device.

    device_id: device without work
    start (ns): when the work before was over, on CUPTI's clock
    end (ns): when the work after it began, on CUPTI's clock
    duration (ns): from start to end
    before: the work before: name of the kernel, else memcpy, memset, ...
    behind: the work behind, in the same way
    host_call: CUDA function, not launching, that took most of the gap in the process whose work is behind; NULL = none
    host_call_ns (ns): how much of the gap the calls of that function took
    no_call_ns (ns): how much of the gap it was in no call and launched nothing; NULL = none of its calls was recorded
    launch_ns (ns): how much of it is launch in the view account
    queued_ns (ns): how much of it is queued there
    range_name: NVTX range in which the work behind was asked for; NULL = none
    range_path: messages of the ranges around it and its own, with / between
    correlation_id: joins the call that asked for the work behind; 0 = none
    t_ms (ms): start, from the first of the run on
    """
    blocking_calls: Table
    r"""Calls in which the host waited for the GPU: synchronizations, and copies that are not asynchronous.

    name: function, the runtime's where it was one; NULL = not collected
    waits_for: event, stream, context or copy
    start (ns): start of the call on the host, on CUPTI's clock; NULL = not collected
    end (ns): its end, on CUPTI's clock; NULL = not collected
    duration (ns): how long the call took; NULL = not collected
    bytes (bytes): how much was copied; NULL = it was a synchronization
    correlation_id: joins api_calls.correlation_id
    thread_id: thread that waited
    process_id: process that waited
    """
    gpu_utilization: Table
    r"""How much of the time between its first work and its last each device was busy.

    device_id: the device
    span_ms (ms): from its first work to its last
    busy_ms (ms): time in which it had work
    kernels_only_ms (ms): time in which kernels ran and nothing else did
    copies_only_ms (ms): time in which copies, sets and the like ran and no kernel
    both_ms (ms): time in which both did
    exposed_communication_ms (ms): of kernels_only_ms, time in which no kernels ran but NCCL's
    idle_ms (ms): time in which it had no work
    busy_share (share): busy_ms / span_ms, from 0 to 1
    gaps (count): times in which it had no work
    """
    concurrency: Table
    r"""How many streams of a device were at work at a time, between its first work and its last.

    device_id: the device
    streams (count): number of streams that had work running; 0 = the device was idle
    duration_ms (ms): how long
    share (share): of the time between first and last, from 0 to 1
    """
    memory_timeline: Table
    r"""Allocated memory over time, a row for each allocation and release. It is counted by process, device, kind of memory, and whether it is from a pool.

    time (ns): when, on CUPTI's clock
    change (bytes): how much was allocated; below 0 = released
    in_use (bytes): how much was allocated from then on; below 0 = from before collection; NULL = the run is not over
    memory: kind of memory: Device, Pinned, Managed, ...
    pool_type: local or imported; NULL = not from a pool
    address: address
    source: library that asked; NULL = not collected
    device_id: device
    process_id: process
    operation_id: MEMORY2._id_; allocations of one time are in its order
    t_ms (ms): time, from the first of the run on
    """
    pm_gaps: Table
    r"""Times in which the counters of a device were not sampled, between samples that there are.

    device_id: the device
    start (ns): when the last sample before was over, on CUPTI's clock
    end (ns): when the next one began, on CUPTI's clock; NULL = there was none
    duration (ns): from start to end; NULL = the end is not known
    reason: overflow = the GPU's buffer for samples was full; missing = CUPTI delivered none
    t_ms (ms): start, from the first of the run on
    """
    pm_samples: Table
    r"""What the devices' counters said over time (--pm-sampling), one row per sample and metric. PM_SAMPLE has the metrics of a sample side by side.

    device_id: device that was sampled
    start (ns): when counting for the sample began, on CUPTI's clock
    end (ns): when it was over, on CUPTI's clock
    metric: name of the metric
    unit: unit of the value; NULL = a plain number
    value: of the time from start to end
    t_ms (ms): start, from the first of the run on
    """
    pm_samples_wide: Table
    r"""What the devices' counters said over time, one row per sample, with the default metrics in columns; NULL = not sampled. pm_samples has all metrics.

    device_id: device that was sampled
    start (ns): when counting for the sample began, on CUPTI's clock
    end (ns): when it was over, on CUPTI's clock
    gpu_active (%): gr__cycles_active: of the time, something ran
    sm_active (%): sm__cycles_active: of the multiprocessors' time, a warp was there
    sm_instructions (%): sm__inst_executed_realtime: of the most instructions there can be
    warps_active (%): sm__warps_active_realtime: of the most warps there can be
    tensor_active (%): sm__pipe_tensor_cycles_active: of the tensor units' time
    dram_read (%): dram__read_throughput: of the most there can be
    dram_write (%): dram__write_throughput: of the most there can be
    dram_read_rate (bytes/s): dram__bytes_read, dram__bytes_op_read
    dram_write_rate (bytes/s): dram__bytes_write, dram__bytes_op_write
    l2_hit_rate (%): lts__average_t_sector_hit_rate_realtime
    pcie_read_rate (bytes/s): pcie__read_bytes
    pcie_write_rate (bytes/s): pcie__write_bytes
    gpu_clock (Hz): gpc__cycles_elapsed
    nvlink_read_rate (bytes/s): nvlrx__bytes
    nvlink_write_rate (bytes/s): nvltx__bytes
    """
    kernel_memory: Table
    r"""What each kernel read and wrote of its device's memory, and how much of it its process had allocated when the kernel began. Bytes and hit rates need the metrics dram_read_bytes, dram_write_bytes, l2_tex_hit_rate and tex_cache_hit_rate, or those of CUPTI that they are made of.

    name: demangled name
    short_name: name of the function alone, without namespace, template arguments and parameters
    start (ns): start on the GPU, on CUPTI's clock; NULL = not collected
    end (ns): end on the GPU, on CUPTI's clock; NULL = not collected
    duration (ns): from start to end; NULL = not collected
    read_bytes (bytes): read from the device's memory; NULL = not measured
    written_bytes (bytes): written to the device's memory; NULL = not measured
    l2_hit_rate (%): sectors that were found in the L2 cache; NULL = not measured
    l1_hit_rate (%): sectors that were found in the L1 cache; NULL = not measured
    allocated_bytes (bytes): memory of the device that its process had allocated when it began; that of cuMemCreate is known with --track-memory; NULL = no allocation before is known, or the run is not over
    device_id: device that ran it
    context_id: context that ran it
    stream_id: stream that ran it
    process_id: process that launched it
    correlation_id: joins kernels.correlation_id
    """
    kernel_pm: Table
    r"""What the device's counters said while a kernel ran (--pm-sampling): one row per metric and kernel that was long enough for samples. What else ran on the device counts too.

    name: demangled name
    short_name: name of the function alone, without namespace, template arguments and parameters
    start (ns): start of the kernel on the GPU, on CUPTI's clock
    end (ns): end of the kernel on the GPU, on CUPTI's clock
    device_id: device that ran it
    correlation_id: of the call that launched it: kernels.correlation_id
    samples (count): samples of which more than half lies inside the kernel
    metric: name of the metric
    unit: unit of the value; NULL = a plain number
    value: mean over these samples, weighted by what of them lies inside the kernel
    """
    memory_peak: Table
    r"""When most memory was allocated, by process, device, kind of memory, and whether it is from a pool. memory_owners has whose it was.

    bytes (bytes): the most that was allocated at a time
    allocations (count): allocations that were there then
    memory: kind of memory: Device, Pinned, Managed, ...
    pool_type: local or imported; NULL = not from a pool
    time (ns): when it was first reached, on CUPTI's clock
    t_ms (ms): time, from the first of the run on
    device_id: device
    process_id: process
    """
    memory_owners: Table
    r"""Whose memory it was when most was allocated (memory_peak): a row for each library that asked.

    source: program or library that asked; NULL = not collected, which takes --trace +allocation-source
    bytes (bytes): how much of it was there
    allocations (count): allocations of it that were there
    share (share): of all bytes that were there, from 0 to 1
    memory: kind of memory: Device, Pinned, Managed, ...
    pool_type: local or imported; NULL = not from a pool
    device_id: device
    process_id: process
    """
    pc_samples: Table
    r"""PC samples (--pc-sampling): at which instruction warps were when the hardware looked, and what they waited for.

    function: demangled name of the kernel or device function
    short_name: name of the function alone
    mangled_name: name as the compiler made it
    pc (bytes): the instruction: how far from the beginning of the function
    file: source file as passed to the compiler; NULL = not known (no -lineinfo)
    line: line in it
    stall_reason: what the warp waited for, by CUPTI's name without the common part; selected = it went on
    samples (count): how many
    not_issued (count): of the samples, those in whose cycle the warp's scheduler issued nothing
    device_id: device it ran on
    correlation_id: call that launched the kernel, with --pc-serialize; NULL = of all launches together
    process_id: process of the kernel
    """
    sass_metrics: Table
    r"""SASS metrics (--source-level-analysis): what each instruction of a kernel did, counted by code that CUPTI adds to it.

    function: demangled name of the kernel or device function
    short_name: name of the function alone
    mangled_name: name as the compiler made it
    pc (bytes): the instruction: how far from the beginning of the function
    file: source file as passed to the compiler; NULL = not known (no -lineinfo)
    line: line in it
    metric: what was counted, by CUPTI's name without the common part: inst_executed
    value: how much; what is 0 has no row
    device_id: device it ran on
    correlation_id: call that launched the kernel; NULL = of all launches together
    process_id: process of the kernel
    """
    account: Table
    r"""Where the time of each GPU went: parts that add up to the run, from its first call or GPU work to the end of its last. Where work overlaps, the first class counts.

    device_id: the device
    class: compute; communication = NCCL's kernels alone; copy; set; idle: queued = work was launched, launch = the host launched, call = it was in another, no call, unknown = no calls are recorded, short gap = not looked at; before, after = its work
    cause: direction of a copy; CUDA function; line of Python
    duration_ms (ms): how long
    share (share): of the run, from 0 to 1
    intervals (count): how often; of idle time, in how many gaps
    """
    call_stacks: Table
    r"""Functions of the host that calls came from, of Python, and with --stacks of libraries that called for memory; one row per function of a call. gpuprof memory --by stack and gpuprof lines add them up.

    correlation_id: joins api_calls.correlation_id and allocations.correlation_id
    process_id: process
    stack: number of the stack: the same for calls that came the same way
    position: 0 = the innermost function, next who called it
    function: symbol, mangled; of Python the qualified name; NULL = the module has none for it
    module: path of the program or library, of Python the file; NULL = code of no file
    offset (bytes): the call, as the symbols of the module count; addr2line -e takes it; NULL = of Python
    line: line of the call; NULL = not of Python, or not known
    """
    copy_overlap: Table
    r"""How long each device copied in each direction, and for how much of that kernels ran as well. Copies that overlap one another count once in each direction.

    kind: direction: HtoD, DtoH, DtoD, PtoP, ...
    copying_ms (ms): time in which any copy of that direction ran
    beside_kernels_ms (ms): of that, time in which kernels or graphs ran too
    share (share): beside_kernels_ms / copying_ms, from 0 to 1
    device_id: the device
    """
    COLUMN_DOC: Table
    r"""What each column of the tables and views is.

    table: name of the table or view
    column: name of the column
    doc: meaning, and what stands for none
    unit: unit of its numbers, ns or bytes for example; count = of things; NULL = they have none, as ids and names, or each row has its own
    """
    TABLE_DOC: Table
    r"""What each table and view is.

    table: name of the table or view
    doc: what a row is
    type: table or view
    look_first: 1, 2, ...: of what is there this is worth a look first, in this order; NULL = of the rest
    """
    CUPTI_ACTIVITY_KIND_MEMCPY: Table
    r"""Memory copies, one row each; copies between two contexts are in MEMCPY2. Collected with `--trace gpu`, which is on by default.

    copyKind: direction: enum CUpti_ActivityMemcpyKind
    srcKind: kind of memory read: enum CUpti_ActivityMemoryKind
    dstKind: kind of memory written: enum CUpti_ActivityMemoryKind
    flags: bit 0: asynchronous
    bytes (bytes): how much was copied
    start (ns): start on the GPU, on CUPTI's clock; 0 = not collected
    end (ns): end on the GPU, on CUPTI's clock; 0 = not collected
    deviceId: device that ran it
    contextId: context that ran it; ids start at 1
    streamId: stream that ran it
    correlationId: joins the API call that asked for it
    runtimeCorrelationId: set by old CUPTI versions only
    graphNodeId: node of an executable CUDA graph; 0 = not from a graph
    graphId: executable CUDA graph; 0 = not from a graph
    channelID: hardware channel it was submitted on
    channelType: type of that channel: enum CUpti_ChannelType
    isDeviceLaunched: 1 = asked for by a graph launched on the device (CUDA 13.0)
    copyCount (count): copies of a batched copy (CUDA 12.8)
    sourceGraphId: graph it was defined in, before cloning; 0 = none (CUDA 13.4)
    sourceGraphNodeId: node it was defined as, before cloning; 0 = none (CUDA 13.4)
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_MEMSET: Table
    r"""Memory sets, one row each. Collected with `--trace gpu`, which is on by default.

    value: value written
    bytes (bytes): how much was written
    start (ns): start on the GPU, on CUPTI's clock; 0 = not collected
    end (ns): end on the GPU, on CUPTI's clock; 0 = not collected
    deviceId: device that ran it
    contextId: context that ran it; ids start at 1
    streamId: stream that ran it
    correlationId: joins the API call that asked for it
    flags: bit 0: asynchronous
    memoryKind: kind of memory written: enum CUpti_ActivityMemoryKind
    graphNodeId: node of an executable CUDA graph; 0 = not from a graph
    graphId: executable CUDA graph; 0 = not from a graph
    channelID: hardware channel it was submitted on
    channelType: type of that channel: enum CUpti_ChannelType
    isDeviceLaunched: 1 = asked for by a graph launched on the device (CUDA 13.0)
    sourceGraphId: graph it was defined in, before cloning; 0 = none (CUDA 13.4)
    sourceGraphNodeId: node it was defined as, before cloning; 0 = none (CUDA 13.4)
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_KERNEL: Table
    r"""Kernels run one at a time (--concurrent-kernels off). Collected with `--concurrent-kernels off`.

    cacheConfig: low 4 bits requested, high 4 bits executed cache configuration
    sharedMemoryConfig: shared memory bank size: enum CUsharedconfig
    registersPerThread (count): registers per thread
    partitionedGlobalCacheRequested: enum CUpti_ActivityPartitionedGlobalCacheConfig
    partitionedGlobalCacheExecuted: enum CUpti_ActivityPartitionedGlobalCacheConfig
    start (ns): start on the GPU, on CUPTI's clock; 0 = not collected
    end (ns): end on the GPU, on CUPTI's clock; 0 = not collected
    completed (ns): when child kernels were done too; equals end without children
    deviceId: device that ran it
    contextId: context that ran it; ids start at 1
    streamId: stream that ran it
    gridX (count): blocks in x
    gridY (count): blocks in y
    gridZ (count): blocks in z
    blockX (count): threads of a block in x
    blockY (count): threads of a block in y
    blockZ (count): threads of a block in z
    staticSharedMemory (bytes): static shared memory per block
    dynamicSharedMemory (bytes): dynamic shared memory per block
    localMemoryPerThread (bytes): local memory per thread
    localMemoryTotal (bytes): local memory of the launch, cut to 32 bits
    correlationId: joins the API call that launched it
    gridId: number of the launch in CUPTI
    name: mangled name: StringTable id
    queued (ns): put into the command buffer; 0 = not collected
    submitted (ns): submitted to the GPU; 0 = not collected
    launchType: enum CUpti_ActivityLaunchType
    isSharedMemoryCarveoutRequested: 1 = a carveout was asked for
    sharedMemoryCarveoutRequested (%): carveout asked for
    sharedMemoryExecuted (bytes): shared memory size set for the launch
    graphNodeId: node of an executable CUDA graph; 0 = not from a graph
    shmemLimitConfig: enum CUpti_FuncShmemLimitConfig
    graphId: executable CUDA graph; 0 = not from a graph
    pAccessPolicyWindow: 8 zero bytes, as in nvprof
    channelID: hardware channel it was submitted on
    channelType: type of that channel: enum CUpti_ChannelType
    clusterX (count): blocks of a cluster in x; 0 = no clusters
    clusterY (count): blocks of a cluster in y
    clusterZ (count): blocks of a cluster in z
    clusterSchedulingPolicy: enum CUclusterSchedulingPolicy
    localMemoryTotal_v2 (bytes): local memory of the launch
    maxPotentialClusterSize (count): largest cluster the launch could use
    maxActiveClusters (count): clusters that can run at a time
    isDeviceLaunched: 1 = from a graph launched on the device (CUDA 13.0)
    priority: priority of the launch (CUDA 13.1)
    executionModel: enum CUpti_FuncExecutionModel (CUDA 13.3)
    sourceGraphId: graph it was defined in, before cloning; 0 = none (CUDA 13.4)
    sourceGraphNodeId: node it was defined as, before cloning; 0 = none (CUDA 13.4)
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_DRIVER: Table
    r"""Calls of the CUDA driver API. A runtime call makes driver calls with its correlation id. Collected with `--trace api`, which is on by default.

    cbid: which function: API_NAME.cbid
    start (ns): start on the host, on CUPTI's clock
    end (ns): end on the host, on CUPTI's clock
    processId: process that called
    threadId: thread that called
    correlationId: joins the GPU work it asked for
    returnValue: what it returned: cudaError_t or CUresult
    """
    CUPTI_ACTIVITY_KIND_RUNTIME: Table
    r"""Calls of the CUDA runtime API. Collected with `--trace api`, which is on by default.

    cbid: which function: API_NAME.cbid
    start (ns): start on the host, on CUPTI's clock
    end (ns): end on the host, on CUPTI's clock
    processId: process that called
    threadId: thread that called
    correlationId: joins the GPU work it asked for
    returnValue: what it returned: cudaError_t or CUresult
    """
    CUPTI_ACTIVITY_KIND_DEVICE: Table
    r"""The devices of the machine. Always collected.

    flags: bit 0: kernels can run at the same time
    globalMemoryBandwidth (kB/s): bandwidth of the device's memory
    globalMemorySize (bytes): memory
    constantMemorySize (bytes): constant memory
    l2CacheSize (bytes): second-level cache
    numThreadsPerWarp (count): threads of a warp
    coreClockRate (kHz): clock of the multiprocessors
    numMemcpyEngines (count): copy engines
    numMultiprocessors (count): multiprocessors (SM)
    maxIPC: instructions per cycle of a multiprocessor, at most
    maxWarpsPerMultiprocessor (count): warps on a multiprocessor, at most
    maxBlocksPerMultiprocessor (count): blocks on a multiprocessor, at most
    maxSharedMemoryPerMultiprocessor (bytes): shared memory of a multiprocessor
    maxRegistersPerMultiprocessor (count): 32-bit registers of a multiprocessor
    maxRegistersPerBlock (count): 32-bit registers of a block, at most
    maxSharedMemoryPerBlock (bytes): shared memory of a block, at most
    maxThreadsPerBlock (count): threads of a block, at most
    maxBlockDimX (count): threads of a block in x, at most
    maxBlockDimY (count): threads of a block in y, at most
    maxBlockDimZ (count): threads of a block in z, at most
    maxGridDimX (count): blocks in x, at most
    maxGridDimY (count): blocks in y, at most
    maxGridDimZ (count): blocks in z, at most
    computeCapabilityMajor: compute capability, before the dot
    computeCapabilityMinor: compute capability, after the dot
    id: the device, as the other tables' deviceId has it
    eccEnabled: 1 = error correction is on
    uuid: the device's UUID
    name: name of the model: StringTable id
    isCudaVisible: 1 = CUDA_VISIBLE_DEVICES lets the process see it
    isMigEnabled: 1 = cut into MIG instances
    gpuInstanceId: MIG GPU instance; 4294967295 = no MIG
    computeInstanceId: MIG compute instance; 4294967295 = no MIG
    migUuid: UUID of the MIG instance; zeros = no MIG
    isNumaNode: 1 = its memory is a NUMA node of the host
    numaId: that NUMA node; means nothing when isNumaNode is 0
    numTpcs (count): texture processing clusters (TPC); 0 = not known (CUDA 13.2)
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_CONTEXT: Table
    r"""CUDA contexts. Always collected.

    contextId: the context
    deviceId: its device
    computeApiKind: enum CUpti_ActivityComputeApiKind
    nullStreamId: its default stream: STREAM.streamId
    parentContextId: context it was made from; 0 = none
    isGreenContext: 1 = a green context
    numMultiprocessors (count): multiprocessors of a green context
    cigMode: CUDA in graphics: enum CUpti_ContextCigMode
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: Table
    r"""Kernels, one row per execution on the GPU, nodes of CUDA graphs included. Collected with `--trace gpu`, which is on by default.

    cacheConfig: low 4 bits requested, high 4 bits executed cache configuration
    sharedMemoryConfig: shared memory bank size: enum CUsharedconfig
    registersPerThread (count): registers per thread
    partitionedGlobalCacheRequested: enum CUpti_ActivityPartitionedGlobalCacheConfig
    partitionedGlobalCacheExecuted: enum CUpti_ActivityPartitionedGlobalCacheConfig
    start (ns): start on the GPU, on CUPTI's clock; 0 = not collected
    end (ns): end on the GPU, on CUPTI's clock; 0 = not collected
    completed (ns): when child kernels were done too; equals end without children
    deviceId: device that ran it
    contextId: context that ran it; ids start at 1
    streamId: stream that ran it
    gridX (count): blocks in x
    gridY (count): blocks in y
    gridZ (count): blocks in z
    blockX (count): threads of a block in x
    blockY (count): threads of a block in y
    blockZ (count): threads of a block in z
    staticSharedMemory (bytes): static shared memory per block
    dynamicSharedMemory (bytes): dynamic shared memory per block
    localMemoryPerThread (bytes): local memory per thread
    localMemoryTotal (bytes): local memory of the launch, cut to 32 bits
    correlationId: joins the API call that launched it
    gridId: number of the launch in CUPTI
    name: mangled name: StringTable id
    queued (ns): put into the command buffer; 0 = not collected
    submitted (ns): submitted to the GPU; 0 = not collected
    launchType: enum CUpti_ActivityLaunchType
    isSharedMemoryCarveoutRequested: 1 = a carveout was asked for
    sharedMemoryCarveoutRequested (%): carveout asked for
    sharedMemoryExecuted (bytes): shared memory size set for the launch
    graphNodeId: node of an executable CUDA graph; 0 = not from a graph
    shmemLimitConfig: enum CUpti_FuncShmemLimitConfig
    graphId: executable CUDA graph; 0 = not from a graph
    pAccessPolicyWindow: 8 zero bytes, as in nvprof
    channelID: hardware channel it was submitted on
    channelType: type of that channel: enum CUpti_ChannelType
    clusterX (count): blocks of a cluster in x; 0 = no clusters
    clusterY (count): blocks of a cluster in y
    clusterZ (count): blocks of a cluster in z
    clusterSchedulingPolicy: enum CUclusterSchedulingPolicy
    localMemoryTotal_v2 (bytes): local memory of the launch
    maxPotentialClusterSize (count): largest cluster the launch could use
    maxActiveClusters (count): clusters that can run at a time
    isDeviceLaunched: 1 = from a graph launched on the device (CUDA 13.0)
    priority: priority of the launch (CUDA 13.1)
    executionModel: enum CUpti_FuncExecutionModel (CUDA 13.3)
    sourceGraphId: graph it was defined in, before cloning; 0 = none (CUDA 13.4)
    sourceGraphNodeId: node it was defined as, before cloning; 0 = none (CUDA 13.4)
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_NAME: Table
    r"""Names the application gave to threads, devices, contexts and streams. Collected with `--trace nvtx`, which is on by default.

    objectKind: what objectId names: enum CUpti_ActivityObjectKind
    objectId: process and thread, or device, context and stream, as three u32; read the columns threadId and objectXxxId instead
    name: the name: StringTable id
    threadId: thread it is about; 0 = it is about no single thread
    objectDeviceId: device it is about, or that has the context or stream; NULL = none
    objectContextId: context it is about, or that has the stream; NULL = none
    objectStreamId: stream it is about; NULL = none
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_MARKER: Table
    r"""NVTX marks, and the two ends of NVTX ranges as a row each. NVTX_RANGE has the ranges paired. Collected with `--trace nvtx`, which is on by default.

    flags: mark, or which end of a range: enum CUpti_ActivityFlag_MARKER, bits
    timestamp (ns): when, on CUPTI's clock; 0 = not collected
    id: the mark or range, one id for both ends of a range; counts per process
    objectKind: what objectId names: enum CUpti_ActivityObjectKind
    objectId: process and thread, or device, context and stream, as three u32; read the columns threadId and objectXxxId instead
    name: message: StringTable id; 0 on the closing end of a range
    domain: NVTX domain: StringTable id; 0 = the default domain
    threadId: thread that made the call; 0 = not known
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_MARKER_DATA: Table
    r"""Colour, category and payload of a mark or range. Collected with `--trace nvtx`, which is on by default.

    flags: how color is meant: enum CUpti_ActivityFlag_MARKER_COLOR, bits
    id: the mark or range: MARKER.id of the same process
    payloadKind: type of payload: enum CUpti_MetricValueKind
    payload: the payload as it is; read payloadInt or payloadDouble instead
    color: 0xAARRGGBB when flags say so
    category: category number; 0 = none
    payloadInt: payload that is a whole number, else NULL; NULL also for an unsigned 0
    payloadDouble: payload that is a floating-point number, else NULL
    cuptiDomainId: number of the domain, 1 = the default domain; 0 = not known
    payloadSchema: layout of payloadData: NVTX_PAYLOAD_ENTRY.schemaId of the same process and domain, or a type of NVTX itself; NULL = the payload is a number
    payloadData: a payload with a layout, as it is, up to 32 KiB; NULL = none. NVTX_PAYLOAD has its fields
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_OVERHEAD: Table
    r"""Time that CUPTI and the driver say they took themselves: compiling, loading, flushing. Collected with `--trace overhead`, which is on by default.

    overheadKind: what took the time: enum CUpti_ActivityOverheadKind
    objectKind: what objectId names: enum CUpti_ActivityObjectKind
    objectId: process and thread, or device, context and stream, as three u32; read the columns threadId and objectXxxId instead
    start (ns): start on the host, on CUPTI's clock
    end (ns): end on the host, on CUPTI's clock
    correlationId: joins the API call it happened in; 0 = none
    threadId: thread it is about; 0 = it is about no single thread
    objectDeviceId: device it is about, or that has the context or stream; NULL = none
    objectContextId: context it is about, or that has the stream; NULL = none
    objectStreamId: stream it is about; NULL = none
    channelID: hardware channel whose command buffer was full; NULL for other overheads
    channelType: type of that channel: enum CUpti_ChannelType; NULL for other overheads
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_ENVIRONMENT: Table
    r"""Clocks, temperature, power and fan of the devices, read from time to time. Collected with `--trace environment`.

    deviceId: the device
    timestamp (ns): when, on CUPTI's clock
    environmentKind: what was read: enum CUpti_ActivityEnvironmentKind
    data: what was read, as CUPTI lays it out; the columns after it have it too
    smClock (MHz): clock of the multiprocessors; NULL for other kinds
    memoryClock (MHz): clock of the memory; NULL for other kinds
    pcieLinkGen: PCI Express generation in use; NULL for other kinds
    pcieLinkWidth (count): PCI Express lanes in use; NULL for other kinds
    clocksThrottleReasons: why clocks are low: enum CUpti_EnvironmentClocksThrottleReason, bits; NULL for other kinds
    gpuTemperature (Celsius): temperature; NULL for other kinds
    power (mW): power drawn; NULL for other kinds
    powerLimit (mW): power it may draw; NULL for other kinds
    fanSpeed (%): speed of the fan, of its maximum; NULL for other kinds
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_MEMCPY2: Table
    r"""Memory copies between two contexts or devices, one row each. Collected with `--trace gpu`, which is on by default.

    copyKind: direction: enum CUpti_ActivityMemcpyKind
    srcKind: kind of memory read: enum CUpti_ActivityMemoryKind
    dstKind: kind of memory written: enum CUpti_ActivityMemoryKind
    flags: bit 0: asynchronous
    bytes (bytes): how much was copied
    start (ns): start on the GPU, on CUPTI's clock; 0 = not collected
    end (ns): end on the GPU, on CUPTI's clock; 0 = not collected
    deviceId: device that ran it
    contextId: context that ran it; ids start at 1
    streamId: stream that ran it
    srcDeviceId: device read from
    srcContextId: context read from
    dstDeviceId: device written to
    dstContextId: context written to
    correlationId: joins the API call that asked for it
    graphNodeId: node of an executable CUDA graph; 0 = not from a graph
    graphId: executable CUDA graph; 0 = not from a graph
    channelID: hardware channel it was submitted on
    channelType: type of that channel: enum CUpti_ChannelType
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER: Table
    r"""Managed memory: pages moved, page faults, thrashing. Not on Arm. Collected with `--trace unified-memory`, which is on by default.

    counterKind: what happened: enum CUpti_ActivityUnifiedMemoryCounterKind
    value: bytes moved or mapped; fault groups of a GPU page fault; program counter of a CPU page fault
    start (ns): start of the transfer or of its handling, on CUPTI's clock
    end (ns): end of it, on CUPTI's clock; 0 = happened at one moment
    address: first address moved or faulted on
    srcId: device it came from or that faulted, 4294967295 = the CPU; for thrashing a bit mask of devices
    dstId: device it went to; 4294967295 = the CPU
    streamId: not set by CUPTI
    processId: process
    flags: why: transfers, enum CUpti_ActivityUnifiedMemoryMigrationCause; GPU page faults, enum CUpti_ActivityUnifiedMemoryAccessType; remote maps, enum CUpti_ActivityUnifiedMemoryRemoteMapCause; thrashing, throttling: 1 = on the CPU
    processors0: thrashing: bit mask of the devices 0 to 63 (CUDA 12.8)
    processors1: thrashing: bit mask of the devices 64 to 127 (CUDA 12.8)
    processors2: thrashing: bit mask of the devices 128 to 191 (CUDA 12.8)
    processors3: thrashing: bit mask of the devices 192 to 255 (CUDA 12.8)
    processors4: thrashing: bit mask of the devices 256 to 319 (CUDA 12.8)
    """
    CUPTI_ACTIVITY_KIND_FUNCTION: Table
    r"""Kernels and device functions of the loaded modules. Collected with `--trace module`.

    id: number of the function; counts per process
    contextId: context its module is loaded in
    moduleId: module it is in: MODULE.id
    functionIndex: number of the function in its module, from 1, in the order of the cubin
    name: mangled name: StringTable id
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_MODULE: Table
    r"""Modules loaded into a context. A cubin is there once, in the first row with its cubinCrc. Collected with `--trace module`.

    contextId: context it is loaded in
    id: number of the module; counts per process
    cubinSize (bytes): size of the column cubin
    cubin: the cubin, an ELF file; empty = as in an earlier row with the same cubinCrc
    cubinCrc: CUPTI's sum of the cubin, by which PC samples name it
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE: Table
    r"""Attributes of the devices, as the CUDA driver gives them. Always collected.

    flags: 1 = attribute is a CUdevice_attribute, 0 = a CUpti_DeviceAttribute
    deviceId: the device
    attribute: the attribute; read attributeId
    value: its value; read valueInt
    attributeId: which attribute: enum CUdevice_attribute
    valueInt: its value when flags is 1, else NULL
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_OPENACC_DATA: Table
    r"""OpenACC constructs that move or allocate data. They come from a runtime with OpenACC's profiling interface: GCC's libgomp has it. Collected with `--trace openacc`.

    eventKind: what happened: enum CUpti_OpenAccEventKind
    parentConstruct: construct it belongs to: enum CUpti_OpenAccConstructKind
    version: version of the OpenACC tools interface
    implicit: 1 = no directive of its own asked for it
    deviceType: type of the device: acc_device_t of the OpenACC runtime
    deviceNumber: number of the device in the OpenACC runtime
    threadId: thread as the OpenACC runtime counts them
    async: value of the async clause
    asyncMap: queue of the OpenACC runtime
    lineNo: first source line of the construct; 0 = not known
    endLineNo: last source line of the construct; 0 = not known
    funcLineNo: first source line of the function; 0 = not known
    funcEndLineNo: last source line of the function; 0 = not known
    start (ns): start on the host, on CUPTI's clock
    end (ns): end on the host, on CUPTI's clock
    cuDeviceId: CUDA device
    cuContextId: CUDA context
    cuStreamId: CUDA stream
    cuProcessId: process
    cuThreadId: thread
    externalId: joins EXTERNAL_CORRELATION.externalId of kind OpenACC; 0 = none
    srcFile: source file: StringTable id; 0 = not known
    funcName: function the construct is in: StringTable id; 0 = not known
    bytes (bytes): how much was moved or allocated
    hostPtr: address on the host; 0 = not known
    devicePtr: address on the device; 0 = not known
    varName: variable: StringTable id; 0 = not known
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH: Table
    r"""Kernel launches of OpenACC constructs. Collected with `--trace openacc`.

    eventKind: what happened: enum CUpti_OpenAccEventKind
    parentConstruct: construct it belongs to: enum CUpti_OpenAccConstructKind
    version: version of the OpenACC tools interface
    implicit: 1 = no directive of its own asked for it
    deviceType: type of the device: acc_device_t of the OpenACC runtime
    deviceNumber: number of the device in the OpenACC runtime
    threadId: thread as the OpenACC runtime counts them
    async: value of the async clause
    asyncMap: queue of the OpenACC runtime
    lineNo: first source line of the construct; 0 = not known
    endLineNo: last source line of the construct; 0 = not known
    funcLineNo: first source line of the function; 0 = not known
    funcEndLineNo: last source line of the function; 0 = not known
    start (ns): start on the host, on CUPTI's clock
    end (ns): end on the host, on CUPTI's clock
    cuDeviceId: CUDA device
    cuContextId: CUDA context
    cuStreamId: CUDA stream
    cuProcessId: process
    cuThreadId: thread
    externalId: joins EXTERNAL_CORRELATION.externalId of kind OpenACC; 0 = none
    srcFile: source file: StringTable id; 0 = not known
    funcName: function the construct is in: StringTable id; 0 = not known
    numGangs (count): gangs
    numWorkers (count): workers
    vectorLength (count): vector lanes
    kernelName: kernel: StringTable id; 0 = not known
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_OPENACC_OTHER: Table
    r"""The other OpenACC constructs: waits, set-up, shut-down. Collected with `--trace openacc`.

    eventKind: what happened: enum CUpti_OpenAccEventKind
    parentConstruct: construct it belongs to: enum CUpti_OpenAccConstructKind
    version: version of the OpenACC tools interface
    implicit: 1 = no directive of its own asked for it
    deviceType: type of the device: acc_device_t of the OpenACC runtime
    deviceNumber: number of the device in the OpenACC runtime
    threadId: thread as the OpenACC runtime counts them
    async: value of the async clause
    asyncMap: queue of the OpenACC runtime
    lineNo: first source line of the construct; 0 = not known
    endLineNo: last source line of the construct; 0 = not known
    funcLineNo: first source line of the function; 0 = not known
    funcEndLineNo: last source line of the function; 0 = not known
    start (ns): start on the host, on CUPTI's clock
    end (ns): end on the host, on CUPTI's clock
    cuDeviceId: CUDA device
    cuContextId: CUDA context
    cuStreamId: CUDA stream
    cuProcessId: process
    cuThreadId: thread
    externalId: joins EXTERNAL_CORRELATION.externalId of kind OpenACC; 0 = none
    srcFile: source file: StringTable id; 0 = not known
    funcName: function the construct is in: StringTable id; 0 = not known
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_CUDA_EVENT: Table
    r"""CUDA events recorded in a stream. Collected with `--trace cuda-event`.

    correlationId: joins the API call that recorded the event
    contextId: context the event was recorded in
    streamId: stream the event was recorded in
    eventId: the CUDA event; one event can be recorded many times
    deviceId: device the event was recorded on (CUDA 12.8)
    deviceTime (ns): when the GPU reached the event, on CUPTI's clock; 0 = not collected (CUDA 12.8)
    cudaEventSyncId: this recording of the event; SYNCHRONIZATION.cudaEventSyncId waits for it (CUDA 12.8)
    graphNodeId: node of an executable CUDA graph; 0 = not from a graph (CUDA 13.5)
    graphId: executable CUDA graph; 0 = not from a graph (CUDA 13.5)
    sourceGraphId: graph it was defined in, before cloning; 0 = none (CUDA 13.5)
    sourceGraphNodeId: node it was defined as, before cloning; 0 = none (CUDA 13.5)
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_STREAM: Table
    r"""CUDA streams. Always collected.

    contextId: context it was made in
    streamId: the stream
    priority: priority; a lower number goes first
    flag: how it was made: enum CUpti_ActivityStreamFlag
    correlationId: joins the API call that made it; 0 = none
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: Table
    r"""Waits: of the host for an event, stream or context, of a stream for an event. Collected with `--trace sync`, which is on by default.

    type: what was waited for: enum CUpti_ActivitySynchronizationType
    start (ns): start on the host, on CUPTI's clock
    end (ns): end on the host, on CUPTI's clock
    correlationId: joins the API call that waited
    contextId: context waited for, or that the stream or event was made in
    streamId: stream waited for, or that waits; 4294967295 = none
    cudaEventId: event waited for: CUDA_EVENT.eventId, or where that kind is not collected a number that all waits for it have; 4294967295 = none
    cudaEventSyncId: recording waited for: CUDA_EVENT.cudaEventSyncId; 4294967295 = none (CUDA 12.8)
    returnValue: what the wait returned: CUresult; 0 = success (CUDA 12.8)
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: Table
    r"""Ids that a framework or tool pushed around CUDA calls, one row per call made inside. Collected with `--trace external`.

    externalKind: who pushed the id: enum CUpti_ExternalCorrelationKind
    externalId: the id that was pushed
    correlationId: joins the API call made while the id was on top
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_NVLINK: Table
    r"""NVLink connections between two devices; the physical links of a pair are one row. Always collected.

    nvlinkVersion: version of NVLink
    typeDev0: what end 0 is: enum CUpti_DevType
    typeDev1: what end 1 is: enum CUpti_DevType
    idDev0: end 0: DEVICE.uuid of a GPU; index and domain of an NPU, as two u32
    idDev1: end 1: DEVICE.uuid of a GPU; index and domain of an NPU, as two u32
    flag: what the link can do: enum CUpti_LinkFlag, bits
    physicalNvLinkCount (count): physical links
    portDev0: port of each link at end 0, a signed byte each; -1 = unused
    portDev1: port of each link at end 1, a signed byte each; -1 = unused
    bandwidth (kB/s): bandwidth of all links
    nvswitchConnected: 1 = an NVSwitch is in between
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_MEMORY: Table
    r"""Allocations, one row each for its whole life. MEMORY2 has a row for each operation. Collected with `--trace memory-lifetime`.

    memoryKind: kind of memory: enum CUpti_ActivityMemoryKind
    address: address
    bytes (bytes): how much was allocated
    start (ns): when it was allocated, on CUPTI's clock
    end (ns): when it was released, on CUPTI's clock; 0 = never
    allocPC: program counter that allocated it
    freePC: program counter that released it; 0 = never released
    processId: process
    deviceId: device
    contextId: context; 0 = none
    name: name of a static variable: StringTable id; 0 = none
    """
    CUPTI_ACTIVITY_KIND_PCIE: Table
    r"""Devices and bridges on the PCI Express bus. Always collected.

    type: device or bridge: enum CUpti_PcieDeviceType
    id: the device or bridge; read deviceId or bridgeId
    domain: PCI domain
    pcieGeneration: PCI Express generation: enum CUpti_PcieGen
    linkRate (GT/s): transfers of the link
    linkWidth (count): lanes of the link
    upstreamBus: bus it is connected to
    attr: GPU: UUID, then the devices it can reach directly, 32 words of i32; bridge: its secondary bus, device and vendor, three u16, to be read as columns
    deviceId: the device, NULL for a bridge
    bridgeId: the bridge, NULL for a device
    secondaryBus: secondary bus of a bridge: upstreamBus of the devices on it, else NULL
    pciDeviceId: PCI device id of a bridge, else NULL
    pciVendorId: PCI vendor id of a bridge, else NULL
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_OPENMP: Table
    r"""OpenMP constructs, from a runtime with OMPT: LLVM's libomp has it, GCC's libgomp has not. With libomp 16 CUPTI 13.5 reports no end: 0. Collected with `--trace openmp`.

    eventKind: construct: enum CUpti_OpenMpEventKind
    version: version of the OpenMP tools interface
    threadId: thread as the OpenMP runtime counts them
    start (ns): start on the host, on CUPTI's clock
    end (ns): end on the host, on CUPTI's clock
    cuProcessId: process
    cuThreadId: thread
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API: Table
    r"""Launches that went through no public API. Collected with `--trace api`, which is on by default.

    cbid: which function: API_NAME.cbid
    start (ns): start on the host, on CUPTI's clock
    end (ns): end on the host, on CUPTI's clock
    processId: process that called
    threadId: thread that called
    correlationId: joins the GPU work it asked for
    returnValue: what it returned: cudaError_t or CUresult
    """
    CUPTI_ACTIVITY_KIND_MEMORY2: Table
    r"""Allocations and releases of memory, one row per operation. Collected with `--trace memory`, which is on by default.

    memoryOperationType: allocate or release: enum CUpti_ActivityMemoryOperationType
    memoryKind: kind of memory: enum CUpti_ActivityMemoryKind
    correlationId: joins the API call that asked for it
    address: address
    bytes (bytes): size of the allocation
    timestamp (ns): when, on CUPTI's clock
    PC: program counter that asked; 0 from CUPTI 13.5
    processId: process
    deviceId: device
    contextId: context; 0 = none
    streamId: stream of an asynchronous operation; 0 = none
    name: name of a static variable: StringTable id; 0 = none
    isAsync: 1 = ordered in a stream (cudaMallocAsync, cudaFreeAsync)
    memoryPoolConfig: the pool as CUPTI lays it out; read poolXxx instead
    poolType: enum CUpti_ActivityMemoryPoolType; 0 = not from a pool
    poolAddress: address of the pool
    poolReleaseThreshold (bytes): how much a local pool keeps before it gives memory back
    poolSize (bytes): size of a local pool, else NULL
    poolUtilizedSize (bytes): how much of a local pool is in use
    poolProcessId: process an imported pool belongs to, else NULL
    source: program or library that asked: StringTable id; 0 = not collected, which takes --trace +allocation-source
    """
    CUPTI_ACTIVITY_KIND_MEMORY_POOL: Table
    r"""Memory pools made, trimmed and destroyed. Collected with `--trace memory`, which is on by default.

    memoryPoolOperationType: enum CUpti_ActivityMemoryPoolOperationType
    memoryPoolType: enum CUpti_ActivityMemoryPoolType
    correlationId: joins the API call that asked for it
    processId: process
    deviceId: device of the pool
    minBytesToKeep (bytes): how much a trim had to leave in the pool
    address: address of the pool
    size (bytes): size of a local pool
    releaseThreshold (bytes): how much a local pool keeps before it gives memory back
    timestamp (ns): when, on CUPTI's clock
    utilizedSize (bytes): how much of a local pool is in use
    isManagedPool: 1 = of managed memory (CUDA 13.0)
    """
    CUPTI_ACTIVITY_KIND_GRAPH_TRACE: Table
    r"""Launches of CUDA graphs as a whole, instead of their nodes. Collected with `--trace graph`.

    correlationId: joins the API call that launched it
    start (ns): start on the GPU, on CUPTI's clock; 0 = not collected
    end (ns): end on the GPU, on CUPTI's clock; 0 = not collected
    deviceId: device of the first node
    graphId: executable CUDA graph
    contextId: context of the first node
    streamId: stream of the launch
    endDeviceId: device of the last node
    endContextId: context of the last node
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_JIT: Table
    r"""Run-time compilation of PTX, and its cache on disk. Collected with `--trace jit`, which is on by default.

    jitEntryType: what was compiled into what: enum CUpti_ActivityJitEntryType
    jitOperationType: compiled, loaded or stored: enum CUpti_ActivityJitOperationType
    deviceId: device it was compiled for
    start (ns): start on the host, on CUPTI's clock
    end (ns): end on the host, on CUPTI's clock
    correlationId: joins the API call it happened in
    jitOperationCorrelationId: the same for the steps of one compilation
    cacheSize (bytes): size of the compute cache
    cachePath: file in the compute cache: StringTable id; 0 = none
    threadId: thread that did it; 0 = not reported by this CUPTI (CUDA 13.1)
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE: Table
    r"""CUDA graphs launched by kernels. Collected with `--trace graph`.

    deviceId: device that ran it
    start (ns): start on the GPU, on CUPTI's clock; 0 = not collected
    stop (ns): end on the GPU, on CUPTI's clock; 0 = not collected
    graphId: executable CUDA graph
    launcherGraphId: graph whose kernel launched it
    deviceLaunchMode: enum CUpti_DeviceGraphLaunchMode
    contextId: context that ran it
    streamId: stream that ran it
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS: Table
    r"""Batches of the decompression engine (Blackwell). Nobody has seen a row here yet. Collected with `--trace gpu`, which is on by default.

    deviceId: device that ran it
    contextId: context that ran it; ids start at 1
    streamId: stream that ran it
    channelID: hardware channel it was submitted on
    channelType: type of that channel: enum CUpti_ChannelType
    correlationId: joins the API call that asked for it
    numberOfOperations (count): operations of the batch
    sourceBytes (bytes): how much was read, compressed
    start (ns): start on the GPU, on CUPTI's clock; 0 = not collected
    stop (ns): end on the GPU, on CUPTI's clock; 0 = not collected
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_CONFIDENTIAL_COMPUTE_ROTATION: Table
    r"""Key rotations of confidential computing, during which the channel waits. Nobody has seen a row here yet. Collected with `--trace gpu`, which is on by default.

    eventType: enum CUpti_ConfidentialComputeRotationEventType
    deviceId: device
    contextId: context
    channelId: hardware channel
    channelType: type of that channel: enum CUpti_ChannelType
    time (ns): when, on CUPTI's clock
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE: Table
    r"""Host functions that ran as nodes of CUDA graphs. The driver of CUDA 13.0 delivers none. Collected with `--trace host`.

    streamId: stream that waited for it
    contextId: context of that stream
    deviceId: device of that stream
    correlationId: joins the API call that launched the graph
    graphId: executable CUDA graph
    graphNodeId: node of that graph
    threadId: thread that ran the function
    start (ns): start on the host, on CUPTI's clock
    stop (ns): end on the host, on CUPTI's clock
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_COMPUTE_ENGINE_CTX_SWITCH: Table
    r"""Switches of the compute engine between contexts. Not on MIG and vGPU. Collected with `--trace context-switch`.

    contextId: context switched to or from
    time (ns): when, on CUPTI's clock
    operationType: enum CUpti_ComputeEngineCtxSwitchOperationType
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_HOST_LAUNCH: Table
    r"""Host functions put into a stream (cudaLaunchHostFunc). The driver of CUDA 13.0 delivers none. Collected with `--trace host`.

    streamId: stream that waited for it
    contextId: context of that stream
    deviceId: device of that stream
    correlationId: joins the API call that put it into the stream
    threadId: thread that ran the function
    start (ns): start on the host, on CUPTI's clock
    stop (ns): end on the host, on CUPTI's clock
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_GREEN_CONTEXT: Table
    r"""Green contexts: contexts that own a part of a device's multiprocessors. Always collected.

    contextId: the green context
    parentContextId: context it belongs to
    deviceId: its device
    numTpcs (count): texture processing clusters (TPC) it owns
    numMultiprocessors (count): multiprocessors it owns
    logicalTpcMaskSize: u32 words of logicalTpcMask in use
    logicalTpcMask: bit mask of the TPCs it owns, 32 words of u32
    workqueueResourceId: its work queue; 0 = not known (CUDA 13.2 update 1)
    workqueueConcurrencyLimit (count): operations at a time in that queue (CUDA 13.2 update 1)
    workqueueSharingScope: enum CUdevWorkqueueConfigScope (CUDA 13.2 update 1)
    workqueueChannelCount (count): hardware channels of the queue; 0 = not known (CUDA 13.4)
    workqueueChannelIds: those channels, 32 words of u32 (CUDA 13.4)
    processId: process the row came from: PROCESS.processId
    """
    Version: Table
    r"""One row: which layout of nvprof's the file has.

    version: 18: laid out as nvprof 11.8 does
    """
    StringTable: Table
    r"""Every string once. Other tables have its _id_. Row 0 stands for NULL.

    _id_: what other tables have instead of the string; 0 = NULL
    value: the string; a kernel's name is mangled
    demangled: a mangled name in C++ as one reads it; NULL = value is no mangled name
    short: a mangled name's function alone: no namespace, template arguments or parameters; NULL as in demangled
    display: a kernel's name as short as is unique within the file, computed at the end: the function, with the template arguments that distinguish its kernels; NULL = no kernel's name, or the run is not over
    """
    RUN: Table
    r"""What is known about the run as a whole.

    key: name of the fact; the keys are listed in the documentation of RUN
    value: an integer or a text
    """
    PROCESS: Table
    r"""The processes of the run that loaded the collector.

    processId: process id; the same number can come twice in a long run
    number: counts the processes of the run from 0; high 32 bits of its correlation ids. A process whose ids outgrow 32 bits goes on with a number that no row here has
    parentProcessId: process that made it; NULL = not known
    executable: path of the program; NULL = not known
    command_line: program and arguments, quoted for a shell; NULL with --no-command-line
    cupti_version: CUPTI's API version, 130500 for CUDA 13.5; NULL = CUDA not used
    cupti_path: the libcupti that was used; NULL = CUDA not used
    driver_version: CUDA version of the driver, 13000 for 13.0; NULL = CUDA not used
    exit_status: status it ended with; NULL = not known, or ended by a signal
    exit_signal: signal that ended it; NULL = none, or not known
    goodbye: 1 = its collector ended in order and sent everything
    salvaged: 1 = rows were read from its buffers after its death
    rank: which process of a parallel job it is, from 0; NULL = of none that is known
    worldSize (count): processes of that job; NULL = not known
    localRank: which of those on its machine, from 0; NULL = not known
    jobLauncher: whose variables said so: torch, openmpi, mvapich, pmi or slurm; NULL as rank
    job: variables that the processes of one job have in common; NULL = none
    """
    CLOCK: Table
    r"""Clocks of a process read at one moment: turns CUPTI's clock into time of day.

    processId: process that read its clocks
    moment: 'first' = when collection began, 'last' = when it was over, 'meanwhile' = every 10 s between
    realtime (ns): time of day, since 1970 (CLOCK_REALTIME)
    monotonic (ns): time since boot (CLOCK_MONOTONIC)
    cupti (ns): CUPTI's clock: what all activity tables have
    monotonicRaw (ns): time since boot, never corrected (CLOCK_MONOTONIC_RAW); NULL = not known
    ticks: the processor's own counter: TSC of x86-64, CNTVCT of Arm; NULL = not known
    realtimeError (ns): how far the time of day may be off, as NTP, chrony or PTP report it to the kernel (adjtimex); NULL = it is not kept in step, or not known
    """
    STATISTIC: Table
    r"""What was counted while collecting and loading, losses among it. The view losses has those that matter.

    processId: process it was counted in; 0 = in gpuprof itself
    kind: table of the rows, or what a cost is for; '' = neither
    name: what was counted: STATISTIC_DOC.name
    value: how many
    severity: info, notice, data_loss or error; counts only when value is not 0
    """
    DIAGNOSTIC: Table
    r"""What gpuprof and its collectors had to say: why something was lost or could not be had. The view losses has what explains a loss.

    time (ns): when, since 1970 (CLOCK_REALTIME); NULL = not known
    processId: process it is about; 0 = gpuprof itself
    severity: as that of a statistic: notice, data_loss or error
    statistic: the statistic that it explains: STATISTIC.name; NULL = none
    text: what was said, in words; parts of it may be the program's own
    """
    STATISTIC_DOC: Table
    r"""What each statistic means.

    name: name of the statistic
    severity: info, notice, data_loss or error
    help: what was counted, and what to do about it
    """
    ENUM_NAME: Table
    r"""Names of the numbers in columns whose doc says enum.

    enum: type as the columns' docs name it
    value: number in the column
    name: short name, nvprof's where it has one
    """
    API_NAME: Table
    r"""Names of the CUDA functions, as the CUPTI that ran knows them.

    domain: runtime or driver
    cbid: number of the function, as RUNTIME.cbid and DRIVER.cbid have it
    name: CUPTI's name of the function, suffixes such as _v3020 and _ptsz included
    """
    TABLE_TEXT: Table
    r"""The tables and views. The view TABLE_DOC has them in words.

    table: name of the table or view: DOC_TEXT.id
    doc: what a row is: DOC_TEXT.id
    type: table or view: DOC_TEXT.id
    lookFirst: as TABLE_DOC.look_first
    """
    COLUMN_TEXT: Table
    r"""The columns of tables and views. The view COLUMN_DOC has them in words.

    table: name of the table or view: DOC_TEXT.id
    column: name of the column: DOC_TEXT.id
    doc: what it means: DOC_TEXT.id
    unit: as COLUMN_DOC.unit: DOC_TEXT.id; NULL = none
    """
    DOC_TEXT: Table
    r"""Texts of TABLE_TEXT and COLUMN_TEXT.

    id: number of the text
    text: a name, a unit, or what a column means
    """
    NVTX_RANGE: Table
    r"""NVTX ranges with both ends in one row, computed from MARKER and MARKER_DATA.

    _id_: the range
    processId: process it was made in
    threadId: thread that opened it; 0 = not known
    id: MARKER.id of both its ends, in the same process
    domain: NVTX domain: StringTable id; 0 = the default domain
    name: message: StringTable id; 0 = none
    start (ns): when it was opened, on CUPTI's clock
    stop (ns): when it was closed, on CUPTI's clock; NULL = never
    depth: push/pop ranges of its thread and domain around it; NULL for start_end
    parent: _id_ of the innermost of those; NULL = none
    kind: 'push_pop' or 'start_end'; guessed from how it nests in gpuprof 0.1's files and nvprof's
    payloadInt: payload that is a whole number, else NULL
    payloadDouble: payload that is a floating-point number, else NULL
    color: 0xAARRGGBB; NULL = none
    category: category number; NULL or 0 = none
    """
    NVTX_PAYLOAD: Table
    r"""Fields of NVTX payloads that have a layout (NCCL's have one), computed from MARKER_DATA and NVTX_PAYLOAD_ENTRY. The view nvtx_payloads has them with their ranges.

    processId: process it was made in
    id: the mark or range: MARKER.id of the same process
    schema: name of the layout; '' = none
    field: name of the field; a.b = b inside a, a[2] = an element; '' = no layout
    intValue: a whole number, or that of an enum's name; else NULL
    realValue: a floating-point number; else NULL
    textValue: a text, or the name that an enum has for the number; else NULL
    """
    NVTX_PAYLOAD_ENTRY: Table
    r"""Layouts of NVTX payloads, and enums in them, as the program registered them.

    processId: process that registered it
    domainId: number of the domain: MARKER_DATA.cuptiDomainId
    schemaId: the layout or enum: MARKER_DATA.payloadSchema, or type of an entry
    isEnum: 1 = a value of an enum, 0 = a field of a layout
    schema: name of the layout or enum
    size (bytes): size of the layout or enum; 0 = not known
    place: counts its entries from 0
    field: name of the field or value
    type: NVTX_PAYLOAD_ENTRY_TYPE_* of nvToolsExtPayload.h, or another schemaId; of an enum the value
    flags: NVTX_PAYLOAD_ENTRY_FLAG_*, bits
    length: elements of an array, bytes of a text; 0 = one element
    offset (bytes): distance from the beginning of the payload
    """
    NVTX_PATH: Table
    r"""Where NVTX ranges lie.

    range: the NVTX range: NVTX_RANGE._id_
    path: messages of the ranges around it and its own, with / between: StringTable id; 0 = longer than 4000 bytes
    """
    LAUNCH_RANGE: Table
    r"""The NVTX ranges in which calls asked for work of a GPU.

    correlationId: of the call: RUNTIME.correlationId, and that of the work it asked for
    range: innermost NVTX range around the call: NVTX_RANGE._id_
    byThread: 1 = the range is of the calling thread; 0 = that had none, and this one was the last that was opened in the process and still open
    """
    RANGE_TIME: Table
    r"""What a device did for an NVTX range and the ranges inside it, not more than 32 ranges deep. The view nvtx_gpu has it with names.

    range: the NVTX range: NVTX_RANGE._id_
    deviceId: device that worked for it
    work (count): kernels, copies, sets and the like that were asked for in it
    kernels (count): of these, kernels
    busy (ns): time in which any of them ran
    first (ns): when the first began, on CUPTI's clock
    last (ns): when the last was over, on CUPTI's clock
    """
    DEVICE_TIME: Table
    r"""How much of the time each device was at work. The view gpu_utilization has shares.

    deviceId: the device
    first (ns): when its first work began, on CUPTI's clock
    last (ns): when its last work was over, on CUPTI's clock
    busy (ns): time in which it had work
    kernelsOnly (ns): time in which kernels or graphs ran and nothing else did
    copiesOnly (ns): time in which copies, sets and the like ran and none of those
    both (ns): time in which both did
    exposedCommunication (ns): of kernelsOnly, time in which no kernels ran but NCCL's
    gaps (count): times between first and last in which it had no work
    """
    STREAM_TIME: Table
    r"""How many streams of a device were at work at a time. The view concurrency has shares.

    deviceId: the device
    streams (count): streams that had work running at a time
    duration (ns): how long it was that number
    """
    GPU_GAP: Table
    r"""The 10,000 longest times in which a device had no work. The view gpu_gaps has names.

    _id_: number of the row, in order of storing
    deviceId: device without work
    start (ns): when the work before was over, on CUPTI's clock
    stop (ns): when the work after it began, on CUPTI's clock
    typeBefore: kernel, memcpy, ... of the work before
    nameBefore: of a kernel: StringTable id; 0 = no kernel
    typeBehind: kernel, memcpy, ... of the work after it
    nameBehind: of a kernel: StringTable id; 0 = no kernel
    correlationId: of the call that asked for the work after it; 0 = none
    hostCall: of the function, not launching, that took most of the gap in that process, the longest call: RUNTIME.correlationId or DRIVER's; NULL = none. Of several open calls the one that began first counts
    hostTime (ns): how much of the gap the calls of that function took; NULL as hostCall
    noCallTime (ns): how much of the gap it was in no call and launched nothing; NULL = none of its calls was recorded
    launchTime (ns): how much of it is launch in the view account
    queuedTime (ns): how much of it is queued there
    range: NVTX range of the call that asked for the work after it: NVTX_RANGE._id_; NULL = none
    """
    COPY_TIME: Table
    r"""How long each device copied in each direction. The view copy_overlap has names and shares.

    deviceId: the device
    copyKind: direction: enum CUpti_ActivityMemcpyKind
    copying (ns): time in which any copy of that direction ran
    besideKernels (ns): of that, time in which kernels or graphs ran too
    """
    DEVICE_ACCOUNT: Table
    r"""Where the time of each device went. The view account has names and shares.

    deviceId: the device
    class: as in the view account
    domain: of a function: API_NAME.domain; of no call: the line
    cause: of a copy: enum CUpti_ActivityMemcpyKind; of a call or launch: API_NAME.cbid, 0 = none; of queued: 1 = for an event
    duration (ns): how long
    intervals (count): how often; of idle time, in how many gaps
    """
    LAUNCH_SHAPE: Table
    r"""What CUDA's occupancy calculator says of launches, one row for all that are alike in what it looks at. The view kernels has it for each kernel.

    blocks (count): blocks of the launch
    threadsPerBlock (count): threads of a block
    sharedMemory (bytes): shared memory of a block, static and dynamic
    registersPerThread (count): registers of a thread
    carveout (%): carveout asked for; -1 = none
    deviceId: device that ran it
    processId: process that launched it
    blocksPerMultiprocessor (count): blocks that fit on a multiprocessor at a time
    limiter: what lets no more fit: warps, registers, shared memory or blocks; several have commas between
    occupancy (share): warps of these blocks, of those that a multiprocessor holds, from 0 to 1
    waves (count): blocks of the launch, by those that fit on the device at a time
    tailShare (share): part of the room of all waves that the last one leaves empty, from 0 to 1
    """
    KERNEL_TIME: Table
    r"""Durations of kernels, by name and device. The view kernel_summary has them in words.

    deviceId: device that ran them
    name: mangled name: StringTable id; 0 = none
    median (ns): duration in the middle; of an even number the mean of the two, rounded down
    p90 (ns): least duration that 90 % do not exceed (nearest rank)
    p99 (ns): the same of 99 %
    count (count): executions; NULL = there are too many names
    timed (count): executions that have times; the rest is of these
    total (ns): sum of durations
    shortest (ns): least duration
    longest (ns): greatest duration
    first (ns): start of the first, on CUPTI's clock
    last (ns): end of the last, on CUPTI's clock
    """
    API_TIME: Table
    r"""Durations of API calls, by function. The view api_summary has shares of them.

    domain: runtime, driver or internal
    name: function, without suffixes
    median (ns): duration in the middle; of an even number the mean of the two, rounded down
    p90 (ns): least duration that 90 % do not exceed (nearest rank)
    p99 (ns): the same of 99 %
    count (count): calls; NULL = there are too many functions
    failed (count): calls that did not return 0
    timed (count): calls that have times; the rest is of these
    total (ns): sum of durations
    shortest (ns): least duration
    longest (ns): greatest duration
    """
    LAUNCH_TIME: Table
    r"""How long kernels waited for their start, by kernel and function; empty where there are too many, or no room on the disk.

    name: mangled name of the kernel: StringTable id; 0 = none
    apiName: function that launched it, without suffixes; '' = its name is not known
    launches (count): launches of which both times are known
    shortest (ns): least time from the begin of the call to the start of the kernel
    median (ns): least such time that 50 % do not exceed (nearest rank)
    p90 (ns): the same of 90 %
    p99 (ns): the same of 99 %
    longest (ns): greatest such time
    calls (count): launches whose call has an end
    callTime (ns): sum of the durations of these calls
    """
    OCCUPANCY_TIME: Table
    r"""Launches by kernel and occupancy, where it is known; empty where there are too many kinds.

    name: mangled name of the kernel: StringTable id; 0 = none
    occupancy (share): as LAUNCH_SHAPE.occupancy
    limiter: as LAUNCH_SHAPE.limiter
    waves (count): least LAUNCH_SHAPE.waves of these launches
    launches (count): launches
    total (ns): sum of their durations; NULL = none has times
    """
    MEMORY_USE: Table
    r"""How much memory is allocated after each allocation and release. The view memory_timeline has it.

    operation: allocation or release: MEMORY2._id_
    inUse (bytes): what its process has then of that kind of memory, on that device, from pools of that type; below 0 where what is released was allocated before collection began
    """
    PROCESS_MEMORY: Table
    r"""How much memory of a device a process has over time. The view kernel_memory has it for each kernel.

    processId: process
    deviceId: device
    time (ns): of an allocation or release, on CUPTI's clock
    inUse (bytes): memory of the device, of whatever kind, that the process has allocated from then on
    """
    MEMORY_MAXIMUM: Table
    r"""When most memory was allocated. The view memory_peak has it in words.

    processId: process
    deviceId: device
    memoryKind: kind of memory: enum CUpti_ActivityMemoryKind
    poolType: enum CUpti_ActivityMemoryPoolType; 0 = not from a pool
    bytes (bytes): the most that was allocated at a time
    operation: the first allocation that made it that many: MEMORY2._id_
    allocations (count): allocations that were there then
    """
    MEMORY_OWNER: Table
    r"""Whose memory it was when most was allocated. The view memory_owners has it in words.

    processId: process
    deviceId: device
    memoryKind: kind of memory: enum CUpti_ActivityMemoryKind
    poolType: enum CUpti_ActivityMemoryPoolType; 0 = not from a pool
    source: program or library that asked: StringTable id; 0 = not collected, which takes --trace +allocation-source
    bytes (bytes): how much of it was there
    allocations (count): allocations of it that were there then
    """
    STEP: Table
    r"""Steps of the program. The view steps has them in words.

    range: the NVTX range: NVTX_RANGE._id_; NULL = a window between cudaProfilerStart and cudaProfilerStop, or a period
    name: message of the range, or a period: StringTable id; 0 = a window
    start (ns): when it began, on CUPTI's clock
    stop (ns): when it ended, on CUPTI's clock; NULL = never
    threadId: thread that began it; 0 = not known
    processId: process it was in
    work (count): kernels, copies, sets and the like that were asked for in a window; NULL = a range, which has a row in RANGE_TIME
    kernels (count): of these, kernels; NULL as work
    busy (ns): time in which any of them ran, of the busiest device; NULL as work
    """
    TIMELINE_TABLE: Table
    r"""What the timeline was made of. Files with 30 million records and more have one, others on request; without it gpuprof view reads all records.

    _id_: number of the table in blocks and in TIMELINE_NAME
    name: the table whose rows are drawn
    kind: what its tracks are: stream, range_on_gpu, range, api, ...
    lastId: greatest _id_ that it had: with another one the timeline is old
    withoutTimes (count): work of a GPU that has no times
    leftOut (count): records of too many tracks
    """
    TIMELINE_NAME: Table
    r"""Names of the timeline's records.

    _id_: number of the name in blocks
    tableNumber: TIMELINE_TABLE._id_
    named: what that table has as its name: an id of a string, a cbid or the like
    records (count): how many have the name
    total (ns): how long they took, their sum
    longest (ns): how long the longest took
    """
    TIMELINE_ROW: Table
    r"""Rows of the timeline's tracks: records that do not overlap, in the order of time.

    _id_: number of the row, in order of storing
    kind: what the track is, as TIMELINE_TABLE says
    key0: stream, range_on_gpu: the device; others: the process
    key1: stream, range_on_gpu: the process; api, range, overhead: the thread
    key2: stream: the context; range_on_gpu: the thread; range: the domain
    key3: stream: the stream
    place: place of the row in its track; in row 0 nothing overlaps
    records (count): records in the row
    leftOut (count): of the track, records that found no row; in row 0
    blocks: 44 bytes for each block, see docs/design/viewer.md
    """
    TIMELINE_BLOCK: Table
    r"""The timeline's records.

    _id_: number of the row, in order of storing
    records: some hundred records of a row, see docs/design/viewer.md
    """
    METRIC: Table
    r"""The metrics and events that were collected.

    _id_: the metric, as METRIC_VALUE.metric has it
    name: nvprof's name or CUPTI's, as it was asked for
    unit: unit of the values; '' = a plain number
    description: what it measures
    formula: how it is computed from metrics of CUPTI's
    nvprofId: id of the values in CUPTI_ACTIVITY_KIND_METRIC, or EVENT for an event; NULL = none there
    isEvent: 1 = one of nvprof's events
    """
    METRIC_GROUP: Table
    r"""Which metrics were measured together, and how.

    _id_: the group, as METRIC_RANGE.passGroup has it
    chip: chip it is for, as CUPTI names it
    mode: how kernels were measured: application, multiplex, kernel or range
    scope: which kernels were asked for; '' = all
    costClass: where the counters sit, which decides what measuring them costs
    passes (count): runs of a kernel it takes
    expectedMicroseconds (us): what a kernel was expected to cost, all passes
    metrics: names of its metrics, with commas between
    counters: what CUPTI was asked for, with commas between
    """
    METRIC_RANGE: Table
    r"""What was measured: a launch, or a range of the user's, once for each group. The view metric_gaps has those without values.

    _id_: the range, as METRIC_VALUE.range has it
    correlationId: of the call that launched it: CONCURRENT_KERNEL.correlationId; NULL = none
    kind: 'kernel', 'graph' for a launch of a CUDA graph, 'range' for one that the user marked
    name: kernel's mangled name, or range's: StringTable id; NULL = not known
    deviceId: device that ran it
    contextId: context that ran it
    streamId: stream that ran it; NULL = not known
    ordinal: counts the launches of the context from 1; of 'range' the ranges
    gridX (count): blocks in x; NULL = no kernel
    gridY (count): blocks in y
    gridZ (count): blocks in z
    blockX (count): threads of a block in x; NULL = no kernel
    blockY (count): threads of a block in y
    blockZ (count): threads of a block in z
    start (ns): when the user's range began, on CUPTI's clock; NULL for others: CONCURRENT_KERNEL has the times of kernels
    stop (ns): when the user's range was over; NULL as start
    passGroup: METRIC_GROUP that was measured
    note: why values are missing; NULL = none is
    processId: process the row came from: PROCESS.processId
    """
    METRIC_VALUE: Table
    r"""Values of metrics. The views kernel_metrics and range_metrics have them with names.

    range: METRIC_RANGE that was measured
    metric: METRIC it is a value of
    value: in METRIC.unit. There is no row for a value that is missing
    """
    CUPTI_ACTIVITY_KIND_EVENT: Table
    r"""Values of nvprof's events per kernel, as METRIC_VALUE has them.

    _id_: number of the row, in order of storing
    id: the event: METRIC.nvprofId
    value (count): how often it came
    domain: 0: today's events have none
    correlationId: of the call that launched the kernel
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_METRIC: Table
    r"""Values of nvprof's metrics per kernel, as METRIC_VALUE has them.

    _id_: number of the row, in order of storing
    id: the metric: METRIC.nvprofId
    value: CUpti_MetricValue; its kind depends on the metric
    correlationId: of the call that launched the kernel
    flags: 0
    processId: process the row came from: PROCESS.processId
    """
    PM_METRIC: Table
    r"""The metrics that were sampled over time.

    _id_: the metric, counted from 1
    name: as it was asked for
    unit: unit of the values; NULL = a plain number
    description: what it measures
    formula: how it is computed from metrics of CUPTI's
    part: PM_SAMPLE.part that has its values
    place: n, where its values are in PM_SAMPLE.vn
    """
    PM_DEVICE: Table
    r"""Devices whose counters were sampled over time. While they are, CUPTI may hold their clocks.

    _id_: number of the row, in order of storing
    deviceId: the device
    chip: as CUPTI names it
    intervalNs (ns): from sample to sample; NULL = it is counted in cycles
    intervalCycles (count): cycles of the system clock from sample to sample; NULL = in ns
    bufferBytes (bytes): the GPU's buffer for samples that were not read yet
    keepLatest: 1 = when the buffer is full, new samples take the place of the oldest; 0 = they are lost
    leftOut: metrics that could not be counted on this device, with commas between; NULL = none
    """
    PM_SAMPLE: Table
    r"""What the counters of a device said of a short time, 16 metrics in a row. The view pm_samples has a row for each value.

    _id_: number of the row, in order of storing
    deviceId: the device
    start (ns): when counting for it began, on CUPTI's clock
    stop (ns): when it was over, on CUPTI's clock
    part: which metrics these are values of: PM_METRIC.part
    v1: value of the metric with this PM_METRIC.place and part; NULL = none
    v2: value of the metric with this PM_METRIC.place and part; NULL = none
    v3: value of the metric with this PM_METRIC.place and part; NULL = none
    v4: value of the metric with this PM_METRIC.place and part; NULL = none
    v5: value of the metric with this PM_METRIC.place and part; NULL = none
    v6: value of the metric with this PM_METRIC.place and part; NULL = none
    v7: value of the metric with this PM_METRIC.place and part; NULL = none
    v8: value of the metric with this PM_METRIC.place and part; NULL = none
    v9: value of the metric with this PM_METRIC.place and part; NULL = none
    v10: value of the metric with this PM_METRIC.place and part; NULL = none
    v11: value of the metric with this PM_METRIC.place and part; NULL = none
    v12: value of the metric with this PM_METRIC.place and part; NULL = none
    v13: value of the metric with this PM_METRIC.place and part; NULL = none
    v14: value of the metric with this PM_METRIC.place and part; NULL = none
    v15: value of the metric with this PM_METRIC.place and part; NULL = none
    v16: value of the metric with this PM_METRIC.place and part; NULL = none
    """
    PM_GAP: Table
    r"""Times without samples between those that there are.

    _id_: number of the row, in order of storing
    deviceId: the device
    start (ns): when the last sample before was over, on CUPTI's clock
    stop (ns): when the next one began, on CUPTI's clock; NULL = there was none
    reason: 'overflow': the GPU's buffer was full; 'missing': CUPTI delivered none
    """
    PM_KERNEL: Table
    r"""What the device's counters said while a kernel ran. The view kernel_pm has a row for each value.

    _id_: number of the row, in order of storing
    deviceId: device that ran the kernel
    name: its mangled name: StringTable id
    start (ns): when it began, on CUPTI's clock
    stop (ns): when it was over, on CUPTI's clock
    correlationId: of the call that launched it
    samples (count): samples of which more than half lies inside the kernel
    part: which metrics these are values of: PM_METRIC.part
    v1: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v2: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v3: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v4: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v5: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v6: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v7: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v8: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v9: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v10: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v11: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v12: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v13: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v14: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v15: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    v16: mean of the metric with this PM_METRIC.place and part over these samples, weighted by what of them lies inside the kernel; NULL = none
    """
    MEMORY_CALL: Table
    r"""With --track-memory: calls for memory that CUPTI has no records of, and calls that found none. One row per call.

    _id_: number of the row, in order of storing
    time (ns): when memory was there, or when giving it back began, on CUPTI's clock
    threadId: thread that called
    runtime: 1 = a function of the CUDA runtime, 0 = of the driver
    cbid: which function: API_NAME.cbid
    address: address of the memory; 0 = it has none
    handle: handle of memory that cuMemCreate made; 0 = none
    bytes (bytes): the size asked for; NULL = the function takes none
    deviceId: device; NULL = memory of the host, or not known
    contextId: context; 0 = none
    result: what the function returned; 0 = success, 2 = there is no memory
    correlationId: joins the API call
    processId: process the row came from: PROCESS.processId
    """
    DEVICE_MEMORY: Table
    r"""With --track-memory: what the driver says is free on a device (cuMemGetInfo).

    _id_: number of the row, in order of storing
    time (ns): when, on CUPTI's clock
    deviceId: device
    freeBytes (bytes): free on the device
    totalBytes (bytes): what the device has
    reason: why it was read: 0 = each second, 1 = a context was made, 2 = code was loaded, 3 = a call found no memory, 4 = the process ends
    processId: process the row came from: PROCESS.processId
    """
    CALL_STACK: Table
    r"""With --stacks: the stack of the thread that called. One row per call.

    _id_: number of the row, in order of storing
    correlationId: joins the API call and its allocation
    stack: joins STACK_ENTRY.stack
    processId: process the row came from: PROCESS.processId
    """
    STACK_ENTRY: Table
    r"""With --stacks: what each stack is made of.

    _id_: number of the row, in order of storing
    stack: number of the stack, the process's own
    position: 0 = the innermost function, next who called it
    frame: joins STACK_FRAME.frame, of the same process
    processId: process the row came from: PROCESS.processId
    """
    STACK_FRAME: Table
    r"""With --stacks: places in the code of the host.

    _id_: number of the row, in order of storing
    frame: number of the frame in its process, from 1
    module: path of the program or library, of a function of Python its file; NULL = code of no file
    offset (bytes): the call, as the symbols of the module count (addr2line -e MODULE takes it); without a module its address; NULL = a function of Python
    function: symbol it is in, mangled; of Python the function's qualified name; NULL = the module has none for it
    line: line of the call in a file of Python; NULL = not known, or not Python
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_pc_sampling: Table
    r"""PC samples (--pc-sampling) by instruction and stall reason. Rows may be alike but for their numbers: add them up.

    _id_: number of the row, in order of storing
    flags: 0
    sourceLocatorId: its source line: SOURCE_LOCATOR.id; 0 = not known
    correlationId: call that launched the kernel, with --pc-serialize; 0 = of all launches together
    functionId: kernel or device function: FUNCTION.id
    latencySamples (count): of the samples, those in whose cycle the warp's scheduler issued nothing
    samples (count): samples of warps that were at this instruction for this reason
    stallReason: enum CUpti_ActivityPCSamplingStallReason; several of CUPTI's reasons are one of these
    pcOffset (bytes): the instruction: how far from the beginning of the function
    stallReasonId: the reason itself: PC_STALL_REASON.id
    deviceId: device it ran on
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO: Table
    r"""Totals of PC samples: a row for each context, and one for each launch that --pc-serialize distinguished.

    _id_: number of the row, in order of storing
    correlationId: as PC_SAMPLING.correlationId
    totalSamples (count): samples that the hardware took, dropped ones and those of kernels that are not the program's among them; of one launch: those that have rows
    droppedSamples (count): samples that the hardware could not write
    samplingPeriodInCycles: cycles of a multiprocessor between samples
    otherSamples (count): samples of kernels that are not the program's, of which no more is known
    contextId: context that was sampled
    deviceId: device of the context
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR: Table
    r"""Source lines of instructions that have PC samples or SASS metrics, as line information of their cubin (-lineinfo) says.

    _id_: number of the row, in order of storing
    id: number of the source line; counts per run
    lineNumber: line in the file, from 1
    fileName: path as passed to the compiler: StringTable id
    processId: process the row came from: PROCESS.processId
    """
    PC_STALL_REASON: Table
    r"""Reasons that warps of this run's devices can have for not going on, as CUPTI calls them.

    id: number of the reason in this file, from 1
    name: CUPTI's name of it
    reason: the part of the name that differs: long_scoreboard
    cuptiIndex: CUPTI's number on the device that had it first
    stallReason: what nvprof counts it as: enum CUpti_ActivityPCSamplingStallReason
    """
    SASS_METRIC: Table
    r"""SASS metrics that were counted in this run (--source-level-analysis).

    id: number of the metric in this file, from 1
    name: CUPTI's name of it
    metric: the part of the name that differs: inst_executed
    description: what it counts, as CUPTI says
    """
    SASS_INSTRUCTION: Table
    r"""Instructions that have values of SASS metrics. Rows may be alike but for their id.

    id: number of the row
    sourceLocatorId: its source line: SOURCE_LOCATOR.id; 0 = not known
    functionId: kernel or device function: FUNCTION.id
    pcOffset (bytes): the instruction: how far from the beginning of the function
    deviceId: device it ran on
    processId: process the row came from: PROCESS.processId
    """
    SASS_VALUE: Table
    r"""Values of SASS metrics by instruction. What is 0 has no row; rows may be alike but for their value: add them up.

    instructionId: instruction: SASS_INSTRUCTION.id
    metricId: what was counted: SASS_METRIC.id
    correlationId: call that launched the kernel; 0 = of all launches together
    value: how much
    """
    CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS: Table
    r"""Accesses to global memory by instruction, from SASS metrics (--source-level-analysis global_access). Made at the end of a run.

    _id_: number of the row, in order of storing
    flags: 256 = a load; the size of an access, which nvprof has in the lowest 8 bits, is 0
    sourceLocatorId: its source line: SOURCE_LOCATOR.id; 0 = not known
    correlationId: call that launched the kernel; 0 = of all launches together
    functionId: kernel or device function: FUNCTION.id
    executed (count): warps that executed it, whatever its predicate was
    pcOffset (bytes): the instruction: how far from the beginning of the function
    threadsExecuted (count): threads that executed it and whose predicate was true
    l2_transactions (count): sectors of 32 bytes that it took
    theoreticalL2Transactions (count): sectors that it would have taken if its threads' addresses lay side by side; 0 = not known
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_BRANCH: Table
    r"""Branches by instruction, from SASS metrics (--source-level-analysis branch). Made at the end of a run.

    _id_: number of the row, in order of storing
    sourceLocatorId: its source line: SOURCE_LOCATOR.id; 0 = not known
    correlationId: call that launched the kernel; 0 = of all launches together
    functionId: kernel or device function: FUNCTION.id
    pcOffset (bytes): the instruction: how far from the beginning of the function
    diverged (count): warps whose threads went different ways
    threadsExecuted (count): threads that executed it, whatever their predicate was
    executed (count): warps that executed it, whatever its predicate was
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION: Table
    r"""How often each instruction was executed, from SASS metrics (--source-level-analysis, whatever it asks for). Made at the end of a run.

    _id_: number of the row, in order of storing
    flags: 0: nvprof has the class of an instruction there
    sourceLocatorId: its source line: SOURCE_LOCATOR.id; 0 = not known
    correlationId: call that launched the kernel; 0 = of all launches together
    functionId: kernel or device function: FUNCTION.id
    pcOffset (bytes): the instruction: how far from the beginning of the function
    threadsExecuted (count): threads that executed it, whatever their predicate was
    notPredOffThreadsExecuted (count): of these threads, those whose predicate was true
    executed (count): warps that executed it, whatever its predicate was
    processId: process the row came from: PROCESS.processId
    """
    CUPTI_ACTIVITY_KIND_SHARED_ACCESS: Table
    r"""Accesses to shared memory by instruction, from SASS metrics (--source-level-analysis shared_access). Made at the end of a run.

    _id_: number of the row, in order of storing
    flags: 256 = a load; the size of an access, which nvprof has in the lowest 8 bits, is 0
    sourceLocatorId: its source line: SOURCE_LOCATOR.id; 0 = not known
    correlationId: call that launched the kernel; 0 = of all launches together
    functionId: kernel or device function: FUNCTION.id
    pcOffset (bytes): the instruction: how far from the beginning of the function
    threadsExecuted (count): threads that executed it and whose predicate was true
    sharedTransactions (count): wavefronts that it took
    theoreticalSharedTransactions (count): wavefronts that it would have taken without bank conflicts; 0 = not known
    executed (count): warps that executed it, whatever its predicate was
    processId: process the row came from: PROCESS.processId
    """
    NO_ROWS: Table
    r"""Empty: views have the types of their columns from it, for those who ask for types before there is a row.

    t: nothing
    i: nothing
    r: nothing
    """
