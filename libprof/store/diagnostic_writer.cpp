#include "libprof/store/diagnostic_writer.hpp"

#include "libprof/wire/limits.hpp"

namespace gpuprof::store {

void DiagnosticWriter::tell(Told& told, std::int64_t process_id, std::string_view statistic,
                            schema::Severity severity, std::string_view text, std::int64_t time) {
  if (told >= wire::max_diagnostics || !add(process_id, statistic, severity, text, time)) {
    return counts_.add(process_id, left_out);
  }
  ++told;
}

void DiagnosticWriter::tell(Told& told, std::int64_t process_id, const wire::Fields& info) {
  struct Kind {
    std::string_view field;
    schema::Severity severity;
    std::string_view statistic;
  };
  using schema::Severity;
  const Kind kinds[] = {
      {"error", Severity::error, not_profiled.name()},
      {"warning", Severity::notice, ""},
      {"metrics_error", Severity::notice, schema::StatisticName("metrics_skipped_failed").name()},
      {"lost", Severity::data_loss, info.text("statistic")},
  };
  for (const Kind& kind : kinds) {
    const auto text = info.find(kind.field);
    if (text) tell(told, process_id, kind.statistic, kind.severity, *text, info.integer("time"));
  }
}

void DiagnosticWriter::tell_of_run(std::string_view statistic, schema::Severity severity,
                                   std::string_view text) {
  add(0, statistic, severity, text, 0);
}

bool DiagnosticWriter::add(std::int64_t process_id, std::string_view statistic,
                           schema::Severity severity, std::string_view text, std::int64_t time) {
  if (all_ >= wire::max_run_diagnostics) return false;
  ++all_;
  database_
      .prepare(
          "INSERT INTO DIAGNOSTIC(time, processId, severity, statistic, text) "
          "VALUES(nullif(?1, 0), ?2, ?3, nullif(?4, ''), ?5)")
      .bind(1, time)
      .bind(2, process_id)
      .bind(3, schema::severity_name(severity))
      .bind(4, schema::find_statistic(statistic) ? statistic : "")
      .bind(5, text.substr(0, wire::max_diagnostic_bytes))
      .run();
  return true;
}

}  // namespace gpuprof::store
