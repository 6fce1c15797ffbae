#include "libprof/exchange/import/kineto.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "libprof/base/error.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/exchange/import/frames.hpp"
#include "libprof/exchange/import/ranges.hpp"
#include "libprof/exchange/import/trace_events.hpp"
#include "schema/activity/all.hpp"
#include "schema/enums.hpp"

namespace gpuprof::importing {
namespace {

// If the origin of times is unknown, they start at one second, because 0 means "no time" here.
constexpr std::int64_t unknown_base = 1'000'000'000;
// Old traces have times since 1970. No run lasts three years.
constexpr std::int64_t since_1970 = 100'000'000'000'000'000;
// In gpuprof's traces, small process ids are moved so as not to collide with device numbers.
constexpr std::int64_t moved = 1'000'000'000, most_moved = 1024;
constexpr std::string_view own_name = "gpuprof";

enum class Kind { kernel, copy, set, graph, runtime, driver, wait, range, other };

struct Category {
  std::string_view name;
  Kind kind;
  std::string_view domain = {};  // NVTX has no counterpart: empty is its default domain
};
constexpr Category categories[]{
    {"kernel", Kind::kernel},
    {"gpu_memcpy", Kind::copy},
    {"gpu_memset", Kind::set},
    {"gpu_graph", Kind::graph},
    {"cuda_runtime", Kind::runtime},
    {"cuda_driver", Kind::driver},
    {"cuda_sync", Kind::wait},
    {"user_annotation", Kind::range},
    {"cpu_op", Kind::range, "cpu_op"},
    {"python_function", Kind::range, "python_function"},
    // From PyTorch before 1.12.
    {"Kernel", Kind::kernel},
    {"Memcpy", Kind::copy},
    {"Memset", Kind::set},
    {"Runtime", Kind::runtime},
    {"Operator", Kind::range, "cpu_op"},
};

const Category* category_of(const TraceEvent& event) {
  const auto* found = std::ranges::find(categories, event.category, &Category::name);
  return found == std::end(categories) ? nullptr : found;
}

bool is_of_host(const TraceEvent& event) {
  const Category* category = event.phase == "X" ? category_of(event) : nullptr;
  return category && (category->kind == Kind::runtime || category->kind == Kind::driver ||
                      category->kind == Kind::range);
}

// Only the letters, in lower case, so that "Device Static" matches DeviceStatic.
std::string plain(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) letters += c;
  }
  return lower(letters);
}

std::int64_t number_of(std::span<const schema::EnumValue> values, std::string_view name) {
  for (const schema::EnumValue& value : values) {
    if (plain(value.name) == plain(name)) return value.value;
  }
  return 0;  // unknown
}

// hipMemcpyKind, whose numbers are not CUPTI's.
constexpr std::array<std::string_view, 4> hip_copies{"HtoH", "HtoD", "DtoH", "DtoD"};

// "Memcpy HtoD (Pageable -> Device)", "Memset (Device)", "[CUDA memcpy HtoD]"; of HIP also
// "Memcpy HtoD (Host -> Device)", where the kind of the host's memory is unknown, and
// "Memcpy 1 (0x7f40 -> 0x7f80)".
struct MemoryName {
  std::int64_t copy = 0;
  std::optional<std::int64_t> from, to;  // nullopt: unknown
};
MemoryName memory_name(std::string_view name) {
  MemoryName found;
  const std::size_t opens = std::min(name.find('('), name.size());
  std::string_view copy = name.substr(0, opens);
  constexpr std::string_view of_hip = "Memcpy ";
  if (copy.size() == of_hip.size() + 2 && copy.starts_with(of_hip)) {  // "Memcpy 1 "
    const auto number = static_cast<std::size_t>(copy[of_hip.size()] - '0');
    if (number < hip_copies.size()) copy = hip_copies[number];
  }
  for (const schema::EnumValue& value : schema::enums::CUpti_ActivityMemcpyKind) {
    if (copy.find(value.name) != std::string_view::npos) found.copy = value.value;
  }
  const std::string_view kinds = name.substr(opens);
  if (kinds.empty()) return found;
  const std::size_t arrow = std::min(kinds.find("->"), kinds.size());
  found.from = number_of(schema::enums::CUpti_ActivityMemoryKind, kinds.substr(0, arrow));
  found.to = number_of(schema::enums::CUpti_ActivityMemoryKind, kinds.substr(arrow));
  return found;
}

// "Stream Wait Event" and "stream wait event", "Context Sync" and "context synchronize".
std::int64_t wait_kind(std::string_view name) {
  const std::string letters = plain(name);
  for (const schema::EnumValue& value : schema::enums::CUpti_ActivitySynchronizationType) {
    const std::string known = plain(value.name), word = "synchronize";
    if (letters == known) return value.value;
    if (known.ends_with(word) && letters == known.substr(0, known.size() - word.size()) + "sync") {
      return value.value;
    }
  }
  return 0;
}

class Kineto {
 public:
  explicit Kineto(const Job& job) : job_(job), writer_(job.take) {}

  NotImported run() {
    find_host();
    TextStream text(job_.path, [&](int percent) { tick(percent); });
    const std::string problem = read_trace_events(text, head_, [&](TraceEvent& event) {
      take(event);
      return true;
    });
    if (!problem.empty()) throw Error(job_.path + " " + problem, "", ExitCode::import_failed);
    not_imported_.values.add("texts that are not UTF-8", text.mended_texts());
    not_imported_.note = text.note();
    ranges_.write();
    for (const auto& [id, process] : met_) {
      devices(*process);
      if (day_) writer_.clock(*process, *day_, *day_);
    }
    writer_.finish();
    return std::move(not_imported_);
  }

 private:
  void tick(int percent) {
    if (job_.progress) job_.progress("reading " + std::to_string(percent) + " %");
    if (job_.stop && job_.stop()) throw Stopped();
  }

  std::optional<std::int64_t> host_of(std::optional<std::int64_t> id) const {
    if (!id || *id < 0 || *id > UINT32_MAX) return std::nullopt;
    const bool was_moved = head_.made_by == own_name && *id >= moved && *id < moved + most_moved;
    return was_moved ? *id - moved : *id;
  }

  // GPU work does not say which process it belongs to. A profiler observes its own process, so it
  // is that of the first call or range.
  void find_host() {
    TextStream text(job_.path, [&](int percent) { tick(percent); });
    TraceHead head;
    read_trace_events(text, head, [&](TraceEvent& event) {
      head_.made_by = head.made_by;
      if (is_of_host(event)) host_ = host_of(event.process).value_or(0);
      return host_ == 0;
    });
  }

  Process* process(std::optional<std::int64_t> id) {
    if (!id) return nullptr;
    // Kineto's number for an unknown thread, which belongs to this process as well.
    if (*id == 0) id = host_;
    const auto known = met_.find(*id);
    if (known != met_.end()) return known->second;
    wire::Fields fields;
    if (head_.rank && *id == host_) fields.set("env.RANK", *head_.rank);
    if (head_.rank && head_.world_size && *id == host_) {
      fields.set("env.WORLD_SIZE", *head_.world_size);
    }
    Process* made = writer_.process(*id, fields);
    if (made) met_.emplace(*id, made);
    return made;
  }

  // Nullopt: no valid times.
  std::optional<std::array<std::int64_t, 2>> times(const TraceEvent& event) {
    if (!event.start || !event.duration || *event.duration < 0) return std::nullopt;
    if (!offset_) {
      const bool since_base = head_.base && *head_.base > 0;
      const bool of_day = !head_.base && *event.start > since_1970;
      offset_ = since_base ? *head_.base : of_day ? 0 : unknown_base;
      // gpuprof's own traces use CUPTI's clock.
      if ((since_base || of_day) && head_.made_by != own_name) {
        day_ = saturating_add(*event.start, *offset_);
      }
    }
    const std::int64_t start = saturating_add(*event.start, *offset_);
    const std::int64_t end = saturating_add(start, *event.duration);
    if (start <= 0 || end == INT64_MAX) return std::nullopt;
    return std::array{start, end};
  }

  void set(ImportedRow& row, std::size_t place, std::optional<std::int64_t> value,
           std::string_view what) {
    if (value && !row.set(place, *value)) not_imported_.values.add(what);
  }

  void take(TraceEvent& event) {
    if (event.phase == "M") return;  // names and order of rows
    const Category* category = category_of(event);
    // Arrows from calls to what they launched; the correlation id says the same.
    if (event.category == "ac2g" || event.category == "async_cpu_to_gpu") return;
    if (event.phase != "X" || !category) {
      not_imported_.left_out.add(event.category.empty() ? "phase " + event.phase : event.category);
      return;
    }
    if (event.correlation && head_.made_by == own_name) {
      event.correlation = *event.correlation & UINT32_MAX;  // the rest is the process's number
    }
    if (event.odd_values) not_imported_.values.add(event.category, event.odd_values);
    const auto when = times(event);
    const bool of_gpu = !is_of_host(event);
    Process* its = nullptr;
    if (when) {
      its = process(of_gpu ? (event.of_process ? host_of(event.of_process) : host_)
                           : host_of(event.process));
    }
    if (!its || !add(event, *category, *when, *its)) not_imported_.unreadable.add(event.category);
  }

  bool add(const TraceEvent& event, const Category& category,
           const std::array<std::int64_t, 2>& when, Process& process) {
    switch (category.kind) {
      case Kind::runtime:
      case Kind::driver: return call(event, category.kind == Kind::runtime, when, process);
      case Kind::range: return range(event, category, when, process);
      case Kind::other: return false;
      default: work(event, category.kind, when, process); return true;
    }
  }

  std::int64_t thread_of(const TraceEvent& event) {
    if (event.thread && *event.thread >= 0 && *event.thread < UINT32_MAX) return *event.thread;
    not_imported_.values.add("tid");
    return 0;
  }

  bool call(const TraceEvent& event, bool runtime, const std::array<std::int64_t, 2>& when,
            Process& process) {
    const std::uint32_t number = writer_.callback_id(process, runtime, event.name, event.callback);
    if (number == 0) return false;
    static const Layout layouts[]{layout_of_calls<schema::Runtime>(),
                                  layout_of_calls<schema::Driver>()};
    ImportedRow row = process.add(layouts[runtime ? 0 : 1]);
    row.set(0, when[0]);
    row.set(1, when[1]);
    set(row, 2, event.correlation, "correlation");
    row.set(3, process.id());
    row.set(4, thread_of(event));
    row.set(5, number);
    return true;
  }
  template <class Api>
  static Layout layout_of_calls() {
    return Layout::of<Api>({"start", "end", "correlationId", "processId", "threadId", "cbid"});
  }

  bool range(const TraceEvent& event, const Category& category,
             const std::array<std::int64_t, 2>& when, Process& process) {
    Ranges::Range range{.start = when[0], .end = when[1], .process = &process};
    range.thread = range.end_thread = static_cast<std::uint32_t>(thread_of(event));
    range.name = ranges_.number(event.name);
    range.domain = ranges_.number(category.domain.empty() ? event.domain : category.domain);
    return ranges_.add(range);
  }

  void work(const TraceEvent& event, Kind kind, const std::array<std::int64_t, 2>& when,
            Process& process);
  void devices(Process& process);

  const Job& job_;
  FrameWriter writer_;
  Ranges ranges_;
  NotImported not_imported_;
  TraceHead head_;
  std::int64_t host_ = 0;
  std::optional<std::int64_t> offset_;
  std::optional<std::int64_t> day_;  // a time of day, if the trace has such times
  std::map<std::int64_t, Process*> met_;
};

#define GPUPROF_IMPORT_PLACE "start", "end", "contextId", "streamId", "correlationId"

void Kineto::work(const TraceEvent& event, Kind kind, const std::array<std::int64_t, 2>& when,
                  Process& process) {
  static const Layout kernels = Layout::of<schema::ConcurrentKernel>(
      {GPUPROF_IMPORT_PLACE, "deviceId", "name", "registersPerThread", "gridX", "gridY", "gridZ",
       "blockX", "blockY", "blockZ", "graphId", "graphNodeId"});
  static const Layout copies =
      Layout::of<schema::Memcpy>({GPUPROF_IMPORT_PLACE, "deviceId", "bytes", "copyKind", "srcKind",
                                  "dstKind", "graphId", "graphNodeId"});
  static const Layout sets = Layout::of<schema::Memset>(
      {GPUPROF_IMPORT_PLACE, "deviceId", "bytes", "memoryKind", "graphId", "graphNodeId"});
  static const Layout graphs =
      Layout::of<schema::GraphTrace>({GPUPROF_IMPORT_PLACE, "deviceId", "graphId"});
  static const Layout waits = Layout::of<schema::Synchronization>({GPUPROF_IMPORT_PLACE, "type"});
  const Layout& layout = kind == Kind::kernel  ? kernels
                         : kind == Kind::copy  ? copies
                         : kind == Kind::set   ? sets
                         : kind == Kind::graph ? graphs
                                               : waits;
  ImportedRow row = process.add(layout);
  row.set(0, when[0]);
  row.set(1, when[1]);
  set(row, 2, event.context, "context");
  set(row, 3, event.stream, "stream");
  set(row, 4, event.correlation, "correlation");
  if (kind == Kind::wait) {
    row.set(5, wait_kind(event.wait.empty() ? event.name : event.wait));
    return;
  }
  set(row, 5, event.device, "device");
  if (kind == Kind::graph) return set(row, 6, event.graph, "graph id");
  std::size_t next = 6;
  if (kind == Kind::kernel) {
    row.set(next++, process.string(event.name));
    set(row, next++, event.registers, "registers per thread");
    for (const auto& size : event.grid) set(row, next++, size, "grid");
    for (const auto& size : event.block) set(row, next++, size, "block");
  } else {
    const MemoryName name = memory_name(event.name);
    set(row, next++, event.bytes, "bytes");
    if (kind == Kind::copy) row.set(next++, name.copy);
    set(row, next++, name.from, "kind of memory");
    if (kind == Kind::copy) set(row, next++, name.to, "kind of memory");
  }
  set(row, next++, event.graph, "graph id");
  set(row, next++, event.graph_node, "graph node id");
}

#undef GPUPROF_IMPORT_PLACE

void Kineto::devices(Process& process) {
  static const Layout layout = Layout::of<schema::Device>(
      {"id", "name", "globalMemorySize", "computeCapabilityMajor", "computeCapabilityMinor",
       "maxThreadsPerBlock", "maxRegistersPerBlock", "numThreadsPerWarp", "maxSharedMemoryPerBlock",
       "numMultiprocessors", "maxRegistersPerMultiprocessor", "maxSharedMemoryPerMultiprocessor"});
  for (const TraceDevice& device : head_.devices) {
    if (!device.id) continue;
    ImportedRow row = process.add(layout);
    row.set(1, process.string(device.name));
    const std::optional<std::int64_t> values[]{device.id,
                                               {},
                                               device.memory,
                                               device.major,
                                               device.minor,
                                               device.threads_per_block,
                                               device.registers_per_block,
                                               device.warp_size,
                                               device.shared_memory_per_block,
                                               device.multiprocessors,
                                               device.registers,
                                               device.shared_memory};
    for (std::size_t i = 0; i < std::size(values); ++i) set(row, i, values[i], "deviceProperties");
  }
}

}  // namespace

NotImported import_kineto(const Job& job) { return Kineto(job).run(); }

}  // namespace gpuprof::importing
