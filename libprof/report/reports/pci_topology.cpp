// "PCIE topology:": the path from each GPU to the host.
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "libprof/read/blob.hpp"
#include "libprof/report/report.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::report {
namespace {

using Bus = std::pair<std::int64_t, std::int64_t>;  // PCI domain, number

struct Gpu {
  std::int64_t id = 0;
  Bus upstream;
};

struct Bridge {
  std::int64_t number = 0;  // by row, from 1
  Bus upstream;
};

struct Pci {
  std::vector<Gpu> gpus;
  std::map<Bus, Bridge> bridges;  // by secondary bus
};

Pci read_pci_topology(Session& session) {
  constexpr std::int64_t gpu_type = 0, bridge_type = 1;
  Pci pci;
  std::int64_t bridge_count = 0;
  std::set<std::int64_t> known;  // each process of a run has its own rows
  auto rows = session.select("PCIE", {"type", "id", "domain", "upstreamBus", "attr"});
  while (rows.step()) {
    const auto id = rows.blob(1), attributes = rows.blob(4);
    if (id.size() != 4 || attributes.size() != 144) {
      session.skip(
          "CUPTI_ACTIVITY_KIND_PCIE with an id that is not of 4 bytes or an attr not of "
          "144");
      continue;
    }
    const std::int64_t domain = rows.integer(2);
    const Bus upstream{domain, rows.integer(3)};
    if (rows.integer(0) == gpu_type) {
      const std::int64_t device = reading::blob_field<std::uint32_t>(id, 0);
      if (known.insert(device).second) pci.gpus.push_back({device, upstream});
    } else if (rows.integer(0) == bridge_type) {
      const Bus secondary{domain, reading::blob_field<std::uint16_t>(attributes, 0)};
      const bool is_new = pci.bridges.try_emplace(secondary, bridge_count + 1, upstream).second;
      bridge_count += is_new;
    }
  }
  return pci;
}

std::vector<std::int64_t> way_up(const Pci& pci, Bus bus) {
  std::vector<std::int64_t> numbers;
  for (auto bridge = pci.bridges.find(bus);
       bridge != pci.bridges.end() && numbers.size() < pci.bridges.size();
       bridge = pci.bridges.find(bridge->second.upstream)) {
    numbers.push_back(bridge->second.number);
  }
  return numbers;
}

void print_pci_topology(Session& session) {
  const Pci pci = read_pci_topology(session);
  Output& output = session.output();
  output.line();
  output.heading("PCIE topology:");
  std::vector<std::vector<Cell>> cells;
  for (const Gpu& gpu : pci.gpus) {
    std::string way;
    for (const std::int64_t number : way_up(pci, gpu.upstream)) {
      way += "Bridge " + std::to_string(number) + " -- ";
    }
    way += "Host Bridge";
    output.line("GPU " + std::to_string(gpu.id) + " -- " + way);
    cells.push_back({gpu.id, way});
  }
  if (!output.keyed()) return;
  print_table(output, "pci_topology",
              {{.heading = "GPU", .key = "device_id"}, {.heading = "Way", .key = "way"}}, cells);
}

}  // namespace

extern const Report pci_topology{
    .option = "print-pci-topology",
    .help = "PCIe bridges between the GPUs and the host",
    .phase = Phase::extra,
    .order = 2,
    .does = Printer{print_pci_topology},
};

}  // namespace gpuprof::report
