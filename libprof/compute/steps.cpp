#include "libprof/compute/steps.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "libprof/compute/fill.hpp"
#include "libprof/read/columns/reader.hpp"
#include "schema/derived.hpp"

namespace gpuprof::compute {
namespace {

constexpr std::size_t most_windows = 10'000;

// Its StringTable id.
std::int64_t id_of(const std::string& text, store::Database& database) {
  store::Statement known = database.prepare("SELECT _id_ FROM main.StringTable WHERE value = ?1");
  known.bind(1, text);
  if (known.step()) return known.integer(0);
  const auto last = database.integer("SELECT max(_id_) FROM main.StringTable").value_or(0);
  store::Statement insert =
      database.prepare("INSERT INTO main.StringTable(_id_, value) VALUES(?1, ?2)");
  insert.bind(1, last + 1).bind(2, text).run();
  return last + 1;
}

}  // namespace

Steps::Steps(store::Database& database) : step_names_(database) {
  if (!database.has_columns("API_NAME", {"domain", "cbid", "name"})) return;
  store::Statement names = database.prepare(
      "SELECT domain = 'runtime', cbid, instr(name, 'Start') > 0 FROM main.API_NAME "
      "WHERE domain IN ('runtime', 'driver') AND (name LIKE 'cu%ProfilerStart%' OR "
      "name LIKE 'cu%ProfilerStop%')");
  while (names.step()) {
    starts_[names.integer(0) != 0].try_emplace(names.integer(1), names.integer(2) != 0);
  }
}

void Steps::read_ranges(store::Snapshot& snapshot, const std::function<void()>& check) {
  store::Statement text =
      snapshot.database().prepare("SELECT value FROM main.StringTable WHERE _id_ = ?1");
  std::unordered_map<std::int32_t, bool> known;
  columns::Reader reader(snapshot,
                         {.table = "NVTX_RANGE",
                          .columns = {"_id_", "name", "start", "stop", "threadId", "processId"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    const auto id = chunk[0].int64s(), start = chunk[2].int64s(), stop = chunk[3].int64s(),
               thread = chunk[4].int64s(), process = chunk[5].int64s();
    const auto name = chunk[1].int32s();
    for (std::size_t row = 0; row < chunk.rows() && steps_.size() < most_steps; ++row) {
      if (name[row] == 0) continue;
      const auto [match, is_new] = known.try_emplace(name[row], false);
      if (is_new) {
        text.reset();
        text.bind(1, std::int64_t{name[row]});
        match->second = text.step() && step_names_.has(std::string(text.text(0)));
      }
      if (!match->second) continue;
      steps_.push_back({.range = id[row],
                        .name = name[row],
                        .start = start[row],
                        .stop = stop[row],
                        .thread = thread[row],
                        .process = process[row]});
    }
  });
}

void Steps::add(const Calls& calls) {
  const auto& starts = starts_[calls.runtime];
  if (starts.empty()) return;
  const auto cbid = calls.cbid.int64s(), correlation = calls.correlation.int64s();
  // Few functions qualify: comparing with each costs less than a map lookup.
  std::array<std::int64_t, 8> ids{};
  const std::size_t count = std::min(ids.size(), starts.size());
  auto each = starts.begin();
  for (std::size_t i = 0; i < count; ++i) ids[i] = (each++)->first;
  for (std::size_t row = 0; row < cbid.size(); ++row) {
    if (std::find(ids.begin(), ids.begin() + count, cbid[row]) == ids.begin() + count) continue;
    if (calls_.size() >= 2 * most_windows) return;
    // The runtime's call comes first; it contains the driver's.
    calls_.try_emplace(correlation[row], ProfilerCall{.starts = starts.at(cbid[row]),
                                                      .begin = calls.start.int64s()[row],
                                                      .end = calls.end.int64s()[row],
                                                      .thread = calls.thread.int64s()[row],
                                                      .process = calls.process.int64s()[row]});
  }
}

void Steps::find_windows() {
  // Ids of a process have its number in their high bits and count its calls: what was requested in
  // a window has the ids in between.
  bool open = false;
  for (const auto& [correlation, call] : calls_) {
    if (open && windows_.back().first >> 32 != correlation >> 32) open = false;
    if (call.starts && !open) {
      windows_.push_back({.first = correlation,
                          .last = correlation | 0xffffffff,
                          .start = call.end,
                          .thread = call.thread,
                          .process = call.process});
      open = true;
    } else if (!call.starts && open) {
      windows_.back().last = correlation;
      windows_.back().stop = call.begin;
      open = false;
    }
  }
}

void Steps::find_periods() {
  const auto found = period_->find();
  if (!found) return;
  char text[80];
  std::snprintf(text, sizeof text, "period of %lld launches, %.1f %% alike",
                static_cast<long long>(found->length), 100 * found->alike);
  periods_ = text;
  for (std::size_t i = 0; i + 1 < found->starts.size(); ++i) {
    const LaunchPeriod::Start &start = found->starts[i], &next = found->starts[i + 1];
    // Of a graph with several steps, they would be one.
    if (!start.goes_on || start.correlation == next.correlation) continue;
    windows_.push_back({.first = start.correlation,
                        .last = next.correlation - 1,
                        .start = start.begin,
                        .stop = std::max(next.begin, start.begin),
                        .process = found->process});
  }
}

void Steps::read_windows(store::Snapshot& snapshot, const std::function<void()>& check) {
  if (!steps_.empty()) return;
  find_windows();
  if (windows_.empty()) find_periods();
  period_.reset();
  if (windows_.empty()) return;
  const std::vector<Window> before = windows_;
  auto window = windows_.end();  // work comes nearly in the order of ids
  read_gpu_work(snapshot, {.visit =
                               [&](const GpuWork& work) {
                                 if (window == windows_.end() || window->last < work.correlation ||
                                     work.correlation < window->first) {
                                   window = std::ranges::lower_bound(windows_, work.correlation, {},
                                                                     &Window::last);
                                 }
                                 if (window == windows_.end() || work.correlation < window->first)
                                   return;
                                 ++window->work;
                                 window->kernels += work.is_kernel();
                                 window->busy[work.device].add(work.begin, work.end);
                               },
                           .restart =
                               [&] {
                                 windows_ = before;
                                 window = windows_.end();
                               },
                           .check = check});
}

void Steps::write(store::Database& database) {
  store::Statement insert = fill(database, schema::tables::step);
  for (const Step& step : steps_) {
    insert.bind(1, step.range).bind(2, std::int64_t{step.name}).bind(3, step.start);
    step.stop == 0 ? insert.bind_null(4) : insert.bind(4, step.stop);
    insert.bind(5, step.thread).bind(6, step.process);
    insert.bind_null(7).bind_null(8).bind_null(9).run();
  }
  const std::int64_t name = periods_.empty() ? 0 : id_of(periods_, database);
  for (const Window& window : windows_) {
    std::int64_t busy = 0;
    for (const auto& [device, its] : window.busy) busy = std::max(busy, its.ns());
    insert.bind_null(1).bind(2, name).bind(3, window.start);
    window.stop == 0 ? insert.bind_null(4) : insert.bind(4, window.stop);
    insert.bind(5, window.thread).bind(6, window.process).bind(7, window.work);
    insert.bind(8, window.kernels).bind(9, busy).run();
  }
}

}  // namespace gpuprof::compute
