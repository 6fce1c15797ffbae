#include "libprof/collect/range_profiler.hpp"

#include <cuda.h>
#include <fcntl.h>
#include <generated_nvtx_meta.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "libprof/base/demangle.hpp"

namespace gpuprof::collect {
namespace {

using std::chrono::steady_clock;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             steady_clock::now().time_since_epoch())
      .count();
}

constexpr std::size_t largest_image = std::size_t{24} << 20;
// The first Start of a profiler object (measured), and what it takes for each range of its batch.
constexpr double first_start_us = 180'000;
constexpr double first_start_range_us = 650;
constexpr std::uint32_t smallest_batch = 8;
constexpr std::int64_t callback_ns = 500;  // of a launch that is not measured (measured)

constexpr CUpti_CallbackId launches[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture,
    CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz,
};

constexpr CUpti_CallbackId nvtx[] = {
    CUPTI_CBID_NVTX_nvtxRangePushA,     CUPTI_CBID_NVTX_nvtxRangePushEx,
    CUPTI_CBID_NVTX_nvtxRangePop,       CUPTI_CBID_NVTX_nvtxDomainRangePushEx,
    CUPTI_CBID_NVTX_nvtxDomainRangePop,
};

enum class Capture { none, begins, ends };

Capture capture_of(CUpti_CallbackId id) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz: return Capture::begins;
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz: return Capture::ends;
    default: return Capture::none;
  }
}

// CUPTI's parameters for one call.
#define GPUPROF_PARAMS(type) cupti::sized<type>(type##_STRUCT_SIZE)

// The place of a name in a list, from 1, where it is put if it is new; 0 for none.
std::uint32_t number_of(const char* name, std::vector<std::string>& names,
                        std::unordered_map<std::string, std::uint32_t>& numbers) {
  if (!name) return 0;
  const auto [entry, fresh] = numbers.try_emplace(name, 0);
  if (fresh) {
    names.emplace_back(name);
    entry->second = static_cast<std::uint32_t>(names.size());
  }
  return entry->second;
}

// What a launch is, for passes of several runs to be compared.
constexpr std::uint64_t other_print = 0;  // it was another one in another pass

std::uint64_t print_of(const wire::MeasuredRange& row, const std::vector<std::string>& names) {
  std::uint64_t print = row.name > 0 ? std::hash<std::string>()(names[row.name - 1]) : 0;
  const auto mix = [&](std::uint64_t part) { print = (print ^ part) * 0x9e3779b97f4a7c15u; };
  mix(row.ordinal);
  for (const std::uint32_t part : row.grid) mix(part);
  for (const std::uint32_t part : row.block) mix(part);
  return print | 1;
}

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

bool read_all(int file, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = read(file, bytes.data(), bytes.size());
    if (got <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return true;
}

std::regex regex_of(const std::string& text) {
  return std::regex(text, std::regex::ECMAScript | std::regex::optimize);
}

}  // namespace

// What a callback says of a launch.
struct RangeProfiler::Launch {
  const char* symbol = nullptr;
  CUstream stream = nullptr;
  bool per_thread_stream = false;
  bool cooperative = false;
  bool graph = false;
  std::uint32_t grid[3] = {};
  std::uint32_t block[3] = {};

  Launch(CUpti_CallbackId id, const CUpti_CallbackData& call) : symbol(call.symbolName) {
    switch (id) {
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
        per_thread_stream = true;
        [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel: {
        // All of these begin with the same members.
        const auto& params = *static_cast<const cuLaunchKernel_params*>(call.functionParams);
        set(params);
        stream = params.hStream;
        cooperative = id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel ||
                      id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz;
        break;
      }
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: per_thread_stream = true; [[fallthrough]];
      case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx: {
        const auto* config =
            static_cast<const cuLaunchKernelEx_params*>(call.functionParams)->config;
        if (!config) break;
        set(*config);
        stream = config->hStream;
        for (unsigned i = 0; i < config->numAttrs; ++i) {
          const CUlaunchAttribute& attribute = config->attrs[i];
          cooperative |=
              attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute.value.cooperative != 0;
        }
        break;
      }
      default: graph = true;
    }
  }

 private:
  template <class Dimensions>
  void set(const Dimensions& from) {
    grid[0] = from.gridDimX, grid[1] = from.gridDimY, grid[2] = from.gridDimZ;
    block[0] = from.blockDimX, block[1] = from.blockDimY, block[2] = from.blockDimZ;
  }
};

// Launches that are alike: name, grid and block.
struct RangeProfiler::Shape {
  bool known = false;
  bool may_hang = false;               // never to be measured
  std::vector<bool> scopes;            // whose names fit
  std::uint64_t launches = 0;          // so far
  std::vector<std::uint32_t> samples;  // by group, multiplex only
};

struct RangeProfiler::Context {
  struct ShapeKey {
    const char* symbol;
    std::array<std::uint32_t, 6> size;
    bool operator==(const ShapeKey&) const = default;
  };
  struct ShapeHash {
    std::size_t operator()(const ShapeKey& key) const {
      std::size_t hash = reinterpret_cast<std::size_t>(key.symbol);
      for (const std::uint32_t part : key.size) hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
      return hash ^ (hash >> 29);
    }
  };

  const CUcontext handle;
  const std::uint32_t number;  // wire::CounterData::context_number
  std::uint32_t id = 0;
  std::uint32_t device = 0;
  std::string chip;
  std::timed_mutex mutex;  // held through a measured launch; guards the rest
  std::atomic<bool> dead{false};
  std::atomic<bool> failed{false};
  std::atomic<bool> overlapped{false};  // a launch got in between

  CUpti_RangeProfiler_Object* object = nullptr;
  int group = -1;  // configured
  bool configured = false;
  bool started = false;
  std::uint32_t batch = 0;     // ranges per image, of the group
  std::uint32_t growth = 1;    // times the batch that was asked for
  std::uint64_t measured = 0;  // with this batch
  std::uint32_t window = 0;
  struct FreshImage {
    std::vector<std::uint8_t> bytes;  // as CUPTI initialised them
    std::uint32_t batch = 0;
  };
  std::map<int, FreshImage> fresh_images;  // by group
  std::vector<std::uint8_t> image;
  std::vector<wire::MeasuredRange> rows;  // of the image
  std::int64_t first_row_ns = 0;
  std::vector<std::uint64_t> prints;  // of the window's launches, see compare_passes
  std::vector<std::string> names;
  std::unordered_map<std::string, std::uint32_t> name_numbers;
  wire::CounterData list;  // launches not sent yet, measured or not
  std::unordered_map<std::string, std::uint32_t> list_names;
  std::unordered_map<ShapeKey, Shape, ShapeHash> shapes;
  std::uint64_t ordinal = 0;
  double wasted_us = 0;  // on launches between those asked for, since the last of these
  wire::MeasuredRange launching;
  Shape* shape = nullptr;   // of it
  std::uint32_t level = 4;  // multiplex: samples of each shape to be had for now
  std::int64_t phase_spent_ns = 0;
  std::uint64_t unneeded = 0;           // launches since one was needed in this group,
  std::int64_t needed_at_ns = 0;        // which was then
  bool fruitless = false;               // too many: another group may have the phase
  bool pushed = false;                  // range mode: a range is open
  std::atomic<std::uint64_t> range{0};  // the one that it took part in last

  std::atomic<std::int64_t> busy_since{0};  // ns, steady clock; 0: nothing is going on
  std::atomic<const char*> busy_with{nullptr};

  Context(CUcontext context, std::uint32_t its_number) : handle(context), number(its_number) {}
};

// For the watch: this takes however long it takes.
class RangeProfiler::Busy {
 public:
  Busy(Context& context, const char* what) : context_(context) {
    context.busy_with.store(what, std::memory_order_relaxed);
    context.busy_since.store(now_ns(), std::memory_order_release);
  }
  ~Busy() { context_.busy_since.store(0, std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Context& context_;
};

RangeProfiler::RangeProfiler(const cupti::Api& cupti, Channel& channel, wire::CollectConfig config,
                             std::function<void(std::string_view, std::string_view)> tell)
    : cupti_(cupti),
      channel_(channel),
      config_(std::move(config)),
      tell_(std::move(tell)),
      left_out_(regex_of(config_.left_out)),
      ranges_(regex_of(config_.ranges)),
      first_cost_us_(first_start_us + first_start_range_us * config_.batch) {
  for (const wire::CollectScope& scope : config_.scopes) {
    auto& made = scopes_.emplace_back(std::make_unique<Scope>());
    made->contexts = regex_of(scope.contexts);
    made->streams = regex_of(scope.streams);
    made->kernels = regex_of(scope.kernels);
    made->invocations = regex_of(scope.invocations);
  }
}

RangeProfiler::~RangeProfiler() = default;

std::span<const CUpti_CallbackId> RangeProfiler::driver_calls() { return launches; }
std::span<const CUpti_CallbackId> RangeProfiler::nvtx_calls() { return nvtx; }

bool RangeProfiler::wants_nvtx() const {
  return config_.mode == wire::ReplayMode::range && !config_.ranges.empty();
}

// --- contexts

RangeProfiler::Context* RangeProfiler::find(CUcontext handle) {
  // A thread mostly launches into one context.
  thread_local Context* last = nullptr;
  thread_local const RangeProfiler* owner = nullptr;
  if (last && owner == this && last->handle == handle && !last->dead.load()) return last;
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    if (context->handle == handle && !context->dead.load()) {
      owner = this;
      return last = context.get();
    }
  }
  return nullptr;
}

void RangeProfiler::context_created(CUcontext handle) {
  const std::unique_lock lock(contexts_mutex_);
  std::uint32_t device = 0;
  if (cupti_.cuptiGetDeviceId) cupti_.cuptiGetDeviceId(handle, &device);
  // Threads of one device each make their contexts in any order.
  const auto before =
      std::ranges::count(contexts_, device, [](const auto& one) { return one->device; });
  auto context =
      std::make_unique<Context>(handle, device << 16 | static_cast<std::uint32_t>(before));
  context->device = device;
  if (cupti_.cuptiGetContextId) cupti_.cuptiGetContextId(handle, &context->id);
  if (cupti_.cuptiDeviceGetChipName) {
    auto params = GPUPROF_PARAMS(CUpti_Device_GetChipName_Params);
    params.deviceIndex = context->device;
    if (cupti_.cuptiDeviceGetChipName(&params) == CUPTI_SUCCESS && params.pChipName) {
      context->chip = params.pChipName;
    }
  }
  contexts_.push_back(std::move(context));
}

void RangeProfiler::context_ends(CUcontext handle) {
  Context* context = find(handle);
  if (!context) return;
  const std::unique_lock lock(context->mutex, std::chrono::seconds(1));
  if (lock) send_list(*context);
  if (lock && !context->failed.load()) {
    close(*context);
    disable(*context);
  }
  context->dead.store(true);
}

void RangeProfiler::finish() {
  off_.store(true);
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    if (context->dead.load()) continue;
    const std::unique_lock one(context->mutex, std::chrono::seconds(1));
    if (!one) continue;
    send_list(*context);
    if (!context->failed.load()) close(*context);
  }
}

// --- launches

void RangeProfiler::driver_call(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  const bool enters = call.callbackSite == CUPTI_API_ENTER;
  const Capture capture = capture_of(id);
  if (capture == Capture::none) {
    enters ? enter(id, call) : exit(call);
    return;
  }
  // Neither Start nor Stop may come while a stream is captured: they would break the capture.
  if (capture == Capture::begins && enters) {
    const std::shared_lock lock(contexts_mutex_);
    for (const auto& context : contexts_) {
      if (context->dead.load()) continue;
      const std::unique_lock one(context->mutex, std::chrono::seconds(1));
      if (one) suspend(*context);
    }
  }
  if (enters == (capture == Capture::begins)) {
    captures_.fetch_add(capture == Capture::begins ? 1 : -1);
  }
  if (capture == Capture::begins && !enters &&
      *static_cast<const CUresult*>(call.functionReturnValue) != CUDA_SUCCESS) {
    captures_.fetch_sub(1);
  }
}

void RangeProfiler::enter(CUpti_CallbackId id, const CUpti_CallbackData& call) {
  *call.correlationData = 0;
  if (config_.mode == wire::ReplayMode::range) {
    if (open_range_.load(std::memory_order_relaxed) != 0) join_range(call.context);
    return;
  }
  // Later runs are joined with all launches of the first, also with those that it cannot measure.
  const bool off = off_.load(std::memory_order_relaxed);
  if (off && !config_.list_launches) return;
  if (!off) counts_.launches.fetch_add(1, std::memory_order_relaxed);
  Context* found = find(call.context);
  const bool failed = !found || found->failed.load(std::memory_order_relaxed);
  if (failed && !off) counts_.failed.fetch_add(1, std::memory_order_relaxed);
  if (!found || (failed && !config_.list_launches)) return;
  Context& context = *found;
  std::unique_lock lock(context.mutex, std::defer_lock);
  if (!lock.try_lock_for(std::chrono::milliseconds(config_.hang_ms))) {
    // Another thread's launch does not come back, maybe because it waits for this one.
    context.overlapped.store(true);
    return;
  }
  ++context.ordinal;
  if (config_.mode == wire::ReplayMode::multiplex) {
    spent_ns_.fetch_add(callback_ns, std::memory_order_relaxed);
  }
  const bool captured = captures_.load(std::memory_order_relaxed) > 0;
  if (captured && !off && !failed) counts_.capture.fetch_add(1, std::memory_order_relaxed);
  if (captured) return;
  const Launch launch(id, call);
  if (config_.list_launches) list(context, call, launch);
  if (off || failed) return;
  if (launch.graph) {
    // An auto range session does not survive a graph launch (measured).
    counts_.graph.fetch_add(1, std::memory_order_relaxed);
    suspend(context);
    return;
  }
  Shape& shape = shape_of(context, launch);
  ++shape.launches;
  if (shape.may_hang) {
    counts_.excluded.fetch_add(1, std::memory_order_relaxed);
    suspend(context);
    return;
  }
  const int group = group_for(context, launch, shape);
  if (group >= 0) {
    if (!begin(context, group)) {
      counts_.failed.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    context.wasted_us = 0;
  } else if (context.started) {
    // To measure and throw away, or to stop and start again: whichever was cheaper so far.
    const wire::CollectGroup& current = config_.groups[static_cast<std::size_t>(context.group)];
    context.wasted_us += current.launch_us;
    if (config_.mode == wire::ReplayMode::kernel || context.wasted_us > current.switch_us) {
      suspend(context);
    }
  }
  if (!context.started) return;

  wire::MeasuredRange& row = context.launching = {};
  row.ordinal = context.ordinal;
  row.correlation = call.correlationId;
  row.kind = wire::RangeKind::kernel;
  row.wanted =
      group >= 0 || (config_.mode == wire::ReplayMode::multiplex &&
                     shape.samples[static_cast<std::size_t>(context.group)] < config_.samples);
  std::copy_n(launch.grid, 3, row.grid);
  std::copy_n(launch.block, 3, row.block);
  row.name = name_index(context, launch.symbol);
  if (cupti_.cuptiGetStreamIdEx) {
    cupti_.cuptiGetStreamIdEx(context.handle, launch.stream, launch.per_thread_stream, &row.stream);
  }
  context.shape = &shape;
  context.busy_with.store(launch.symbol, std::memory_order_relaxed);
  context.busy_since.store(now_ns(), std::memory_order_release);
  *call.correlationData = reinterpret_cast<std::uint64_t>(&context);
  lock.release();  // until the call returns
}

void RangeProfiler::exit(const CUpti_CallbackData& call) {
  auto* const found = reinterpret_cast<Context*>(*call.correlationData);
  if (!found) return;
  Context& context = *found;
  const std::unique_lock lock(context.mutex, std::adopt_lock);
  const std::int64_t since = context.busy_since.exchange(0);
  const auto* result = static_cast<const CUresult*>(call.functionReturnValue);
  if (result && *result != CUDA_SUCCESS) return;  // no launch, no range
  if (context.rows.empty()) context.first_row_ns = now_ns();
  context.rows.push_back(context.launching);
  if (config_.mode == wire::ReplayMode::multiplex) {
    const wire::CollectGroup& group = config_.groups[static_cast<std::size_t>(context.group)];
    const std::int64_t took =
        std::max(now_ns() - since, static_cast<std::int64_t>(group.launch_us * 1000));
    spent_ns_.fetch_add(took, std::memory_order_relaxed);
    context.phase_spent_ns += took;
    ++context.shape->samples[static_cast<std::size_t>(context.group)];
  }
  // Once something hung, what comes is not noted any more, and CUPTI must not count it either.
  if (context.rows.size() >= context.batch || off_.load(std::memory_order_relaxed)) close(context);
}

RangeProfiler::Shape& RangeProfiler::shape_of(Context& context, const Launch& launch) {
  Context::ShapeKey key{launch.symbol, {}};
  std::copy_n(launch.grid, 3, key.size.begin());
  std::copy_n(launch.block, 3, key.size.begin() + 3);
  Shape& shape = context.shapes[key];
  if (shape.known) return shape;
  shape.known = true;
  shape.samples.resize(config_.groups.size());
  const std::string name = demangled(launch.symbol ? launch.symbol : "");
  const bool nccl = name.starts_with("nccl");
  // Kernels that wait for one another hang where each runs alone: always under kernel replay, and
  // when one thread drives several GPUs.
  bool alone = config_.mode == wire::ReplayMode::kernel;
  if (nccl && !alone) {
    const std::shared_lock lock(contexts_mutex_);
    alone = std::ranges::count_if(contexts_, [](const auto& one) { return !one->dead.load(); }) > 1;
  }
  shape.may_hang =
      (alone && (nccl || (config_.mode == wire::ReplayMode::kernel && launch.cooperative))) ||
      (!config_.left_out.empty() && std::regex_search(name, left_out_));
  for (std::size_t i = 0; i < scopes_.size(); ++i) {
    const auto& scope = config_.scopes[i];
    const bool device = scope.devices.empty() ||
                        std::ranges::find(scope.devices, context.device) != scope.devices.end();
    shape.scopes.push_back(device && std::regex_search(name, scopes_[i]->kernels) &&
                           (scope.contexts.empty() ||
                            std::regex_match(std::to_string(context.id), scopes_[i]->contexts)));
  }
  return shape;
}

int RangeProfiler::group_of_scope(const Context& context, std::uint32_t scope) const {
  for (std::size_t i = 0; i < config_.groups.size(); ++i) {
    if (config_.groups[i].scope == scope && config_.groups[i].chip == context.chip) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

int RangeProfiler::group_for(Context& context, const Launch& launch, Shape& shape) {
  for (std::uint32_t i = 0; i < scopes_.size(); ++i) {
    if (!shape.scopes[i]) continue;
    const wire::CollectScope& scope = config_.scopes[i];
    if (!scope.streams.empty()) {
      std::uint32_t stream = 0;
      if (cupti_.cuptiGetStreamIdEx) {
        cupti_.cuptiGetStreamIdEx(context.handle, launch.stream, launch.per_thread_stream, &stream);
      }
      if (!std::regex_match(std::to_string(stream), scopes_[i]->streams)) continue;
    }
    if (!scope.invocations.empty() &&
        !std::regex_match(std::to_string(shape.launches), scopes_[i]->invocations)) {
      continue;
    }
    const std::uint64_t place = scopes_[i]->seen.fetch_add(1);
    if (place < scope.skip || (scope.count > 0 && place >= scope.skip + scope.count)) continue;
    if (config_.mode == wire::ReplayMode::multiplex) {
      return multiplex_wants(context, shape) ? context.group : -1;
    }
    const int group = group_of_scope(context, i);
    if (group >= 0) return group;
  }
  return -1;
}

// --- multiplexing
//
// CUPTI takes another configuration only from a new profiler object, whose first Start costs some
// 0.2 s (measured), and more in a program of many kernels: what the last one took is what the next
// is taken to cost. So a context stays with a group for a phase, and spends it on windows that
// begin at launches of shapes which the group has not seen often enough. First each group gets a
// few launches of each shape, then more. All of it is paid from a budget that grows with time.

namespace {
constexpr std::uint64_t look_at_clock = 64;  // launches
constexpr int phase_switches = 3;            // a phase may cost that many switches
}  // namespace

bool RangeProfiler::multiplex_wants(Context& context, Shape& shape) {
  const auto needs = [&](int group) {
    return config_.groups[static_cast<std::size_t>(group)].chip == context.chip &&
           shape.samples[static_cast<std::size_t>(group)] <
               std::min(context.level, config_.samples);
  };
  const auto affords = [&](double us) {
    // The budget is a share of the time that the program would have taken without.
    const auto elapsed = static_cast<double>(now_ns() - began_ns_.load());
    const auto spent = static_cast<double>(spent_ns_.load(std::memory_order_relaxed));
    return spent + us * 1000 <= (elapsed - spent) * config_.overhead_permille / 1000;
  };
  const auto needed = [&] {
    context.unneeded = 0;
    context.fruitless = false;
    context.needed_at_ns = now_ns();
    return true;
  };
  if (began_ns_.load(std::memory_order_relaxed) == 0) began_ns_.store(now_ns());
  const double first_us = first_cost_us_.load(std::memory_order_relaxed);
  if (context.started) return needs(context.group) && needed();
  // Nothing was needed for as long as it takes to earn another switch.
  if (++context.unneeded % look_at_clock == 0) {
    const auto idle_ns = static_cast<double>(now_ns() - context.needed_at_ns);
    context.fruitless = idle_ns * config_.overhead_permille > first_us * 1e6;
  }
  const bool over =
      context.group < 0 || context.fruitless ||
      context.phase_spent_ns > static_cast<std::int64_t>(phase_switches * first_us * 1000);
  if (!over) {
    if (!needs(context.group)) return false;
    // A short window at least must be paid for.
    const wire::CollectGroup& group = config_.groups[static_cast<std::size_t>(context.group)];
    const double switch_us = context.object ? group.switch_us : first_us;
    return affords(switch_us + 16 * group.launch_us) && needed();
  }
  // The group that knows this shape least, if there is another than the present one.
  int best = -1;
  for (int i = 0; i < static_cast<int>(config_.groups.size()); ++i) {
    if (!needs(i) || i == context.group) continue;
    if (best < 0 || shape.samples[static_cast<std::size_t>(i)] <
                        shape.samples[static_cast<std::size_t>(best)]) {
      best = i;
    }
  }
  if (best < 0) {
    // There is no other: the phase goes on, or all that comes is known.
    context.phase_spent_ns = 0;
    if (!context.fruitless || (context.group >= 0 && needs(context.group))) return false;
    context.fruitless = false;
    context.needed_at_ns = now_ns();
    if (std::exchange(context.level, config_.samples) == config_.samples) disable(context);
    return false;
  }
  if (!affords(first_us)) return false;
  disable(context);
  context.group = best;
  context.phase_spent_ns = 0;
  return needed();
}

void RangeProfiler::enough(const wire::Fields& fields) {
  const std::string_view name = fields.text("enough");
  const auto size = fields.numbers("size");
  if (size.size() != 6) return;
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    if (context->id != fields.integer("context", -1)) continue;
    const std::lock_guard one(context->mutex);
    for (auto& [key, shape] : context->shapes) {
      if (!std::ranges::equal(key.size, size) || !key.symbol || name != key.symbol) continue;
      for (std::size_t i = 0; i < config_.groups.size(); ++i) {
        if (config_.groups[i].id == fields.integer("group", -1)) shape.samples[i] = config_.samples;
      }
    }
  }
}

// --- CUPTI's range profiler

bool RangeProfiler::call(Context& context, CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return true;
  const char* text = "";
  cupti_.cuptiGetResultString(result, &text);
  fail(context, std::string(what) + ": " + text);
  return false;
}

void RangeProfiler::fail(Context& context, std::string why) {
  context.failed.store(true);
  context.started = false;
  tell_("metrics_error", why);
  if (context.rows.empty()) return;
  // What these launches would have had is lost, and each says why.
  context.image.clear();
  wire::CounterData data;
  data.group = config_.groups[static_cast<std::size_t>(std::max(context.group, 0))].id;
  data.context = context.id;
  data.context_number = context.number;
  data.device = context.device;
  data.ranges = std::exchange(context.rows, {});
  for (auto& row : data.ranges) row.note = 1;
  data.names = context.names;
  data.notes = {std::move(why)};
  wire::Encoder encoder;
  encode(encoder, data);
  channel_.send(wire::FrameType::counter_data, encoder);
}

bool RangeProfiler::enable(Context& context) {
  if (context.object) return true;
  const Busy busy(context, "cuptiRangeProfilerEnable");
  const auto initialize = [&] {
    // Says "unknown" while the driver starts, and what follows works all the same.
    auto params = GPUPROF_PARAMS(CUpti_Profiler_Initialize_Params);
    if (!cupti_.cuptiProfilerInitialize || initialized_.load()) return;
    initialized_.store(cupti_.cuptiProfilerInitialize(&params) == CUPTI_SUCCESS);
  };
  initialize();
  CUpti_RangeProfiler_Enable_Params params{};
  // Older versions refuse a struct longer than theirs.
  params.structSize =
      cupti_.version >= 130400
          ? CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE
          : CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
  params.ctx = context.handle;
  if (config_.reset_caches && cupti_.version >= 130400) {
    params.cacheControlMode = CUPTI_CACHE_CONTROL_MODE_ALL;
  }
  const CUptiResult result = cupti_.cuptiRangeProfilerEnable(&params);
  initialize();
  if (result == CUPTI_ERROR_INVALID_OPERATION) {
    fail(context, "another context of the device is being measured, and CUPTI takes one at a time");
    return false;
  }
  if (!call(context, result, "cuptiRangeProfilerEnable")) return false;
  context.object = params.pRangeProfilerObject;
  return true;
}

void RangeProfiler::disable(Context& context) {
  if (!context.object) return;
  if (context.started || !context.rows.empty()) close(context);
  if (context.failed.load() || !context.object) return;
  const std::int64_t began = now_ns();
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_Disable_Params);
  params.pRangeProfilerObject = std::exchange(context.object, nullptr);
  context.configured = false;
  call(context, cupti_.cuptiRangeProfilerDisable(&params), "cuptiRangeProfilerDisable");
  spent_ns_.fetch_add(now_ns() - began, std::memory_order_relaxed);
}

// Under multiplexing as many launches as cost what a switch does.
std::uint32_t RangeProfiler::first_batch(const wire::CollectGroup& group) const {
  if (config_.mode != wire::ReplayMode::multiplex || !config_.grows) return config_.batch;
  constexpr double largest = 512;
  return static_cast<std::uint32_t>(
      std::clamp(group.switch_us / group.launch_us, double(config_.batch), largest));
}

// The image of a group, as CUPTI wants it before the first range.
void RangeProfiler::prepare(Context& context, int group) {
  const wire::CollectGroup& wanted = config_.groups[static_cast<std::size_t>(group)];
  Context::FreshImage& fresh = context.fresh_images[group];
  if (fresh.bytes.empty()) {
    std::vector<const char*> names;
    for (const std::string& counter : wanted.counters) names.push_back(counter.c_str());
    auto size = GPUPROF_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = context.object;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    // As many as asked for, or as an image of bearable size holds.
    for (fresh.batch = first_batch(wanted) * context.growth;; fresh.batch /= 2) {
      size.maxNumOfRanges = fresh.batch;
      size.maxNumRangeTreeNodes = fresh.batch;
      if (!call(context, cupti_.cuptiRangeProfilerGetCounterDataSize(&size),
                "cuptiRangeProfilerGetCounterDataSize")) {
        return;
      }
      if (size.counterDataSize <= largest_image || fresh.batch < 2 * smallest_batch) break;
    }
    fresh.bytes.resize(size.counterDataSize);
    auto init = GPUPROF_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    init.pRangeProfilerObject = context.object;
    init.counterDataSize = fresh.bytes.size();
    init.pCounterData = fresh.bytes.data();
    if (!call(context, cupti_.cuptiRangeProfilerCounterDataImageInitialize(&init),
              "cuptiRangeProfilerCounterDataImageInitialize")) {
      return;
    }
  }
  context.image = fresh.bytes;
  context.batch = fresh.batch;
}

void RangeProfiler::configure(Context& context, int group) {
  const wire::CollectGroup& wanted = config_.groups[static_cast<std::size_t>(group)];
  context.group = group;
  prepare(context, group);
  if (context.failed.load()) return;
  if (wanted.pass > 0) load_image(context);
  if (context.failed.load()) return;
  const bool kernel_replay = config_.mode == wire::ReplayMode::kernel;
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
  params.pRangeProfilerObject = context.object;
  params.configSize = wanted.config_image.size();
  params.pConfig = wanted.config_image.data();
  params.counterDataImageSize = context.image.size();
  params.pCounterDataImage = context.image.data();
  params.range = config_.mode == wire::ReplayMode::range ? CUPTI_UserRange : CUPTI_AutoRange;
  params.replayMode = kernel_replay ? CUPTI_KernelReplay : CUPTI_UserReplay;
  params.maxRangesPerPass = context.batch;
  params.numNestingLevels = 1;
  params.minNestingLevel = 1;
  params.passIndex = wanted.pass;
  params.targetNestingLevel = 1;
  const Busy busy(context, "cuptiRangeProfilerSetConfig");
  context.configured =
      call(context, cupti_.cuptiRangeProfilerSetConfig(&params), "cuptiRangeProfilerSetConfig");
}

bool RangeProfiler::begin(Context& context, int group) {
  if (context.started && context.group == group) return true;
  const std::int64_t began = now_ns();
  const bool first = !context.object || context.group != group;
  // CUPTI keeps the first configuration that an object was started with, whatever it is told.
  if (context.object && context.group != group) disable(context);
  if (!context.failed.load()) enable(context);
  if (!context.failed.load() && !context.configured) configure(context, group);
  if (!context.failed.load()) start(context);
  const std::int64_t took = now_ns() - began;
  spent_ns_.fetch_add(took, std::memory_order_relaxed);
  context.phase_spent_ns += took;
  if (first) first_cost_us_.store(static_cast<double>(took) / 1000, std::memory_order_relaxed);
  return context.started;
}

void RangeProfiler::start(Context& context) {
  const Busy busy(context, "cuptiRangeProfilerStart");
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_Start_Params);
  params.pRangeProfilerObject = context.object;
  const CUptiResult result = cupti_.cuptiRangeProfilerStart(&params);
  context.started = call(context, result, "cuptiRangeProfilerStart");
}

void RangeProfiler::stop(Context& context) {
  const Busy busy(context, "cuptiRangeProfilerStop");
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_Stop_Params);
  params.pRangeProfilerObject = context.object;
  context.started = false;
  call(context, cupti_.cuptiRangeProfilerStop(&params), "cuptiRangeProfilerStop");
}

// Stops, and keeps the image: ranges that follow go behind those it has. But where there are
// several passes, CUPTI takes the next Start for the next pass: what follows gets an image of its
// own.
void RangeProfiler::suspend(Context& context) {
  if (!context.started || context.failed.load()) return;
  const std::int64_t began = now_ns();
  stop(context);
  spent_ns_.fetch_add(now_ns() - began, std::memory_order_relaxed);
  const wire::CollectGroup& group = config_.groups[static_cast<std::size_t>(context.group)];
  if (group.passes > 1 && config_.mode != wire::ReplayMode::kernel) {
    close(context);
    context.configured = false;
  }
}

// Stops, and sends what there is.
void RangeProfiler::close(Context& context) {
  suspend(context);
  if (context.rows.empty() || context.failed.load() || !context.object) return;
  const std::int64_t began = now_ns();
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
  params.pRangeProfilerObject = context.object;
  {
    const Busy busy(context, "cuptiRangeProfilerDecodeData");
    if (!call(context, cupti_.cuptiRangeProfilerDecodeData(&params),
              "cuptiRangeProfilerDecodeData")) {
      return;
    }
  }
  send(context, params.numOfRangeDropped);
  const bool full = context.rows.size() >= context.batch;
  context.rows.clear();
  context.names.clear();
  context.name_numbers.clear();
  context.configured = false;
  ++context.window;
  if (full) grow(context);
  const std::int64_t took = now_ns() - began;
  spent_ns_.fetch_add(took, std::memory_order_relaxed);
  context.phase_spent_ns += took;
}

// Stopping and starting again costs some counters 24 ms (measured), and a larger batch a dearer
// first start. So a context that goes on and on gets larger batches, each time it has paid for that
// in stops and starts.
void RangeProfiler::grow(Context& context) {
  const wire::CollectGroup& group = config_.groups[static_cast<std::size_t>(context.group)];
  if (config_.mode != wire::ReplayMode::application || !config_.grows || group.passes > 1) return;
  context.measured += context.batch;
  const double start_us = first_start_us + first_start_range_us * 4 * context.batch;
  const double saved_us = group.switch_us * 3 / 4 / context.batch * double(context.measured);
  if (saved_us < start_us || context.growth >= 16 || context.batch < config_.batch) return;
  context.growth *= 4;
  context.measured = 0;
  context.fresh_images.erase(context.group);
  disable(context);
}

void RangeProfiler::send(Context& context, std::uint64_t dropped) {
  const wire::CollectGroup& group = config_.groups[static_cast<std::size_t>(context.group)];
  counts_.dropped.fetch_add(dropped, std::memory_order_relaxed);
  const bool several = group.passes > 1 && config_.mode != wire::ReplayMode::kernel;
  if (several) compare_passes(context);
  if (several && group.pass + 1 < group.passes) {
    if (!save_image(context))
      fail(context, "cannot keep what one pass measured in " + image_file(context, group.pass));
    return;
  }
  counts_.ranges.fetch_add(context.rows.size(), std::memory_order_relaxed);
  send_list(context);
  wire::CounterData data;
  data.group = group.id;
  data.context = context.id;
  data.context_number = context.number;
  data.device = context.device;
  data.dropped = dropped;
  data.ranges = context.rows;
  data.names = context.names;
  data.image = std::as_bytes(std::span(context.image));
  if (several) {
    data.notes = {std::string(wire::other_launch)};
    for (std::size_t i = 0; i < data.ranges.size(); ++i) {
      if (context.prints[i] == other_print) data.ranges[i].note = 1;
    }
  }
  if (context.overlapped.exchange(false)) {
    for (auto& row : data.ranges) row.note = static_cast<std::uint16_t>(data.notes.size() + 1);
    data.notes.emplace_back("launches of several threads got mixed up");
    data.image = {};
  }
  wire::Encoder encoder;
  encode(encoder, data);
  channel_.send(wire::FrameType::counter_data, encoder);
}

// --- passes of several runs
//
// A run adds its pass to the image that the one before it left, window by window (measured: CUPTI
// takes the image of another process). The launches of a window must be the same ones: behind the
// image lies what they were. The run before is left as it was, in case that this one is made again.

std::string RangeProfiler::image_file(const Context& context, std::uint32_t pass) const {
  const wire::CollectGroup& group = config_.groups[static_cast<std::size_t>(context.group)];
  return config_.images + "/" + std::to_string(group.id) + "-" + std::to_string(context.number) +
         "-" + std::to_string(context.window) + "-" + std::to_string(pass);
}

// What the launches of the window are, and which of them were others in an earlier pass.
void RangeProfiler::compare_passes(Context& context) {
  const bool first = config_.groups[static_cast<std::size_t>(context.group)].pass == 0;
  std::vector<std::uint64_t> prints;
  for (const wire::MeasuredRange& row : context.rows) {
    const std::uint64_t print = print_of(row, context.names);
    const bool same =
        first || (prints.size() < context.prints.size() && context.prints[prints.size()] == print);
    prints.push_back(same ? print : other_print);
  }
  context.prints = std::move(prints);
}

bool RangeProfiler::save_image(Context& context) {
  const wire::CollectGroup& group = config_.groups[static_cast<std::size_t>(context.group)];
  const int file =
      open(image_file(context, group.pass).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool written = write_all(file, std::as_bytes(std::span(context.image))) &&
                       write_all(file, std::as_bytes(std::span(context.prints)));
  ::close(file);
  if (group.pass > 1) unlink(image_file(context, group.pass - 2).c_str());
  return written;
}

void RangeProfiler::load_image(Context& context) {
  const wire::CollectGroup& group = config_.groups[static_cast<std::size_t>(context.group)];
  const int file = open(image_file(context, group.pass - 1).c_str(), O_RDONLY | O_CLOEXEC);
  const bool there = file >= 0 && read_all(file, std::as_writable_bytes(std::span(context.image)));
  context.prints.clear();
  std::uint64_t print = 0;
  while (there && read_all(file, std::as_writable_bytes(std::span(&print, 1)))) {
    context.prints.push_back(print);
  }
  if (file >= 0) ::close(file);
  if (!there) fail(context, "this run has more launches than the one before");
}

// --- ranges of the user's

void RangeProfiler::nvtx_call(CUpti_CallbackId id, const CUpti_NvtxData& call) {
  const char* message = nullptr;
  switch (id) {
    case CUPTI_CBID_NVTX_nvtxRangePop:
    case CUPTI_CBID_NVTX_nvtxDomainRangePop: {
      const std::lock_guard lock(ranges_mutex_);
      std::vector<bool>& open = open_ranges_[std::this_thread::get_id()];
      if (open.empty()) return;
      const bool measured = open.back();
      open.pop_back();
      if (measured) end_range();
      return;
    }
    case CUPTI_CBID_NVTX_nvtxRangePushA:
      message = static_cast<const nvtxRangePushA_params*>(call.functionParams)->message;
      break;
    case CUPTI_CBID_NVTX_nvtxRangePushEx: {
      const auto* event =
          static_cast<const nvtxRangePushEx_params*>(call.functionParams)->eventAttrib;
      if (event && event->messageType == NVTX_MESSAGE_TYPE_ASCII) message = event->message.ascii;
      break;
    }
    case CUPTI_CBID_NVTX_nvtxDomainRangePushEx: {
      const auto* event =
          static_cast<const nvtxDomainRangePushEx_params*>(call.functionParams)->core.eventAttrib;
      if (event && event->messageType == NVTX_MESSAGE_TYPE_ASCII) message = event->message.ascii;
      break;
    }
    default: return;
  }
  const std::lock_guard lock(ranges_mutex_);
  // One range at a time: what lies inside a measured one is part of it.
  const bool measured = open_range_.load() == 0 && message && std::regex_search(message, ranges_);
  open_ranges_[std::this_thread::get_id()].push_back(measured);
  if (measured) begin_range(message);
}

void RangeProfiler::profiler_window(bool begins) {
  if (config_.mode != wire::ReplayMode::range || !config_.ranges.empty()) return;
  const std::lock_guard lock(ranges_mutex_);
  const bool open = open_range_.load() != 0;
  if (begins && !open) begin_range("cudaProfilerStart");
  if (!begins && open) end_range();
}

// In all contexts there are. Under ranges_mutex_.
void RangeProfiler::begin_range(const char* name) {
  range_name_ = name;
  open_range_.store(++ranges_seen_);
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) push_range(*context);
}

// A context that came into being inside the range takes part from its first launch on.
void RangeProfiler::join_range(CUcontext handle) {
  Context* context = find(handle);
  if (!context || context->range.load() == open_range_.load()) return;
  const std::lock_guard lock(ranges_mutex_);
  if (open_range_.load() != 0) push_range(*context);
}

// Under ranges_mutex_.
void RangeProfiler::push_range(Context& context) {
  if (off_.load() || context.dead.load() || context.failed.load()) return;
  const std::lock_guard guard(context.mutex);
  const std::uint64_t range = open_range_.load();
  if (context.range.exchange(range) == range) return;
  const int group = group_of_scope(context, 0);
  if (group < 0 || !begin(context, group)) return;
  // Ranges of one name would become one: the number tells them apart.
  const std::string unique = std::to_string(range);
  auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_PushRange_Params);
  params.pRangeProfilerObject = context.object;
  params.pRangeName = unique.c_str();
  if (!call(context, cupti_.cuptiRangeProfilerPushRange(&params), "cuptiRangeProfilerPushRange")) {
    return;
  }
  context.pushed = true;
  context.launching = {};
  context.launching.kind = wire::RangeKind::range;
  context.launching.ordinal = range;
  context.launching.name = name_index(context, range_name_.c_str());
  std::uint64_t now = 0;
  cupti_.cuptiGetTimestamp(&now);
  context.launching.start = static_cast<std::int64_t>(now);
}

// Under ranges_mutex_.
void RangeProfiler::end_range() {
  open_range_.store(0);
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& one : contexts_) {
    Context& context = *one;
    if (context.dead.load() || context.failed.load()) continue;
    const std::lock_guard guard(context.mutex);
    if (!std::exchange(context.pushed, false)) continue;
    auto params = GPUPROF_PARAMS(CUpti_RangeProfiler_PopRange_Params);
    params.pRangeProfilerObject = context.object;
    const Busy busy(context, "cuptiRangeProfilerPopRange");
    if (!call(context, cupti_.cuptiRangeProfilerPopRange(&params), "cuptiRangeProfilerPopRange")) {
      continue;
    }
    std::uint64_t now = 0;
    cupti_.cuptiGetTimestamp(&now);
    context.launching.end = static_cast<std::int64_t>(now);
    context.rows.push_back(context.launching);
    if (context.rows.size() >= context.batch) close(context);
  }
}

std::uint32_t RangeProfiler::name_index(Context& context, const char* name) {
  return number_of(name, context.names, context.name_numbers);
}

// --- joining runs

void RangeProfiler::list(Context& context, const CUpti_CallbackData& call, const Launch& launch) {
  constexpr std::size_t most = 4096;
  wire::MeasuredRange& row = context.list.ranges.emplace_back();
  row.ordinal = context.ordinal;
  row.correlation = call.correlationId;
  row.kind = launch.graph ? wire::RangeKind::graph : wire::RangeKind::kernel;
  std::copy_n(launch.grid, 3, row.grid);
  std::copy_n(launch.block, 3, row.block);
  row.name = number_of(launch.symbol, context.list.names, context.list_names);
  if (context.list.ranges.size() >= most) send_list(context);
}

void RangeProfiler::send_list(Context& context) {
  if (context.list.ranges.empty()) return;
  context.list.group = wire::launch_list;
  context.list.context = context.id;
  context.list.context_number = context.number;
  context.list.device = context.device;
  wire::Encoder encoder;
  encode(encoder, context.list);
  channel_.send(wire::FrameType::counter_data, encoder);
  context.list = {};
  context.list_names.clear();
}

// --- watching

void RangeProfiler::watch() {
  if (off_.load()) return;
  const std::shared_lock lock(contexts_mutex_);
  for (const auto& context : contexts_) {
    const std::int64_t since = context->busy_since.load(std::memory_order_acquire);
    if (since == 0) send_old(*context);
    if (since == 0 || now_ns() - since < std::int64_t{config_.hang_ms} * 1'000'000) continue;
    const char* what = context->busy_with.load(std::memory_order_relaxed);
    if (off_.exchange(true)) return;
    tell_("metrics_hang", what ? what : "");
    return;
  }
}

// What is known is not to wait for more when that takes long: the target may be killed.
// Passes of several runs need the same windows in each.
void RangeProfiler::send_old(Context& context) {
  constexpr std::int64_t old_ns = 1'000'000'000;
  const std::unique_lock lock(context.mutex, std::try_to_lock);
  if (!lock || context.dead.load()) return;
  send_list(context);
  if (context.failed.load() || context.rows.empty()) return;
  if (now_ns() - context.first_row_ns < old_ns || captures_.load() > 0) return;
  const wire::CollectGroup& group = config_.groups[static_cast<std::size_t>(context.group)];
  if (config_.mode == wire::ReplayMode::range ||
      (group.passes > 1 && config_.mode != wire::ReplayMode::kernel)) {
    return;
  }
  close(context);
}

std::vector<wire::Statistic> RangeProfiler::statistics() const {
  std::vector<wire::Statistic> all;
  const auto add = [&](const char* name, std::uint64_t value, bool always = false) {
    if (value > 0 || always) all.push_back({"", name, value});
  };
  add("metrics_launches", counts_.launches.load(), true);
  add("metrics_ranges", counts_.ranges.load(), true);
  add("metrics_ranges_dropped", counts_.dropped.load());
  add("metrics_skipped_graph", counts_.graph.load());
  add("metrics_skipped_excluded", counts_.excluded.load());
  add("metrics_skipped_capture", counts_.capture.load());
  add("metrics_skipped_failed", counts_.failed.load());
  const std::int64_t elapsed = now_ns() - began_ns_.load();
  if (config_.mode == wire::ReplayMode::multiplex && elapsed > 0) {
    add("metrics_overhead_permille", static_cast<std::uint64_t>(spent_ns_.load() * 1000 / elapsed),
        true);
  }
  return all;
}

}  // namespace gpuprof::collect
