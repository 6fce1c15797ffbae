// What is known of the run as a whole: table RUN.
#pragma once

#include <cstdint>
#include <string_view>

#include "libprof/store/sqlite.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::store {

// A part of the loader, on its thread. Inside the caller's transaction.
class RunWriter {
 public:
  // The database outlives this.
  explicit RunWriter(Database& database) : database_(database) {}

  void set(std::string_view key, std::string_view value);
  void set(std::string_view key, std::int64_t value);
  // What a run frame tells; not the file's own state.
  void set_told(const wire::Fields& run);
  // The functions whose calls a process leaves out: of processes with different libcuptis, that of
  // the one that left something out.
  void set_calls_left_out(std::string_view functions);

 private:
  Database& database_;
};

}  // namespace gpuprof::store
