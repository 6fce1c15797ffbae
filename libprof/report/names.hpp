// The names that reports print for what the database holds as numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::report {

enum class ApiDomain { runtime, driver };

// "cudaMalloc_v3020" -> "cudaMalloc": nvprof cuts at the first underscore.
std::string_view without_version(std::string_view api_name);

// "[CUDA memcpy HtoD]"; `copy_kind` is CUpti_ActivityMemcpyKind.
std::string memcpy_name(std::int64_t copy_kind);

// Looks names up in one database. Belongs to the database's thread and must not outlive it.
// Files of nvprof lack the table API_NAME and the column StringTable.demangled: names then come
// from a list of CUDA 11.8's functions and from this compiler's demangler.
class Names {
 public:
  explicit Names(store::Database& database);

  std::string kernel(std::int64_t string_id);
  std::string api(ApiDomain domain, std::int64_t cbid);

 private:
  store::Statement string_;  // empty: there is no StringTable
  store::Statement api_;     // empty: there is no API_NAME
};

}  // namespace gpuprof::report
