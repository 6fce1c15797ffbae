// --process-name, --context-name and --stream-name.
#pragma once

#include <cstdint>
#include <string>

#include "apps/gpuprof/option/command_line.hpp"
#include "libprof/store/object_names.hpp"

namespace gpuprof::app {

// `pattern` with %i and the placeholders of output names filled in. Throws gpuprof::Error for an
// invalid pattern.
std::string object_name(const std::string& pattern, std::int64_t id, std::int64_t process_id);

store::ObjectNames given_names(const Options& options);

}  // namespace gpuprof::app
