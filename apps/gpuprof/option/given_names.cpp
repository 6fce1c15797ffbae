#include "apps/gpuprof/option/given_names.hpp"

#include "libprof/base/file_name.hpp"

namespace gpuprof::app {

std::string object_name(const std::string& pattern, std::int64_t id, std::int64_t process_id) {
  std::string name;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const std::string two = pattern.substr(at, 2);
    if (two == "%i") {
      name += std::to_string(id);
    } else {
      name += two == "%%" ? two : pattern.substr(at, 1);
    }
    at += two == "%i" || two == "%%";
  }
  return expand_name(name, process_id);
}

store::ObjectNames given_names(const Options& options) {
  const auto by = [](const std::string& pattern) -> store::ObjectNames::Name {
    if (pattern.empty()) return {};
    return [pattern](std::int64_t id, std::int64_t process_id) {
      return object_name(pattern, id, process_id);
    };
  };
  return {.process = by(options.process_name),
          .context = by(options.context_name),
          .stream = by(options.stream_name)};
}

}  // namespace gpuprof::app
