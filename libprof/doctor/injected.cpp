#include "libprof/doctor/injected.hpp"

namespace gpuprof::doctor {

bool is_collector(const std::string& path) { return path.ends_with("/libgpuprof_collector.so"); }

Findings about_injection(const System& system, const Environment& environment,
                         const std::string& name) {
  const auto found = environment.find(name);
  const std::string path = found == environment.end() ? "" : found->second;
  if (path.empty()) return ok(name + " is not set");
  if (is_collector(path)) return ok(name + " names gpuprof's collector");
  if (path.starts_with('/') && !system.exists(path)) {
    return cannot(name + " names " + path + ", which does not exist", {"unset " + name});
  }
  return cannot(name + " names " + path + ", another tool, whose place gpuprof takes",
                {"unset " + name});
}

}  // namespace gpuprof::doctor
