#include "libprof/report/trace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/report/blob.hpp"
#include "libprof/report/directives.hpp"
#include "libprof/report/metrics.hpp"
#include "libprof/report/number.hpp"
#include "libprof/report/totals.hpp"
#include "schema/gpu_work.hpp"

namespace gpuprof::report {
namespace {

using Amounts = std::vector<std::pair<TraceField, std::string>>;

std::string table_name(std::string_view kind) { return "CUPTI_ACTIVITY_KIND_" + std::string(kind); }

template <typename Number>
void append_number(std::string& text, Number number, int base = 10) {
  std::array<char, 24> digits{};
  text.append(digits.data(),
              std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr);
}

void append_hexadecimal(std::string& text, std::int64_t number) {
  text += "0x";
  append_number(text, static_cast<std::uint64_t>(number), 16);
}

std::string_view memory_name(std::int64_t kind) {
  static constexpr std::array<std::string_view, 6> names{"Unknown", "Pageable", "Pinned",
                                                         "Device",  "Array",    "Managed"};
  const bool known = kind >= 0 && kind < static_cast<std::int64_t>(names.size());
  return known ? names[static_cast<std::size_t>(kind)] : std::string_view();
}

// To six decimals, as nvprof rounds.
double half_up(double value) { return std::floor(value * 1e6 + 0.5) / 1e6; }

// Whole bytes per second.
std::int64_t throughput(std::int64_t bytes, std::int64_t duration) {
  constexpr std::int64_t second = 1'000'000'000;
  if (bytes >= 0 && bytes <= INT64_MAX / second) return bytes * second / duration;
  return static_cast<std::int64_t>(
      std::clamp(static_cast<double>(bytes) * second / static_cast<double>(duration), 0.0, 9e18));
}

// What a source reads.
struct TraceTable {
  std::string_view kind;
  std::string_view time;    // column of the start
  std::string valid;        // which rows are shown
  Amounts amounts;          // what units depend on, besides the start
  int correlation_id = -1;  // its place in the SELECT
};

}  // namespace

// The rows of one table, in the order of their start.
class TraceSource {
 public:
  TraceSource(Session& session, TraceTable table) : session_(session), table_(std::move(table)) {}
  virtual ~TraceSource() = default;
  TraceSource(const TraceSource&) = delete;
  TraceSource& operator=(const TraceSource&) = delete;

  std::string_view kind() const { return table_.kind; }
  const Amounts& amounts() const { return table_.amounts; }
  std::string_view time() const { return table_.time; }
  std::string where() { return "WHERE " + table_.valid + " AND " + session_.filter(kind()); }
  bool is_kernel() const { return kind().ends_with("KERNEL"); }

  // Before the first advance().
  void show(const std::vector<TraceColumn>& columns) {
    places_.fill(-1);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      places_[static_cast<std::size_t>(columns[i].field)] = static_cast<int>(i);
    }
    cells_.resize(columns.size());
    rows_ = open();
  }
  virtual void advance() {
    there_ = rows_.step();
    if (there_) start_ = rows_.integer(0);
  }
  // Whether there is a row, after advance().
  bool there() const { return there_; }
  std::int64_t start() const { return start_; }
  std::int64_t correlation_id() const {
    return table_.correlation_id < 0 ? 0 : rows_.integer(table_.correlation_id);
  }
  void fill(std::int64_t origin) {
    number(TraceField::start, saturating_subtract(start_, origin));
    number(TraceField::absolute_start, start_);
    if (table_.correlation_id >= 0) number(TraceField::correlation_id, correlation_id());
    read();
  }
  std::span<const Cell> cells() const { return cells_; }

 protected:
  // SELECT in order(), the start first.
  virtual store::Statement open() = 0;
  // Fills the cells of the row. A source sets the same cells in each row, or all of them anew.
  virtual void read() = 0;

  // What to SELECT for a field: nothing that no column shows, as rows are carried through the sort.
  std::string_view shown(TraceField field, std::string_view column) {
    return cell(field) ? column : "0";
  }
  std::string order() const { return " ORDER BY " + std::string(table_.time); }

  Cell* cell(TraceField field) {
    const int place = places_[static_cast<std::size_t>(field)];
    return place < 0 ? nullptr : &cells_[static_cast<std::size_t>(place)];
  }
  void nothing(TraceField field) {
    if (Cell* cell = this->cell(field)) *cell = std::monostate{};
  }
  void number(TraceField field, std::int64_t value) {
    if (Cell* cell = this->cell(field)) *cell = value;
  }
  void dimensions(TraceField field, int column) {
    if (Cell* cell = this->cell(field)) {
      *cell =
          Dimensions{rows_.integer(column), rows_.integer(column + 1), rows_.integer(column + 2)};
    }
  }
  // The cell's own text, so that its memory is used again for the next row.
  std::string* text(TraceField field) {
    Cell* cell = this->cell(field);
    if (!cell) return nullptr;
    auto* text = std::get_if<std::string>(cell);
    return text ? text : &cell->emplace<std::string>();
  }
  void text(TraceField field, std::string_view value) {
    if (std::string* text = this->text(field)) text->assign(value);
  }
  void devices(TraceField field, std::string_view names) {
    text(field, session_.output().text() ? names.substr(0, 15) : names);
  }
  void device(TraceField field, std::int64_t id) {
    if (cell(field)) devices(field, session_.names().device(id));
  }
  void context(TraceField field, std::int64_t device_id, std::int64_t id) {
    if (std::string* text = this->text(field)) *text = session_.names().context(device_id, id);
  }
  void memory(TraceField field, std::int64_t kind) {
    const std::string_view name = memory_name(kind);
    name.empty() ? nothing(field) : text(field, name);
  }
  // Old files do not tell.
  void process(std::int64_t id) {
    id ? number(TraceField::process_id, id) : nothing(TraceField::process_id);
  }
  void duration(std::int64_t end) {
    number(TraceField::duration, saturating_subtract(end, start_));
  }
  // Device, context and stream are columns behind one another.
  void place(int column) {
    const std::int64_t device_id = rows_.integer(column), context_id = rows_.integer(column + 1);
    device(TraceField::device, device_id);
    number(TraceField::device_id, device_id);
    context(TraceField::context, device_id, context_id);
    if (std::string* text = this->text(TraceField::stream)) {
      *text = session_.names().stream(device_id, context_id, rows_.integer(column + 2));
    }
  }

  Session& session_;
  const TraceTable table_;
  store::Statement rows_;
  std::int64_t start_ = 0;
  bool there_ = false;

 private:
  std::array<int, static_cast<std::size_t>(TraceField::count)> places_{};
  std::vector<Cell> cells_;
};

namespace {

constexpr std::string_view gpu_times = "start > 0 AND [end] > start";

class KernelSource : public TraceSource {
 public:
  KernelSource(Session& session, std::string_view kind)
      : TraceSource(session, {.kind = kind,
                              .time = "start",
                              .valid = std::string(gpu_times),
                              .amounts = {{TraceField::duration, "[end] - start"},
                                          {TraceField::static_memory, "staticSharedMemory"},
                                          {TraceField::dynamic_memory, "dynamicSharedMemory"}},
                              .correlation_id = 14}),
        nested_(kind == "CDP_KERNEL") {}

 protected:
  store::Statement open() override {
    return session_.select(kind(),
                           {"start",
                            "end",
                            "gridX",
                            "gridY",
                            "gridZ",
                            "blockX",
                            "blockY",
                            "blockZ",
                            "registersPerThread",
                            "staticSharedMemory",
                            "dynamicSharedMemory",
                            "deviceId",
                            "contextId",
                            "streamId",
                            "correlationId",
                            shown(TraceField::process_id, "processId"),
                            "name",
                            shown(TraceField::grid_id, "gridId"),
                            shown(TraceField::parent_id, "parentGridId"),
                            shown(TraceField::parent_block, "parentBlockX"),
                            shown(TraceField::parent_block, "parentBlockY"),
                            shown(TraceField::parent_block, "parentBlockZ")},
                           where() + order());
  }
  void read() override {
    text(TraceField::kind, "kernel");
    duration(rows_.integer(1));
    dimensions(TraceField::grid, 2);
    dimensions(TraceField::block, 5);
    number(TraceField::registers, rows_.integer(8));
    number(TraceField::static_memory, rows_.integer(9));
    number(TraceField::dynamic_memory, rows_.integer(10));
    place(11);
    process(rows_.integer(15));
    number(TraceField::grid_id, rows_.integer(17));
    std::string* name = text(TraceField::name);
    if (name) *name = session_.names().kernel(rows_.integer(16));
    if (nested_) {
      number(TraceField::parent_id, rows_.integer(18));
      dimensions(TraceField::parent_block, 19);
    } else if (name && session_.output().text()) {
      *name += " [";
      append_number(*name, correlation_id());
      *name += ']';
    }
  }

 private:
  const bool nested_;  // launched by a kernel
};

// Copies and sets.
class TransferSource : public TraceSource {
 public:
  TransferSource(Session& session, std::string_view kind)
      : TraceSource(session,
                    {.kind = kind,
                     .time = "start",
                     .valid = std::string(gpu_times),
                     .amounts = {{TraceField::duration, "[end] - start"},
                                 {TraceField::size, "bytes"},
                                 {TraceField::throughput, "bytes * 1000000000 / ([end] - start)"}},
                     .correlation_id = 6}),
        set_(kind == "MEMSET"),
        peer_(kind == "MEMCPY2") {}

 protected:
  store::Statement open() override {
    return session_.select(
        kind(),
        {"start", "end", "bytes", "deviceId", "contextId", "streamId", "correlationId",
         shown(TraceField::process_id, "processId"), set_ ? "memoryKind" : "srcKind", "dstKind",
         "copyKind", "srcDeviceId", "srcContextId", "dstDeviceId", "dstContextId"},
        where() + order());
  }
  void read() override {
    const std::int64_t bytes = rows_.integer(2);
    text(TraceField::kind, set_ ? "memset" : "memcpy");
    duration(rows_.integer(1));
    number(TraceField::size, bytes);
    number(TraceField::throughput,
           throughput(bytes, saturating_subtract(rows_.integer(1), start_)));
    place(3);
    process(rows_.integer(7));
    memory(TraceField::source_memory, rows_.integer(8));
    if (set_) return text(TraceField::name, "[CUDA memset]");
    memory(TraceField::destination_memory, rows_.integer(9));
    text(TraceField::name, memcpy_name(rows_.integer(10)));
    if (!peer_) return;
    device(TraceField::source_device, rows_.integer(11));
    context(TraceField::source_context, rows_.integer(11), rows_.integer(12));
    device(TraceField::destination_device, rows_.integer(13));
    context(TraceField::destination_context, rows_.integer(13), rows_.integer(14));
  }

 private:
  const bool set_, peer_;
};

class OwnWorkSource : public TraceSource {
 public:
  OwnWorkSource(Session& session, const schema::GpuWork& work)
      : TraceSource(session,
                    {.kind = work.kind,
                     .time = "start",
                     .valid = "start > 0 AND [" + std::string(work.end) + "] > start",
                     .amounts = {{TraceField::duration, "[" + std::string(work.end) + "] - start"}},
                     .correlation_id = 2}),
        work_(work) {}

 protected:
  store::Statement open() override {
    return session_.select(kind(),
                           {"start", work_.end, "correlationId", "deviceId", "contextId",
                            "streamId", shown(TraceField::process_id, "processId"), "sourceBytes"},
                           where() + order());
  }
  void read() override {
    text(TraceField::kind, work_.type);
    duration(rows_.integer(1));
    place(3);
    process(rows_.integer(6));
    rows_.integer(7) ? number(TraceField::size, rows_.integer(7)) : nothing(TraceField::size);
    text(TraceField::name, work_.name);
  }

 private:
  const schema::GpuWork& work_;
};

// Finds the kernel that an API call launched, by the correlation id. Of several the last one
// counts, those of CONCURRENT_KERNEL before those of KERNEL.
class LaunchedKernels {
 public:
  // Before any table is read: SQLite locks temporary tables while rows are read.
  void open(Session& session) {
    if (!names_.empty()) return;
    for (const std::string_view kind : {"CONCURRENT_KERNEL", "KERNEL"}) {
      if (!session.has_rows(kind) || !session.has_column(kind, "correlationId")) continue;
      const std::string row = session.has_column(kind, "_id_") ? "_id_" : "rowid";
      const std::string table = session.database().has_index(table_name(kind), "correlationId")
                                    ? "main." + table_name(kind)
                                    : copy(session, kind, row);
      names_.push_back(session.database().prepare("SELECT name FROM " + table +
                                                  " WHERE correlationId = ?1 ORDER BY " + row +
                                                  " DESC LIMIT 1"));
    }
  }

  // The string id of its name.
  std::optional<std::int64_t> name(std::int64_t correlation_id) {
    for (store::Statement& names : names_) {
      names.bind(1, correlation_id);
      std::optional<std::int64_t> name;
      if (names.step()) name = names.integer(0);
      names.reset();
      if (name) return name;
    }
    return std::nullopt;
  }

 private:
  // What is needed, in a temporary table with an index.
  static std::string copy(Session& session, std::string_view kind, const std::string& row) {
    session.output().progress("indexing " + table_name(kind));
    const std::string table = "temp.launched_" + table_name(kind);
    session.database().execute("DROP TABLE IF EXISTS " + table + "; CREATE TABLE " + table +
                               "(correlationId INTEGER PRIMARY KEY, name INT, " + row +
                               " INT); INSERT OR REPLACE INTO " + table +
                               " SELECT correlationId, name, " + row + " FROM main." +
                               table_name(kind) + " ORDER BY " + row);
    return table;
  }

  std::vector<store::Statement> names_;
};

// Calls of the runtime and of the driver.
class ApiSource : public TraceSource {
 public:
  ApiSource(Session& session, std::string_view kind, std::shared_ptr<LaunchedKernels> launched)
      : TraceSource(session, {.kind = kind,
                              .time = "start",
                              .valid = "start > 0 AND [end] >= start",
                              .amounts = {{TraceField::duration, "[end] - start"}},
                              .correlation_id = 3}),
        domain_(kind == "DRIVER" ? ApiDomain::driver : ApiDomain::runtime),
        launched_(session.output().csv() ? nullptr : std::move(launched)) {}

 protected:
  store::Statement open() override {
    if (launched_) launched_->open(session_);
    return session_.select(
        kind(),
        {"start", "end", "cbid", "correlationId", shown(TraceField::process_id, "processId"),
         shown(TraceField::thread_id, "threadId")},
        where() + order());
  }
  void read() override {
    text(TraceField::kind, domain_ == ApiDomain::driver ? "driver" : "runtime");
    duration(rows_.integer(1));
    process(rows_.integer(4));
    number(TraceField::thread_id, rows_.integer(5));
    std::string* name = text(TraceField::name);
    if (!name) return;
    *name = function(rows_.integer(2));
    const auto kernel = launched_ ? launched_->name(correlation_id()) : std::nullopt;
    if (cell(TraceField::kernel)) {
      kernel ? text(TraceField::kernel, session_.names().kernel(*kernel))
             : nothing(TraceField::kernel);
    } else if (kernel) {
      name->append(" (").append(session_.names().kernel(*kernel)).append(" [");
      append_number(*name, correlation_id());
      *name += "])";
    }
  }

 private:
  const std::string& function(std::int64_t cbid) {
    const auto [place, is_new] = functions_.try_emplace(cbid);
    if (is_new) place->second = session_.names().api(domain_, cbid);
    return place->second;
  }

  const ApiDomain domain_;
  std::unordered_map<std::int64_t, std::string> functions_;
  const std::shared_ptr<LaunchedKernels> launched_;  // nullptr: not shown
};

// NVTX marks, and ranges with a row for each end.
class MarkerSource : public TraceSource {
 public:
  explicit MarkerSource(Session& session)
      : TraceSource(
            session,
            {.kind = "MARKER", .time = "timestamp", .valid = "timestamp > 0", .amounts = {}}) {}

  // An end has its name from the start, so starts count also where a filter hides them.
  void advance() override {
    do {
      TraceSource::advance();
      if (!there_) return;
      name_ = rows_.integer(4);
      const std::int64_t flags = rows_.integer(1);
      if (flags & range_start) open_[range()] = name_;
      found_ = !(flags & range_end);
      if (flags & range_end) {
        const auto start = open_.find(range());
        if (start != open_.end()) {
          found_ = true;
          name_ = start->second;
          open_.erase(start);
        }
      }
    } while (rows_.integer(7) == 0);
  }

 protected:
  store::Statement open() override {
    const std::string is_shown = session_.filter(kind());
    return session_.select(
        kind(), {"timestamp", "flags", "id", "objectId", "name", "domain", "objectKind", is_shown},
        "WHERE " + table_.valid + order());
  }
  void read() override {
    const std::int64_t flags = rows_.integer(1);
    text(TraceField::kind, "marker");
    process(process_id());
    std::string* text = this->text(TraceField::name);
    if (!text) return;
    *text = flags & range_start ? "[Range start] "
            : flags & range_end ? "[Range end] "
                                : "[Marker] ";
    *text += string(name_, found_ ? "<unnamed>" : "(null)");
    text->append(" (Domain: ").append(string(rows_.integer(5), "<unnamed>")).append(")");
  }

 private:
  static constexpr std::int64_t range_start = 2, range_end = 4;  // CUpti_ActivityFlag

  std::string string(std::int64_t id, const char* none) {
    return id == 0 ? none : session_.names().text(id);
  }
  // 0: not known.
  std::int64_t process_id() const {
    const auto id = object_id(rows_.blob(3));
    const bool has_process = rows_.integer(6) <= 2;  // of a process or a thread
    return id && has_process ? (*id)[0] : 0;
  }
  // Ids count per process.
  std::pair<std::int64_t, std::int64_t> range() const { return {process_id(), rows_.integer(2)}; }

  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> open_;  // range -> its name
  std::int64_t name_ = 0;
  bool found_ = false;  // the row has a name of its own, or a range that it ends
};

// OpenACC directives.
class OpenaccSource : public TraceSource {
 public:
  OpenaccSource(Session& session, const OpenaccKind& kind)
      : TraceSource(session, {.kind = kind.table,
                              .time = "start",
                              .valid = openacc_valid(session),
                              .amounts = {{TraceField::duration, "[end] - start"}}}),
        object_(kind.object),
        names_(session) {}

 protected:
  store::Statement open() override {
    return session_.select(kind(),
                           {"start", "end", "cuDeviceId", "cuContextId", "cuStreamId",
                            kind() == "OPENACC_DATA" ? "bytes" : "0", "cuProcessId", "cuThreadId",
                            "eventKind", "parentConstruct", "srcFile", "lineNo", object_},
                           where() + order());
  }
  void read() override {
    text(TraceField::kind, "openacc");
    duration(rows_.integer(1));
    place(2);
    device(TraceField::directive_device, rows_.integer(2));
    const std::int64_t bytes = rows_.integer(5);
    bytes > 0 ? number(TraceField::size, bytes) : nothing(TraceField::size);
    process(rows_.integer(6));
    number(TraceField::thread_id, rows_.integer(7));
    text(TraceField::name, names_.text(names_.number(rows_, 8)));
  }

 private:
  const std::string_view object_;
  OpenaccNames names_;
};

// Unified memory: what moved, and page faults.
class UnifiedMemorySource : public TraceSource {
 public:
  explicit UnifiedMemorySource(Session& session)
      : TraceSource(session,
                    {.kind = "UNIFIED_MEMORY_COUNTER",
                     .time = "start",
                     .valid = "start > 0 AND ([end] > start OR "
                              "[end] = 0 AND counterKind IN (3, 5, 7))",
                     .amounts = {{TraceField::duration,
                                  "CASE WHEN [end] > start THEN [end] - start ELSE 0 END"}}}) {}

 protected:
  store::Statement open() override {
    return session_.select(
        kind(),
        {"start", "end", "counterKind", "value", "address", "srcId", "dstId", "processId", "flags"},
        where() + order());
  }
  void read() override {
    const std::int64_t end = rows_.integer(1), kind = rows_.integer(2), value = rows_.integer(3);
    text(TraceField::kind, "unified_memory");
    end > start_ ? duration(end) : nothing(TraceField::duration);
    text(TraceField::name, name_of(kind));
    process(rows_.integer(7));
    if (std::string* text = this->text(TraceField::address)) {
      text->clear();
      append_hexadecimal(*text, rows_.integer(4));
    }
    devices(kind);
    session_.output().json() ? number(TraceField::unified_memory, value) : amount(kind, value);
  }

 private:
  // CUpti_ActivityUnifiedMemoryCounterKind
  enum Kind { htod = 1, dtoh, cpu_fault, gpu_fault, thrash, throttle, remote_map, dtod };

  static std::string name_of(std::int64_t kind) {
    static constexpr std::array<std::string_view, 9> names{
        "unknown",     "Memcpy HtoD",   "Memcpy DtoH", "CPU page faults", "GPU page faults",
        "page thrash", "page throttle", "remote map",  "Memcpy DtoD"};
    const bool known = kind > 0 && kind < static_cast<std::int64_t>(names.size());
    return "[Unified Memory " + std::string(names[known ? static_cast<std::size_t>(kind) : 0]) +
           "]";
  }

  std::string processor(std::int64_t id) {
    constexpr std::int64_t cpu = 0xffffffff;
    return (id & cpu) == cpu ? "CPU" : session_.names().device(id);
  }

  void devices(std::int64_t kind) {
    const std::int64_t source = rows_.integer(5), destination = rows_.integer(6);
    const bool on_cpu = rows_.integer(8) & 1;  // of thrashing and throttling
    switch (kind) {
      case cpu_fault: nothing(TraceField::device); break;
      case htod: TraceSource::devices(TraceField::device, processor(destination)); break;
      case remote_map:
      case dtod:
        TraceSource::devices(TraceField::device, processor(source) + ", " + processor(destination));
        break;
      case thrash: {
        std::string names = on_cpu ? "CPU" : "";
        for (int bit = 0; bit < 32; ++bit) {
          if (source >> bit & 1)
            names += (names.empty() ? "" : ", ") + session_.names().device(bit);
        }
        TraceSource::devices(TraceField::device, names);
        break;
      }
      default:
        TraceSource::devices(TraceField::device,
                             kind == throttle && on_cpu ? "CPU" : processor(source));
        break;
    }
  }

  // Bytes, faults or where the fault was. Bytes are in bytes where units are fixed.
  void amount(std::int64_t kind, std::int64_t value) {
    const auto unsigned_value = static_cast<std::uint64_t>(value);
    if (kind == throttle) return nothing(TraceField::unified_memory);
    if (kind == cpu_fault || kind == gpu_fault) {
      std::string* text = this->text(TraceField::unified_memory);
      text->clear();
      if (kind == gpu_fault) return append_number(*text, unsigned_value);
      *text = "PC ";
      return append_hexadecimal(*text, value);
    }
    const Output& output = session_.output();
    if (output.csv()) return number(TraceField::unified_memory, value);
    if (Table::fixed_units(output)) {
      return text(TraceField::unified_memory, format_scaled(unsigned_value, size_scale(0),
                                                            {.width = 20, .exponent_from = 1000}));
    }
    const Scale scale = size_scale(unsigned_value);
    std::string number =
        scale.factor == 1
            ? std::to_string(unsigned_value)
            : format_fixed(half_up(static_cast<double>(unsigned_value) * scale.factor));
    text(TraceField::unified_memory, number.append(scale.unit));
  }
};

// Clocks, temperature, power and fans.
class SystemSource : public TraceSource {
 public:
  explicit SystemSource(Session& session)
      : TraceSource(session, {.kind = "ENVIRONMENT",
                              .time = "timestamp",
                              .valid = "timestamp > 0 AND length(data) = 20",
                              .amounts = {}}) {
    auto damaged =
        session.select(kind(), {"1"}, "WHERE length(data) IS NOT 20 AND " + session.filter(kind()));
    while (damaged.step()) {
      session.skip("CUPTI_ACTIVITY_KIND_ENVIRONMENT with data that are not of 20 bytes");
    }
  }

 protected:
  store::Statement open() override {
    return session_.select(kind(), {"timestamp", "deviceId", "environmentKind", "data"},
                           where() + order());
  }
  void read() override {
    const auto data = rows_.blob(3);
    text(TraceField::kind, "environment");
    device(TraceField::device, rows_.integer(1));
    number(TraceField::device_id, rows_.integer(1));
    std::string* value = text(TraceField::system);
    value->clear();
    append_number(*value, blob_field<std::uint32_t>(data, 0));
    const auto and_second = [&] {
      *value += '/';
      append_number(*value, blob_field<std::uint32_t>(data, 4));
    };
    switch (rows_.integer(2)) {
      case 1: and_second(); return text(TraceField::name, "[SM/Memory Clock (MHz)]");
      case 2: return text(TraceField::name, "[Temperature (C)]");
      case 3: and_second(); return text(TraceField::name, "[Power/Limit (mW)]");
      case 4: return text(TraceField::name, "[Fan Speed (%)]");
      default: return text(TraceField::name, "[Unknown]");
    }
  }

 private:
};

// Values of events and metrics at a point in time.
class InstantSource : public TraceSource {
 public:
  InstantSource(Session& session, const ValueTable& table)
      : TraceSource(
            session,
            {.kind = table.kind, .time = "timestamp", .valid = "timestamp > 0", .amounts = {}}),
        values_(table) {}

 protected:
  store::Statement open() override {
    return session_.select(kind(), {"timestamp", "deviceId", "id", "value", "flags", "instance"},
                           where() + order());
  }
  void read() override {
    text(TraceField::kind, "instantaneous");
    device(TraceField::device, rows_.integer(1));
    number(TraceField::device_id, rows_.integer(1));
    const auto row = value_row(values_, rows_, 2);
    const TraceField field =
        values_.is_metric ? TraceField::instant_metric : TraceField::instant_event;
    if (!row) {
      session_.skip("CUPTI_ACTIVITY_KIND_" + std::string(kind()) +
                    " with a value that is not of 8 bytes");
      nothing(field);
      return text(TraceField::name, "");
    }
    std::string name = row->measure.name();
    if (values_.has_instances) {
      name += " [instance " + std::to_string(row->measure.instance) + "]";
      if (session_.output().csv()) name += ' ';  // as nvprof has it
    }
    text(TraceField::name, name);
    Cell* value = cell(field);
    const MetricKind kind = row->measure.kind();
    if (!value) return;
    const auto* count = std::get_if<std::uint64_t>(&row->value);
    if (row->overflow || row->invalid) {
      *value = row->overflow ? "<OVERFLOW>" : "<INVALID>";
    } else if (session_.output().text() || kind == MetricKind::utilization ||
               (count && kind == MetricKind::throughput && session_.output().csv())) {
      *value = value_text(kind, row->value, !session_.output().text(), "-", 40);
    } else if (count) {
      *value = static_cast<std::int64_t>(*count);
    } else if (const auto* real = std::get_if<double>(&row->value)) {
      *value = *real;
    }
  }

 private:
  const ValueTable& values_;
};

}  // namespace

Trace::Trace(Session& session, TraceParts parts) : session_(session) {
  const auto add = [&](std::unique_ptr<TraceSource> source) {
    if (!session_.select(source->kind(), {"1"}, source->where() + " LIMIT 1").step()) return;
    sources_.push_back(std::move(source));
  };
  if (parts.gpu) {
    for (const std::string_view kind : {"MEMCPY", "MEMSET", "MEMCPY2"}) {
      add(std::make_unique<TransferSource>(session, kind));
    }
    for (const std::string_view kind : {"KERNEL", "CONCURRENT_KERNEL", "CDP_KERNEL"}) {
      add(std::make_unique<KernelSource>(session, kind));
    }
  }
  if (parts.gpu) {
    for (const schema::GpuWork& work : schema::own_gpu_work)
      add(std::make_unique<OwnWorkSource>(session, work));
  }
  if (parts.api) {
    const auto launched = std::make_shared<LaunchedKernels>();
    add(std::make_unique<ApiSource>(session, "RUNTIME", launched));
    add(std::make_unique<ApiSource>(session, "DRIVER", launched));
    add(std::make_unique<MarkerSource>(session));
  }
  if (parts.openacc) {
    for (const OpenaccKind& kind : openacc_kinds) {
      add(std::make_unique<OpenaccSource>(session, kind));
    }
  }
  if (parts.gpu) {
    for (const ValueTable& table : device_value_tables) {
      add(std::make_unique<InstantSource>(session, table));
    }
  }
  add(std::make_unique<SystemSource>(session));
  add(std::make_unique<UnifiedMemorySource>(session));
  make_columns(parts);
  if (Table::fixed_units(session.output())) set_scales(parts);
  if ((parts.gpu || parts.openacc) && session.output().text()) widen_for_names();
}

Trace::~Trace() = default;

bool Trace::has(std::string_view kind) const {
  return std::ranges::any_of(sources_, [&](const auto& source) { return source->kind() == kind; });
}

bool Trace::kernels_alone() const {
  return std::ranges::all_of(sources_, [](const auto& source) { return source->is_kernel(); });
}

void Trace::make_columns(TraceParts parts) {
  using enum TraceField;
  const bool json = session_.output().json();
  const auto add = [&](TraceField field, const char* heading, int width, Quantity quantity,
                       const char* key, const char* csv = "") {
    columns_.push_back(
        {field,
         {.heading = heading, .width = width, .quantity = quantity, .csv = csv, .key = key}});
  };
  const auto add_json = [&](TraceField field, const char* key, Quantity quantity) {
    if (json) add(field, "", 0, quantity, key);
  };
  add_json(kind, "kind", Quantity::text);
  add_json(absolute_start, "start_ns", Quantity::count);
  add(start, "Start", 8, Quantity::time, "relative_start_ns");
  add(duration, "Duration", 8, Quantity::time, "duration_ns");
  if (parts.gpu) {
    add(grid, "Grid Size", 19, Quantity::dimensions, "grid", "Grid");
    add(block, "Block Size", 14, Quantity::dimensions, "block", "Block");
    add(registers, "Regs*", 8, Quantity::count, "registers_per_thread", "Registers Per Thread");
    add(static_memory, "SSMem*", 8, Quantity::size, "static_shared_memory_bytes", "Static SMem");
    add(dynamic_memory, "DSMem*", 8, Quantity::size, "dynamic_shared_memory_bytes", "Dynamic SMem");
  }
  const bool transfers = has("MEMCPY") || has("MEMSET") || has("MEMCPY2");
  if (transfers || has("OPENACC_DATA")) add(size, "Size", 8, Quantity::size, "size_bytes");
  if (parts.gpu) {
    if (transfers) {
      add(throughput, "Throughput", 10, Quantity::speed, "throughput_bytes_per_s");
      add(source_memory, "SrcMemType", 10, Quantity::text, "source_memory");
      add(destination_memory, "DstMemType", 10, Quantity::text, "destination_memory");
    }
  }
  if (parts.gpu || parts.openacc) {
    add(parts.gpu || json ? device : directive_device, "Device", 15, Quantity::text, "device");
    add_json(device_id, "device_id", Quantity::count);
    add(context, "Context", 8, Quantity::text, "context");
    add(stream, "Stream", 8, Quantity::text, "stream");
  }
  if (parts.gpu) {
    if (has("CDP_KERNEL")) {
      add(grid_id, "ID", 10, Quantity::count, "grid_id");
      add(parent_id, "Parent ID", 10, Quantity::count, "parent_grid_id");
      add(parent_block, "Parent Block", 19, Quantity::dimensions, "parent_block");
    }
    if (has("MEMCPY2")) {
      add(source_device, "Src Dev", 15, Quantity::text, "source_device");
      add(source_context, "Src Ctx", 8, Quantity::text, "source_context");
      add(destination_device, "Dst Dev", 15, Quantity::text, "destination_device");
      add(destination_context, "Dst Ctx", 8, Quantity::text, "destination_context");
    }
  }
  if (has("ENVIRONMENT")) add(system, "System", 20, Quantity::text, "system");
  if (has("UNIFIED_MEMORY_COUNTER")) {
    add(unified_memory, "Unified Memory", 20, Quantity::size, "unified_memory");
    if (parts.gpu || json) add(address, "Virtual Address", 15, Quantity::text, "address");
  }
  if (std::ranges::any_of(device_value_tables,
                          [&](const ValueTable& table) { return has(table.kind); })) {
    add(instant_event, "Instantaneous Event", 40, Quantity::bits, "instantaneous_event");
    add(instant_metric, "Instantaneous Metric", 40, Quantity::bits, "instantaneous_metric");
    columns_.back().column.scale.unit = "B/s";  // nvprof says so whatever it is
  }
  add(name, "Name", 0, Quantity::text, "name");
  if (parts.api) add_json(kernel, "kernel", Quantity::text);
  add(correlation_id, "Correlation_ID", 0, Quantity::count, "correlation_id");
  columns_.back().column.csv_only = true;
  add_json(process_id, "process_id", Quantity::count);
  if (parts.api || parts.openacc) add_json(thread_id, "thread_id", Quantity::count);
}

// The unit of a column follows its largest value.
void Trace::set_scales(TraceParts parts) {
  Largest largest(columns_.size());
  const auto add = [&](TraceField field, std::int64_t value) {
    const auto column = std::ranges::find(columns_, field, &TraceColumn::field);
    if (column == columns_.end() || value <= 0) return;
    largest.add(static_cast<std::size_t>(column - columns_.begin()),
                static_cast<std::uint64_t>(value));
  };
  std::int64_t first = INT64_MAX, last = INT64_MIN;
  const bool openacc_alone = !parts.gpu && !parts.api;
  for (const auto& source : sources_) {
    // Of a trace of OpenACC nvprof looks at nothing else.
    if (openacc_alone && !source->kind().starts_with("OPENACC")) continue;
    session_.output().progress("reading " + table_name(source->kind()));
    const std::string time(source->time());
    std::string sql = "SELECT min(" + time + "), max(" + time + ")";
    for (const auto& [field, amount] : source->amounts()) sql += ", max(" + amount + ")";
    auto row = session_.database().prepare(sql + " FROM " + table_name(source->kind()) + " " +
                                           source->where());
    row.step();
    first = std::min(first, row.integer(0));
    // nvprof does not look at these rows here.
    const bool looked_at =
        source->kind() != "ENVIRONMENT" && source->kind() != "UNIFIED_MEMORY_COUNTER";
    if (looked_at) last = std::max(last, row.integer(1));
    int column = 2;
    for (const auto& [field, amount] : source->amounts()) add(field, row.integer(column++));
  }
  if (first < last) add(TraceField::start, saturating_subtract(last, first));
  if (!sources_.empty() && last == INT64_MIN) add(TraceField::start, INT64_MAX);
  std::vector<Column> columns;
  for (const TraceColumn& each : columns_) columns.push_back(each.column);
  largest.set_scales(columns, session_.output());
  for (std::size_t i = 0; i < columns.size(); ++i) columns_[i].column.scale = columns[i].scale;
}

// Contexts and streams that the program named are wider than numbers. nvprof has a column as wide
// as the longest name, whether a row has it or not.
void Trace::widen_for_names() {
  constexpr std::size_t most = 1 << 20;
  const Names& names = session_.names();
  for (TraceColumn& each : columns_) {
    const std::size_t longest = each.field == TraceField::context  ? names.longest_context()
                                : each.field == TraceField::stream ? names.longest_stream()
                                                                   : 0;
    each.column.width = std::max(each.column.width, static_cast<int>(std::min(longest, most)));
  }
}

bool Trace::next() {
  const bool first = !current_;
  if (first) {
    for (const auto& source : sources_) source->show(columns_);
    for (const auto& source : sources_) {
      session_.output().progress("sorting " + table_name(source->kind()));
      source->advance();
    }
  } else {
    current_->advance();
  }
  TraceSource* earliest = nullptr;
  for (const auto& source : sources_) {
    if (source->there() && (!earliest || source->start() < earliest->start())) {
      earliest = source.get();
    }
  }
  if (!earliest) return false;
  current_ = earliest;
  // nvprof's traces count from their own first row, JSON from where --from counts from.
  if (first) origin_ = session_.output().json() ? session_.zero() : current_->start();
  current_->fill(origin_);
  return true;
}

std::span<const Cell> Trace::cells() const { return current_->cells(); }
bool Trace::is_kernel() const { return current_->is_kernel(); }
std::int64_t Trace::correlation_id() const { return current_->correlation_id(); }

void print_footnotes(Output& output, std::span<const TraceColumn> columns) {
  if (!output.text()) return;
  output.line();
  output.line(
      "Regs: Number of registers used per CUDA thread. This number includes registers used "
      "internally by the CUDA driver and/or tools and can be more than what the compiler shows.");
  output.line("SSMem: Static shared memory allocated per CUDA block.");
  output.line("DSMem: Dynamic shared memory allocated per CUDA block.");
  const bool transfers = std::ranges::any_of(
      columns, [](const TraceColumn& each) { return each.field == TraceField::source_memory; });
  if (!transfers) return;
  output.line("SrcMemType: The type of source memory accessed by memory operation/copy");
  output.line("DstMemType: The type of destination memory accessed by memory operation/copy");
}

void print_trace(Session& session, TraceParts parts) {
  Output& output = session.output();
  Trace trace(session, parts);
  std::vector<Column> columns;
  for (const TraceColumn& each : trace.columns()) columns.push_back(each.column);
  const auto [gpu, api, openacc] = parts;
  const char* name = "trace";
  if (gpu + api + openacc == 1) name = gpu ? "gpu_trace" : api ? "api_trace" : "openacc_trace";
  Table table(output, name, std::move(columns));
  bool any = false;
  for (; trace.next(); any = true) table.row(trace.cells());
  if (!any) {
    output.line("No kernels were profiled.");
    if (output.json()) table.heading();
    return;
  }
  if (gpu) print_footnotes(output, trace.columns());
}

}  // namespace gpuprof::report
