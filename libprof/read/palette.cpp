#include "libprof/read/palette.hpp"

#include "schema/traits.hpp"

namespace gpuprof::reading {
namespace {

// FNV-1a. Other languages compute the same.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619;
  return hash;
}

}  // namespace

std::string color_of_work(std::string_view name, std::optional<bool> communicates) {
  const auto is = [&](std::string_view word) { return name.find(word) != name.npos; };
  if (name.starts_with("[CUDA memcpy")) {
    return is("HtoD")   ? "htod"
           : is("DtoH") ? "dtoh"
           : is("DtoD") ? "dtod"
           : is("PtoP") ? "peer"
                        : "copy";
  }
  if (name.starts_with("[CUDA memset")) return "set";
  if (name.starts_with("[")) return "compute";
  if (communicates.value_or(schema::is_communication_kernel(name))) return "communication";
  return "kernel-" + std::to_string(hash_of(name) % kernel_colors);
}

}  // namespace gpuprof::reading
