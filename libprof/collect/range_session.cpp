// CUPTI's range profiler in one context: windows, images, and what becomes of them.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "libprof/base/whole.hpp"
#include "libprof/collect/range_context.hpp"

namespace gpuprof::collect {
namespace {

constexpr std::size_t largest_image = std::size_t{24} << 20;
constexpr std::uint32_t smallest_batch = 8;

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

}  // namespace

const wire::CollectGroup& RangeProfiler::group_of(const Context& context) const {
  return config_.groups[static_cast<std::size_t>(context.group)];
}

bool RangeProfiler::call(Context& context, CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return true;
  fail(context, std::string(what) + ": " + cupti_.text(result));
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
  data.ranges = std::exchange(context.rows, {});
  for (auto& row : data.ranges) row.note = 1;
  data.names = context.names;
  data.notes = {std::move(why)};
  send(context, config_.groups[static_cast<std::size_t>(std::max(context.group, 0))].id, data);
}

void RangeProfiler::send(const Context& context, std::uint32_t group, wire::CounterData& data) {
  data.group = group;
  data.context = context.id;
  data.context_number = context.number;
  data.device = context.device;
  wire::Encoder encoder;
  encode(encoder, data);
  const Channel::Sent sent = channel_.send(wire::FrameType::counter_data, encoder);
  if (sent == Channel::Sent::refused) {
    counts_.dropped.fetch_add(data.ranges.size(), std::memory_order_relaxed);
  }
}

bool RangeProfiler::enable(Context& context) {
  if (context.object) return true;
  const Busy busy(context, "cuptiRangeProfilerEnable");
  const auto initialize = [&] {
    auto params = GPUPROF_PARAMS(CUpti_Profiler_Initialize_Params);
    if (!cupti_.cuptiProfilerInitialize || initialized_.load()) return;
    // Says "unknown" while the driver starts, and what follows works all the same.
    initialized_.store(cupti_.try_("cuptiProfilerInitialize",
                                   cupti_.cuptiProfilerInitialize(&params), {CUPTI_ERROR_UNKNOWN}));
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
  const wire::CollectGroup& group = group_of(context);
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
  const wire::CollectGroup& group = group_of(context);
  if (config_.mode != wire::ReplayMode::application || !config_.grows || group.passes > 1) return;
  context.measured += context.batch;
  const double start_us = cupti::first_start_us + cupti::first_start_range_us * 4 * context.batch;
  const double saved_us = group.switch_us * 3 / 4 / context.batch * double(context.measured);
  if (saved_us < start_us || context.growth >= 16 || context.batch < config_.batch) return;
  context.growth *= 4;
  context.measured = 0;
  context.fresh_images.erase(context.group);
  disable(context);
}

void RangeProfiler::send(Context& context, std::uint64_t dropped) {
  const wire::CollectGroup& group = group_of(context);
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
  data.dropped = dropped;
  data.ranges = context.rows;
  data.names = context.names;
  data.image = std::as_bytes(std::span(context.image));
  data.notes.assign(notes.begin(), notes.end());
  const bool overlapped = context.overlapped.exchange(false);
  if (overlapped) data.image = {};
  for (std::size_t i = 0; i < data.ranges.size(); ++i) {
    if (several && context.prints[i] == other_print) data.ranges[i].note = other_launch;
    if (overlapped) data.ranges[i].note = mixed_up;
  }
  send(context, group.id, data);
}

// --- passes of several runs
//
// A run adds its pass to the image that the one before it left, window by window (measured: CUPTI
// takes the image of another process). The launches of a window must be the same ones: behind the
// image lies what they were. The run before is left as it was, in case that this one is made again.

std::string RangeProfiler::image_file(const Context& context, std::uint32_t pass) const {
  const wire::CollectGroup& group = group_of(context);
  return config_.images + "/" + std::to_string(group.id) + "-" + std::to_string(context.number) +
         "-" + std::to_string(context.window) + "-" + std::to_string(pass);
}

// What the launches of the window are, and which of them were others in an earlier pass.
void RangeProfiler::compare_passes(Context& context) {
  const bool first = group_of(context).pass == 0;
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
  const wire::CollectGroup& group = group_of(context);
  const int file =
      open(image_file(context, group.pass).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool written =
      write_whole(file, std::as_bytes(std::span(context.image)), 0) &&
      write_whole(file, std::as_bytes(std::span(context.prints)), context.image.size());
  ::close(file);
  if (group.pass > 1) unlink(image_file(context, group.pass - 2).c_str());
  return written;
}

void RangeProfiler::load_image(Context& context) {
  const wire::CollectGroup& group = group_of(context);
  const int file = open(image_file(context, group.pass - 1).c_str(), O_RDONLY | O_CLOEXEC);
  const bool there =
      file >= 0 && read_whole(file, std::as_writable_bytes(std::span(context.image)), 0);
  context.prints.clear();
  std::uint64_t at = context.image.size();
  std::uint64_t print = 0;
  while (there && read_whole(file, std::as_writable_bytes(std::span(&print, 1)), at)) {
    context.prints.push_back(print);
    at += sizeof print;
  }
  if (file >= 0) ::close(file);
  if (!there) fail(context, "this run has more launches than the one before");
}

}  // namespace gpuprof::collect
