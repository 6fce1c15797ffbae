// "Unified Memory profiling result:": migrations, faults and mappings of managed memory, per device
// and for the CPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "libprof/base/saturating.hpp"
#include "libprof/report/all_reports.hpp"
#include "libprof/report/report_table.hpp"
#include "schema/enums.hpp"

namespace gpuprof::report {
namespace {

using schema::unified_memory;

constexpr std::int64_t cpu_id = 0xffffffff;  // in srcId and dstId

struct Amount {
  std::int64_t count = 0;
  std::int64_t bytes = 0, min = 0, max = 0;
  std::int64_t time = 0;

  void add(std::int64_t value, std::int64_t duration) {
    min = count == 0 ? value : std::min(min, value);
    max = std::max(max, value);
    ++count;
    bytes = saturating_add(bytes, value);
    time = saturating_add(time, duration);
  }
};

// A device's rows, in print order.
enum Row : std::size_t {
  host_to_device,
  device_to_host,
  fault_groups,
  throttles,
  thrashes,
  mapped_from,
  mapped_to,
  sent,
  received,
  row_count,
};

struct RowInfo {
  std::string_view name;
  bool has_size, has_time;
  bool per_device;  // also in the summary per GPU
};

constexpr std::array<RowInfo, row_count> row_infos{{
    {"Host To Device", true, true, true},
    {"Device To Host", true, true, true},
    {"Gpu page fault groups", false, true, true},
    {"Page throttles", false, true, true},
    {"Memory thrashes", true, false, false},
    {"Remote mapping from device", true, false, false},
    {"Remote mapping to device", true, false, false},
    {"Transfers from Device", true, true, false},
    {"Transfers to Device", true, true, false},
}};

enum CpuRow : std::size_t {
  cpu_faults,
  cpu_thrashes,
  cpu_throttles,
  cpu_mapped_from,
  cpu_mapped_to,
  cpu_row_count,
};

constexpr std::array<std::string_view, cpu_row_count> cpu_names{
    "CPU Page faults", "CPU thrashes", "CPU throttles", "remote mappings from CPU",
    "remote mappings to CPU"};

using DeviceRows = std::array<Amount, row_count>;

struct UnifiedMemory {
  std::map<std::int64_t, DeviceRows> devices;
  std::array<std::int64_t, cpu_row_count> cpu{};
};

// For thrashing between devices, `mask` has their bits set.
template <typename Visit>
void for_each_device(std::int64_t mask, Visit&& visit) {
  if (mask == cpu_id) return;
  for (int device = 0; device < 32; ++device) {
    if (mask >> device & 1) visit(device);
  }
}

UnifiedMemory read_unified_memory(Session& session) {
  UnifiedMemory memory;
  const auto& wanted = session.options().filter.devices;
  const auto add = [&](Row row, std::int64_t device, std::int64_t value, std::int64_t duration) {
    const bool other = session.device && *session.device != device;
    const bool filtered = !wanted.empty() && std::ranges::find(wanted, device) == wanted.end();
    if (device == cpu_id || other || filtered) return;
    if (session.device && !row_infos[row].per_device) return;
    memory.devices[device][row].add(value, duration);
  };
  session.output().progress("reading CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER");
  auto rows = session.select("UNIFIED_MEMORY_COUNTER",
                             {"counterKind", "value", "start", "end", "srcId", "dstId", "flags"},
                             "WHERE " + session.filter("UNIFIED_MEMORY_COUNTER"));
  while (rows.step()) {
    const std::int64_t kind = rows.integer(0), value = rows.integer(1);
    const std::int64_t start = rows.integer(2), end = rows.integer(3);
    // Old files may have signed ids.
    const std::int64_t from = rows.integer(4) & cpu_id, to = rows.integer(5) & cpu_id;
    const bool on_cpu = rows.integer(6) & 1;  // for thrashing and throttling
    const bool instant = kind == unified_memory("CPU page faults") ||
                         kind == unified_memory("page thrash") ||
                         kind == unified_memory("remote map");
    if (instant ? start == 0 || (end != 0 && end <= start) : start == 0 || end <= start) continue;
    const std::int64_t duration = instant ? 0 : saturating_subtract(end, start);
    switch (kind) {
      case unified_memory("HtoD"): add(host_to_device, to, value, duration); break;
      case unified_memory("DtoH"): add(device_to_host, from, value, duration); break;
      case unified_memory("CPU page faults"): ++memory.cpu[cpu_faults]; break;
      case unified_memory("GPU page faults"): add(fault_groups, from, value, duration); break;
      case unified_memory("page thrash"):
        for_each_device(from, [&](std::int64_t device) { add(thrashes, device, value, 0); });
        memory.cpu[cpu_thrashes] += on_cpu;
        break;
      case unified_memory("page throttle"):
        if (!on_cpu) add(throttles, from, value, duration);
        memory.cpu[cpu_throttles] += on_cpu;
        break;
      case unified_memory("remote map"):
        add(mapped_from, from, value, 0);
        add(mapped_to, to, value, 0);
        memory.cpu[cpu_mapped_from] += from == cpu_id;
        memory.cpu[cpu_mapped_to] += to == cpu_id;
        break;
      case unified_memory("DtoD"):
        add(sent, from, value, duration);
        add(received, to, value, duration);
        break;
      default: break;
    }
  }
  if (session.device) {
    const std::int64_t throttled = memory.cpu[cpu_throttles];
    memory.cpu = {};
    memory.cpu[cpu_throttles] = throttled;
  }
  return memory;
}

// With -u the unit follows a number that is as wide as others are with theirs. With -u col nvprof
// multiplies by a wrong factor and prints no unit.
std::string text_time(std::int64_t time, Unit unit) {
  const auto value = static_cast<std::uint64_t>(time);
  if (unit == Unit::automatic) return format_time(value, wide_format);
  const Scale scale = unit == Unit::column ? Scale{1e-15, ""} : time_scale(unit);
  return right_aligned(format_scaled(value, scale, wide_format), 10).append(scale.unit);
}

// nvprof rounds these one decimal at a time.
std::string text_size(std::int64_t bytes, NumberFormat format) {
  const auto value = static_cast<std::uint64_t>(bytes);
  const Scale scale = size_scale(value);
  if (scale.factor == 1 || format.width > size_format.width) return format_size(value, format);
  double scaled = static_cast<double>(value) * scale.factor;
  const int decimals = scaled >= 100 ? 2 : scaled >= 10 ? 3 : 4;
  double unit = 1e6;
  for (int i = 6; i > decimals; --i, unit /= 10) scaled = std::floor(scaled * unit + 0.5) / unit;
  return format_number(scaled, scale.unit, format);
}

void print_text(Output& output, const DeviceRows& rows) {
  output.line("   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name");
  for (std::size_t i = 0; i < row_count; ++i) {
    const Amount& row = rows[i];
    if (row.count == 0) continue;
    std::string line = right_aligned(std::to_string(row.count), 8);
    const auto size = [&](std::int64_t bytes, NumberFormat format) {
      line += "  " + right_aligned(row_infos[i].has_size ? text_size(bytes, format) : "-",
                                   static_cast<std::size_t>(format.width));
    };
    size(row.bytes / row.count, size_format);
    size(row.min, size_format);
    size(row.max, size_format);
    size(row.bytes, wide_format);
    line +=
        "  " + right_aligned(row_infos[i].has_time ? text_time(row.time, output.unit()) : "-", 10);
    output.line(line.append("  ").append(row_infos[i].name));
  }
}

std::string csv_number(std::int64_t value, Scale scale) {
  const bool whole = scale.factor == 1 && value < 1000;
  std::string text =
      whole ? std::to_string(value) : format_fixed(static_cast<double>(value) * scale.factor);
  return text.append(scale.unit);
}

// Units are in the cells. If a row has no size, nvprof prints its count as one; if it has no time,
// its size.
void print_csv(Output& output, const std::string& device, const DeviceRows& rows) {
  const auto size = [](std::int64_t value) {
    return csv_number(value, size_scale(static_cast<std::uint64_t>(value)));
  };
  const auto time = [&](std::int64_t value) {
    const bool chosen = output.unit() != Unit::automatic && output.unit() != Unit::column;
    return csv_number(
        value, chosen ? time_scale(output.unit()) : time_scale(static_cast<std::uint64_t>(value)));
  };
  for (std::size_t i = 0; i < row_count; ++i) {
    const Amount& row = rows[i];
    if (row.count == 0) continue;
    const auto [name, has_size, has_time, per_device] = row_infos[i];
    std::string line = '"' + device + "\",";
    if (has_size) {
      line += std::to_string(row.count) + "," + size(row.bytes / row.count) + "," + size(row.min) +
              "," + size(row.max) + ",";
      if (has_time) line += size(row.bytes);
    } else {
      line += ",,,," + size(row.count);
    }
    line += "," + time(has_time ? row.time : row.bytes) + ",\"";
    output.line(line.append(name).append("\""));
  }
}

void print_json(Session& session, const UnifiedMemory& memory) {
  std::vector<std::vector<Cell>> cells;
  for (const auto& [id, rows] : memory.devices) {
    for (std::size_t i = 0; i < row_count; ++i) {
      const Amount& row = rows[i];
      if (row.count == 0) continue;
      const auto [name, has_size, has_time, per_device] = row_infos[i];
      auto& line = cells.emplace_back();
      line = {session.names().device(id), id, std::string(name), row.count};
      const auto add = [&](bool there, std::int64_t value) {
        there ? line.emplace_back(value) : line.emplace_back();
      };
      for (const std::int64_t size : {row.bytes / row.count, row.min, row.max, row.bytes}) {
        add(has_size, size);
      }
      add(has_time, row.time);
    }
  }
  for (std::size_t i = 0; i < cpu_row_count; ++i) {
    if (memory.cpu[i] == 0) continue;
    cells.push_back({"CPU", Cell(), std::string(cpu_names[i]), memory.cpu[i], Cell(), Cell(),
                     Cell(), Cell(), Cell()});
  }
  const auto column = [](std::string key) { return Column{.heading = key, .key = key}; };
  print_table(
      session.output(), "unified_memory",
      {column("device"), column("device_id"), column("name"), column("count"), column("avg_bytes"),
       column("min_bytes"), column("max_bytes"), column("bytes"), column("time_ns")},
      cells);
}

void print_unified_memory(Session& session) {
  if (!session.device && !shows_section(session, gpu_activities)) return;
  const UnifiedMemory memory = read_unified_memory(session);
  const bool cpu = std::ranges::any_of(memory.cpu, [](std::int64_t count) { return count > 0; });
  if (memory.devices.empty() && !cpu) return;
  Output& output = session.output();
  if (output.keyed()) return print_json(session, memory);
  output.line();
  // nvprof prints no heading if only the CPU has data.
  if (!memory.devices.empty()) output.heading("Unified Memory profiling result:");
  if (output.csv() && !memory.devices.empty()) {
    output.line(
        "\"Device\",\"Count\",\"Avg Size\",\"Min Size\",\"Max Size\",\"Total Size\",\"Total "
        "Time\",\"\"");
  }
  for (const auto& [id, rows] : memory.devices) {
    const std::string& device = session.names().device(id);
    if (output.csv()) {
      print_csv(output, device, rows);
    } else {
      output.line("Device \"" + device + "\"");
      print_text(output, rows);
    }
  }
  for (std::size_t i = 0; i < cpu_row_count; ++i) {
    if (memory.cpu[i] == 0) continue;
    output.line("Total " + std::string(cpu_names[i]) + ": " + std::to_string(memory.cpu[i]));
  }
}

}  // namespace

extern const Report unified_memory{
    .phase = Phase::detail,
    .order = 2,
    .does = Printer{.print = print_unified_memory, .per_device = true},
};

}  // namespace gpuprof::report
