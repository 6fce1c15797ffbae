// --process-name, --context-name and --stream-name: rows of the table NAME.
#pragma once

#include <cstdint>
#include <string>

#include "apps/gpuprof/options.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::app {

// `pattern` with %i and the placeholders of output names filled in. Throws gpuprof::Error for one
// that is none.
std::string object_name(const std::string& pattern, std::int64_t id, std::int64_t process_id);

// Names the objects of a finished profile that the program itself gave no name.
void give_names(store::Database& profile, const Options& options);

}  // namespace gpuprof::app
