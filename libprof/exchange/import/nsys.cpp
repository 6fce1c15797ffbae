#include "libprof/exchange/import/nsys.hpp"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/exchange/import/frames.hpp"
#include "libprof/exchange/import/nsys_columns.hpp"
#include "libprof/exchange/import/nsys_rows.hpp"
#include "libprof/exchange/import/ranges.hpp"
#include "schema/activity/all.hpp"
#include "schema/enums.hpp"

namespace gpuprof::importing {
namespace {

using nsys::Column;
using nsys::How;

// From TARGET_INFO_SESSION_START_TIME; if that is missing, times start at one second, because 0
// means "no time" here.
constexpr std::int64_t unknown_begin = 1'000'000'000;

// globalPid and globalTid also contain the machine.
constexpr std::int64_t process_of(std::int64_t global) { return global >> 24 & 0xffffff; }
constexpr std::int64_t thread_of(std::int64_t global) { return global & 0xffffff; }

// NVTX_EVENTS.eventType.
constexpr std::int64_t nvtx_mark = 34, nvtx_push_pop = 59, nvtx_start_end = 60, nvtx_domain = 75;
// CUPTI_ACTIVITY_KIND_MEMCPY.copyKind: from here on, migrations of unified memory pages.
constexpr std::int64_t first_unified_copy = 11;
constexpr std::int64_t most_gpus = 1024;

// `first` are columns without a counterpart of theirs.
template <class Kind>
Layout layout(std::span<const std::string_view> first, std::span<const Column> columns) {
  std::vector<std::string_view> ours(first.begin(), first.end());
  for (const Column& column : columns) ours.push_back(column.ours);
  return Layout::of<Kind>(ours);
}

class Nsys {
 public:
  Nsys(store::Database& database, const Job& job)
      : database_(database), job_(job), writer_(job.take), strings_(database) {}

  NotImported run() {
    read_begin();
    read_names_of_processes();
    read_gpu_work();
    read_api_calls();
    read_allocations();
    read_nvtx();
    // For the processes seen so far.
    read_thread_names();
    read_devices();
    read_of_processes<schema::Context>("TARGET_INFO_CUDA_CONTEXT_INFO", nsys::context_columns);
    read_of_processes<schema::Stream>("TARGET_INFO_CUDA_STREAM", nsys::stream_columns);
    for (const auto& [id, process] : met_) {
      if (begin_known_) writer_.clock(*process, begin_, begin_);
    }
    writer_.finish();
    return std::move(not_imported_);
  }

 private:
  bool has(std::string_view table) { return database_.has_table(table); }

  void tick(std::string_view table) {
    if (++ticks_ % 65536 != 0) return;
    if (job_.progress) job_.progress("reading " + std::string(table));
    if (job_.stop && job_.stop()) throw Stopped();
  }

  // Null: no process, or too many.
  Process* process(std::optional<std::int64_t> global) {
    if (!global || *global < 0) return nullptr;
    const std::int64_t id = process_of(*global);
    const auto known = met_.find(id);
    if (known != met_.end()) return known->second;
    wire::Fields fields;
    const auto name = names_.find(id);
    if (name != names_.end()) fields.set("executable", name->second);
    Process* made = writer_.process(id, fields);
    if (made) met_.emplace(id, made);
    return made;
  }

  // Nullopt: no valid time.
  std::optional<std::int64_t> time(std::optional<std::int64_t> theirs) const {
    if (!theirs) return std::nullopt;
    const std::int64_t time = saturating_add(*theirs, begin_);
    if (time <= 0 || time == INT64_MAX) return std::nullopt;
    return time;
  }

  void put(ImportedRow& row, std::size_t place, const Column& column, const NsysRows& rows, int at,
           Process& process, std::string_view table) {
    if (rows.is_null(at)) return;
    bool fits = false;
    if (column.how == How::text) {
      const std::string_view text = rows.text(at);
      fits = text.empty() || row.set(place, process.string(text));
    } else if (column.how == How::uuid) {
      const std::string bytes = uuid_bytes(rows.text(at));
      fits = !bytes.empty() && row.set(place, process.bytes(bytes));
    } else if (const auto number = rows.number(at)) {
      switch (column.how) {
        case How::memory_kind:
          fits = *number >= 0 && *number <= 7 && row.set(place, (*number + 1) % 8);
          break;
        case How::name: fits = row.set(place, process.string(strings_.text(*number))); break;
        case How::kilo: fits = row.set(place, *number / 1000); break;
        case How::signed_32:
          fits = row.set(place, *number >= 0 && *number <= UINT32_MAX
                                    ? static_cast<std::int32_t>(*number)
                                    : *number);
          break;
        default: fits = row.set(place, *number);
      }
    }
    if (!fits) not_imported_.values.add(std::string(table) + "." + std::string(column.theirs));
  }

  // Reads a table with start, end and globalPid. finish(row, process, rows) finds the columns
  // `more` first in `rows`; false: the row belongs elsewhere and was counted.
  template <class Kind, class Check, class Finish>
  void read_activities(std::string_view table, std::span<const Column> columns,
                       std::initializer_list<std::string_view> ours,
                       std::initializer_list<std::string_view> more, Check&& check,
                       Finish&& finish) {
    if (!has(table)) return;
    std::vector<std::string_view> first{"start", "end"};
    first.insert(first.end(), ours.begin(), ours.end());
    const Layout rows_layout = layout<Kind>(first, columns);
    std::vector<std::string_view> theirs(more);
    theirs.insert(theirs.end(), {"start", "end", "globalPid"});
    for (const Column& column : columns) theirs.push_back(column.theirs);
    NsysRows rows(database_, table, theirs);
    int at = static_cast<int>(more.size());
    while (rows.step()) {
      tick(table);
      if (!check(rows)) continue;
      const auto start = time(rows.number(at)), end = time(rows.number(at + 1));
      Process* process =
          start && end && *end >= *start ? this->process(rows.number(at + 2)) : nullptr;
      if (!process) {
        not_imported_.unreadable.add(table);
        continue;
      }
      ImportedRow row = process->add(rows_layout);
      row.set(0, *start);
      row.set(1, *end);
      finish(row, *process, rows);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        put(row, first.size() + i, columns[i], rows, at + 3 + static_cast<int>(i), *process, table);
      }
    }
  }
  template <class Kind>
  void read_activities(std::string_view table, std::span<const Column> columns) {
    read_activities<Kind>(
        table, columns, {}, {}, [](const NsysRows&) { return true; },
        [](ImportedRow&, Process&, const NsysRows&) {});
  }

  // Reads a table with a processId, for processes seen so far.
  template <class Kind>
  void read_of_processes(std::string_view table, std::span<const Column> columns) {
    if (!has(table)) return;
    const Layout rows_layout = layout<Kind>({}, columns);
    std::vector<std::string_view> theirs{"processId"};
    for (const Column& column : columns) theirs.push_back(column.theirs);
    NsysRows rows(database_, table, theirs);
    while (rows.step()) {
      tick(table);
      const auto found = met_.find(rows.number(0).value_or(-1));
      if (found == met_.end()) continue;
      ImportedRow row = found->second->add(rows_layout);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        put(row, i, columns[i], rows, static_cast<int>(i) + 1, *found->second, table);
      }
    }
  }

  void read_begin();
  void read_names_of_processes();
  void read_gpu_work();
  void read_api_calls();
  void read_allocations();
  void read_nvtx();
  void read_thread_names();
  void read_devices();

  store::Database& database_;
  const Job& job_;
  FrameWriter writer_;
  NsysStrings strings_;
  Ranges ranges_;
  NotImported not_imported_;
  std::int64_t begin_ = unknown_begin;
  bool begin_known_ = false;
  std::map<std::int64_t, std::string> names_;  // of processes
  std::map<std::int64_t, Process*> met_;
  std::uint64_t ticks_ = 0;
};

void Nsys::read_begin() {
  constexpr std::string_view table = "TARGET_INFO_SESSION_START_TIME";
  if (!has(table)) return;
  NsysRows rows(database_, table, std::array<std::string_view, 1>{"utcEpochNs"});
  const auto told = rows.step() ? rows.number(0) : std::nullopt;
  if (!told || *told <= 0) return;
  begin_ = *told;
  begin_known_ = true;
}

void Nsys::read_names_of_processes() {
  constexpr std::size_t most = 100'000, longest = 4096;
  if (!has("PROCESSES")) return;
  NsysRows rows(database_, "PROCESSES", std::array<std::string_view, 2>{"globalPid", "name"});
  while (rows.step() && names_.size() < most) {
    const auto global = rows.number(0);
    if (!global) continue;
    names_.emplace(process_of(*global), rows.text(1).substr(0, longest));
  }
}

void Nsys::read_gpu_work() {
  read_activities<schema::ConcurrentKernel>(
      "CUPTI_ACTIVITY_KIND_KERNEL", nsys::kernel_columns, {"name"},
      {"mangledName", "demangledName", "shortName"}, [](const NsysRows&) { return true; },
      [&](ImportedRow& row, Process& process, const NsysRows& rows) {
        std::uint32_t name = 0;
        for (int i = 0; i < 3 && name == 0; ++i) {
          name = process.string(strings_.text(rows.number(i)));
        }
        row.set(2, name);
      });
  read_activities<schema::Memcpy>(
      "CUPTI_ACTIVITY_KIND_MEMCPY", nsys::copy_columns, {}, {"copyKind"},
      [&](const NsysRows& rows) {
        const bool of_pages = rows.number(0).value_or(0) >= first_unified_copy;
        if (of_pages) not_imported_.left_out.add("unified memory migration");
        return !of_pages;
      },
      [](ImportedRow&, Process&, const NsysRows&) {});
  read_activities<schema::Memset>("CUPTI_ACTIVITY_KIND_MEMSET", nsys::set_columns);
  read_activities<schema::GraphTrace>("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", nsys::graph_columns);
  read_activities<schema::Synchronization>("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                           nsys::wait_columns);
}

void Nsys::read_api_calls() {
  constexpr std::string_view table = "CUPTI_ACTIVITY_KIND_RUNTIME";
  if (!has(table)) return;
  constexpr std::array<std::string_view, 5> first{"start", "end", "processId", "threadId", "cbid"};
  const Layout layouts[]{layout<schema::Runtime>(first, nsys::api_columns),
                         layout<schema::Driver>(first, nsys::api_columns)};
  NsysRows rows(database_, table,
                std::array<std::string_view, 6>{"start", "end", "globalTid", "nameId",
                                                "correlationId", "returnValue"});
  while (rows.step()) {
    tick(table);
    const std::string_view name = strings_.text(rows.number(3));
    const bool runtime = name.starts_with("cuda");
    if (!runtime &&
        !(name.starts_with("cu") && name.size() > 2 && name[2] >= 'A' && name[2] <= 'Z')) {
      name.empty() ? not_imported_.unreadable.add(table) : not_imported_.left_out.add(name);
      continue;
    }
    const auto start = time(rows.number(0)), end = time(rows.number(1));
    Process* process = start && end && *end >= *start ? this->process(rows.number(2)) : nullptr;
    const std::uint32_t number = process ? writer_.callback_id(*process, runtime, name) : 0;
    if (number == 0) {
      not_imported_.unreadable.add(table);
      continue;
    }
    ImportedRow row = process->add(layouts[runtime ? 0 : 1]);
    row.set(0, *start);
    row.set(1, *end);
    row.set(2, process->id());
    row.set(3, thread_of(*rows.number(2)));
    row.set(4, number);
    for (std::size_t i = 0; i < std::size(nsys::api_columns); ++i) {
      put(row, 5 + i, nsys::api_columns[i], rows, 4 + static_cast<int>(i), *process, table);
    }
  }
}

void Nsys::read_allocations() {
  constexpr std::string_view table = "CUDA_GPU_MEMORY_USAGE_EVENTS";
  if (!has(table)) return;
  const Layout operations = layout<schema::Memory2>(
      std::array<std::string_view, 3>{"timestamp", "processId", "memoryOperationType"},
      nsys::memory_columns);
  std::vector<std::string_view> theirs{"start", "globalPid", "memoryOperationType"};
  for (const Column& column : nsys::memory_columns) theirs.push_back(column.theirs);
  NsysRows rows(database_, table, theirs);
  while (rows.step()) {
    tick(table);
    const auto when = time(rows.number(0)), what = rows.number(2);
    Process* process = when && (what == 0 || what == 1) ? this->process(rows.number(1)) : nullptr;
    if (!process) {
      not_imported_.unreadable.add(table);
      continue;
    }
    ImportedRow row = process->add(operations);
    row.set(0, *when);
    row.set(1, process->id());
    row.set(2, *what + 1);  // CUPTI's numbering begins with "invalid"
    for (std::size_t i = 0; i < std::size(nsys::memory_columns); ++i) {
      put(row, 3 + i, nsys::memory_columns[i], rows, 3 + static_cast<int>(i), *process, table);
    }
  }
}

void Nsys::read_nvtx() {
  constexpr std::string_view table = "NVTX_EVENTS";
  if (!has(table)) return;
  constexpr std::size_t most_domains = 65536;
  constexpr std::array<std::string_view, 8> columns{
      "eventType", "start", "end", "text", "textId", "domainId", "globalTid", "endGlobalTid"};
  const auto text = [&](const NsysRows& rows) {
    const std::string_view own = rows.text(3);
    return own.empty() ? strings_.text(rows.number(4)) : own;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> domains;  // by process and id
  for (NsysRows rows(database_, table, columns); rows.step();) {
    tick(table);
    const auto domain = rows.number(5), thread = rows.number(6);
    if (rows.number(0) != nvtx_domain || !domain || !thread) continue;
    if (domains.size() >= most_domains) break;
    domains.try_emplace({process_of(*thread), *domain}, ranges_.number(text(rows)));
  }
  for (NsysRows rows(database_, table, columns); rows.step();) {
    tick(table);
    const std::int64_t type = rows.number(0).value_or(nvtx_push_pop);
    if (type != nvtx_mark && type != nvtx_push_pop && type != nvtx_start_end) continue;
    Ranges::Range range{.kind = type == nvtx_mark        ? Ranges::Kind::mark
                                : type == nvtx_start_end ? Ranges::Kind::start_end
                                                         : Ranges::Kind::push_pop};
    const auto start = time(rows.number(1)), end = time(rows.number(2));
    const auto thread = rows.number(6);
    const bool sound = start && (rows.is_null(2) || (end && *end >= *start));
    range.process = sound ? process(thread) : nullptr;
    if (!range.process) {
      not_imported_.unreadable.add(table);
      continue;
    }
    range.start = *start;
    if (end) range.end = *end;
    range.thread = static_cast<std::uint32_t>(thread_of(*thread));
    const auto end_thread = rows.number(7);
    range.end_thread =
        end_thread ? static_cast<std::uint32_t>(thread_of(*end_thread)) : range.thread;
    range.name = ranges_.number(text(rows));
    if (const std::int64_t domain = rows.number(5).value_or(0); domain != 0) {
      const auto known = domains.find({range.process->id(), domain});
      range.domain = known != domains.end() ? known->second
                                            : ranges_.number("domain " + std::to_string(domain));
    }
    if (!ranges_.add(range)) not_imported_.unreadable.add(table);
  }
  ranges_.write();
}

void Nsys::read_thread_names() {
  if (!has("ThreadNames")) return;
  const Layout names = Layout::of<schema::Name>({"objectKind", "objectId", "name", "threadId"});
  NsysRows rows(database_, "ThreadNames", std::array<std::string_view, 2>{"globalTid", "nameId"});
  while (rows.step()) {
    const auto global = rows.number(0);
    const auto found = met_.find(process_of(global.value_or(0)));
    const std::string_view name = strings_.text(rows.number(1));
    if (!global || found == met_.end() || name.empty()) continue;
    constexpr std::int64_t thread_object = schema::object_kind("thread");
    const auto thread = static_cast<std::uint32_t>(thread_of(*global));
    const std::array<std::uint32_t, 3> object{static_cast<std::uint32_t>(found->first), thread, 0};
    ImportedRow row = found->second->add(names);
    row.set(0, thread_object);
    row.set_blob(1, std::as_bytes(std::span(object)));
    row.set(2, found->second->string(name));
    row.set(3, thread);
  }
}

// A GPU has its own number in each process. New exports have them in TARGET_INFO_CUDA_DEVICE, old
// ones in TARGET_INFO_GPU.
void Nsys::read_devices() {
  constexpr std::string_view table = "TARGET_INFO_GPU", numbers = "TARGET_INFO_CUDA_DEVICE";
  if (!has(table)) return;
  struct Number {
    std::int64_t device;
    std::optional<std::int64_t> process;
  };
  std::multimap<std::int64_t, Number> by_gpu;
  if (has(numbers)) {
    NsysRows rows(database_, numbers, std::array<std::string_view, 3>{"gpuId", "cudaId", "pid"});
    while (rows.step() && by_gpu.size() < 65536) {
      const auto gpu = rows.number(0), device = rows.number(1);
      if (gpu && device) by_gpu.emplace(*gpu, Number{*device, rows.number(2)});
    }
  }
  const Layout devices =
      layout<schema::Device>(std::array<std::string_view, 1>{"id"}, nsys::device_columns);
  std::vector<std::string_view> theirs{"id", "cuDevice"};
  for (const Column& column : nsys::device_columns) theirs.push_back(column.theirs);
  NsysRows rows(database_, table, theirs);
  for (std::int64_t i = 0; i < most_gpus && rows.step(); ++i) {
    const auto gpu = rows.number(0);
    if (!gpu) {
      not_imported_.unreadable.add(table);
      continue;
    }
    for (const auto& [id, process] : met_) {
      std::set<std::int64_t> its;
      const auto [begin, end] = by_gpu.equal_range(*gpu);
      for (auto each = begin; each != end; ++each) {
        const auto of = each->second.process;
        if (!of || *of == 0 || *of == id) its.insert(each->second.device);
      }
      if (by_gpu.empty()) its.insert(rows.number(1).value_or(*gpu));
      for (const std::int64_t number : its) {
        ImportedRow row = process->add(devices);
        row.set(0, number);
        for (std::size_t c = 0; c < std::size(nsys::device_columns); ++c) {
          put(row, c + 1, nsys::device_columns[c], rows, static_cast<int>(c) + 2, *process, table);
        }
      }
    }
  }
}

}  // namespace

NotImported import_nsys(store::Database& database, const Job& job) {
  return Nsys(database, job).run();
}

}  // namespace gpuprof::importing
