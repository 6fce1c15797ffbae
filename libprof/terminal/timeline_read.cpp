#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/gpu_work.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/steps_window.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/store/scan.hpp"
#include "libprof/terminal/busy_cells.hpp"
#include "libprof/terminal/timeline.hpp"

namespace gpuprof::terminal {
namespace {

// Further streams of a device, as only forged files have, count only for the device.
constexpr std::size_t most_streams = 256;
constexpr std::size_t depths = 2;
// The busy part has all but a twentieth of the work, in at most a quarter of the time.
constexpr std::uint64_t nearly_all = 20;
constexpr std::size_t much_shorter = 4;

using Stream = std::pair<std::int64_t, std::int64_t>;  // process, context and stream

struct Device {
  explicit Device(std::int64_t origin) : all(origin), copies(origin) {}
  BusyCells all, copies;
  std::map<Stream, BusyCells> streams;
  bool too_many_streams = false;
};

// Everything visited between two times.
class Sweep {
 public:
  Sweep(std::optional<std::int64_t> from, std::int64_t to) : from_(from), to_(to) {}

  void restart() {
    devices_.clear();
    first_.reset();
    last_ = INT64_MIN;
  }

  void add(const compute::GpuWork& work) {
    const std::int64_t begin = from_ ? std::max(work.begin, *from_) : work.begin;
    const std::int64_t end = std::min(work.end, to_);
    if (end <= begin) return;
    if (!first_) first_ = from_.value_or(begin);
    last_ = std::max(last_, end);
    Device& device = devices_.try_emplace(work.device, *first_).first->second;
    device.all.add(begin, end);
    if (!work.computes()) device.copies.add(begin, end);
    const Stream stream{work.process, work.stream};
    auto found = device.streams.find(stream);
    if (found == device.streams.end()) {
      if (device.streams.size() == most_streams) {
        device.too_many_streams = true;
        return;
      }
      found = device.streams.try_emplace(stream, *first_).first;
    }
    found->second.add(begin, end);
  }

  std::optional<std::int64_t> first() const { return first_; }
  std::int64_t last() const { return last_; }
  std::map<std::int64_t, Device>& devices() { return devices_; }

 private:
  std::optional<std::int64_t> from_;
  std::int64_t to_;
  std::map<std::int64_t, Device> devices_;
  std::optional<std::int64_t> first_;
  std::int64_t last_ = INT64_MIN;
};

// How cells are combined into columns: a fixed number per column.
struct Scale {
  unsigned shift = 0;
  std::size_t cells = 1;  // per column
  std::size_t columns = 0;
  std::int64_t begin = 0, end = 0;

  std::int64_t column_ns() const { return static_cast<std::int64_t>(cells << shift); }
};

Scale make_scale(std::int64_t begin, std::int64_t end, unsigned shift, std::size_t most_columns) {
  Scale scale{.shift = shift, .begin = begin, .end = end};
  const std::uint64_t span = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  // A window may be longer than the work in it.
  while (span >> scale.shift >= BusyCells::most_cells) ++scale.shift;
  const std::size_t cells = ((span - 1) >> scale.shift) + 1;
  scale.cells = (cells - 1) / most_columns + 1;
  scale.columns = (cells - 1) / scale.cells + 1;
  return scale;
}

TimelineRow make_row(std::string name, BusyCells& busy, const Scale& scale) {
  TimelineRow row;
  row.name = std::move(name);
  const double span = static_cast<double>(scale.end) - static_cast<double>(scale.begin);
  row.share = static_cast<double>(busy.busy_ns()) / span;
  busy.widen(scale.shift);
  const auto& cells = busy.cells();
  const auto column_ns = static_cast<double>(scale.column_ns());
  for (std::size_t column = 0; column < scale.columns; ++column) {
    std::uint64_t ns = 0;
    const std::size_t first = column * scale.cells;
    for (std::size_t i = first; i < std::min(first + scale.cells, cells.size()); ++i) {
      ns += cells[i];
    }
    const double left = span - static_cast<double>(column) * column_ns;
    row.busy.push_back(static_cast<double>(ns) / std::min(column_ns, left));
  }
  return row;
}

// Whether `what` is the same for all streams.
bool alike(const std::map<Stream, BusyCells>& streams, const auto& what) {
  return std::ranges::all_of(
      streams, [&](const auto& each) { return what(each.first) == what(streams.begin()->first); });
}

Gpu make_gpu(std::int64_t id, Device& device, const Scale& scale, std::size_t most,
             reading::Names& names) {
  Gpu gpu;
  gpu.name = names.device(id);
  gpu.all = make_row({}, device.all, scale);
  if (device.copies.busy_ns() > 0) gpu.copies = make_row("copies", device.copies, scale);
  std::vector<std::pair<std::uint64_t, Stream>> order;
  for (const auto& [stream, busy] : device.streams) order.emplace_back(busy.busy_ns(), stream);
  std::ranges::sort(order, std::greater{});
  gpu.more_streams = order.size() - std::min(order.size(), most);
  order.resize(order.size() - gpu.more_streams);
  for (const auto& [busy, stream] : order) {
    const std::int64_t context = stream.second >> 32, number = stream.second & 0xffffffff;
    std::string name = "stream " + names.stream(id, context, number);
    if (!alike(device.streams, [](const Stream& each) { return each.first; })) {
      name = names.process(stream.first) + " " + name;
    } else if (!alike(device.streams, [](const Stream& each) { return each.second >> 32; })) {
      name = "context " + std::to_string(context) + " " + name;
    }
    gpu.streams.push_back(make_row(std::move(name), device.streams.at(stream), scale));
  }
  return gpu;
}

// Determines which range took most of each column.
class RangeColumns {
 public:
  RangeColumns(const Scale& scale, std::size_t depth) : scale_(scale), taken_(scale.columns) {
    ranges_.depth = depth;
    ranges_.columns.assign(scale.columns, Ranges::none);
  }

  void add(std::string_view name, std::int64_t begin, std::int64_t end) {
    begin = std::max(begin, scale_.begin);
    end = std::min(end, scale_.end);
    if (end <= begin) return;
    const auto width = static_cast<std::uint64_t>(scale_.column_ns());
    const std::uint64_t from = offset(begin), to = offset(end);
    bool named = false;
    for (std::size_t column = from / width; column <= (to - 1) / width; ++column) {
      const std::uint64_t its = std::min(to, (column + 1) * width) - std::max(from, column * width);
      if (its <= taken_[column]) continue;
      taken_[column] = its;
      if (!std::exchange(named, true)) ranges_.names.emplace_back(name);
      ranges_.columns[column] = ranges_.names.size() - 1;
    }
    if (ranges_.names.size() > 2 * scale_.columns) drop_unused();
  }

  Ranges take(std::string thread) {
    ranges_.thread = std::move(thread);
    return std::move(ranges_);
  }

 private:
  std::uint64_t offset(std::int64_t time) const {
    return static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(scale_.begin);
  }

  // Drops the names of ranges that others have displaced.
  void drop_unused() {
    std::vector<std::string> names;
    std::size_t last = Ranges::none;
    for (std::size_t& place : ranges_.columns) {
      if (place == Ranges::none) continue;
      if (place != last) {
        last = place;
        names.push_back(ranges_.names[place]);
      }
      place = names.size() - 1;
    }
    ranges_.names = std::move(names);
  }

  const Scale& scale_;
  std::vector<std::uint64_t> taken_;  // ns of the range that has the column
  Ranges ranges_;
};

// The ranges of the thread whose outermost ranges take most time.
std::vector<Ranges> read_ranges(store::Database& database, const Scale& scale,
                                reading::Names& names, const std::function<void()>& check) {
  reading::Tables tables(database);
  if (!tables.has("NVTX_RANGE", "depth") || !tables.has("StringTable")) return {};
  store::Statement chosen = database.prepare(
      "SELECT processId, threadId FROM main.NVTX_RANGE WHERE depth = 0 AND start < ?2 "
      "AND coalesce(stop, ?2) > ?1 GROUP BY 1, 2 "
      "ORDER BY total(min(coalesce(stop, ?2), ?2) - max(start, ?1)) DESC, 1, 2 LIMIT 1");
  if (!chosen.bind(1, scale.begin).bind(2, scale.end).step()) return {};
  const std::int64_t process = chosen.integer(0), thread = chosen.integer(1);
  store::Statement rows = database.prepare(
      "SELECT s.value, r.start, coalesce(r.stop, ?2), r.depth FROM main.NVTX_RANGE AS r "
      "LEFT JOIN main.StringTable AS s ON s._id_ = r.name WHERE r.processId = ?3 "
      "AND r.threadId = ?4 AND r.depth < ?5 AND r.start < ?2 AND coalesce(r.stop, ?2) > ?1");
  rows.bind(1, scale.begin).bind(2, scale.end).bind(3, process).bind(4, thread);
  rows.bind(5, static_cast<std::int64_t>(depths));
  std::vector<RangeColumns> columns;
  for (std::size_t depth = 0; depth < depths; ++depth) columns.emplace_back(scale, depth);
  std::size_t count = 0;
  while (rows.step()) {
    if (++count % 4096 == 0) check();
    const std::int64_t depth = rows.integer(3);
    if (depth < 0) continue;
    columns[static_cast<std::size_t>(depth)].add(rows.text(0), rows.integer(1), rows.integer(2));
  }
  std::vector<Ranges> result;
  for (RangeColumns& each : columns) {
    const std::string* name = names.thread(thread);
    result.push_back(each.take(name ? *name : "thread " + std::to_string(thread)));
    if (result.back().names.empty()) result.pop_back();
  }
  return result;
}

Sweep sweep_over(store::Snapshot& snapshot, const reading::Window& window,
                 const std::function<void()>& check) {
  Sweep sweep(window.from, window.to.value_or(INT64_MAX));
  compute::read_gpu_work(snapshot, {.visit = [&](const compute::GpuWork& work) { sweep.add(work); },
                                    .restart = [&] { sweep.restart(); },
                                    .check = check});
  return sweep;
}

// The shortest part with nearly all of the work, if it is much shorter than the whole.
std::optional<reading::Window> find_busy_part(Sweep& sweep) {
  unsigned shift = 0;
  for (auto& [id, device] : sweep.devices()) shift = std::max(shift, device.all.shift());
  std::vector<std::uint64_t> cells;
  std::uint64_t all = 0;
  for (auto& [id, device] : sweep.devices()) {
    device.all.widen(shift);
    const auto& its = device.all.cells();
    cells.resize(std::max(cells.size(), its.size()));
    for (std::size_t i = 0; i < its.size(); ++i) cells[i] += its[i];
    all += device.all.busy_ns();
  }
  const std::uint64_t wanted = all - all / nearly_all;
  std::size_t first = 0, best_first = 0, best = cells.size();
  std::uint64_t sum = 0;
  for (std::size_t end = 1; end <= cells.size(); ++end) {
    sum += cells[end - 1];
    while (first + 1 < end && sum - cells[first] >= wanted) sum -= cells[first++];
    if (sum >= wanted && end - first < best) {
      best = end - first;
      best_first = first;
    }
  }
  if (best > cells.size() / much_shorter) return std::nullopt;
  // With a little around it.
  const std::size_t around = 1 + best / 50;
  const std::size_t from = best_first - std::min(best_first, around);
  const auto at = [&](std::size_t cell) {
    return saturating_add(*sweep.first(), saturating_multiply(static_cast<std::int64_t>(cell),
                                                              std::int64_t{1} << shift));
  };
  return reading::Window{.from = at(from),
                         .to = std::min(at(best_first + best + around), sweep.last())};
}

// What is shown, and which part of the run that is.
struct ShownPart {
  reading::Window window;
  Sweep sweep;
  std::string part = {};
};

ShownPart choose(store::Database& database, store::Snapshot& snapshot,
                 const TimelineOptions& options, const std::function<void()>& check) {
  const reading::JudgedWindow judged = reading::judged_window(database, options.from, options.to);
  ShownPart shown{judged.window, sweep_over(snapshot, judged.window, check)};
  if (options.from.given() || options.to.given()) return shown;
  if (judged.of_steps() && shown.sweep.first()) {
    shown.part = "the steps";
    if (judged.warm_up > 0) shown.part += " " + reading::warm_up_words(judged.warm_up);
    return shown;
  }
  if (judged.of_steps()) shown = {{}, sweep_over(snapshot, {}, check)};
  if (!shown.sweep.first()) return shown;
  if (const auto busy = find_busy_part(shown.sweep)) {
    shown = {*busy, sweep_over(snapshot, *busy, check), "where nearly all of the work is"};
  }
  return shown;
}

}  // namespace

Timeline read(store::Database& database, const TimelineOptions& options,
              const std::function<void()>& check) {
  reading::Tables tables(database);
  const std::int64_t zero = reading::zero_of_run(tables).value_or(0);
  store::Snapshot snapshot(database);
  ShownPart shown = choose(database, snapshot, options, check);
  Sweep& sweep = shown.sweep;
  Timeline timeline;
  if (!sweep.first()) return timeline;
  timeline.part = std::move(shown.part);
  const std::int64_t begin = *sweep.first(), end = shown.window.to.value_or(sweep.last());
  unsigned shift = 0;
  for (auto& [id, device] : sweep.devices()) shift = std::max(shift, device.all.shift());
  const Scale scale = make_scale(begin, end, shift, std::max<std::size_t>(options.columns, 10));
  timeline.begin = saturating_subtract(begin, zero);
  timeline.end = saturating_subtract(end, zero);
  timeline.column = scale.column_ns();
  reading::Names names(database, reading::NameStyle::compatible);
  for (auto& [id, device] : sweep.devices()) {
    timeline.gpus.push_back(make_gpu(id, device, scale, options.streams, names));
  }
  timeline.ranges = read_ranges(database, scale, names, check);
  return timeline;
}

}  // namespace gpuprof::terminal
