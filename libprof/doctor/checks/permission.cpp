// Whether this user may read the GPU's counters, as the driver was configured.
#include "libprof/base/text.hpp"
#include "libprof/doctor/check.hpp"
#include "libprof/doctor/facts.hpp"

namespace gpuprof::doctor {
namespace {

// Whether a file of the module's options already has it.
bool is_configured(const System& system) {
  for (const std::string& name : system.entries("/etc/modprobe.d")) {
    const auto text = system.text("/etc/modprobe.d/" + name);
    for (const std::string& line : split(text.value_or(""), '\n')) {
      if (trimmed(line).starts_with("options") && line.find(unrestricted) != line.npos) return true;
    }
  }
  return false;
}

Findings examine_permission(const System& system) {
  const std::string parameters = system.text("/proc/driver/nvidia/params").value_or("");
  if (parameters.find("RmProfilingAdminOnly: 0") != parameters.npos) {
    return ok("every user may read counters (RmProfilingAdminOnly: 0)");
  }
  const std::string only = "only administrators may read counters (RmProfilingAdminOnly: 1)";
  if (parameters.find("RmProfilingAdminOnly: 1") == parameters.npos) {
    if (is_wsl(system)) {
      return unknown(
          "Windows decides who may read counters: NVIDIA Control Panel, Developer, "
          "Manage GPU Performance Counters");
    }
    return {};
  }
  if (has_capability(system, cap_sys_admin)) return ok(only + ", and this process is one");
  if (has_capability(system, cap_perfmon)) {
    return unknown(only + "; this process has CAP_PERFMON, which newer drivers accept");
  }
  if (is_configured(system)) {
    return cannot(only + "; /etc/modprobe.d says otherwise, which is not in effect yet",
                  how_to_reload(system));
  }
  return cannot(only +
                    ", and this process has neither CAP_SYS_ADMIN nor CAP_PERFMON. Tracing needs "
                    "neither",
                how_to_permit(system));
}

}  // namespace

extern const Check permission_check{
    .name = "permission",
    .question = "May this user read the GPU's counters?",
    .examine = examine_permission,
};

}  // namespace gpuprof::doctor
