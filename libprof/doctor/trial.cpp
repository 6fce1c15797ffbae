#include "libprof/doctor/trial.hpp"

#include <mutex>

#include "libprof/base/error.hpp"

namespace gpuprof::doctor {
namespace {

Trial try_driver(const System& system) {
  Trial done;
  if (system.is_copy()) {
    done.problem = "not tried: these are the files of another system";
    return done;
  }
  try {
    done.devices = launch::probe_devices(system.variable("GPUPROF_CUPTI"), launch::Trial::all,
                                         driver_patience);
  } catch (const launch::ProbeOverdue&) {
    done.problem = no_answer;
  } catch (const Error& error) {
    done.problem = error.what();
    done.hint = error.hint();
    done.code = error.exit_code();
  }
  return done;
}

}  // namespace

const Trial& trial(const System& system) {
  // Never destroyed: a thread that still waits for the driver may use them while the process ends.
  static auto* const once = new std::once_flag;
  static auto* const done = new Trial;
  std::call_once(*once, [&] { *done = try_driver(system); });
  return *done;
}

}  // namespace gpuprof::doctor
