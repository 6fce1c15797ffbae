// "NVLink topology:": which GPUs and CPUs are linked, how, and how fast.
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/read/blob.hpp"
#include "libprof/report/report.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::report {
namespace {

struct End {
  std::string name;        // "Tesla V100-SXM2-16GB 0", "CPU 1"; empty: no such device
  std::vector<int> ports;  // of a GPU, one per link; -1: unknown
};

struct Link {
  std::array<End, 2> ends;
  std::int64_t flags = 0, count = 0;
  std::int64_t bandwidth = 0;  // kB/s
  bool through_switch = false;
};

constexpr std::int64_t peer_access = 2, system_access = 4, peer_atomics = 8, system_atomics = 16;

using Uuid = std::array<std::byte, 16>;

std::map<Uuid, std::int64_t> devices_by_uuid(Session& session) {
  std::map<Uuid, std::int64_t> devices;
  auto rows = session.select("DEVICE", {"id", "uuid"});
  while (rows.step()) {
    const auto uuid = rows.blob(1);
    if (uuid.size() == 16) devices.try_emplace(reading::blob_field<Uuid>(uuid, 0), rows.integer(0));
  }
  return devices;
}

std::vector<Link> read_nvlink_topology(Session& session) {
  constexpr std::int64_t gpu_type = 1;
  std::vector<Link> links;
  const auto devices = devices_by_uuid(session);
  // Each process of a run has the same rows.
  const bool several = session.has_column("NVLINK", "processId");
  auto rows = session.select("NVLINK", {several ? "DISTINCT typeDev0" : "typeDev0", "typeDev1",
                                        "idDev0", "idDev1", "portDev0", "portDev1", "flag",
                                        "physicalNvLinkCount", "bandwidth", "nvswitchConnected"});
  while (rows.step()) {
    if (rows.blob(2).size() != 16 || rows.blob(3).size() != 16 || rows.blob(4).size() != 32 ||
        rows.blob(5).size() != 32) {
      session.skip(
          "CUPTI_ACTIVITY_KIND_NVLINK with an id that is not of 16 bytes or ports not of "
          "32");
      continue;
    }
    Link& link = links.emplace_back();
    link.flags = rows.integer(6);
    link.count = rows.integer(7);
    link.bandwidth = rows.integer(8);
    link.through_switch = rows.integer(9) != 0;
    for (int i = 0; i < 2; ++i) {
      End& end = link.ends[static_cast<std::size_t>(i)];
      const auto id = rows.blob(2 + i);
      if (rows.integer(i) != gpu_type) {
        end.name = "CPU " + std::to_string(reading::blob_field<std::uint32_t>(id, 0));
        continue;
      }
      const auto device = devices.find(reading::blob_field<Uuid>(id, 0));
      if (device == devices.end()) continue;
      end.name =
          session.names().device_model(device->second) + " " + std::to_string(device->second);
      for (const std::byte port : rows.blob(4 + i)) {
        if (static_cast<std::int64_t>(end.ports.size()) >= link.count) break;
        end.ports.push_back(std::to_integer<std::int8_t>(port));
      }
    }
  }
  return links;
}

std::string speed(std::int64_t kilobytes) {
  constexpr NumberFormat format{.width = 9, .exponent_from = 1000};
  const auto value = static_cast<double>(kilobytes);
  if (kilobytes >= 1'000'000) return format_number(value * 1e-6, "GB/s", format);
  if (kilobytes >= 1'000) return format_number(value * 1e-3, "MB/s", format);
  return format_number(value, kilobytes == 0 ? "B/s" : "KB/s", format);
}

void print_line(Output& output, const Link& link) {
  std::string line;
  for (const End& end : link.ends) {
    if (end.name.empty()) continue;
    line += end.name;
    if (!end.ports.empty()) line += " port " + joined(end.ports, ", ");
    line += ", ";
  }
  const auto flag = [&](std::string_view name, std::int64_t bit) {
    line.append(", ").append(name).append(link.flags & bit ? " True" : " False");
  };
  line += "NVLink Bandwidth " + speed(link.bandwidth) + ", Physical Links " +
          std::to_string(link.count);
  flag("Sysmem Access", system_access);
  flag("Sysmem Atomic Access", system_atomics);
  flag("Peer Access", peer_access);
  flag("Peer Atomic Access", peer_atomics);
  output.line(line);
}

void print_json(Output& output, const std::vector<Link>& links) {
  std::vector<std::vector<Cell>> cells;
  for (const Link& link : links) {
    const auto flag = [&](std::int64_t bit) { return Cell(std::int64_t{(link.flags & bit) != 0}); };
    auto& row = cells.emplace_back();
    for (auto [name, ports] : link.ends) {
      std::erase(ports, -1);
      for (const std::string& text : {name, joined(ports, ", ")}) {
        text.empty() ? row.emplace_back() : row.emplace_back(text);
      }
    }
    const std::int64_t bytes_per_second = saturating_multiply(link.bandwidth, 1000);
    for (const std::int64_t value : {bytes_per_second, link.count}) row.emplace_back(value);
    for (const std::int64_t bit : {system_access, system_atomics, peer_access, peer_atomics}) {
      row.push_back(flag(bit));
    }
    row.emplace_back(std::int64_t{link.through_switch});
  }
  const auto column = [](std::string key) { return Column{.heading = key, .key = key}; };
  print_table(
      output, "nvlink_topology",
      {column("device0"), column("ports0"), column("device1"), column("ports1"),
       column("bytes_per_second"), column("links"), column("system_access"),
       column("system_atomics"), column("peer_access"), column("peer_atomics"), column("nvswitch")},
      cells);
}

void print_nvlink_topology(Session& session) {
  Output& output = session.output();
  // Older files do not record NVSwitches and number their ports differently.
  constexpr std::int64_t first_version = 12;
  const bool has_version = session.database().has_table("Version");
  const auto version =
      has_version ? session.database().integer("SELECT * FROM Version") : std::nullopt;
  if (version && *version < first_version) {
    return output.heading("NVLink topology is not supported for this toolkit version.");
  }
  const std::vector<Link> links = read_nvlink_topology(session);
  if (output.keyed()) return print_json(output, links);
  if (links.empty()) return output.heading("NVLink topology is not present in this system.");
  output.line();
  output.heading("NVLink topology:");
  if (std::ranges::any_of(links, &Link::through_switch)) {
    return output.heading("NVLink topology information is not supported for this configuration.");
  }
  for (const Link& link : links) print_line(output, link);
}

}  // namespace

extern const Report nvlink_topology{
    .option = "print-nvlink-topology",
    .help = "NVLinks between GPUs and CPUs, with their speed",
    .phase = Phase::extra,
    .order = 1,
    .does = Printer{print_nvlink_topology},
};

}  // namespace gpuprof::report
