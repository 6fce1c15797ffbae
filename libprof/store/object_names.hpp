// What processes, contexts and streams are called to which the target itself gave no name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

struct ObjectNames {
  // From the id of the object and of its process. Empty: objects of that kind get none.
  using Name = std::function<std::string(std::int64_t id, std::int64_t process_id)>;
  Name process = {};
  Name context = {};
  Name stream = {};
};

// Adds rows to the table NAME, inside the caller's transaction. `string_id` gives the StringTable
// id of a text.
void name_objects(Database& database, const ObjectNames& names,
                  const std::function<std::int64_t(std::string_view)>& string_id);

}  // namespace gpuprof::store
