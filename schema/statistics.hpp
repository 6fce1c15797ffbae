// Statistics counted while collecting and loading, and their severities.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gpuprof::schema {

// How much a statistic matters when it is not zero.
enum class Severity : std::uint8_t { info, notice, data_loss, error };

constexpr std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::info: return "info";
    case Severity::notice: return "notice";
    case Severity::data_loss: return "data_loss";
    case Severity::error: return "error";
  }
  return "";
}

struct StatisticInfo {
  std::string_view name;
  Severity severity;
  std::string_view help;
};

inline constexpr std::array statistics{
    StatisticInfo{"records_received", Severity::info, "Records that CUPTI delivered."},
    StatisticInfo{"records_salvaged", Severity::notice,
                  "Records read from the buffers of a process after its death. What CUPTI had not "
                  "written by then is missing."},
    StatisticInfo{"records_dropped_by_cupti", Severity::data_loss,
                  "Records that CUPTI threw away because it had no room for them."},
    StatisticInfo{
        "records_without_times", Severity::data_loss,
        "Records of GPU work with start and end 0: the process died before CUPTI had the "
        "times (incomplete_records), CUPTI had no device memory for them, or CUPTI 13.0 replayed "
        "them. Counts are right, durations miss these."},
    StatisticInfo{"records_discarded", Severity::data_loss,
                  "Records that CUPTI delivered and gpuprof threw away: it did not read in time "
                  "and the activity buffers were full, or memory and disk were (bytes_discarded)."},
    StatisticInfo{
        "stream_cut", Severity::data_loss,
        "1 = what this process sent could not be read to its end, or gpuprof ended before "
        "it did. Records are missing; how many is not known."},
    StatisticInfo{"blocks_discarded", Severity::data_loss,
                  "Blocks of rows thrown away whose number of rows is unknown."},
    StatisticInfo{"bytes_discarded", Severity::data_loss,
                  "Bytes of rows thrown away because neither memory nor disk had room for them."},
    StatisticInfo{"frames_malformed", Severity::error,
                  "Frames of the stream that could not be read. What they held is missing."},
    StatisticInfo{"stream_refused", Severity::data_loss,
                  "Frames left out because they made no sense any more, or the collector is newer "
                  "than this gpuprof. What the process did from then on is missing."},
    StatisticInfo{"stream_limited", Severity::data_loss,
                  "Things left out because the process sent more of them than gpuprof keeps: "
                  "tables, names of statistics and the like."},
    StatisticInfo{"process_id_replaced", Severity::notice,
                  "1 = the process gave another process id than the system has for it. The rows "
                  "have the system's."},
    StatisticInfo{"strings_lost", Severity::data_loss,
                  "Names that died with their process: salvaged rows say so there."},
    StatisticInfo{"names_not_demangled", Severity::notice,
                  "Names that took the demangler too much time or memory. They are as the compiler "
                  "wrote them."},
    StatisticInfo{"salvage_failed", Severity::data_loss,
                  "1 = the buffers that the process left could not be read to their end. How much "
                  "is missing is not known."},
    StatisticInfo{"spilled_bytes", Severity::notice,
                  "Bytes that waited on disk because loading was slower than the target. Nothing "
                  "is missing."},
    StatisticInfo{"capture_cut", Severity::notice,
                  "1 = the file of --save-capture ends early, its disk was full for instance. "
                  "Nothing is missing here."},
    StatisticInfo{"slots_exhausted", Severity::notice,
                  "Times CUPTI asked for a buffer and all were in use. What it dropped for that is "
                  "counted as records_dropped_by_cupti; --activity-buffers gives it more."},
    StatisticInfo{"cupti_errors", Severity::error, "Calls of CUPTI that failed unexpectedly."},
    StatisticInfo{"cupti_second_client", Severity::error,
                  "1 = another tool already had CUPTI in this process, so nothing was collected."},
    StatisticInfo{"not_profiled", Severity::error,
                  "1 = collecting in this process did not work or ended early. DIAGNOSTIC may say "
                  "why."},
    StatisticInfo{"begun_late", Severity::notice,
                  "1 = CUDA was at work in the process before the recording began. What was "
                  "allocated, loaded, captured in graphs or named before is not in this file."},
    StatisticInfo{"kind_unavailable", Severity::notice,
                  "1 = the running CUPTI or the device does not deliver this kind, so its table is "
                  "empty."},
    StatisticInfo{"clients_turned_away", Severity::notice,
                  "Times that another profiler in the process, torch.profiler say, asked for CUPTI "
                  "and did not get it. That one has no GPU records; ours are complete."},
    StatisticInfo{"records_packed", Severity::info,
                  "Records that the collector packed to be sent."},
    StatisticInfo{"unknown_records", Severity::data_loss,
                  "Records of kinds that this gpuprof does not know. A newer one may."},
    StatisticInfo{
        "incomplete_records", Severity::data_loss,
        "Kernels that CUPTI knew of and had no times for when the process died. Their rows "
        "are there, with start and end 0."},
    StatisticInfo{"graphs_not_traced", Severity::data_loss,
                  "Launches of CUDA graphs in measured ranges. Tracing their kernels would change "
                  "what is counted, so those have values and no rows."},
    StatisticInfo{"metrics_launches", Severity::info,
                  "Launches seen while metrics were collected, measured or not."},
    StatisticInfo{"metrics_ranges", Severity::info,
                  "Launches and ranges that were measured, each once for a group of metrics."},
    StatisticInfo{"metrics_ranges_dropped", Severity::data_loss,
                  "Launches that were measured and that CUPTI had no room for. They have no "
                  "values."},
    StatisticInfo{"metrics_skipped_graph", Severity::notice,
                  "Launches of CUDA graphs that were not measured."},
    StatisticInfo{"metrics_skipped_excluded", Severity::notice,
                  "Kernels that were not measured because they could have hung: cooperative ones, "
                  "NCCL's, and those that the user named."},
    StatisticInfo{"metrics_skipped_capture", Severity::notice,
                  "Kernels that were not measured because a stream was being captured."},
    StatisticInfo{"metrics_skipped_failed", Severity::notice,
                  "Kernels that were not measured because CUPTI's profiler had failed by then: see "
                  "DIAGNOSTIC."},
    StatisticInfo{"metrics_skipped_unanswered", Severity::notice,
                  "Kernels and ranges that were not measured because gpuprof did not say in time "
                  "whether they are meant."},
    StatisticInfo{"metrics_mismatched", Severity::data_loss,
                  "Launches of a repeated run that were not those of the first run: another "
                  "kernel, or another grid. Their values were not joined."},
    StatisticInfo{"pm_samples", Severity::info,
                  "Samples of a device's counters that were stored (view pm_samples)."},
    StatisticInfo{"pm_samples_lost", Severity::data_loss,
                  "Samples of a device's counters that CUPTI delivered and that could not be "
                  "evaluated or stored."},
    StatisticInfo{"pm_overflows", Severity::data_loss,
                  "Times a GPU's buffer for samples was full before they were read. Sampling began "
                  "again each time; PM_GAP has what is missing. A larger --pm-buffer or "
                  "--pm-interval helps."},
    StatisticInfo{"pm_failed", Severity::notice,
                  "Devices whose counters could not be sampled. DIAGNOSTIC says why."},
    StatisticInfo{"pm_ended_early", Severity::data_loss,
                  "Devices whose counters were sampled and not to the end of the run. DIAGNOSTIC "
                  "says why."},
    StatisticInfo{"profiler_kernels", Severity::info, "Kernels of CUPTI's own that were left out."},
    StatisticInfo{"pc_samples", Severity::info, "PC samples that the hardware took."},
    StatisticInfo{"pc_samples_of_others", Severity::info,
                  "PC samples of kernels that are not the program's, of which no more is known."},
    StatisticInfo{
        "pc_samples_dropped", Severity::data_loss,
        "PC samples that the hardware could not write. A longer --pc-sampling-period asks for "
        "fewer."},
    StatisticInfo{"pc_samples_overflows", Severity::data_loss,
                  "Times the device's buffer of PC samples was full. How much was lost is not "
                  "known. --pc-buffer makes it larger, --pc-sampling-period asks for fewer."},
    StatisticInfo{"pc_samples_lost", Severity::data_loss,
                  "PC samples that were thrown away because gpuprof did not read in time."},
    StatisticInfo{"sass_instructions", Severity::info,
                  "Instructions whose executions were counted, once for each time they were read."},
    StatisticInfo{"sass_instructions_dropped", Severity::data_loss,
                  "Instructions whose SASS metrics CUPTI dropped."},
    StatisticInfo{"sass_contexts_lost", Severity::data_loss,
                  "Contexts whose instructions were counted and whose counts did not come to their "
                  "end: the process died, or the GPU was still at work."},
    StatisticInfo{
        "sass_instructions_lost", Severity::data_loss,
        "Instructions whose SASS metrics were thrown away because gpuprof did not read in time."},
    StatisticInfo{"import_unreadable", Severity::data_loss,
                  "Rows and events of the imported file that make no sense: they lack a time, a "
                  "process or a name, or are more than are kept."},
    StatisticInfo{"import_values_unreadable", Severity::data_loss,
                  "Values of the imported file that do not fit. They are NULL; the rest of their "
                  "rows is there."},
    StatisticInfo{"import_left_out", Severity::notice,
                  "Rows and events of the imported file for which gpuprof has no table, or knows "
                  "no meaning. DIAGNOSTIC says of what."},
    StatisticInfo{"memory_calls_lost", Severity::data_loss,
                  "Rows of MEMORY_CALL and DEVICE_MEMORY thrown away because gpuprof did not read "
                  "in time, or the program called faster than they were sent."},
    StatisticInfo{"call_stacks_lost", Severity::data_loss,
                  "Calls whose stacks were thrown away because the program called faster than they "
                  "were sent."},
    StatisticInfo{"cpu_samples_lost", Severity::data_loss,
                  "CPU samples for which there was no room: more threads ran than were read."},
    StatisticInfo{"cost_ns", Severity::info,
                  "Time of the program's threads that gpuprof took, in ns. kind = for what."},
    StatisticInfo{
        "background_ns", Severity::info,
        "Processor's time of other threads for gpuprof, in ns; kind '' = gpuprof itself."},
    StatisticInfo{"cost_bytes", Severity::info,
                  "Bytes sent and memory of the arena; kind '' = most memory of gpuprof itself."},
    StatisticInfo{"budget_cuts", Severity::data_loss,
                  "Kinds of rows that were no longer recorded because of --budget."},
    StatisticInfo{"metrics_overhead_permille", Severity::info,
                  "Share of the run that was spent on metrics, as it was measured, in 1/1000."},
};

constexpr const StatisticInfo* find_statistic(std::string_view name) {
  for (const StatisticInfo& statistic : statistics) {
    if (statistic.name == name) return &statistic;
  }
  return nullptr;
}

// The name of a statistic counted by gpuprof itself. A name that is not in the list does not
// compile, because its severity would be undefined.
class StatisticName {
 public:
  // Implicit, so that a literal can be passed as a name.
  consteval StatisticName(const char* name) : name_(name) {
    // Not with find_statistic(): with UBSan, GCC cannot compare its pointer in a constant
    // expression.
    bool known = false;
    for (const StatisticInfo& each : statistics) known |= each.name == name_;
    if (!known) throw "the list above has no such statistic";
  }
  constexpr operator std::string_view() const { return name_; }
  constexpr std::string_view name() const { return name_; }

 private:
  std::string_view name_;
};

// The severity of a statistic that is not in the list, sent by a newer collector. It may indicate a
// loss.
inline constexpr Severity unknown_severity = Severity::notice;

}  // namespace gpuprof::schema
