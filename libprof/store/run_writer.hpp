// What is known about the run as a whole: table RUN.
#pragma once

#include <cstdint>
#include <string_view>

#include "libprof/store/sqlite.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::store {

// Part of the loader, on its thread. Call inside a transaction.
class RunWriter {
 public:
  // The database must outlive this object.
  explicit RunWriter(Database& database) : database_(database) {}

  void set(std::string_view key, std::string_view value);
  void set(std::string_view key, std::int64_t value);
  // Stores what a run frame reports, except for keys that describe the file itself.
  void set_told(const wire::Fields& run);
  // Sets the functions whose calls a process omits. If processes differ because of different
  // libcuptis, the value comes from the one that omitted something.
  void set_calls_left_out(std::string_view functions);
  // Sets whether a process uses hardware tracing: "on", or "off: " and why. If processes differ,
  // or one stops using it, the value is that of the one without.
  void set_hw_trace(std::string_view used);

 private:
  Database& database_;
};

}  // namespace gpuprof::store
