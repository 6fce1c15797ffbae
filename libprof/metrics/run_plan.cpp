#include "libprof/metrics/run_plan.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"
#include "libprof/metrics/sets.hpp"
#include "schema/metric_sets.hpp"

namespace gpuprof::metrics {
namespace {

constexpr std::string_view mode_names[] = {"application", "multiplex", "kernel", "range"};

std::string_view name_of(Replay mode) { return mode_names[static_cast<std::size_t>(mode)]; }

wire::ReplayMode on_wire(Replay mode) {
  switch (mode) {
    case Replay::application: return wire::ReplayMode::application;
    case Replay::multiplex: return wire::ReplayMode::multiplex;
    case Replay::kernel: return wire::ReplayMode::kernel;
    case Replay::range: return wire::ReplayMode::range;
  }
  return wire::ReplayMode::application;
}

// The cost of kernel replay per pass and launch (measured). It starts and stops each time.
double kernel_replay_us(CostClass cost) {
  switch (cost) {
    case CostClass::device_time: return 600;
    case CostClass::patched: return 16'000;
    case CostClass::outside_sm: return 26'000;
    case CostClass::inside_sm: return 4'000;
  }
  return 0;
}

constexpr std::uint32_t default_batch = 128;
constexpr std::uint32_t multiplex_batch = 64;  // windows are short, and a large batch starts slowly
// For batches, until it is known how many launches there are.
constexpr std::uint64_t usual_launches = 1000;

std::string words(const Request& scope) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (!scope.devices.empty()) {
    std::string devices;
    for (const std::uint32_t device : scope.devices) devices += " " + std::to_string(device);
    add("devices" + devices);
  }
  if (!scope.contexts.empty()) add("context " + scope.contexts);
  if (!scope.streams.empty()) add("stream " + scope.streams);
  if (!scope.kernels.empty()) add("kernels " + scope.kernels);
  if (!scope.invocations.empty()) add("invocation " + scope.invocations);
  if (scope.skip > 0) add("without the first " + std::to_string(scope.skip));
  if (scope.count > 0) add(std::to_string(scope.count) + " launches");
  return text;
}

bool same_scope(const Request& a, const Request& b) {
  return a.devices == b.devices && a.contexts == b.contexts && a.streams == b.streams &&
         a.kernels == b.kernels && a.invocations == b.invocations && a.skip == b.skip &&
         a.count == b.count;
}

}  // namespace

RunPlan::RunPlan(const std::shared_ptr<const cupti::HostLibrary>& library,
                 const std::vector<std::string>& chips, PlanOptions options)
    : options_(std::move(options)) {
  for (const Request& request : options_.requests) {
    if (std::ranges::none_of(scopes_, [&](const auto& s) { return same_scope(s, request); })) {
      scopes_.push_back(request);
    }
  }
  for (const std::string& chip : chips) plan_chip(cupti::HostChip(library, chip));
}

void RunPlan::plan_chip(const cupti::HostChip& chip) {
  const Catalogue catalogue(chip);
  std::vector<std::vector<Metric>> by_scope(scopes_.size());
  for (const Request& request : options_.requests) {
    std::vector<Metric> wanted = wanted_of(chip, catalogue, request);
    const auto place = std::ranges::find_if(
        scopes_, [&](const Request& scope) { return same_scope(scope, request); });
    auto& list = by_scope[static_cast<std::size_t>(place - scopes_.begin())];
    for (Metric& metric : wanted) {
      if (std::ranges::find(list, metric.name, &Metric::name) == list.end()) {
        list.push_back(std::move(metric));
      }
    }
  }
  for (std::uint32_t scope = 0; scope < scopes_.size(); ++scope) {
    if (by_scope[scope].empty()) continue;
    metrics_.push_back(std::make_unique<const std::vector<Metric>>(std::move(by_scope[scope])));
    plan_scope(chip, scope, *metrics_.back());
  }
  assign_runs(chip.name());
}

std::vector<Metric> RunPlan::wanted_of(const cupti::HostChip& chip, const Catalogue& catalogue,
                                       const Request& request) {
  std::vector<Metric> wanted = catalogue.metrics(request.metrics);
  std::ranges::move(catalogue.events(request.events), std::back_inserter(wanted));
  for (const std::string& name : request.sets) {
    const schema::MetricSet* set = schema::find_metric_set(name);
    if (!set) continue;
    SetOnChip found = set_on_chip(catalogue, *set);
    std::ranges::move(found.metrics, std::back_inserter(wanted));
    for (const auto& [why, names] : found.left_out) {
      notes_.push_back("the set " + name + " on " + chip.name() + " is without " +
                       joined(names, ", ") + ": " + why);
    }
  }
  return wanted;
}

void RunPlan::plan_scope(const cupti::HostChip& chip, std::uint32_t scope,
                         const std::vector<Metric>& wanted) {
  std::vector<Group> groups;
  if (options_.replay == Replay::kernel) {
    groups.push_back(plan_together(chip, wanted));
  } else if (options_.replay == Replay::range) {
    groups = plan(chip, wanted, Grouping::fewest);
    most_of_one_run_ = most_of_one_pass(chip, wanted);
  } else {
    groups =
        plan(chip, wanted,
             options_.replay == Replay::application ? Grouping::fewest_runs : Grouping::by_cost);
  }
  for (Group& group : groups) {
    PlannedGroup planned{.id = static_cast<std::uint32_t>(groups_.size()) + 1,
                         .chip = chip.name(),
                         .scope = scope,
                         .group = {},
                         .evaluated = {}};
    for (const std::size_t place : group.metrics) {
      planned.evaluated.metrics.push_back(&wanted[place]);
      planned.evaluated.numbers.push_back(number_of(wanted[place]));
    }
    info_.groups.push_back(
        {.id = planned.id,
         .chip = planned.chip,
         .mode = std::string(name_of(options_.replay)),
         .scope = words(scopes_[scope]),
         .cost_class = std::string(cost_of(group.cost).name),
         .passes = static_cast<std::uint32_t>(group.passes),
         .expected_us = options_.replay == Replay::kernel
                            ? kernel_replay_us(group.cost) * static_cast<double>(group.passes)
                            : group.launch_us(),
         .metrics = planned.evaluated.numbers,
         .counters = group.counters});
    planned.group = std::move(group);
    groups_.push_back(std::move(planned));
  }
}

// The metric's number in the run, from 1.
std::uint32_t RunPlan::number_of(const Metric& metric) {
  auto known = std::ranges::find(info_.metrics, metric.name, &wire::MetricInfo::name);
  if (known == info_.metrics.end()) {
    info_.metrics.push_back({.name = metric.name,
                             .unit = metric.unit,
                             .description = metric.description,
                             .formula = metric.formula,
                             .nvprof_id = static_cast<std::uint32_t>(metric.nvprof_id.value_or(0)),
                             .nvprof_kind = static_cast<std::uint8_t>(metric.kind),
                             .is_event = metric.origin == Metric::Origin::nvprof_event});
    known = info_.metrics.end() - 1;
  }
  return static_cast<std::uint32_t>(known - info_.metrics.begin()) + 1;
}

// Application replay: each group has separate runs.
void RunPlan::assign_runs(const std::string& chip) {
  if (options_.replay != Replay::application && options_.replay != Replay::range) return;
  std::size_t run = 0;
  for (PlannedGroup& planned : groups_) {
    if (planned.chip != chip) continue;
    planned.first_run = run;
    run += planned.group.passes;
  }
  runs_ = std::max(runs_, run);  // chips share the runs
  if (options_.one_run && runs_ > 1) {
    throw Error("these metrics take " + std::to_string(runs_) + " runs on " + chip,
                "leave some out (--metrics-plan shows which can be combined), or do without "
                "--replay-mode disabled",
                ExitCode::bad_option);
  }
}

const PlannedGroup* RunPlan::group(std::uint32_t id) const {
  return id >= 1 && id <= groups_.size() ? &groups_[id - 1] : nullptr;
}

std::string RunPlan::text() const {
  std::string text;
  char line[256];
  std::snprintf(line, sizeof line, "%s replay, %zu run%s of the program\n",
                std::string(name_of(options_.replay)).c_str(), runs_, runs_ == 1 ? "" : "s");
  text += line;
  for (const wire::GroupInfo& group : info_.groups) {
    std::snprintf(line, sizeof line,
                  "  group %u: %s, %s, %u pass%s, about %.0f us per kernel%s%s\n", group.id,
                  group.chip.c_str(), group.cost_class.c_str(), group.passes,
                  group.passes == 1 ? "" : "es", group.expected_us, group.scope.empty() ? "" : "; ",
                  group.scope.c_str());
    text += line;
    for (const std::uint32_t metric : group.metrics) {
      const wire::MetricInfo& info = info_.metrics[metric - 1];
      text += "    " + info.name;
      if (info.formula != info.name) text += " = " + info.formula;
      text += "\n";
    }
  }
  for (const std::string& note : notes_) text += "  " + note + "\n";
  return text;
}

wire::Frame RunPlan::description() const {
  wire::Encoder encoder;
  encode(encoder, info_);
  return wire::make_frame(wire::FrameType::metrics, wire::run_stream, encoder.bytes());
}

wire::CollectConfig RunPlan::config(std::size_t run, std::uint64_t launches) const {
  wire::CollectConfig config;
  config.mode = on_wire(options_.replay);
  config.batch = options_.batch > 0                     ? static_cast<std::uint32_t>(options_.batch)
                 : options_.replay == Replay::multiplex ? multiplex_batch
                                                        : default_batch;
  config.grows = options_.batch == 0 && run == 0;
  config.hang_ms = static_cast<std::uint32_t>(options_.hang_seconds) * 1000;
  config.overhead_permille = static_cast<std::uint32_t>(options_.overhead_permille);
  config.samples = static_cast<std::uint32_t>(options_.samples);
  config.list_launches = run == 0 && runs_ > 1 && options_.replay == Replay::application;
  config.reset_caches = options_.reset_caches && options_.replay == Replay::kernel;
  // If few launches are measured, the others keep running concurrently; but counters with patched
  // code then count nothing (measured).
  config.trace_serially = options_.replay != Replay::multiplex ||
                          std::ranges::any_of(groups_, [](const PlannedGroup& planned) {
                            return planned.group.cost == CostClass::patched;
                          });
  config.ranges = options_.range.empty()  ? wire::NvtxRanges::none
                  : options_.range == "." ? wire::NvtxRanges::all
                                          : wire::NvtxRanges::some;
  config.scopes = scopes_of(scopes_);
  const bool one_by_one =
      options_.replay == Replay::application || options_.replay == Replay::range;
  // Passes of one group require the same batch, and one may be in the first run.
  bool several_passes = false;
  std::uint32_t batch = config.batch;
  for (const PlannedGroup& planned : groups_) {
    const std::size_t passes = planned.group.passes;
    const bool now = !one_by_one || (run >= planned.first_run && run < planned.first_run + passes);
    if (!now) continue;
    several_passes |= passes > 1;
    if (options_.batch == 0 && options_.replay == Replay::application) {
      batch = best_batch(planned.group, launches > 0 ? launches : usual_launches);
    }
    const Cost& cost = cost_of(planned.group.cost);
    config.groups.push_back(
        {.id = planned.id,
         .chip = planned.chip,
         .scope = planned.scope,
         .pass = one_by_one ? static_cast<std::uint32_t>(run - planned.first_run) : 0,
         .passes = static_cast<std::uint32_t>(passes),
         .launch_us = cost.launch_us,
         .switch_us = cost.switch_us,
         .patched = planned.group.cost == CostClass::patched,
         .counters = planned.group.counters,
         .config_image = planned.group.config_image});
  }
  if (!several_passes) config.batch = batch;
  return config;
}

}  // namespace gpuprof::metrics
