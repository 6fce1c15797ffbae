#include "libprof/collect/range_context.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "libprof/collect/profiler_calls.hpp"

namespace gpuprof::collect {
namespace {

// Why a measured range has no values: MeasuredRange::note is an index into these, from 1.
constexpr std::array notes{
    wire::other_launch,
    std::string_view("counters of patched code leave out the CUDA graphs that were launched"),
    std::string_view("launches of several threads got mixed up"),
    std::string_view("the kernel was not launched once for each pass of these metrics"),
};
enum Note : std::uint16_t { other_launch = 1, graphs_left_out = 2, mixed_up = 3, too_few = 4 };

RangeSession::Settings settings(const wire::CollectConfig& config) {
  return {.user_ranges = config.mode == wire::ReplayMode::range,
          .kernel_replay = config.mode == wire::ReplayMode::kernel,
          .reset_caches = config.reset_caches};
}

// What the ranges ran on, each partition once.
void add_partitions(wire::CounterData& data, const std::vector<GreenContexts::Part>& parts) {
  if (std::ranges::all_of(parts, [](const auto& part) { return part == nullptr; })) return;
  std::vector<GreenContexts::Part> known;
  for (const GreenContexts::Part& part : parts) {
    if (!part) {
      data.ran_on.push_back(0);
      continue;
    }
    const auto found = std::ranges::find(known, part);
    data.ran_on.push_back(static_cast<std::uint32_t>(found - known.begin() + 1));
    if (found != known.end()) continue;
    known.push_back(part);
    data.partitions.push_back(*part);
  }
}

}  // namespace

std::uint32_t NameList::number_of(const char* name) {
  if (!name) return 0;
  const auto [entry, fresh] = numbers_.try_emplace(name, 0);
  if (fresh) {
    names_.emplace_back(name);
    entry->second = static_cast<std::uint32_t>(names_.size());
  }
  return entry->second;
}

void NameList::clear() {
  names_.clear();
  numbers_.clear();
}

RangeContext::RangeContext(Measuring& measuring, CUcontext context, std::uint32_t its_device,
                           std::uint32_t number)
    : handle(context),
      device(its_device),
      id(id_of(measuring.cupti, context)),
      measuring_(measuring),
      number_(number),
      shapes_(device, id),
      policy_(Policy::make(measuring.config, chip_of(measuring.cupti, device), measuring.budget)),
      session_(measuring.cupti, context, settings(measuring.config), watch),
      images_(measuring.config.images, number) {}

const wire::CollectGroup& RangeContext::group() const {
  return measuring_.config.groups[static_cast<std::size_t>(group_)];
}

void RangeContext::launched() {
  ++ordinal_;
  policy_->launched();
}

std::uint32_t RangeContext::stream_id(const Launch& launch) {
  return collect::stream_id(measuring_.cupti, handle, launch);
}

std::int64_t RangeContext::cupti_now() {
  CheckedApi& cupti = measuring_.cupti;
  std::uint64_t now = 0;
  cupti.try_("cuptiGetTimestamp", cupti.cuptiGetTimestamp(&now));
  return static_cast<std::int64_t>(now);
}

// --- windows

bool RangeContext::begin(int group) {
  if (session_.open() && group_ == group) return true;
  const std::int64_t began = now_ns();
  const bool first = !session_.enabled() || group_ != group;
  if (session_.enabled() && group_ != group) release();
  if (!failed() && !session_.enable()) fail(session_.why());
  if (!failed() && !session_.configured()) configure(group);
  if (!failed() && !session_.start()) fail(session_.why());
  if (session_.open() && measuring_.green.is_one(handle) && !measuring_.green.part(handle)) {
    measuring_.green.learned(handle, {id, session_.partition()});
  }
  const std::int64_t took = now_ns() - began;
  measuring_.budget.spend(took);
  if (first) measuring_.budget.first_start_took(took);
  policy_->begun(took, first);
  return session_.open();
}

void RangeContext::learn_part(CUcontext green, std::uint32_t green_id, int group) {
  if (measuring_.green.part(green)) return;
  const std::int64_t began = now_ns();
  release();
  // CUPTI says it only of a context that is being measured.
  wire::CollectGroup any = measuring_.config.groups[static_cast<std::size_t>(group)];
  any.pass = 0;
  RangeSession session(measuring_.cupti, green, settings(measuring_.config), watch);
  wire::Partition partition{green_id, {}};
  if (measuring_.cupti.cuptiRangeProfilerGetDevicePartitionInfo && session.enable()) {
    if (session.prepare(0, any, 1) && session.configure(any) && session.start()) {
      partition.info = session.partition();
      session.stop();
    }
    session.disable();
  }
  if (partition.info.empty() && !measuring_.part_unknown.exchange(true)) {
    measuring_.tell("warning",
                    "CUPTI does not say which part of the device a green context has (13.3 is the "
                    "first that does): metrics of its kernels are shares of the whole device");
  }
  measuring_.green.learned(green, std::move(partition));
  measuring_.budget.spend(now_ns() - began);
}

bool RangeContext::configure(int number) {
  group_ = number;
  const wire::CollectGroup& wanted = group();
  if (!session_.prepare(number, wanted, policy_->batch(wanted))) return fail(session_.why());
  if (wanted.pass > 0 && !images_.load(wanted, session_.image())) {
    return fail("this run has more launches than the one before");
  }
  return session_.configure(wanted) || fail(session_.why());
}

void RangeContext::suspend() {
  if (!session_.open() || failed()) return;
  const std::int64_t began = now_ns();
  if (!session_.stop()) fail(session_.why());
  measuring_.budget.spend(now_ns() - began);
  if (!policy_->takes_runs(group())) return;
  close();
  session_.unconfigure();
}

void RangeContext::close() {
  suspend();
  if (rows_.empty() || failed() || !session_.enabled()) return;
  if (passes_ > 0) return give_up_passes();
  const std::int64_t began = now_ns();
  const auto dropped = session_.decode();
  if (!dropped) {
    fail(session_.why());
    return;
  }
  send_window(*dropped);
  const bool full = rows_.size() >= session_.ranges();
  forget_rows();
  session_.unconfigure();
  images_.next_window();
  if (full && policy_->grows(group(), session_.ranges())) {
    session_.forget_image(group_);
    release();
  }
  const std::int64_t took = now_ns() - began;
  measuring_.budget.spend(took);
  policy_->closed(took);
}

void RangeContext::release() {
  if (!session_.enabled()) return;
  if (session_.open() || !rows_.empty()) close();
  if (failed() || !session_.enabled()) return;
  const std::int64_t began = now_ns();
  if (!session_.disable()) fail(session_.why());
  measuring_.budget.spend(now_ns() - began);
}

void RangeContext::leave() {
  release();
  if (session_.enabled()) session_.disable();
}

void RangeContext::send_old() {
  constexpr std::int64_t old_ns = 1'000'000'000;
  if (failed() || rows_.empty() || passes_ > 0 || now_ns() - first_row_ns_ < old_ns) return;
  if (policy_->may_send_early(group())) close();
}

// --- launches and ranges

void RangeContext::add_row() {
  rows_.push_back(current_);
  parts_.push_back(current_part_);
}

void RangeContext::forget_rows() {
  rows_.clear();
  parts_.clear();
  names_.clear();
}

void RangeContext::launch_begins(const Launch& launch, std::uint32_t correlation, Shape& shape,
                                 bool asked_for, GreenContexts::Part part) {
  current_ = {};
  current_part_ = part && !part->info.empty() ? std::move(part) : nullptr;
  current_.ordinal = ordinal_;
  current_.correlation = correlation;
  current_.kind = wire::RangeKind::kernel;
  current_.wanted = asked_for || policy_->keeps(group_, shape.samples);
  std::ranges::copy(launch.grid, current_.grid);
  std::ranges::copy(launch.block, current_.block);
  current_.name = names_.number_of(launch.symbol);
  current_.stream = stream_id(launch);
  shape_ = &shape;
  watch.begin(launch.symbol);
}

void RangeContext::launch_ends(bool worked, bool last) {
  const std::int64_t since = watch.end();
  const std::int64_t now = now_ns();
  if (worked) policy_->measured(group_, now - since);
  if (policy_->takes_launches(group())) return pass_ends(worked);
  if (!worked) return;  // no launch, no range
  if (rows_.empty()) first_row_ns_ = now;
  add_row();
  policy_->sampled(group_, shape_->samples);
  if (rows_.size() >= session_.ranges() || last) close();
}

// Each Stop ends a pass, and the next Start begins the next one. The range is that of the first
// launch.
void RangeContext::pass_ends(bool worked) {
  if (passes_ == 0 && worked) {
    rows_.clear();
    parts_.clear();
    add_row();
  }
  first_row_ns_ = now_ns();
  suspend();
  ++passes_;
  if (failed()) return;
  if (!worked) return give_up_passes();  // this pass has no range
  if (passes_ < group().passes) return;
  passes_ = 0;
  policy_->sampled(group_, shape_->samples);
  close();
}

bool RangeContext::lacks_passes() {
  if (passes_ == 0 || failed()) return false;
  if (!policy_->stops_waiting(first_row_ns_)) return true;
  give_up_passes();
  return false;
}

// The profiler object goes too, because it expects the other passes.
void RangeContext::give_up_passes() {
  passes_ = 0;
  if (!rows_.empty()) {
    session_.image().clear();
    for (auto& row : rows_) row.note = too_few;
    send_window(0);
  }
  forget_rows();
  if (!session_.disable()) fail(session_.why());
}

void RangeContext::range_begins(std::uint64_t number, const char* name) {
  const int wanted = policy_->group_of_scope(0);
  if (wanted < 0 || !begin(wanted)) return;
  // Ranges with the same name would be merged: the number distinguishes them.
  if (!session_.push(std::to_string(number).c_str())) {
    fail(session_.why());
    return;
  }
  pushed_ = true;
  had_graph.store(false);
  current_ = {};
  current_part_ = nullptr;
  current_.kind = wire::RangeKind::range;
  current_.ordinal = number;
  current_.name = names_.number_of(name);
  current_.start = cupti_now();
}

void RangeContext::range_ends() {
  if (!std::exchange(pushed_, false)) return;
  if (!session_.pop()) {
    fail(session_.why());
    return;
  }
  current_.end = cupti_now();
  if (group().patched && had_graph.load()) current_.note = graphs_left_out;
  add_row();
  if (rows_.size() >= session_.ranges()) close();
}

// --- sending

void RangeContext::list(const Launch& launch, std::uint32_t correlation) {
  constexpr std::size_t most = 4096;
  wire::MeasuredRange& row = list_.emplace_back();
  row.ordinal = ordinal_;
  row.correlation = correlation;
  row.kind = launch.graph ? wire::RangeKind::graph : wire::RangeKind::kernel;
  std::ranges::copy(launch.grid, row.grid);
  std::ranges::copy(launch.block, row.block);
  row.name = list_names_.number_of(launch.symbol);
  if (list_.size() >= most) send_list();
}

void RangeContext::send_list() {
  if (list_.empty()) return;
  wire::CounterData data;
  data.ranges = std::exchange(list_, {});
  data.names = list_names_.names();
  list_names_.clear();
  send(wire::launch_list, data);
}

void RangeContext::send_window(std::uint64_t dropped) {
  const wire::CollectGroup& measured = group();
  Measuring::Counts& counts = measuring_.counts;
  counts.dropped.fetch_add(dropped, std::memory_order_relaxed);
  const bool several = policy_->takes_runs(measured);
  if (several) images_.compare(measured, rows_, names_.names());
  if (several && measured.pass + 1 < measured.passes) {
    if (!images_.save(measured, session_.image())) {
      fail("cannot keep what one pass measured in " + images_.file(measured, measured.pass));
    }
    return;
  }
  counts.ranges.fetch_add(rows_.size(), std::memory_order_relaxed);
  send_list();
  wire::CounterData data;
  data.dropped = dropped;
  data.ranges = rows_;
  data.names = names_.names();
  data.image = std::as_bytes(std::span(session_.image()));
  data.notes.assign(notes.begin(), notes.end());
  add_partitions(data, parts_);
  const bool mixed = overlapped.exchange(false);
  if (mixed) data.image = {};
  for (std::size_t i = 0; i < data.ranges.size(); ++i) {
    if (several && images_.is_other(i)) data.ranges[i].note = other_launch;
    if (mixed) data.ranges[i].note = mixed_up;
  }
  send(measured.id, data);
}

void RangeContext::send(std::uint32_t group, wire::CounterData& data) {
  data.group = group;
  data.context = id;
  data.context_number = number_;
  data.device = device;
  wire::Encoder encoder;
  encode(encoder, data);
  const Channel::Sent sent = measuring_.channel.send(wire::FrameType::counter_data, encoder);
  if (sent == Channel::Sent::refused) {
    measuring_.counts.dropped.fetch_add(data.ranges.size(), std::memory_order_relaxed);
  }
}

// Always returns false.
bool RangeContext::fail(std::string why) {
  failed_.store(true);
  session_.abandon();
  measuring_.tell("metrics_error", why);
  if (rows_.empty()) return false;
  // The results of these launches are lost, and each range says why.
  session_.image().clear();
  wire::CounterData data;
  data.ranges = std::exchange(rows_, {});
  for (auto& row : data.ranges) row.note = 1;
  data.names = names_.names();
  data.notes = {std::move(why)};
  send(measuring_.config.groups[static_cast<std::size_t>(std::max(group_, 0))].id, data);
  return false;
}

}  // namespace gpuprof::collect
