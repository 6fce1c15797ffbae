// Trace events in Chrome's format, with the names of PyTorch's Kineto for categories and arguments.
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "libprof/base/json_text.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/compute/gpu_work.hpp"
#include "libprof/exchange/export/format.hpp"
#include "libprof/exchange/export/sm_load.hpp"

namespace gpuprof::exporting {
namespace {

constexpr std::string_view trace_begin =
    "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",\"madeBy\":\"gpuprof\",";
constexpr std::int64_t synchronizations_row = 999'999'999;
// GPU rows use the device's number as process, so small process ids are moved.
constexpr std::int64_t most_devices = 1024, moved = 1'000'000'000;
// Offset for all contexts but the first that use the same stream number.
constexpr std::int64_t other_streams = 1'000'000;

class ChromeWriter : public FormatWriter {
 public:
  // `for_hta`: HTA classifies GPU work by its names, and treats everything with a stream as work.
  ChromeWriter(TextFile& file, reading::Profile& profile, bool for_hta)
      : file_(file),
        profile_(profile),
        zero_(profile.zero()),
        for_hta_(for_hta),
        loads_(profile.database()) {
    file_ << trace_begin << "\"baseTimeNanoseconds\":" << zero_;
    store::Database& database = profile.database();
    if (database.has_column("PROCESS", "rank") &&
        database.integer("SELECT count(*) FROM main.PROCESS WHERE rank IS NOT NULL") == 1) {
      const auto rank = database.integer("SELECT rank FROM main.PROCESS WHERE rank IS NOT NULL");
      file_ << ",\"distributedInfo\":{\"rank\":" << rank.value_or(0) << "}";
    }
    file_ << ",\"traceEvents\":[";
  }

  void add(const Activity& activity) override {
    if (for_hta_ && activity.group == Activity::Group::synchronization) return;
    const std::pair<std::int64_t, std::int64_t> row = row_of(activity);
    begin() << "{\"ph\":\"X\",\"cat\":\"" << category(activity)
            << "\",\"name\":" << json_string(for_hta_ ? name_for_hta(activity) : activity.name);
    place(row);
    file_ << ",\"ts\":";
    microseconds(saturating_subtract(activity.start, zero_));
    file_ << ",\"dur\":";
    microseconds(activity.duration());
    file_ << ",\"args\":{";
    arguments(activity);
    file_ << "}}";
    arrow(activity, row);
  }

  void add(const reading::Counter& counter, std::int64_t time, double value) override {
    const std::int64_t row =
        counter.process ? process_row(counter.process) : device_row(counter.device);
    begin() << "{\"ph\":\"C\",\"name\":" << json_string(named(counter));
    place({row, 0});
    file_ << ",\"ts\":";
    microseconds(saturating_subtract(time, zero_));
    file_ << ",\"args\":{" << json_string(counter.unit.empty() ? "value" : counter.unit) << ":"
          << value << "}}";
  }

  void finish() override { file_ << "\n]}\n"; }

 private:
  TextFile& begin() {
    file_ << (first_ ? "\n" : ",\n");
    first_ = false;
    return file_;
  }
  void place(const std::pair<std::int64_t, std::int64_t>& row) {
    file_ << ",\"pid\":" << row.first << ",\"tid\":" << row.second;
  }
  // In full ns precision.
  void microseconds(std::int64_t ns) {
    if (ns < 0) file_ << "-";
    const std::uint64_t size =
        ns < 0 ? -static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
    const std::string digits = std::to_string(1000 + size % 1000);
    file_ << size / 1000 << "." << std::string_view(digits).substr(1);
  }

  static std::string category(const Activity& activity) {
    switch (activity.group) {
      case Activity::Group::gpu:
        return std::string(activity.type == "kernel" ? "" : "gpu_").append(activity.type);
      case Activity::Group::api: return activity.type == "runtime" ? "cuda_runtime" : "cuda_driver";
      case Activity::Group::range: return "user_annotation";
      case Activity::Group::synchronization: break;
    }
    return "cuda_sync";
  }

  // "[CUDA memcpy HtoD]" becomes "Memcpy HtoD".
  static std::string name_for_hta(const Activity& activity) {
    constexpr std::string_view begin = "[CUDA mem";
    const std::string_view name = activity.name;
    if (activity.group != Activity::Group::gpu || activity.type == "kernel" ||
        !name.starts_with(begin) || !name.ends_with("]")) {
      return std::string(name);
    }
    return "Mem" + std::string(name.substr(begin.size(), name.size() - begin.size() - 1));
  }

  void arguments(const Activity& activity) {
    if (activity.group == Activity::Group::range) {
      file_ << "\"domain\":" << json_string(activity.domain);
      return;
    }
    file_ << "\"correlation\":" << activity.correlation
          << ",\"External id\":" << activity.correlation;
    if (activity.group == Activity::Group::api) return;
    if (activity.group == Activity::Group::gpu) file_ << ",\"device\":" << activity.device;
    file_ << ",\"context\":" << activity.context << ",\"stream\":" << activity.stream;
    if (activity.process) file_ << ",\"process\":" << activity.process;
    if (activity.bytes) file_ << ",\"bytes\":" << *activity.bytes;
    if (activity.bytes && activity.duration() > 0) {
      const auto bytes = static_cast<double>(*activity.bytes);  // 1 byte per ns is 1 GB/s
      file_ << ",\"memory bandwidth (GB/s)\":" << bytes / static_cast<double>(activity.duration());
    }
    if (!activity.path.empty()) file_ << ",\"nvtx\":" << json_string(activity.path);
    if (const auto& shape = activity.shape) {
      const auto three = [&](const char* name, const std::array<std::int64_t, 3>& sizes) {
        file_ << ",\"" << name << "\":[" << sizes[0] << "," << sizes[1] << "," << sizes[2] << "]";
      };
      three("grid", shape->grid);
      three("block", shape->block);
      if (shape->registers) file_ << ",\"registers per thread\":" << *shape->registers;
      if (shape->static_memory && shape->dynamic_memory) {
        file_ << ",\"shared memory\":"
              << saturating_add(*shape->static_memory, *shape->dynamic_memory);
      }
    }
    if (const auto load = loads_.of(activity)) {
      file_ << ",\"blocks per SM\":" << load->blocks << ",\"warps per SM\":" << load->warps;
      if (load->occupancy) {
        file_ << ",\"est. achieved occupancy %\":" << std::llround(100 * *load->occupancy);
      }
    }
    for (const auto& [metric, value] : activity.metrics) {
      file_ << "," << json_string(metric) << ":" << value;
    }
  }

  // An arrow from a call to what it launched.
  void arrow(const Activity& activity, const std::pair<std::int64_t, std::int64_t>& row) {
    const bool call = activity.group == Activity::Group::api;
    if (call ? !activity.launches : activity.group != Activity::Group::gpu) return;
    if (call ? begun_.contains(activity.correlation) : !begun_.contains(activity.correlation)) {
      return;
    }
    if (call) begun_.add(activity.correlation);
    begin() << "{\"ph\":\"" << (call ? "s" : "f") << "\",\"id\":" << activity.correlation;
    place(row);
    file_ << ",\"ts\":";
    microseconds(saturating_subtract(activity.start, zero_));
    file_ << ",\"cat\":\"ac2g\",\"name\":\"ac2g\"" << (call ? "}" : ",\"bp\":\"e\"}");
  }

  std::pair<std::int64_t, std::int64_t> row_of(const Activity& activity) {
    std::pair<std::int64_t, std::int64_t> row;
    if (activity.group == Activity::Group::gpu) {
      const auto [place, is_new] = streams_.try_emplace(
          {activity.device, activity.process, activity.context, activity.stream}, 0);
      if (is_new) place->second = stream_row(activity);
      return {activity.device, place->second};
    }
    row.first = process_row(activity.process);
    const bool synchronization = activity.group == Activity::Group::synchronization;
    row.second = synchronization ? synchronizations_row : activity.thread;
    if (threads_.insert(row).second) {
      const std::string* given = profile_.names().thread(activity.thread);
      name("thread_name", row,
           synchronization ? "synchronizations"
           : given         ? *given
                           : "thread " + std::to_string(activity.thread));
    }
    return row;
  }

  std::int64_t process_row(std::int64_t process) {
    const std::int64_t row = process >= 0 && process < most_devices ? process + moved : process;
    if (processes_.insert(row).second) {
      name("process_name", {row, 0}, profile_.names().process(process));
    }
    return row;
  }

  std::int64_t device_row(std::int64_t device) {
    if (processes_.insert(device).second) {
      name("process_name", {device, 0}, "GPU " + profile_.names().device(device));
    }
    return device;
  }

  // A process may have memory on several devices.
  std::string named(const reading::Counter& counter) {
    return counter.process ? "GPU " + profile_.names().device(counter.device) + ": " + counter.name
                           : counter.name;
  }

  std::int64_t stream_row(const Activity& activity) {
    device_row(activity.device);
    std::int64_t number = activity.stream;
    while (!threads_.insert({activity.device, number}).second) {
      number = other_streams + others_++;
    }
    name("thread_name", {activity.device, number},
         "stream " + profile_.names().stream(activity.device, activity.context, activity.stream));
    return number;
  }

  void name(const char* what, const std::pair<std::int64_t, std::int64_t>& row,
            const std::string& text) {
    begin() << "{\"ph\":\"M\",\"name\":\"" << what << "\"";
    place(row);
    file_ << ",\"ts\":0,\"args\":{\"name\":" << json_string(text) << "}}";
  }

  TextFile& file_;
  reading::Profile& profile_;
  const std::int64_t zero_;
  const bool for_hta_;
  const SmLoads loads_;
  bool first_ = true;
  std::int64_t others_ = 0;
  std::map<std::array<std::int64_t, 4>, std::int64_t> streams_;
  std::set<std::int64_t> processes_;
  std::set<std::pair<std::int64_t, std::int64_t>> threads_;
  compute::CorrelationSet begun_;  // arrows
};

std::unique_ptr<FormatWriter> make_writer(TextFile& file, reading::Profile& profile) {
  return std::make_unique<ChromeWriter>(file, profile, false);
}

std::unique_ptr<FormatWriter> make_hta_writer(TextFile& file, reading::Profile& profile) {
  return std::make_unique<ChromeWriter>(file, profile, true);
}

constexpr FileFormat chrome{
    .name = "chrome",
    .ending = ".json",
    .begins = trace_begin,
    .help = "trace events as PyTorch's profiler writes them, for Perfetto, chrome://tracing",
    .counters = true,
    .make = &make_writer,
};
constexpr FileFormat hta{
    .name = "hta",
    .ending = ".hta.json",
    .begins = trace_begin,
    .help = "the same for Meta's Holistic Trace Analysis: copies by their names there",
    .tool = "hta",
    .make = &make_hta_writer,
};

constexpr FileFormat deflated(FileFormat format, std::string_view name, std::string_view ending) {
  format.name = name;
  format.ending = ending;
  format.begins = {"\x1f\x8b\x08\x10\0\0\0\0\x04\xffgpuprof chrome\0", 25};
  format.help = "the same, deflated";
  format.gzip = "gpuprof chrome";
  return format;
}

}  // namespace

extern const FileFormat chrome_format = chrome, hta_format = hta;
extern const FileFormat chrome_gzip_format = deflated(chrome, "chrome-gz", ".json.gz");
extern const FileFormat hta_gzip_format = deflated(hta, "hta-gz", ".hta.json.gz");

}  // namespace gpuprof::exporting
