#include "libprof/compute/memory/tables.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "libprof/base/error.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/compute/memory/stacks.hpp"
#include "libprof/compute/memory/tracked_tables.hpp"

namespace gpuprof::memory {
namespace {

constexpr std::size_t most_points = 100'000;
constexpr std::size_t most_looks = 8;    // failed calls for which owners are listed
constexpr std::size_t fewest_steps = 4;  // needed to judge whether memory grows

Value text_or_null(std::string text) { return text.empty() ? Value() : Value(std::move(text)); }

Value number_or_null(std::int64_t number) { return number < 0 ? Value() : Value(number); }

const std::vector<Column> place_columns{
    {"process_id"}, {"device_id"}, {"memory", Type::text}, {"pool_type", Type::text}};

Table table(std::string name, bool placed, std::vector<Column> columns) {
  Table made{.name = std::move(name), .columns = {}};
  if (placed) made.columns = place_columns;
  made.columns.insert(made.columns.end(), columns.begin(), columns.end());
  return made;
}

// Looks up the names of numbers.
class Words {
 public:
  Words(reading::Profile& profile, By by, const std::function<void()>& check) : profile_(profile) {
    if (by == By::stack) stacks_.emplace(profile.database(), check);
    reading::Tables tables(profile.database());
    if (!tables.has("ENUM_NAME", "value")) return;
    enums_ = profile.database().prepare(
        "SELECT name FROM main.ENUM_NAME WHERE enum = ?1 AND value = ?2");
    any_ = true;
  }

  std::string kind(std::int32_t kind) {
    if (kind == created_kind) return "Created";
    if (kind == created_on_host_kind) return "Created on the host";
    if (kind == registered_kind) return "Registered";
    if (kind == opened_kind) return "Opened";
    return of("CUpti_ActivityMemoryKind", kind);
  }
  Value pool_type(std::int32_t type) {
    return type == 0 ? Value() : Value(of("CUpti_ActivityMemoryPoolType", type));
  }
  Value owner(By by, const Use& use, std::int64_t owner) {
    switch (by) {
      case By::kind: return kind(use.place.kind);
      case By::stack:
        return owner == 0 ? Value() : text_or_null(stacks_->text(use.place.process, owner));
      case By::pool: return owner == 0 ? Value() : Value(hexadecimal(owner));
      default: return owner == 0 ? Value() : text_or_null(profile_.names().text(owner));
    }
  }

 private:
  std::string of(const char* name, std::int64_t value) {
    if (any_) {
      enums_.reset();
      enums_.bind(1, std::string_view(name)).bind(2, value);
      if (enums_.step()) return std::string(enums_.text(0));
    }
    return std::to_string(value);
  }

  reading::Profile& profile_;
  store::Statement enums_;
  std::optional<Stacks> stacks_;
  bool any_ = false;
};

class Maker {
 public:
  Maker(reading::Profile& profile, const Questions& questions, const Surroundings& around,
        const Result& result, const std::vector<Moment>& looks, const std::function<void()>& check)
      : looks_(looks),
        words_(profile, questions.by, check),
        profile_(profile),
        by_(questions.by),
        around_(around),
        result_(result),
        zero_(profile.zero()) {}

  void make(Account& account) {
    make_devices(account.devices);
    make_peaks(account.peaks);
    make_owners(account.owners);
    make_held(account.held);
    make_leaks(account.leaks);
    make_pools(account.pools);
    make_steps(account.steps);
    make_failures(account.failures);
    make_processes(account.processes);
    make_timeline(account.timeline);
    make_failure_owners(account.failure_owners);
  }

 private:
  std::vector<Value> place(std::size_t use) {
    const Place& place = result_.uses[use].place;
    return {place.process, place.device, words_.kind(place.kind),
            words_.pool_type(place.pool_type)};
  }
  static void add(std::vector<Value>& row, std::initializer_list<Value> values) {
    row.insert(row.end(), values);
  }
  std::int64_t relative(std::int64_t time) const { return saturating_subtract(time, zero_); }

  void make_devices(Table& made) {
    made = table("memory_devices", false,
                 {{"device_id"},
                  {"device", Type::text},
                  {"peak_bytes", Type::bytes},
                  {"peak_time_ns"},
                  {"relative_peak_time_ns"}});
    for (const DeviceUse& device : result_.devices) {
      made.rows.push_back({device.device, profile_.names().device(device.device), device.peak,
                           device.peak_time, relative(device.peak_time)});
    }
  }

  void make_peaks(Table& made) {
    made = table("memory_peaks", true,
                 {{"peak_bytes", Type::bytes},
                  {"peak_allocations"},
                  {"peak_time_ns"},
                  {"relative_peak_time_ns"},
                  {"allocations"},
                  {"allocated_bytes", Type::bytes},
                  {"releases"},
                  {"end_bytes", Type::bytes},
                  {"end_allocations"},
                  {"unknown_releases"},
                  {"unseen_releases"}});
    for (std::size_t i = 0; i < result_.uses.size(); ++i) {
      const Use& use = result_.uses[i];
      auto row = place(i);
      add(row,
          {use.peak, use.peak_live, use.peak_time, relative(use.peak_time), use.allocations,
           use.allocated, use.releases, use.in_use, use.live, use.unknown_releases, use.replaced});
      made.rows.push_back(std::move(row));
    }
    std::ranges::stable_sort(made.rows, std::ranges::greater(), [](const auto& row) {
      return std::get<std::int64_t>(row[place_columns.size()]);
    });
  }

  void make_owners(Table& made) {
    made = table("memory_owners", true,
                 {{"by", Type::text},
                  {"owner", Type::text},
                  {"at_peak_bytes", Type::bytes},
                  {"at_peak_allocations"},
                  {"share_of_peak", Type::real},
                  {"peak_bytes", Type::bytes},
                  {"allocations"},
                  {"allocated_bytes", Type::bytes},
                  {"end_bytes", Type::bytes},
                  {"end_allocations"}});
    for (const OwnerUse& owner : result_.owners) {
      const Use& use = result_.uses[owner.use];
      auto row = place(owner.use);
      add(row, {std::string(name_of(by_)), words_.owner(by_, use, owner.owner), owner.at_peak,
                owner.at_peak_live,
                use.peak == 0
                    ? Value()
                    : Value(static_cast<double>(owner.at_peak) / static_cast<double>(use.peak)),
                owner.peak, owner.allocations, owner.allocated, owner.in_use, owner.live});
      made.rows.push_back(std::move(row));
    }
    // Largest first, regardless of place.
    std::ranges::stable_sort(made.rows, std::ranges::greater(), [](const auto& row) {
      return std::get<std::int64_t>(row[place_columns.size() + 2]);
    });
  }

  void make_held(Table& made) {
    made = table("memory_held", true,
                 {{"bytes", Type::bytes}, {"owner", Type::text}, {"relative_time_ns"}, {"age_ns"}});
    for (const HeldAtPeak& each : result_.held) {
      const Use& use = result_.uses[each.use];
      auto row = place(each.use);
      add(row, {each.bytes, words_.owner(by_, use, each.owner), relative(each.time),
                saturating_subtract(use.peak_time, each.time)});
      made.rows.push_back(std::move(row));
    }
  }

  void make_leaks(Table& made) {
    made = table("memory_leaks", true,
                 {{"class", Type::text},
                  {"by", Type::text},
                  {"owner", Type::text},
                  {"bytes", Type::bytes},
                  {"allocations"},
                  {"allocation_bytes", Type::bytes},
                  {"first_time_ns"},
                  {"relative_first_time_ns"},
                  {"last_time_ns"},
                  {"relative_last_time_ns"}});
    for (const Remaining& each : result_.remaining) {
      auto row = place(each.use);
      add(row, {std::string(name_of(each.left)), std::string(name_of(by_)),
                words_.owner(by_, result_.uses[each.use], each.owner), each.total(), each.count,
                each.bytes, each.first, relative(each.first), each.last, relative(each.last)});
      made.rows.push_back(std::move(row));
    }
  }

  void make_pools(Table& made) {
    made = table("memory_pools", false,
                 {{"process_id"},
                  {"device_id"},
                  {"pool", Type::text},
                  {"pool_type", Type::text},
                  {"reserved_peak_bytes", Type::bytes},
                  {"used_peak_bytes", Type::bytes},
                  {"unused_peak_bytes", Type::bytes},
                  {"end_reserved_bytes", Type::bytes},
                  {"end_used_bytes", Type::bytes},
                  {"trims"},
                  {"shrinks"},
                  {"regrowths"},
                  {"destroyed"}});
    for (const PoolUse& pool : result_.pools) {
      made.rows.push_back({pool.process, pool.device, hexadecimal(pool.address),
                           words_.pool_type(pool.type), number_or_null(pool.reserved_peak),
                           number_or_null(pool.used_peak), number_or_null(pool.unused_peak),
                           number_or_null(pool.reserved), number_or_null(pool.used), pool.trims,
                           pool.shrinks, pool.regrowths, std::int64_t{pool.destroyed}});
    }
  }

  // Moments are the ends of steps, then the first failures; see moments_of().
  void make_steps(Table& made);
  void make_failures(Table& made);

  void make_failure_owners(Table& made) {
    made = table("memory_failure_owners", true,
                 {{"time_ns"},
                  {"by", Type::text},
                  {"owner", Type::text},
                  {"bytes", Type::bytes},
                  {"allocations"}});
    for (std::size_t i = 0; i < result_.looks.size(); ++i) {
      for (const OwnerShare& share : result_.looks[i]) {
        auto row = place(share.use);
        add(row,
            {looks_[i].time, std::string(name_of(by_)),
             words_.owner(by_, result_.uses[share.use], share.owner), share.bytes, share.live});
        made.rows.push_back(std::move(row));
      }
    }
  }

  void make_processes(Table& made) {
    made =
        table("memory_processes", false,
              {{"process_id"}, {"program", Type::text}, {"leaks_known"}, {"why_not", Type::text}});
    std::set<std::int64_t> processes;
    for (const Use& use : result_.uses) processes.insert(use.place.process);
    for (const std::int64_t id : processes) {
      const auto found = around_.processes.find(id);
      const bool known = found != around_.processes.end();
      const std::string why = known ? found->second.no_verdict : unknown_process;
      made.rows.push_back({id, known ? text_or_null(found->second.program) : Value(),
                           std::int64_t{why.empty()}, text_or_null(why)});
    }
  }

  void make_timeline(Table& made) {
    made = table(
        "memory_timeline", true,
        {{"time_ns"}, {"relative_time_ns"}, {"bytes", Type::bytes}, {"most_bytes", Type::bytes}});
    const auto span = static_cast<double>(saturating_subtract(result_.last, result_.first));
    for (const Curve& curve : result_.curves) {
      const auto parts = static_cast<double>(curve.points.size());
      for (std::size_t i = 0; i < curve.points.size(); ++i) {
        const auto past = static_cast<std::int64_t>(span * static_cast<double>(i + 1) / parts);
        const std::int64_t time = std::min(result_.last, saturating_add(result_.first, past));
        auto row = place(curve.use);
        add(row, {time, relative(time), curve.points[i].last, curve.points[i].most});
        made.rows.push_back(std::move(row));
      }
    }
  }

 public:
  // Device memory at the ends of steps, and when a function first ran out of memory.
  std::vector<std::int64_t> step_bytes, failure_bytes;

  static constexpr const char* unknown_process = "the file does not say how the process ended";

 private:
  const std::vector<Moment>& looks_;
  Words words_;
  reading::Profile& profile_;
  By by_;
  const Surroundings& around_;
  const Result& result_;
  std::int64_t zero_;
};

// The moments requested by tables, in time order, each with its origin.
enum class Of { step, failure, failed_call, reading };

struct AskedMoment {
  Moment moment;
  Of of{};
  std::size_t index = 0;
};

std::vector<AskedMoment> asked_moments(const Surroundings& around, const CallsRead& calls,
                                       const std::vector<DeviceReading>& readings) {
  std::vector<AskedMoment> all;
  for (std::size_t i = 0; i < around.steps.size(); ++i) {
    all.push_back({{around.steps[i].end, around.steps[i].process}, Of::step, i});
  }
  for (std::size_t i = 0; i < around.failures.size(); ++i) {
    all.push_back({{around.failures[i].first, around.failures[i].process}, Of::failure, i});
  }
  for (std::size_t i = 0; i < calls.failed.size(); ++i) {
    all.push_back({{calls.failed[i].time, calls.failed[i].process}, Of::failed_call, i});
  }
  for (std::size_t i = 0; i < readings.size(); ++i) {
    all.push_back({{readings[i].time, 0, readings[i].device}, Of::reading, i});
  }
  std::ranges::stable_sort(all, {}, [](const AskedMoment& each) { return each.moment.time; });
  return all;
}

std::vector<std::int64_t> answers(const std::vector<AskedMoment>& asked, const Result& result,
                                  Of of) {
  const auto count =
      std::ranges::count_if(asked, [&](const AskedMoment& each) { return each.of == of; });
  std::vector<std::int64_t> in_use(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (asked[i].of == of) in_use[asked[i].index] = result.moments[i];
  }
  return in_use;
}

void Maker::make_steps(Table& made) {
  made = table("memory_steps", false,
               {{"process_id"},
                {"steps"},
                {"second_end_bytes", Type::bytes},
                {"last_end_bytes", Type::bytes},
                {"bytes_per_step", Type::real},
                {"steps_that_grew"},
                {"grows"},
                {"steady_allocations"},
                {"steady_bytes", Type::bytes}});
  const auto& in_use = step_bytes;
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> steady;
  for (const Use& use : result_.uses) {
    auto& [count, bytes] = steady[use.place.process];
    count += use.steady;
    bytes = saturating_add(bytes, use.steady_bytes);
  }
  for (std::size_t begin = 0, end = 0; begin < in_use.size(); begin = end) {
    const std::int64_t process = around_.steps[begin].process;
    while (end < in_use.size() && around_.steps[end].process == process) ++end;
    const std::size_t count = end - begin;
    if (count < 2 || !steady.contains(process)) continue;
    std::int64_t grew = 0;
    for (std::size_t i = begin + 2; i < end; ++i) grew += in_use[i] > in_use[i - 1];
    const std::int64_t change = saturating_subtract(in_use[end - 1], in_use[begin + 1]);
    const auto changes = static_cast<std::int64_t>(count) - 2;
    const bool grows = count >= fewest_steps && change > 0 && 2 * grew >= changes;
    made.rows.push_back(
        {process, static_cast<std::int64_t>(count), in_use[begin + 1], in_use[end - 1],
         changes == 0 ? Value() : Value(static_cast<double>(change) / static_cast<double>(changes)),
         grew, std::int64_t{grows}, steady[process].first, steady[process].second});
  }
}

void Maker::make_failures(Table& made) {
  made = table("memory_failures", false,
               {{"process_id"},
                {"function", Type::text},
                {"failures"},
                {"first_time_ns"},
                {"relative_first_time_ns"},
                {"in_use_bytes", Type::bytes}});
  const auto& in_use = failure_bytes;
  for (std::size_t i = 0; i < around_.failures.size(); ++i) {
    const Surroundings::Failure& failure = around_.failures[i];
    const auto domain = failure.runtime ? reading::ApiDomain::runtime : reading::ApiDomain::driver;
    made.rows.push_back({failure.process, profile_.names().api(domain, failure.cbid), failure.count,
                         failure.first, relative(failure.first), in_use[i]});
  }
}

Left left_of(const Surroundings& around, const std::map<std::int64_t, std::int64_t>& settled,
             const Place& place, std::int64_t time) {
  const auto found = around.processes.find(place.process);
  if (found == around.processes.end() || !found->second.no_verdict.empty()) return Left::alive;
  if (time < found->second.context_end) return Left::context_ended;
  const auto since = settled.find(place.process);
  return since == settled.end() || time < since->second ? Left::kept : Left::lost;
}

// The time from which memory that is never released counts as lost: the second step, or else the
// first kernel.
std::map<std::int64_t, std::int64_t> settled_times(const Surroundings& around, Request& request) {
  std::map<std::int64_t, std::int64_t> settled;
  for (const auto& [id, process] : around.processes) {
    if (process.first_work != 0) settled[id] = process.first_work;
  }
  std::map<std::int64_t, std::size_t> count;
  for (const Surroundings::Step& step : around.steps) {
    const std::size_t number = ++count[step.process];
    if (number < 2) continue;
    if (number == 2) {
      settled[step.process] = step.start;
      request.steady[step.process] = {step.start, step.end};
    }
    auto& steady = request.steady[step.process];
    steady.end = std::max(steady.end, step.end);
  }
  return settled;
}

bool was_recorded(store::Database& database) {
  reading::Tables tables(database);
  if (!tables.has("RUN", "value")) return false;
  auto row = database.prepare("SELECT value FROM main.RUN WHERE key = 'trace_groups'");
  return row.step() && ("," + std::string(row.text(0)) + ",").find(",memory,") != std::string::npos;
}

}  // namespace

std::size_t Table::place(std::string_view column) const {
  const auto found = std::ranges::find(columns, column, &Column::name);
  return static_cast<std::size_t>(found - columns.begin());
}

std::vector<const Table*> Account::all() const {
  return {&devices,      &peaks,          &owners,    &leaks,      &pools,
          &steps,        &failures,       &processes, &timeline,   &virtual_memory,
          &failed_calls, &failure_owners, &readings,  &unaccounted};
}

By parse_by(std::string_view word) {
  for (const By by : {By::library, By::nvtx, By::stack, By::kind, By::pool}) {
    if (name_of(by) == word) return by;
  }
  throw Error("memory can be divided by library, nvtx, stack, kind or pool", "",
              ExitCode::bad_option);
}

std::string_view name_of(By by) {
  switch (by) {
    case By::library: return "library";
    case By::nvtx: return "nvtx";
    case By::stack: return "stack";
    case By::kind: return "kind";
    case By::pool: return "pool";
  }
  return "";
}

Account account(reading::Profile& profile, const Questions& questions,
                const std::function<void()>& check) {
  Recorded recorded;
  read_operations(profile.snapshot(), questions.by, recorded, check);
  if (!recorded.any && !was_recorded(profile.database())) {
    throw Error("allocations were not recorded in this file",
                "gpuprof --trace +memory,+allocation-source -o FILE records them and their callers",
                ExitCode::bad_option);
  }
  const Surroundings around = read_surroundings(profile.snapshot(), check);
  Request request{.held = questions.held, .points = std::min(questions.points, most_points)};
  const std::vector<DeviceReading> readings = read_device_memory(profile.snapshot(), check);
  const auto asked = asked_moments(around, recorded.calls, readings);
  for (const AskedMoment& each : asked) request.moments.push_back(each.moment);
  for (const FailedCall& call : recorded.calls.failed) {
    if (request.looks.size() < most_looks) request.looks.push_back({call.time, call.process});
  }
  for (const auto& [id, process] : around.processes) {
    if (process.end != 0) request.ends.push_back({process.end, id});
  }
  std::ranges::sort(request.ends, {}, &Moment::time);
  const auto settled = settled_times(around, request);
  request.left = [&](const Place& place, std::int64_t time) {
    return left_of(around, settled, place, time);
  };
  std::int64_t seen = 0;
  const Result result = sweep(
      [&](const std::function<void(const Operation&)>& visit) {
        recorded.operations.for_each([&](const Operation& operation) {
          if (++seen % 65536 == 0) check();
          visit(operation);
        });
      },
      request);
  Account account;
  account.any = recorded.any;
  account.any_library = recorded.any_library;
  account.zero = profile.zero();
  account.first = result.first;
  account.last = result.last;
  Maker maker(profile, questions, around, result, request.looks, check);
  maker.step_bytes = answers(asked, result, Of::step);
  maker.failure_bytes = answers(asked, result, Of::failure);
  maker.make(account);
  const auto known = answers(asked, result, Of::reading);
  make_virtual_memory(recorded.calls.uses, account.virtual_memory);
  make_failed_calls(profile, recorded.calls, answers(asked, result, Of::failed_call), readings,
                    account.failed_calls);
  make_readings(profile, readings, known, account.readings);
  make_unaccounted(profile, readings, known, account.unaccounted, check);
  return account;
}

}  // namespace gpuprof::memory
