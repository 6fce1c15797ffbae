#include "apps/gpuprof/run/pm_sampling.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "libprof/base/error.hpp"
#include "libprof/base/installation.hpp"
#include "libprof/cupti/host.hpp"
#include "libprof/metrics/sampling_plan.hpp"
#include "libprof/record/launch/device_probe.hpp"

namespace gpuprof::app {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Until the driver is up and the first sample has been taken; slow on a busy machine with many
// GPUs.
constexpr milliseconds start_patience{60'000};
// For as long as the run lasts.
constexpr milliseconds no_limit{std::chrono::hours(24) * 3650};

// The chips of this machine's devices, or the one that was named.
std::vector<std::string> chips(const Options& options) {
  std::vector<std::string> chips;
  for (const launch::ProbedDevice& device :
       launch::probe_devices(options.cupti, launch::Trial::none)) {
    if (!device.chip.empty() && std::ranges::find(chips, device.chip) == chips.end()) {
      chips.push_back(device.chip);
    }
  }
  if (chips.empty()) {
    throw Error("nothing can be sampled: CUPTI does not know the GPUs",
                "a newer one may (--cupti PATH)", ExitCode::no_metrics);
  }
  return chips;
}

}  // namespace

PmSampling::PmSampling(const Options& options, record::Say say) : say_(std::move(say)) {
  const std::vector<std::string> all = chips(options);
  const auto library =
      std::make_shared<const cupti::HostLibrary>(host_cupti_candidates(options.cupti));
  // Metrics that some boards lack come after those that all boards of a chip have.
  std::vector<std::string> optional;
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  // One of the two is 0, and a cycle is not much shorter than 1 ns.
  const bool often =
      std::max(options.pm.interval_ns, options.pm.interval_cycles) < metrics::not_often_ns;
  for (const std::string& chip : all) {
    const auto taken = metrics::checked_samples(
        cupti::HostChip(library, chip, cupti::Counting::samples), options.pm.metrics, often);
    const std::size_t sure = taken.names.size() - taken.optional;
    for (std::size_t i = 0; i < taken.names.size(); ++i) {
      add(i < sure ? config_.metrics : optional, taken.names[i]);
    }
  }
  std::erase_if(optional, [&](const std::string& name) {
    return std::ranges::find(config_.metrics, name) != config_.metrics.end();
  });
  config_.optional = static_cast<std::uint32_t>(optional.size());
  config_.metrics.insert(config_.metrics.end(), optional.begin(), optional.end());
  config_.interval_ns = options.pm.interval_ns;
  config_.interval_cycles = options.pm.interval_cycles;
  config_.buffer_bytes = options.pm.buffer_bytes;
  config_.keep_latest = options.pm.keep_latest;
  // Images must be evaluated by the CUPTI that made them.
  config_.cupti = {library->path()};
}

void PmSampling::listen(launch::Listener::Options& listening) {
  encode(listening.sampler_config, config_);
  listening.sampler_notice = [this](std::string_view name, const std::string& text) {
    if (name == wire::sampling_field) devices_.store(std::atoi(text.c_str()));
  };
}

void PmSampling::start(const record::Run& run, const launch::EndRequests& ends) {
  const std::string program = (library_folder() / "gpuprof-sampler").string();
  try {
    sampler_.emplace(program, std::vector<std::string>{run.socket_path()},
                     std::vector<HelperProcess::File>{}, no_limit);
  } catch (const Error& error) {
    return say_(std::string("no PM sampling: ") + error.what());
  }
  const auto until = steady_clock::now() + start_patience;
  while (devices_.load() == not_known && ends.asked() == 0) {
    // Query this first: what the sampler reports before its end arrives through the listener.
    const bool ended = sampler_->ended();
    if (ended && devices_.load() == not_known) {
      say_("no PM sampling: its program ended too early");
      return look_after();
    }
    if (steady_clock::now() > until) {
      sampler_->kill();
      return say_("no PM sampling: the driver and CUPTI did not answer within a minute");
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  if (devices_.load() > 0) {
    say_("sampling counters of " + std::to_string(devices_.load()) +
         (devices_.load() == 1 ? " GPU" : " GPUs") +
         "; CUPTI may hold the GPU's clocks meanwhile, so times may differ from those without");
  }
}

void PmSampling::look_after() {
  if (!sampler_ || !sampler_->ended() || sampler_->succeeded()) return;
  const int status = sampler_->status().value_or(0);
  say_("gpuprof-sampler was ended by " +
       (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) + " (" +
                                  strsignal(WTERMSIG(status)) + ")"
                            : "itself, with " + std::to_string(WEXITSTATUS(status))));
}

std::unique_ptr<PmSampling> prepare_pm_sampling(const Options& options, const record::Say& say) {
  if (!options.pm.on) return nullptr;
  try {
    return std::make_unique<PmSampling>(options, say);
  } catch (const Error& error) {
    const bool cannot =
        error.exit_code() == ExitCode::no_metrics || error.exit_code() == ExitCode::no_driver;
    if (!cannot || options.metrics.required) throw;
    say(error.what() + std::string("; the program is traced without PM sampling") +
        (error.hint().empty() ? "" : "\n  " + error.hint()));
    return nullptr;
  }
}

}  // namespace gpuprof::app
