// "System profiling result:": clocks, temperature, power and fan of each device.
#include <algorithm>
#include <array>
#include <map>

#include "libprof/read/blob.hpp"
#include "libprof/report/all_reports.hpp"
#include "libprof/report/report_table.hpp"
#include "schema/enums.hpp"

namespace gpuprof::report {
namespace {

struct Quality {
  std::string_view name;  // with the unit
  std::int64_t kind;      // CUpti_ActivityEnvironmentKind
  std::size_t offset;     // of its u32 in the blob
};

constexpr std::array<Quality, 5> qualities{{
    {"SM Clock (MHz)", schema::environment("speed"), 0},
    {"Memory Clock (MHz)", schema::environment("speed"), 4},
    {"Temperature (C)", schema::environment("temperature"), 0},
    {"Power (mW)", schema::environment("power"), 0},
    {"Fan (%)", schema::environment("cooling"), 0},
}};

struct Samples {
  std::int64_t count = 0;
  std::int64_t sum = 0;
  std::int64_t min = 0, max = 0;

  void add(std::int64_t value) {
    min = count == 0 ? value : std::min(min, value);
    max = std::max(max, value);
    ++count;
    sum += value;
  }
  double average() const { return static_cast<double>(sum) / static_cast<double>(count); }
};

using DeviceSamples = std::array<Samples, qualities.size()>;

std::map<std::int64_t, DeviceSamples> read_system_profiling(Session& session) {
  constexpr std::size_t blob_size = 20;
  std::map<std::int64_t, DeviceSamples> devices;
  auto rows = session.select("ENVIRONMENT", {"deviceId", "environmentKind", "data"},
                             "WHERE " + session.filter("ENVIRONMENT"));
  while (rows.step()) {
    const auto data = rows.blob(2);
    if (data.size() != blob_size) {
      session.skip("CUPTI_ACTIVITY_KIND_ENVIRONMENT with data that are not of 20 bytes");
      continue;
    }
    for (std::size_t i = 0; i < qualities.size(); ++i) {
      if (qualities[i].kind != rows.integer(1)) continue;
      devices[rows.integer(0)][i].add(
          reading::blob_field<std::uint32_t>(data, qualities[i].offset));
    }
  }
  return devices;
}

// Two decimals; values too wide for the column get an exponent.
std::string text_of(double value) {
  constexpr NumberFormat format{.width = 10, .exponent_from = 1e7};
  return value < format.exponent_from ? format_fixed(value, 2) : format_number(value, "", format);
}

void print_text(Output& output, const std::string& device, const DeviceSamples& samples) {
  output.line("Device \"" + device + "\"");
  output.line("                         Count         Avg         Min         Max");
  for (std::size_t i = 0; i < qualities.size(); ++i) {
    if (samples[i].count == 0) continue;
    std::string line = right_aligned(std::string(qualities[i].name), 20) + "  " +
                       right_aligned(std::to_string(samples[i].count), 8);
    for (const double value : {samples[i].average(), static_cast<double>(samples[i].min),
                               static_cast<double>(samples[i].max)}) {
      line += "  " + right_aligned(text_of(value), 10);
    }
    output.line(line);
  }
}

void print_csv(Output& output, const std::string& device, const DeviceSamples& samples) {
  for (std::size_t i = 0; i < qualities.size(); ++i) {
    if (samples[i].count == 0) continue;
    output.line("\"" + std::string(qualities[i].name) + "\",\"" + device + "\"," +
                std::to_string(samples[i].count) + "," + format_fixed(samples[i].average()) + "," +
                format_fixed(static_cast<double>(samples[i].min)) + "," +
                format_fixed(static_cast<double>(samples[i].max)));
  }
}

void print_json(Session& session, const std::map<std::int64_t, DeviceSamples>& devices) {
  std::vector<std::vector<Cell>> cells;
  for (const auto& [id, samples] : devices) {
    for (std::size_t i = 0; i < qualities.size(); ++i) {
      const Samples& s = samples[i];
      if (s.count == 0) continue;
      cells.push_back({session.names().device(id), id, std::string(qualities[i].name), s.count,
                       s.average(), s.min, s.max});
    }
  }
  const auto column = [](std::string key) { return Column{.heading = key, .key = key}; };
  print_table(session.output(), "system_profiling",
              {column("device"), column("device_id"), column("name"), column("count"),
               column("avg"), column("min"), column("max")},
              cells);
}

void print_system_profiling(Session& session) {
  if (!session.device && !shows_section(session, gpu_activities)) return;
  const auto devices = read_system_profiling(session);
  if (devices.empty()) return;
  Output& output = session.output();
  if (output.keyed()) return print_json(session, devices);
  output.line();
  output.heading("System profiling result:");
  if (output.csv()) output.line(R"("","Device","Count","Avg","Min","Max")");
  for (const auto& [id, samples] : devices) {
    const auto& device = session.names().device(id);
    output.csv() ? print_csv(output, device, samples) : print_text(output, device, samples);
  }
}

}  // namespace

extern const Report system_profiling{
    .phase = Phase::detail,
    .order = 1,
    .does = Printer{.print = print_system_profiling, .per_device = true},
};

}  // namespace gpuprof::report
