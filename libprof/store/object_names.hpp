// Names for processes, contexts and streams that the target did not name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

struct ObjectNames {
  // From the object's id and its process's id. Empty: objects of that kind get no name.
  using Name = std::function<std::string(std::int64_t id, std::int64_t process_id)>;
  Name process = {};
  Name context = {};
  Name stream = {};
};

// Adds rows to the table NAME, inside the caller's transaction. `string_id` returns the StringTable
// id of a text.
void name_objects(Database& database, const ObjectNames& names,
                  const std::function<std::int64_t(std::string_view)>& string_id);

}  // namespace gpuprof::store
