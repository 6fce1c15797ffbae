// What a run's processes, and the launcher, have to say in words: table DIAGNOSTIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "libprof/store/counts.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/wire/codec.hpp"
#include "schema/statistics.hpp"

namespace gpuprof::store {

// A part of the loader, on its thread. What is beyond a limit is left out, and counted. Inside the
// caller's transaction.
class DiagnosticWriter {
 public:
  // Both outlive this.
  DiagnosticWriter(Database& database, Counts& counts) : database_(database), counts_(counts) {}

  // How many texts a process has told.
  using Told = std::size_t;

  // `statistic`: what it explains; may be empty, and is another's word. `time`: 0: not known.
  void tell(Told& told, std::int64_t process_id, std::string_view statistic,
            schema::Severity severity, std::string_view text, std::int64_t time = 0);
  // What an info frame has to say of it: a collector's, or the launcher's about its stream.
  void tell(Told& told, std::int64_t process_id, const wire::Fields& info);
  // Of no process. Not counted where it is left out.
  void tell_of_run(std::string_view statistic, schema::Severity severity, std::string_view text);

 private:
  bool add(std::int64_t process_id, std::string_view statistic, schema::Severity severity,
           std::string_view text, std::int64_t time);

  Database& database_;
  Counts& counts_;
  std::size_t all_ = 0;
};

}  // namespace gpuprof::store
