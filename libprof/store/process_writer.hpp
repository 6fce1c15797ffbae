// The processes of a run: table PROCESS.
#pragma once

#include <cstdint>

#include "libprof/store/sqlite.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::store {

// A part of the loader, on its thread. `number`: the first one of the process; without a row of
// that number nothing happens. Inside the caller's transaction.
class ProcessWriter {
 public:
  // The database outlives this.
  explicit ProcessWriter(Database& database) : database_(database) {}

  void insert(std::int64_t process_id, std::int64_t number, const wire::Fields& hello);
  // Which CUPTI and driver it has, as far as an info frame says.
  void set_versions(std::int64_t number, const wire::Fields& info);
  void set_goodbye(std::int64_t number);
  void set_salvaged(std::int64_t number);
  // How the target ended, as far as a run frame says. Of its children the launcher learns nothing.
  void set_end(const wire::Fields& run);

 private:
  Database& database_;
};

}  // namespace gpuprof::store
