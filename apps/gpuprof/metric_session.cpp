#include "apps/gpuprof/metric_session.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <utility>

#include "libprof/base/demangle.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/path.hpp"
#include "libprof/launch/installation.hpp"
#include "libprof/metrics/chip_names.hpp"
#include "libprof/wire/stream_error.hpp"

namespace gpuprof::app {
namespace {

using metrics::Metric;

constexpr std::string_view mode_names[] = {"application", "multiplex", "kernel", "range"};

std::string_view name_of(MetricReplay mode) { return mode_names[static_cast<std::size_t>(mode)]; }

wire::ReplayMode on_wire(MetricReplay mode) {
  switch (mode) {
    case MetricReplay::application: return wire::ReplayMode::application;
    case MetricReplay::multiplex: return wire::ReplayMode::multiplex;
    case MetricReplay::kernel: return wire::ReplayMode::kernel;
    case MetricReplay::range: return wire::ReplayMode::range;
  }
  return wire::ReplayMode::application;
}

// What kernel replay costs per pass and launch (measured). It starts and stops each time.
double kernel_replay_us(metrics::CostClass cost) {
  switch (cost) {
    case metrics::CostClass::device_time: return 600;
    case metrics::CostClass::patched: return 16'000;
    case metrics::CostClass::outside_sm: return 26'000;
    case metrics::CostClass::inside_sm: return 4'000;
  }
  return 0;
}

constexpr int default_batch = 256;
constexpr int multiplex_batch = 64;  // windows are short, and a large batch starts slowly

std::string words(const MetricRequest& scope) {
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

bool same_scope(const MetricRequest& a, const MetricRequest& b) {
  return a.devices == b.devices && a.contexts == b.contexts && a.streams == b.streams &&
         a.kernels == b.kernels && a.invocations == b.invocations && a.skip == b.skip &&
         a.count == b.count;
}

template <class Payload>
wire::Frame make(wire::FrameType type, std::uint32_t stream, const Payload& payload) {
  wire::Encoder encoder;
  encode(encoder, payload);
  return wire::make_frame(type, stream, encoder.bytes());
}

}  // namespace

struct MetricSession::Chip {
  std::string name;
  std::unique_ptr<cupti::HostChip> host;
  std::vector<std::vector<Metric>> metrics;  // by scope
};

struct MetricSession::PlannedGroup {
  std::uint32_t id;
  const Chip* chip;
  std::uint32_t scope;
  metrics::Group group;
  metrics::GroupMetrics evaluated;
  std::size_t first_run = 0;  // application replay: its passes are this run and those that follow
};

MetricSession::MetricSession(const Options& options) : options_(options) {
  std::vector<ProbedDevice> devices;
  try {
    devices = usable_devices();
  } catch (const Error& error) {
    // A wrong name is told wherever it is tried.
    if (error.exit_code() == ExitCode::no_driver || error.exit_code() == ExitCode::no_metrics) {
      check_names_without_device();
    }
    throw;
  }
  for (const MetricRequest& request : options.metrics.requests) {
    if (std::ranges::none_of(scopes_, [&](const auto& s) { return same_scope(s, request); })) {
      scopes_.push_back(request);
    }
  }
  std::vector<metrics::Selection::Scope> patterns;
  for (const MetricRequest& scope : scopes_) {
    patterns.push_back({.contexts = scope.contexts,
                        .streams = scope.streams,
                        .kernels = scope.kernels,
                        .invocations = scope.invocations});
  }
  selection_ = std::make_shared<metrics::Selection>(patterns, options.metrics.left_out,
                                                    options.metrics.range);
  library_ =
      std::make_shared<const cupti::HostLibrary>(launch::host_cupti_candidates(options.cupti));
  for (const ProbedDevice& device : devices) {
    const auto known =
        std::ranges::find(chips_, device.chip, [](const auto& c) { return c->name; });
    if (known != chips_.end()) continue;
    auto chip = std::make_unique<Chip>();
    chip->name = device.chip;
    chip->host = std::make_unique<cupti::HostChip>(library_, device.chip);
    plan_chip(*chip);
    chips_.push_back(std::move(chip));
  }
  make_folder();
  launches_ = std::make_unique<metrics::LaunchTable>(folder_->path());
}

MetricSession::~MetricSession() = default;

std::vector<ProbedDevice> MetricSession::usable_devices() const {
  if (!options_.query.chip.empty()) {
    return {
        {.index = 0, .chip = metrics::chip_named(options_.query.chip), .name = {}, .problem = {}}};
  }
  std::vector<ProbedDevice> devices = probe_devices(options_.cupti, !options_.application.empty());
  std::string problems;
  std::erase_if(devices, [&](const ProbedDevice& device) {
    if (device.problem.empty()) return false;
    problems += (problems.empty() ? "" : "; ") + std::string("device ") +
                std::to_string(device.index) + " (" + device.name + "): " + device.problem;
    return true;
  });
  if (devices.empty()) {
    throw Error("no metrics can be collected: " + problems, "docs/metrics.md tells more",
                ExitCode::no_metrics);
  }
  return devices;
}

void MetricSession::check_names_without_device() const {
  std::shared_ptr<const cupti::HostLibrary> library;
  try {
    library =
        std::make_shared<const cupti::HostLibrary>(launch::host_cupti_candidates(options_.cupti));
  } catch (const Error&) {
    return;  // nobody knows names here
  }
  for (const MetricRequest& request : options_.metrics.requests) {
    metrics::check_names(library, request.metrics, request.events);
  }
}

// Beside the database, where there is room for images: up to 0.65 MB for each launch in a group of
// several passes. The target must find it from its own working directory.
void MetricSession::make_folder() {
  const std::string beside = options_.output.empty() ? "" : folder_of(options_.output);
  const bool known = !beside.empty() && beside.find('%') == beside.npos;
  folder_ = known ? std::make_unique<TemporaryFolder>(beside) : std::make_unique<TemporaryFolder>();
}

void MetricSession::plan_chip(Chip& chip) {
  const metrics::Catalogue catalogue(*chip.host);
  chip.metrics.resize(scopes_.size());
  for (const MetricRequest& request : options_.metrics.requests) {
    std::vector<Metric> wanted = catalogue.metrics(request.metrics);
    std::ranges::move(catalogue.events(request.events), std::back_inserter(wanted));
    const auto place = std::ranges::find_if(
        scopes_, [&](const MetricRequest& scope) { return same_scope(scope, request); });
    auto& list = chip.metrics[static_cast<std::size_t>(place - scopes_.begin())];
    for (Metric& metric : wanted) {
      if (std::ranges::find(list, metric.name, &Metric::name) == list.end()) {
        list.push_back(std::move(metric));
      }
    }
  }
  for (std::uint32_t scope = 0; scope < scopes_.size(); ++scope) {
    const std::vector<Metric>& wanted = chip.metrics[scope];
    if (wanted.empty()) continue;
    std::vector<metrics::Group> groups;
    if (options_.metrics.replay == MetricReplay::kernel) {
      groups.push_back(metrics::plan_together(*chip.host, wanted));
    } else {
      groups = metrics::plan(*chip.host, wanted);
    }
    for (metrics::Group& group : groups) {
      if (options_.metrics.replay == MetricReplay::multiplex && group.passes > 1) {
        // Those of one pass that share the group are none of the trouble.
        std::string names;
        for (const std::size_t metric : group.metrics) {
          auto alone = chip.host->config_image(wanted[metric].counters);
          if (alone && chip.host->passes(*alone) > 1) names += " " + wanted[metric].name;
        }
        throw Error("these metrics take " + std::to_string(group.passes) +
                        " passes, and multiplexing measures a launch once:" + names,
                    "leave them out, or use --replay-mode application", ExitCode::bad_option);
      }
      auto planned = std::make_unique<PlannedGroup>();
      planned->id = static_cast<std::uint32_t>(groups_.size()) + 1;
      planned->chip = &chip;
      planned->scope = scope;
      wire::GroupInfo info{
          .id = planned->id,
          .chip = chip.name,
          .mode = std::string(name_of(options_.metrics.replay)),
          .scope = words(scopes_[scope]),
          .cost_class = std::string(metrics::cost_of(group.cost).name),
          .passes = static_cast<std::uint32_t>(group.passes),
          .expected_us = options_.metrics.replay == MetricReplay::kernel
                             ? kernel_replay_us(group.cost) * static_cast<double>(group.passes)
                             : group.launch_us(),
          .metrics = {},
          .counters = group.counters};
      for (const std::size_t place : group.metrics) {
        const Metric& metric = wanted[place];
        auto known = std::ranges::find(info_.metrics, metric.name, &wire::MetricInfo::name);
        if (known == info_.metrics.end()) {
          info_.metrics.push_back(
              {.name = metric.name,
               .unit = metric.unit,
               .description = metric.description,
               .formula = metric.formula,
               .nvprof_id = static_cast<std::uint32_t>(metric.nvprof_id.value_or(0)),
               .nvprof_kind = static_cast<std::uint8_t>(metric.kind),
               .is_event = metric.origin == Metric::Origin::nvprof_event});
          known = info_.metrics.end() - 1;
        }
        planned->evaluated.metrics.push_back(&metric);
        planned->evaluated.numbers.push_back(
            static_cast<std::uint32_t>(known - info_.metrics.begin()) + 1);
      }
      info.metrics = planned->evaluated.numbers;
      planned->group = std::move(group);
      info_.groups.push_back(std::move(info));
      groups_.push_back(std::move(planned));
    }
  }
  assign_runs(chip);
}

// Application replay: each group has its runs.
void MetricSession::assign_runs(const Chip& chip) {
  if (options_.metrics.replay != MetricReplay::application &&
      options_.metrics.replay != MetricReplay::range) {
    return;
  }
  std::size_t run = 0;
  for (const auto& planned : groups_) {
    if (planned->chip != &chip) continue;
    planned->first_run = run;
    run += planned->group.passes;
  }
  runs_ = std::max(runs_, run);  // chips share them
  if (options_.metrics.one_run && runs_ > 1) {
    throw Error("these metrics take " + std::to_string(runs_) + " runs on " + chip.name,
                "leave some out (--metrics-plan shows which go together), or do without "
                "--replay-mode disabled",
                ExitCode::bad_option);
  }
}

const MetricSession::PlannedGroup* MetricSession::group(std::uint32_t id) const {
  return id >= 1 && id <= groups_.size() ? groups_[id - 1].get() : nullptr;
}

std::string MetricSession::plan_text() const {
  std::string text;
  char line[256];
  std::snprintf(line, sizeof line, "%s replay, %zu run%s of the program\n",
                std::string(name_of(options_.metrics.replay)).c_str(), runs_,
                runs_ == 1 ? "" : "s");
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
  return text;
}

wire::Frame MetricSession::description() const {
  return make(wire::FrameType::metrics, wire::run_stream, info_);
}

void MetricSession::begin_run(std::size_t run) {
  const std::lock_guard lock(mutex_);
  const bool again = run > 0 && run == run_;
  if (again) {
    for (const auto& [key, ordinal] : has_) had_[key] = std::max(had_[key], ordinal);
  } else {
    had_.clear();
  }
  has_.clear();
  run_ = run;
  met_.clear();
  process_of_stream_.clear();
}

void MetricSession::leave_out(const std::string& kernel) {
  selection_->leave_out(demangled(kernel));
}

void MetricSession::answer(const wire::Fields& question, metrics::Selection::Reply reply) const {
  metrics::Selection::answer(selection_, question, std::move(reply));
}

wire::Fields MetricSession::config_for(std::uint32_t stream, const wire::Fields& hello) {
  const std::lock_guard lock(mutex_);
  // A process is known again by its command and its place among those of the same.
  std::string key = std::string(hello.text("executable")) + '\0' +
                    std::string(hello.text("command_line")) + '\0' +
                    std::string(hello.text("rank"));
  key += '\0' + std::to_string(met_[key]++);
  const auto process =
      processes_.try_emplace(key, static_cast<std::uint32_t>(processes_.size())).first->second;
  process_of_stream_[stream] = process;
  if (run_ == 0) stream_of_process_[process] = stream;

  const MetricOptions& chosen = options_.metrics;
  wire::CollectConfig config;
  config.mode = on_wire(chosen.replay);
  config.batch =
      static_cast<std::uint32_t>(chosen.batch > 0                           ? chosen.batch
                                 : chosen.replay == MetricReplay::multiplex ? multiplex_batch
                                                                            : default_batch);
  config.grows = chosen.batch == 0 && run_ == 0;
  config.hang_ms = static_cast<std::uint32_t>(chosen.hang_seconds) * 1000;
  config.overhead_permille = static_cast<std::uint32_t>(chosen.overhead_permille);
  config.samples = static_cast<std::uint32_t>(chosen.samples);
  config.list_launches = run_ == 0 && runs_ > 1 && chosen.replay == MetricReplay::application;
  config.reset_caches = chosen.reset_caches && chosen.replay == MetricReplay::kernel;
  // Where few launches are measured, the others keep running side by side; but counters of patched
  // code count nothing then (measured).
  config.trace_serially = chosen.replay != MetricReplay::multiplex ||
                          std::ranges::any_of(groups_, [](const auto& planned) {
                            return planned->group.cost == metrics::CostClass::patched;
                          });
  config.names_matter = selection_->names_matter();
  config.ranges = chosen.range.empty()  ? wire::NvtxRanges::none
                  : chosen.range == "." ? wire::NvtxRanges::all
                                        : wire::NvtxRanges::some;
  config.images = *folder_ / std::to_string(process);
  std::error_code ignored;
  std::filesystem::create_directory(config.images, ignored);
  for (const MetricRequest& scope : scopes_) {
    config.scopes.push_back({.devices = scope.devices,
                             .contexts = !scope.contexts.empty(),
                             .streams = !scope.streams.empty(),
                             .invocations = !scope.invocations.empty(),
                             .skip = scope.skip,
                             .count = scope.count});
  }
  const bool one_by_one =
      chosen.replay == MetricReplay::application || chosen.replay == MetricReplay::range;
  // Passes of one group need the same batch, and one may be of the first run.
  bool several_passes = false;
  std::uint32_t best_batch = config.batch;
  for (const auto& planned : groups_) {
    const std::size_t passes = planned->group.passes;
    const bool now =
        !one_by_one || (run_ >= planned->first_run && run_ < planned->first_run + passes);
    if (!now) continue;
    several_passes |= passes > 1;
    if (run_ > 0 && chosen.batch == 0 && chosen.replay == MetricReplay::application) {
      best_batch = metrics::best_batch(planned->group, launches_->launches(process));
    }
    const metrics::Cost& cost = metrics::cost_of(planned->group.cost);
    config.groups.push_back(
        {.id = planned->id,
         .chip = planned->chip->name,
         .scope = planned->scope,
         .pass = one_by_one ? static_cast<std::uint32_t>(run_ - planned->first_run) : 0,
         .passes = static_cast<std::uint32_t>(passes),
         .launch_us = cost.launch_us,
         .switch_us = cost.switch_us,
         .patched = planned->group.cost == metrics::CostClass::patched,
         .counters = planned->group.counters,
         .config_image = planned->group.config_image});
  }
  if (!several_passes) config.batch = best_batch;
  wire::Encoder encoder;
  encode(encoder, config);
  const auto bytes = encoder.bytes();
  wire::Fields fields;
  fields.set("metrics",
             std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  return fields;
}

std::uint32_t MetricSession::process_of(std::uint32_t stream) {
  const auto found = process_of_stream_.find(stream);
  return found == process_of_stream_.end() ? ~0u : found->second;
}

// One for each device: a host object keeps what it learned about the device from the first image it
// saw, and devices of one chip differ in the units that are switched off. (Seen on two H200: of the
// second, counters inside the SM had no values.)
const cupti::HostChip& MetricSession::evaluator(const Chip& chip, std::uint32_t process,
                                                std::uint32_t device) {
  constexpr std::size_t most = 64;
  if (evaluators_.size() > most) evaluators_.clear();
  auto& found = evaluators_[{process, device}];
  if (!found) found = std::make_unique<cupti::HostChip>(library_, chip.name);
  return *found;
}

std::optional<std::uint32_t> MetricSession::recorded_stream(std::uint32_t stream) {
  const std::lock_guard lock(mutex_);
  if (run_ == 0) return stream;
  const auto recorded = stream_of_process_.find(process_of(stream));
  if (recorded == stream_of_process_.end()) return std::nullopt;
  return recorded->second;
}

std::vector<wire::Frame> MetricSession::take(wire::Frame frame) {
  std::vector<wire::Frame> result;
  const std::optional<std::uint32_t> stream = recorded_stream(frame.stream);
  std::unique_lock lock(mutex_);
  const bool first = run_ == 0;
  const std::uint32_t process = process_of(frame.stream);
  lock.unlock();
  if (frame.type != wire::FrameType::counter_data) {
    if (first) result.push_back(std::move(frame));
    return result;
  }
  auto data = wire::decode_counter_data(frame.payload());
  if (!data) throw wire::StreamError("what it measured cannot be read");
  if (!stream) {
    mismatched_ += data->ranges.size();
    return result;
  }
  if (data->group == wire::launch_list) {
    launches_->add(process, *data);
    return result;
  }
  const PlannedGroup* planned = group(data->group);
  if (!planned) return result;
  if (!data->ranges.empty()) {
    const RangesOf key{process, data->context_number, data->group};
    const std::uint64_t had = had_.contains(key) ? had_.at(key) : 0;
    for (wire::MeasuredRange& range : data->ranges) {
      if (range.ordinal <= had) range.wanted = 0;
    }
    has_[key] = data->ranges.back().ordinal;
  }
  if (!first) {
    // The times of the file are those of the first run.
    for (wire::MeasuredRange& range : data->ranges) range.start = range.end = 0;
  }
  wire::MetricValues values = metrics::evaluate(evaluator(*planned->chip, process, data->device),
                                                planned->evaluated, *data);
  if (!first && options_.metrics.replay == MetricReplay::application) {
    mismatched_ += launches_->join(process, data->context_number, values);
  }
  if (options_.metrics.replay == MetricReplay::multiplex && tell_collector_) {
    for (const metrics::KernelShape& shape : means_.add(process, values)) {
      std::string size;
      for (const std::uint32_t part : shape.size) size += std::to_string(part) + ",";
      wire::Fields fields;
      fields.set("enough", shape.name);
      fields.set("size", size);
      fields.set("context", std::int64_t{values.context});
      fields.set("group", std::int64_t{values.group});
      tell_collector_(frame.stream, fields);
    }
  }
  ranges_ += values.ranges.size();
  if (options_.metrics.keep_counter_data) result.push_back(std::move(frame));
  result.push_back(make(wire::FrameType::ranges, *stream, values));
  return result;
}

}  // namespace gpuprof::app
