#include "apps/gpuprof/run/metric_session.hpp"

#include <algorithm>
#include <filesystem>
#include <future>

#include "libprof/base/error.hpp"
#include "libprof/base/installation.hpp"
#include "libprof/base/path.hpp"
#include "libprof/metrics/catalogue.hpp"
#include "libprof/metrics/chip_names.hpp"
#include "libprof/names/demangle.hpp"
#include "libprof/record/launch/device_probe.hpp"
#include "libprof/record/launch/known_devices.hpp"

namespace gpuprof::app {
namespace {

// Where metrics are required the counters are tried, whatever they answered before.
std::vector<launch::ProbedDevice> devices_here(const Options& options) {
  const launch::KnownDevices known(host_cupti_candidates(options.cupti));
  if (!options.metrics.required) {
    if (auto devices = known.read()) return *devices;
  }
  const bool try_one = !options.application.empty();
  auto devices =
      launch::probe_devices(options.cupti, try_one ? launch::Trial::metric : launch::Trial::none);
  if (try_one) known.keep(devices);
  return devices;
}

// The distinct chips of the devices that can be measured.
std::vector<std::string> usable_chips(const Options& options) {
  if (!options.query.chip.empty()) return {metrics::chip_named(options.query.chip)};
  std::vector<std::string> chips;
  std::string problems;
  for (const launch::ProbedDevice& device : devices_here(options)) {
    if (!device.problem.empty()) {
      problems += (problems.empty() ? "" : "; ") + std::string("device ") +
                  std::to_string(device.index) + " (" + device.name + "): " + device.problem;
    } else if (std::ranges::find(chips, device.chip) == chips.end()) {
      chips.push_back(device.chip);
    }
  }
  if (chips.empty()) {
    throw Error("no metrics can be collected: " + problems, "docs/metrics.md says more",
                ExitCode::no_metrics);
  }
  return chips;
}

void check_names_without_device(const Options& options) {
  std::shared_ptr<const cupti::HostLibrary> library;
  try {
    library = std::make_shared<const cupti::HostLibrary>(host_cupti_candidates(options.cupti));
  } catch (const Error&) {
    return;  // no library that knows names
  }
  for (const MetricRequest& request : options.metrics.requests) {
    metrics::check_names(library, request.metrics, request.events);
  }
}

// Loaded while the devices are probed: either takes a third of a second or more.
using Loading = std::future<std::shared_ptr<const cupti::HostLibrary>>;

Loading load(const Options& options) {
  return std::async(std::launch::async, [candidates = host_cupti_candidates(options.cupti)] {
    return std::make_shared<const cupti::HostLibrary>(candidates);
  });
}

std::vector<std::string> chips_for(const Options& options, const Loading& library) {
  try {
    return usable_chips(options);
  } catch (const Error& error) {
    // An unknown name is reported on any machine.
    if (error.exit_code() == ExitCode::no_driver || error.exit_code() == ExitCode::no_metrics) {
      library.wait();  // CUPTI is used by one thread
      check_names_without_device(options);
    }
    throw;
  }
}

// Next to the database, where there is room for images: up to 0.65 MB per launch in a group of
// several passes. The target must find the folder from its own working directory.
TemporaryFolder folder_for_images(const Options& options) {
  const std::string beside = options.output.empty() ? "" : folder_of(options.output);
  const bool known = !beside.empty() && beside.find('%') == beside.npos;
  return known ? TemporaryFolder(beside) : TemporaryFolder();
}

}  // namespace

MetricSession::MetricSession(const Options& options) : MetricSession(options, load(options)) {}

MetricSession::MetricSession(const Options& options, Loading library)
    : chips_(chips_for(options, library)),
      library_(library.get()),
      cupti_(options.cupti),
      plan_(library_, chips_, options.metrics),
      selection_(std::make_shared<metrics::Selection>(plan_.patterns(), options.metrics.left_out,
                                                      options.metrics.range)),
      folder_(folder_for_images(options)),
      launches_(folder_.path()),
      evaluation_(library_, plan_, launches_) {}

void MetricSession::begin_run(std::size_t run) {
  evaluation_.begin_run(run > 0 && run == last_run_);
  last_run_ = run;
  processes_.begin_run(run);
}

void MetricSession::failed() const { launch::KnownDevices(host_cupti_candidates(cupti_)).forget(); }

void MetricSession::leave_out(const std::string& kernel) {
  selection_->leave_out(demangled(kernel));
}

void MetricSession::answer(const wire::Fields& question, metrics::Selection::Reply reply) const {
  metrics::Selection::answer(selection_, question, std::move(reply));
}

wire::Fields MetricSession::config_for(std::uint32_t stream, const wire::Fields& hello) {
  const metrics::Processes::Place place = processes_.meet(stream, hello);
  // During the first run the table is in use by the loading thread.
  const std::uint64_t launches = place.run > 0 ? launches_.launches(place.process) : 0;
  wire::CollectConfig config = plan_.config(place.run, launches);
  config.names_matter = selection_->names_matter();
  config.images = folder_ / std::to_string(place.process);
  std::error_code ignored;
  std::filesystem::create_directory(config.images, ignored);
  wire::Fields fields;
  fields.set("metrics", wire::packed(config));
  return fields;
}

std::vector<wire::Frame> MetricSession::take(wire::Frame frame) {
  const metrics::Processes::Place from = processes_.find(frame.stream);
  return evaluation_.take(std::move(frame), from);
}

}  // namespace gpuprof::app
