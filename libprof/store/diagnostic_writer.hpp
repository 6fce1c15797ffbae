// Messages from a run's processes and the launcher: table DIAGNOSTIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "libprof/store/counts.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/wire/codec.hpp"
#include "schema/statistics.hpp"

namespace gpuprof::store {

// Part of the loader, on its thread. Messages beyond a limit are dropped and counted. Call inside a
// transaction.
class DiagnosticWriter {
 public:
  // Both must outlive this object.
  DiagnosticWriter(Database& database, Counts& counts) : database_(database), counts_(counts) {}

  // Number of messages that a process has sent.
  using Told = std::size_t;

  // `statistic`: the one that the message explains; may be empty and comes from the sender. `time`:
  // 0 if unknown.
  void tell(Told& told, std::int64_t process_id, std::string_view statistic,
            schema::Severity severity, std::string_view text, std::int64_t time = 0);
  // Stores the messages of an info frame: from a collector, or from the launcher about its stream.
  void tell(Told& told, std::int64_t process_id, const wire::Fields& info);
  // Belongs to no process. Not counted if dropped.
  void tell_of_run(std::string_view statistic, schema::Severity severity, std::string_view text);

 private:
  bool add(std::int64_t process_id, std::string_view statistic, schema::Severity severity,
           std::string_view text, std::int64_t time);

  Database& database_;
  Counts& counts_;
  std::size_t all_ = 0;
};

}  // namespace gpuprof::store
