#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "apps/gpuprof/commands.hpp"
#include "libprof/base/driver_library.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/installation.hpp"
#include "libprof/base/json_text.hpp"
#include "libprof/base/text.hpp"
#include "libprof/metrics/chip_names.hpp"
#include "libprof/metrics/listing.hpp"
#include "libprof/record/launch/device_probe.hpp"
#include "schema/nvprof_metrics.hpp"

namespace gpuprof::app {
namespace {

using Json = nlohmann::ordered_json;
using metrics::BaseRow;
using metrics::Listing;
using metrics::NvprofRow;
using metrics::passes;
using report::Layout;
using Devices = std::vector<launch::ProbedDevice>;
using Library = std::shared_ptr<const cupti::HostLibrary>;

bool is_csv(const Options& options) {
  return options.reports.layout == Layout::csv || options.reports.layout == Layout::plain_csv;
}

constexpr std::array type_names{"counter", "ratio", "throughput"};

std::string_view type_name(cupti::MetricType type) {
  return type_names.at(static_cast<std::size_t>(type));
}

// ".{avg,max,min,sum}" and the common suffixes, if they are the same for all.
std::string compact(const std::vector<std::string>& subs) {
  std::vector<std::string> firsts, rests;
  for (const std::string& sub : subs) {
    const std::size_t dot = sub.find('.', 1);
    const std::string first = sub.substr(0, dot);
    if (firsts.empty() || firsts.back() != first) firsts.push_back(first);
    if (firsts.size() == 1 && dot != sub.npos) rests.push_back(sub.substr(dot));
  }
  const bool alone = std::ranges::find(subs, firsts.empty() ? "" : firsts.front()) != subs.end();
  if (rests.empty() || firsts.size() * (rests.size() + (alone ? 1 : 0)) != subs.size()) {
    return joined(subs, " ");
  }
  return joined(firsts, " ") + (alone ? ", alone or with " : ", with ") + joined(rests, " ");
}

void print_nvprof(std::string_view heading, const std::string& chip, const Devices& devices,
                  const std::vector<NvprofRow>& rows, bool details) {
  std::cout << heading << "\n                            Name   Description\n";
  for (const launch::ProbedDevice& device : devices) {
    std::cout << "Device " << device.index << " (" << device.name << "), ";
  }
  std::cout << "Chip " << chip << ":\n";
  for (const auto& [formula, metric] : rows) {
    if (!metric) continue;
    std::cout << "        " << metric->name << ":  " << metric->description;
    if (!metric->unit.empty()) std::cout << " (" << metric->unit << ")";
    if (!metric->note.empty()) std::cout << "; " << metric->note;
    std::cout << "\n";
    if (details) std::cout << "            = " << metric->formula << "\n";
    std::cout << "\n";
  }
  bool first = true;
  for (const auto& [formula, metric] : rows) {
    if (metric) continue;
    if (first) std::cout << "Not on this chip:\n";
    first = false;
    std::cout << "        " << formula->name;
    if (!formula->note.empty()) std::cout << ":  " << formula->note;
    std::cout << "\n";
  }
  std::cout << "\n";
}

void print_base(const BaseRow& row) {
  std::cout << "        " << row.metric.name << ":  " << row.properties.description << " ("
            << type_name(row.metric.type) << ", " << row.properties.unit;
  if (!row.properties.dimension.empty()) std::cout << ", " << row.properties.dimension;
  if (row.properties.device_level) std::cout << ", of the whole device";
  if (row.passes) std::cout << ", passes " << *row.passes;
  std::cout << ")\n";
}

void print_bases(const cupti::HostChip& chip, const std::vector<BaseRow>& rows) {
  std::cout << "CUPTI's Metrics:\n"
               "    A name is followed by one of these:\n";
  for (std::size_t type = 0; type < type_names.size(); ++type) {
    const auto row = std::ranges::find_if(rows, [&](const BaseRow& each) {
      return static_cast<std::size_t>(each.metric.type) == type;
    });
    if (row == rows.end()) continue;
    std::cout << "        " << type_names.at(type) << ":  "
              << compact(chip.sub_metrics(row->metric.name, row->metric.type)) << "\n";
  }
  for (const BaseRow& row : rows) print_base(row);
}

void print_usual_samples(const std::string& chip, const std::vector<std::string>& names) {
  std::cout << "Sampled by --pm-sampling on " << chip << " where no metrics are named:\n";
  for (const std::string& name : names) std::cout << "        " << name << "\n";
  std::cout << "\n";
}

// All details of one metric.
void print_details(const cupti::HostChip& chip, const BaseRow& row) {
  const auto& [metric, properties, unused] = row;
  std::cout << metric.name << " on " << chip.name() << "\n"
            << "    description    " << properties.description << "\n"
            << "    type           " << type_name(metric.type) << "\n"
            << "    dimension      " << properties.dimension << "\n"
            << "    hardware unit  " << properties.unit << "\n"
            << "    counted for    "
            << (properties.device_level ? "the whole device, whatever runs there" : "a context")
            << "\n    sub-metrics\n";
  if (chip.is_recorded()) {
    std::cout << "        " << compact(chip.sub_metrics(metric.name, metric.type)) << "\n"
              << "    passes         not known here: no CUPTI answers without a driver\n";
    return;
  }
  std::map<std::optional<std::size_t>, std::vector<std::string>> by_passes;
  for (const std::string& sub : chip.sub_metrics(metric.name, metric.type)) {
    by_passes[passes(chip, {metric.name + sub})].push_back(sub);
  }
  for (const auto& [needed, subs] : by_passes) {
    std::cout << "        "
              << (needed ? "passes " + std::to_string(*needed) : std::string("not to be collected"))
              << ": " << compact(subs) << "\n";
  }
  std::cout << "    passes together with\n";
  for (const char* other : {"sm__inst_executed.sum", "lts__t_sectors.sum",
                            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
                            "smsp__sass_thread_inst_executed.sum", "pcie__read_bytes.sum"}) {
    if (!passes(chip, {other})) continue;
    const auto both = passes(chip, {metrics::usual(metric), other});
    std::cout << "        " << other << ": "
              << (both ? std::to_string(*both) : "cannot be combined") << "\n";
  }
}

Json json_of(const std::vector<NvprofRow>& rows) {
  Json list = Json::array();
  for (const auto& [formula, metric] : rows) {
    Json row{{"name", formula->name},
             {"description", formula->description},
             {"unit", schema::unit_of(*formula)},
             {"available", metric.has_value()},
             {"formula", nullptr},
             {"counters", Json::array()},
             {"note", nullptr}};
    if (metric) row["formula"] = metric->formula;
    if (metric) row["counters"] = metric->counters;
    if (!formula->note.empty()) row["note"] = formula->note;
    list.push_back(std::move(row));
  }
  return list;
}

Json json_of(const cupti::HostChip& chip, const Listing& listing, const Devices& devices,
             const Query& query) {
  Json document{{"chip", listing.chip}};
  for (const launch::ProbedDevice& device : devices) {
    document["devices"].push_back({{"index", device.index}, {"name", device.name}});
  }
  if (query.metrics) document["nvprof_metrics"] = json_of(listing.metrics);
  if (query.samples && !chip.is_recorded()) {
    document["sampled_by_default"] = listing.usual_samples;
  }
  if (query.events) document["nvprof_events"] = json_of(listing.events);
  if (query.metrics) {
    Json list = Json::array();
    for (const auto& [metric, properties, passes] : listing.bases) {
      Json row{{"name", metric.name},
               {"type", type_name(metric.type)},
               {"description", properties.description},
               {"hardware_unit", properties.unit},
               {"dimension", properties.dimension},
               {"device_level", properties.device_level}};
      if (passes) row["passes"] = *passes;
      list.push_back(std::move(row));
    }
    document["metrics"] = std::move(list);
    Json& subs = document["sub_metrics"] = Json::object();
    for (const BaseRow& row : listing.bases) {
      Json& of_type = subs[std::string(type_name(row.metric.type))];
      if (of_type.is_null()) of_type = chip.sub_metrics(row.metric.name, row.metric.type);
    }
  }
  return document;
}

void print(const Json& document) { std::cout << json_text(document, 1) << "\n"; }

void print_csv_heading() {
  std::cout << "\"Chip\",\"Name\",\"Kind\",\"Unit\",\"Hardware "
               "Unit\",\"Passes\",\"Formula\",\"Description\"\n";
}

void print_csv(const Listing& listing) {
  const auto line = [&](std::initializer_list<std::string_view> cells) {
    std::cout << double_quoted(listing.chip);
    for (const std::string_view cell : cells) std::cout << "," << double_quoted(cell);
    std::cout << "\n";
  };
  const auto of_nvprof = [&](const std::vector<NvprofRow>& rows, std::string_view kind) {
    for (const auto& [formula, metric] : rows) {
      if (metric)
        line({metric->name, kind, metric->unit, "", "", metric->formula, metric->description});
    }
  };
  of_nvprof(listing.metrics, "nvprof metric");
  of_nvprof(listing.events, "nvprof event");
  for (const auto& [metric, properties, passes] : listing.bases) {
    line({metric.name, type_name(metric.type), properties.dimension, properties.unit,
          passes ? std::to_string(*passes) : "", "", properties.description});
  }
}

// Returns JSON, or prints.
Json list_chip(const Library& library, const Options& options, const std::string& chip_name,
               const Devices& devices) {
  const Query& query = options.query;
  const auto counting = query.samples ? cupti::Counting::samples : cupti::Counting::ranges;
  const Listing listing = metrics::list(library, chip_name,
                                        {.metrics = query.metrics,
                                         .events = query.events,
                                         .counting = counting,
                                         .filter = query.filter});
  const cupti::HostChip chip(library, chip_name, counting);

  const bool details = !query.filter.empty();
  const bool for_programs = options.reports.layout == Layout::json || is_csv(options);
  if (!for_programs && !details && !listing.usual_samples.empty()) {
    print_usual_samples(chip_name, listing.usual_samples);
  }
  if (options.reports.layout == Layout::json) return json_of(chip, listing, devices, query);
  if (is_csv(options)) {
    print_csv(listing);
    return {};
  }
  if (!listing.metrics.empty()) {
    print_nvprof("Available Metrics:", chip_name, devices, listing.metrics, details);
  }
  if (!listing.events.empty()) {
    print_nvprof("Available Events:", chip_name, devices, listing.events, details);
  }
  if (listing.bases.size() == 1) {
    print_details(chip, listing.bases.front());
  } else if (!listing.bases.empty()) {
    print_bases(chip, listing.bases);
  }
  return {};
}

std::string known_chips(const Options& options) {
  try {
    std::string names;
    for (const std::string& chip :
         cupti::HostLibrary(host_cupti_candidates(options.cupti)).chips()) {
      names += " " + chip;
    }
    return names;
  } catch (const Error& error) {
    return std::string(" (") + error.what() + ")";
  }
}

// The chips of this machine's GPUs that --devices selects, each with its devices.
std::vector<std::pair<std::string, Devices>> chips_here(const Options& options) {
  if (!driver_found()) {
    throw NvprofError{{"Error: unable to locate cuda driver library.",
                       "Make sure nvidia driver is properly installed.",
                       "Name one of these chips with --chip:" + known_chips(options)},
                      ExitCode::no_driver};
  }
  std::vector<std::pair<std::string, Devices>> chips;
  const auto& wanted = options.reports.filter.devices;
  for (launch::ProbedDevice& device : launch::probe_devices(options.cupti, launch::Trial::none)) {
    if (!wanted.empty() && std::ranges::find(wanted, device.index) == wanted.end()) continue;
    auto place = std::ranges::find(chips, device.chip, [](const auto& chip) { return chip.first; });
    if (place == chips.end()) place = chips.insert(place, {device.chip, {}});
    place->second.push_back(std::move(device));
  }
  if (chips.empty()) throw Error("no such device", "see --devices", ExitCode::bad_option);
  return chips;
}

}  // namespace

int query_metrics_command(const Options& options) {
  const bool json = options.reports.layout == Layout::json;
  const bool csv = is_csv(options);
  const auto open = [&] {
    return std::make_shared<const cupti::HostLibrary>(host_cupti_candidates(options.cupti));
  };
  if (!options.query.chip.empty()) {
    const std::string chip = metrics::chip_named(options.query.chip);
    const Library library = open();
    if (csv) print_csv_heading();
    const Json document = list_chip(library, options, chip, {});
    if (json) print(document);
    return 0;
  }
  const auto chips = chips_here(options);
  const Library library = open();
  if (csv) print_csv_heading();
  Json documents = Json::array();
  for (const auto& [chip, devices] : chips) {
    documents.push_back(list_chip(library, options, chip, devices));
  }
  if (json) print(documents);
  return 0;
}

}  // namespace gpuprof::app
