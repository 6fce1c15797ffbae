"""Small programs of PyTorch and CuPy, each with one fault, and their mended twins.

  gpuprof -o run.sqlite python3 examples/twins.py FAULT [--mended] [--steps N]

Each does the same work in every step, an NVTX range, with the fault or without it. `gpuprof findings`
should name the fault first, and not find it in the twin: scripts/twins and gpu_check try that."""

import argparse
import fcntl
import gc
import os
import time

import torch
from torch.cuda import nvtx

FAULTS = {}  # by name: the function that returns a step


def fault(function):
    FAULTS[function.__name__] = function
    return function


def matrices(size, count=2):
    return [torch.randn(size, size, device="cuda") / size**0.5 for _ in range(count)]


def multiply(a, b, times):
    for _ in range(times):
        a = a @ b
    return a


def captured(work):
    """What launches the work as one graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()  # allocates what it keeps
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


@fault
def small_kernels(mended):
    """A layer of hundreds of small operations, which a graph launches at once."""
    x = torch.randn(1 << 21, device="cuda")

    def work():
        y = x
        for _ in range(200):
            y = (y + 1.0) * 0.5

    return captured(work) if mended else work


@fault
def parameters_one_by_one(mended):
    """An optimizer that updates each parameter by itself, or the same as one graph."""
    parameters = [torch.randn(1 << 20, device="cuda", requires_grad=True) for _ in range(100)]
    for each in parameters:
        each.grad = torch.randn_like(each)
    optimizer = torch.optim.Adam(parameters, foreach=False, fused=False, capturable=True)
    return captured(optimizer.step) if mended else optimizer.step


@fault
def item_of_each_loss(mended):
    """The loss is read after each batch."""
    a, b = matrices(4096)
    total = torch.zeros((), device="cuda")

    def step():
        nonlocal total
        for _ in range(10):
            loss = multiply(a, b, 1).mean()
            total = total + (loss if mended else loss.item())

    return step


@fault
def synchronize_each_layer(mended):
    a, b = matrices(4096)

    def step():
        for _ in range(10):
            multiply(a, b, 1).relu_()
            if not mended:
                torch.cuda.synchronize()

    return step


@fault
def wait_for_an_event(mended):
    a, b = matrices(4096)
    event = torch.cuda.Event()

    def step():
        for _ in range(10):
            multiply(a, b, 1).relu_()
            event.record()
            if not mended:
                event.synchronize()

    return step


@fault
def pageable_batches(mended):
    a, b = matrices(2048)
    batch = torch.randn(2048, 2048)
    if mended:
        batch = batch.pin_memory()

    def step():
        batch.to("cuda", non_blocking=mended)
        multiply(a, b, 4)

    return step


@fault
def pageable_results(mended):
    a, b = matrices(2048)
    result = torch.empty(2048, 2048, pin_memory=mended)

    def step():
        result.copy_(multiply(a, b, 4), non_blocking=mended)

    return step


@fault
def blocking_batches(mended):
    """cudaMemcpy of pinned batches, for each of which the host waits."""
    from cupy.cuda import runtime

    a, b = matrices(2048)
    batch = torch.randn(2048, 2048).pin_memory()
    target = torch.empty(2048, 2048, device="cuda")
    where = (target.data_ptr(), batch.data_ptr(), batch.nbytes, runtime.memcpyHostToDevice)
    side = torch.cuda.Stream()

    def step():
        if mended:
            runtime.memcpyAsync(*where, side.cuda_stream)
        else:
            runtime.memcpy(*where)
        multiply(a, b, 4)

    return step


@fault
def sets_of_what_is_written(mended):
    """Buffers are set to zero in each step, though they are written whole before anybody reads them."""
    from cupy.cuda import runtime

    a, b = matrices(2048)
    buffers = torch.empty(100, 8 << 20, device="cuda")
    size = buffers[0].nbytes

    def step():
        stream = torch.cuda.current_stream().cuda_stream
        for i in range(0 if mended else len(buffers)):
            runtime.memsetAsync(buffers.data_ptr() + i * size, 0, size, stream)
        multiply(a, b, 4)

    return step


@fault
def copies_before_the_work(mended):
    """Copies in the stream of the work, though the batch of the next step could be copied meanwhile."""
    a, b = matrices(2048)
    batch = torch.randn(2048, 2048).pin_memory()
    targets = [torch.empty(2048, 2048, device="cuda") for _ in range(2)]
    side = torch.cuda.Stream()

    def step():
        with torch.cuda.stream(side if mended else torch.cuda.current_stream()):
            targets[0].copy_(batch, non_blocking=True)
        targets.reverse()
        multiply(a, b, 4)

    return step


@fault
def many_small_copies(mended):
    a, b = matrices(2048)
    side = torch.cuda.Stream()
    batch = torch.randn(400, 256).pin_memory()
    target = torch.empty(400, 256, device="cuda")

    def step():
        with torch.cuda.stream(side):
            if mended:
                target.copy_(batch, non_blocking=True)
            else:
                for i in range(len(batch)):
                    target[i].copy_(batch[i], non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        multiply(a, b, 4)

    return step


@fault
def memory_given_back(mended):
    """empty_cache() in each step: the next tensors take cudaMalloc."""
    a, b = matrices(2048)

    def step():
        for _ in range(4):
            multiply(a, b, 2)
            torch.empty(64 << 20, device="cuda", dtype=torch.uint8).zero_()
            if not mended:
                torch.cuda.empty_cache()

    return step


@fault
def slow_loader(mended):
    """The host prepares a batch for longer than the GPU works on one."""
    a, b = matrices(2048)

    def step():
        if not mended:
            time.sleep(0.02)
        multiply(a, b, 16)

    return step


@fault
def work_of_the_host(mended):
    """Python computes between the kernels what does not change."""
    a, b = matrices(2048)

    def step():
        for _ in range(8):
            multiply(a, b, 1)
            if not mended:
                sum(i * i for i in range(20_000))

    return step


@fault
def garbage_looked_for(mended):
    """Python looks for garbage among all objects in each step."""
    a, b = matrices(2048)
    objects = [[i] for i in range(200_000)]

    def step():
        multiply(a, b, 8)
        if not mended:
            gc.collect()
        return objects

    return step


@fault
def few_blocks(mended):
    """A kernel of 16 blocks that loop, or of one for each multiprocessor."""
    import triton
    import triton.language as tl

    @triton.jit
    def add_one(x, parts, block: tl.constexpr):
        for part in range(tl.program_id(0), parts, tl.num_programs(0)):
            place = x + part * block + tl.arange(0, block)
            tl.store(place, tl.load(place) + 1)

    x = torch.zeros(1 << 27, device="cuda")
    blocks = torch.cuda.get_device_properties(0).multi_processor_count if mended else 16
    return lambda: add_one[(blocks,)](x, x.numel() // 1024, 1024)


# --- in CUDA C++, compiled by CuPy


def compiled(code, name, options=()):
    import cupy

    return cupy.RawKernel(code, name, options=("--std=c++17", *options))


def on_cupy(count):
    import cupy

    return cupy.zeros(count, dtype=cupy.float32)


@fault
def loads_with_a_stride(mended):
    """Neighbouring threads read floats that are 32 floats apart."""
    code = r"""extern "C" __global__ void read_all(const float* from, float* to, int stride, int count) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      float sum = 0;
      for (int part = 0; part < 8; ++part)
        sum += from[(long long)(i + part * 4096) * stride % count];
      to[i] = sum;
    }"""
    kernel, count = compiled(code, "read_all"), 1 << 25
    source, target = on_cupy(count), on_cupy(1 << 21)
    return lambda: kernel((1 << 13,), (256,), (source, target, 1 if mended else 32, count))


@fault
def threads_at_one_bank(mended):
    """A column of a tile in shared memory, which has a row of 32 floats, or of 33."""
    code = r"""extern "C" __global__ void turn(float* to) {
      __shared__ float tile[32 * 33];
      int x = threadIdx.x, y = threadIdx.y;
      float sum = 0;
      for (int i = 0; i < 512; ++i) {
        tile[(x * WIDTH + y + i) % (32 * WIDTH)] = sum;
        __syncwarp();
        sum += tile[(x * WIDTH + (y ^ 1) + i) % (32 * WIDTH)] + 1;
      }
      to[(blockIdx.x * 8 + y) * 32 + x] = sum;
    }"""
    kernel = compiled(code, "turn", (f"-DWIDTH={33 if mended else 32}",))
    target = on_cupy(1 << 20)
    return lambda: kernel((1 << 12,), (32, 8), (target,))


@fault
def threads_that_part(mended):
    """Each thread of a warp takes another way, or all take the same."""
    code = r"""extern "C" __global__ void part(float* to, int same) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      float sum = i;
      int rounds = 64 * ((same ? blockIdx.x : threadIdx.x) % 32 + 1);
      for (int k = 0; k < rounds; ++k) sum = sum * 0.999f + 0.5f;
      to[i] = sum;
    }"""
    kernel, target = compiled(code, "part"), on_cupy(1 << 22)
    return lambda: kernel((1 << 14,), (256,), (target, int(mended)))


@fault
def atomics_of_each_thread(mended):
    """Each thread adds to a sum in memory, or a block does so once."""
    code = r"""extern "C" __global__ void add_up(const float* from, float* sums, int blocks_first) {
      __shared__ float of_block;
      if (threadIdx.x == 0) of_block = 0;
      __syncthreads();
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      float* sum = &sums[i * 2654435761u % 4096];
      atomicAdd(blocks_first ? &of_block : sum, from[i]);
      __syncthreads();
      if (blocks_first && threadIdx.x == 0) atomicAdd(sum, of_block);
    }"""
    kernel, count = compiled(code, "add_up"), 1 << 22
    source, target = on_cupy(count), on_cupy(4096)
    return lambda: kernel((count // 256,), (256,), (source, target, int(mended)))


@fault
def warps_at_a_barrier(mended):
    """One warp of a block works while the others wait for it."""
    code = r"""extern "C" __global__ void meet(float* to, int all) {
      int i = blockIdx.x * blockDim.x + threadIdx.x, warp = threadIdx.x / 32;
      float sum = i;
      for (int turn = 0; turn < 32; ++turn) {
        if (all || warp == turn % 8)
          for (int k = 0; k < (all ? 64 : 512); ++k) sum = sum * 0.999f + 0.5f;
        __syncthreads();
      }
      to[i] = sum;
    }"""
    kernel, target = compiled(code, "meet"), on_cupy(1 << 22)
    return lambda: kernel((1 << 14,), (256,), (target, int(mended)))


@fault
def registers_spilled(mended):
    """Too few registers are allowed for what a thread keeps."""
    code = r"""extern "C" __global__ void keep(float* to) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      float kept[96];
      #pragma unroll
      for (int k = 0; k < 96; ++k) kept[k] = to[(i + k * 37) % (1 << 22)];
      for (int turn = 0; turn < 16; ++turn)
        #pragma unroll
        for (int k = 0; k < 96; ++k) kept[k] = kept[(k + 1) % 96] * 0.999f + kept[(k + 17) % 96];
      float sum = 0;
      #pragma unroll
      for (int k = 0; k < 96; ++k) sum += kept[k];
      to[i] = sum;
    }"""
    kernel = compiled(code, "keep", () if mended else ("--maxrregcount=32",))
    target = on_cupy(1 << 22)
    return lambda: kernel((1 << 12,), (256,), (target,))


@fault
def one_block_too_many(mended):
    """The grid is a block more than fits on the GPU at a time."""
    code = r"""extern "C" __global__ void __launch_bounds__(1024, 1) work(float* to) {
      extern __shared__ float room[];
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      float sum = i;
      for (int k = 0; k < 160000; ++k) sum = sum * 0.999f + 0.5f;
      to[i] = sum + room[0] * 0;
    }"""
    kernel, target = compiled(code, "work"), on_cupy(1 << 20)
    at_a_time = torch.cuda.get_device_properties(0).multi_processor_count
    kernel.max_dynamic_shared_size_bytes = 150_000  # one block fits on a multiprocessor
    blocks = at_a_time if mended else at_a_time + 1
    return lambda: kernel((blocks,), (1024,), (target,), shared_mem=150_000)


@fault
def launches_of_another_length(mended):
    """One launch in twenty has ten times the work of the others."""
    code = r"""extern "C" __global__ void work(float* to, int rounds) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      float sum = i;
      for (int k = 0; k < rounds; ++k) sum = sum * 0.999f + 0.5f;
      to[i] = sum;
    }"""
    kernel, target = compiled(code, "work"), on_cupy(1 << 22)

    def step():
        for i in range(20):
            rounds = 4000 if i == 7 and not mended else 400
            kernel((1 << 14,), (256,), (target, rounds))

    return step


@fault
def pools_that_shrink(mended):
    """A pool gives its memory back at each synchronization and needs it again."""
    import cupy

    a, b = matrices(1024)
    device, release_threshold = 0, 4  # cudaMemPoolAttrReleaseThreshold
    pool = cupy.cuda.runtime.deviceGetDefaultMemPool(device)
    cupy.cuda.runtime.memPoolSetAttribute(pool, release_threshold, (1 << 60) if mended else 0)

    def step():
        memory = cupy.cuda.malloc_async(512 << 20)
        multiply(a, b, 32)
        del memory
        torch.cuda.synchronize()

    return step


# --- with the driver


@fault
def code_loaded_in_each_step(mended):
    """The driver compiles a kernel in each step, which nobody runs."""
    import ctypes

    a, b = matrices(2048)
    cuda = ctypes.CDLL("libcuda.so.1")
    lines = "".join(f"fma.rn.f32 %f{i % 7}, %f{(i + 1) % 7}, %f{(i + 2) % 7}, %f{(i + 3) % 7};\n"
                    for i in range(3000))  # fmt: skip

    def text_of(number):
        return (".version 7.8\n.target sm_80\n.address_size 64\n"
                f".visible .entry k{number}(.param .u64 p) {{\n.reg .f32 %f<7>;\n.reg .u64 %p;\n"
                f"ld.param.u64 %p, [p];\n{lines}st.global.f32 [%p], %f0;\nret;\n}}\n").encode()  # fmt: skip

    texts = iter([text_of(number) for number in range(100)])  # to write one takes a while, too

    def step():
        if not mended:
            module = ctypes.c_void_p()
            if cuda.cuModuleLoadData(ctypes.byref(module), next(texts)) == 0:
                cuda.cuModuleUnload(module)
        multiply(a, b, 4)

    return step


@fault
def a_function_of_the_host(mended):
    """The stream waits for a function of the host between two products."""
    import ctypes

    a, b = matrices(2048)
    cuda = ctypes.CDLL("libcuda.so.1")
    wait = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: time.sleep(0.002))

    def step():
        multiply(a, b, 2)
        if not mended:
            cuda.cuLaunchHostFunc(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), wait,
                                  None)  # fmt: skip
        multiply(a, b, 2)

    return step


# --- and more of PyTorch


@fault
def graphs_of_two_kernels(mended):
    """Each graph has two kernels, or one graph has all."""
    x = torch.randn(1 << 20, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x
        for _ in range(400 if mended else 1):
            y = (y + 1.0) * 0.5

    def step():
        for _ in range(1 if mended else 400):
            graph.replay()

    return step


@fault
def products_in_fp32(mended):
    """Matrix products in FP32, where TF32 would do."""
    torch.backends.cuda.matmul.allow_tf32 = mended
    a, b = matrices(4096)
    return lambda: multiply(a, b, 2)


@fault
def a_checkpoint_now_and_then(mended):
    a, b = matrices(2048)
    numbers = iter(range(1000))

    def step():
        if next(numbers) == 11 and not mended:
            time.sleep(0.05)
        multiply(a, b, 16)

    return step


@fault
def streams_in_turns(mended):
    """Small kernels of four streams, each of which waits for the one before."""
    import triton
    import triton.language as tl

    @triton.jit
    def add_often(x, rounds, block: tl.constexpr):
        place = x + tl.program_id(0) * block + tl.arange(0, block)
        value = tl.load(place)
        for _ in range(rounds):
            value = value * 0.999 + 0.5
        tl.store(place, value)

    x = [torch.zeros(1 << 14, device="cuda") for _ in range(4)]
    streams = [torch.cuda.Stream() for _ in x]

    def step():
        now = torch.cuda.current_stream()
        before = now
        for each, stream in zip(x, streams, strict=True):
            stream.wait_stream(now if mended else before)
            with torch.cuda.stream(stream):
                add_often[(16,)](each, 100_000, 1024)
            before = stream
        for stream in streams:
            now.wait_stream(stream)

    return step


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("fault", choices=FAULTS)
    parser.add_argument("--mended", action="store_true", help="without the fault")
    parser.add_argument("--steps", type=int, default=18)
    parser.add_argument("--lock", metavar="FILE", help="of the programs that have it, one does its "
                        "steps at a time, while none of the others loads")  # fmt: skip
    options = parser.parse_args()
    os.environ["CUDA_CACHE_DISABLE"] = "1"  # the driver compiles each time
    lock = Lock(options.lock) if options.lock else None
    step = FAULTS[options.fault](options.mended)
    step()  # compiles and loads what it needs
    torch.cuda.synchronize()
    if lock:
        lock.alone()
    take(options.steps, step)


class Lock:
    """What loads shares it. Who has loaded waits until it has the lock alone, which it keeps until the
    process is over; nobody begins to load while others wait for that."""

    def __init__(self, path):
        flags = os.O_CREAT | os.O_RDWR
        self.lock, self.waiting = os.open(path, flags), os.open(f"{path}.waiting", flags)
        fcntl.flock(self.waiting, fcntl.LOCK_EX)
        fcntl.flock(self.lock, fcntl.LOCK_SH)
        fcntl.flock(self.waiting, fcntl.LOCK_UN)

    def alone(self):
        fcntl.flock(self.waiting, fcntl.LOCK_SH)
        fcntl.flock(self.lock, fcntl.LOCK_EX)


def take(steps, step):
    # The host is one step ahead, so that a step takes as long as its work.
    ends = [torch.cuda.Event(), torch.cuda.Event()]
    for number in range(steps):
        with nvtx.range(f"step {number}"):
            step()
            ends[0].record()
            ends.reverse()
            ends[0].synchronize()
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
