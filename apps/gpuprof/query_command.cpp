#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option_table.hpp"
#include "apps/gpuprof/run_info.hpp"

namespace gpuprof::app {

int query_command(const Options& options) {
  if (!driver_found()) {
    throw NvprofError{{"Error: unable to locate cuda driver library.",
                       "Make sure nvidia driver is properly installed."},
                      ExitCode::no_driver};
  }
  const Option& asked = *options.without_effect.back();
  throw NvprofError{{"Error: --" + asked.name + ": " + remark(asked)}, ExitCode::bad_option};
}

}  // namespace gpuprof::app
