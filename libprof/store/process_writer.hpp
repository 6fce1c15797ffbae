// The processes of a run: table PROCESS.
#pragma once

#include <cstdint>

#include "libprof/store/sqlite.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::store {

// Part of the loader, on its thread. `number`: the process's first one; nothing happens if no row
// has it. Call inside a transaction.
class ProcessWriter {
 public:
  // The database must outlive this object.
  explicit ProcessWriter(Database& database) : database_(database) {}

  void insert(std::int64_t process_id, std::int64_t number, const wire::Fields& hello);
  // Sets the CUPTI and driver versions, as far as the info frame reports them.
  void set_versions(std::int64_t number, const wire::Fields& info);
  void set_goodbye(std::int64_t number);
  void set_salvaged(std::int64_t number);
  // Sets how the target ended, as far as the run frame says. The launcher learns nothing about its
  // children.
  void set_end(const wire::Fields& run);

 private:
  Database& database_;
};

}  // namespace gpuprof::store
