// Our own tables, beside the activity kinds: strings, the run, its processes, what was lost, what
// everything means. The names avoid "timestamp", and "start" together with "end": the Visual
// Profiler takes a table whose text has these words for one with such columns.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "schema/database.hpp"

namespace gpuprof::schema {

// Raised when something that a query can rely on is no longer so: a table, view or column of ours
// that is gone, has another name or another meaning or unit. Not raised for what is new, for rows
// that there are more or fewer of, and for nvprof's tables, which do not change. docs/schema.md
// says so too.
inline constexpr int schema_version = 1;

// What PRAGMA application_id gives for a file of ours, and no other program's: "gprf".
inline constexpr int application_id = 0x67707266;

// What table Version holds: the file is one of nvprof 11.8.
inline constexpr int nvprof_version = 18;

struct SessionColumn {
  std::string_view name;
  std::string_view type;  // in CREATE TABLE, constraints included
  std::string_view doc;
};

struct SessionTable {
  std::string_view name;
  std::string_view doc;
  std::span<const SessionColumn> columns;
  std::string_view constraint{};  // of the whole table; may be empty
  bool without_rowid = false;     // its rows are kept in the order of the primary key
};

namespace session {

inline constexpr SessionColumn version[]{
    {"version", "INTEGER", "18: laid out as nvprof 11.8 does"},
};

inline constexpr SessionColumn string_table[]{
    {"_id_", "INTEGER PRIMARY KEY", "what other tables have in place of the string; 0 = NULL"},
    {"value", "TEXT", "the string; a kernel's name is mangled"},
    {"demangled", "TEXT", "a mangled name in C++ as one reads it; NULL = value is no mangled name"},
    {"short", "TEXT",
     "a mangled name's function alone: no namespace, template arguments or parameters; NULL as in "
     "demangled"},
};

inline constexpr SessionColumn run[]{
    {"key", "TEXT PRIMARY KEY", "what is told; the keys are listed in the documentation of RUN"},
    {"value", "", "an integer or a text"},
};

inline constexpr SessionColumn process[]{
    {"processId", "INT", "process id; the same number can come twice in a long run"},
    {"number", "INTEGER PRIMARY KEY",
     "counts the processes of the run from 0; high 32 bits of its correlation ids. A process whose "
     "ids outgrow 32 bits goes on with a number that no row here has"},
    {"parentProcessId", "INT", "process that made it"},
    {"executable", "TEXT", "path of the program"},
    {"command_line", "TEXT",
     "program and arguments, quoted for a shell; NULL with --no-command-line"},
    {"cupti_version", "INT", "CUPTI's API version, 130500 for CUDA 13.5; NULL = CUDA not used"},
    {"cupti_path", "TEXT", "the libcupti that was used; NULL = CUDA not used"},
    {"driver_version", "INT", "CUDA version of the driver, 13000 for 13.0; NULL = CUDA not used"},
    {"exit_status", "INT", "status it ended with; NULL = not known, or ended by a signal"},
    {"exit_signal", "INT", "signal that ended it; NULL = none, or not known"},
    {"goodbye", "INT", "1 = its collector ended in order and sent everything"},
    {"salvaged", "INT", "1 = rows were read from its buffers after its death"},
    {"rank", "INT", "which process of a parallel job it is, from 0; NULL = of none that is known"},
    {"worldSize", "INT", "processes of that job; NULL = not known"},
    {"localRank", "INT", "which of those on its machine, from 0; NULL = not known"},
    {"jobLauncher", "TEXT",
     "whose variables said so: torch, openmpi, mvapich, pmi or slurm; NULL as rank"},
    {"job", "TEXT", "variables that the processes of one job have in common; NULL = none"},
};

inline constexpr SessionColumn clock[]{
    {"processId", "INT", "process that read its clocks"},
    {"moment", "TEXT",
     "'first' = when collection began, 'last' = when it was over, 'meanwhile' = every 10 s "
     "between"},
    {"realtime", "INT", "time of day, ns since 1970 (CLOCK_REALTIME)"},
    {"monotonic", "INT", "ns since boot (CLOCK_MONOTONIC)"},
    {"cupti", "INT", "CUPTI's clock, ns: what all activity tables have"},
    {"monotonicRaw", "INT",
     "ns since boot that nobody corrects (CLOCK_MONOTONIC_RAW); NULL = not known"},
    {"ticks", "INT", "the processor's own counter: TSC of x86-64, CNTVCT of Arm; NULL = not known"},
    {"realtimeError", "INT",
     "how far the time of day may be off, ns, as the kernel is told by NTP, chrony or PTP "
     "(adjtimex); NULL = it is not kept in step, or not known"},
};

inline constexpr SessionColumn statistic[]{
    {"processId", "INT", "process it was counted in; 0 = in gpuprof itself"},
    {"kind", "TEXT", "table whose rows were counted; '' = not of one table"},
    {"name", "TEXT", "what was counted: STATISTIC_DOC.name"},
    {"value", "INT", "how many"},
    {"severity", "TEXT", "info, notice, data_loss or error; counts only when value is not 0"},
};

inline constexpr SessionColumn diagnostic[]{
    {"time", "INT", "when, ns since 1970 (CLOCK_REALTIME); NULL = not known"},
    {"processId", "INT", "process it is about; 0 = gpuprof itself"},
    {"severity", "TEXT", "as that of a statistic: notice, data_loss or error"},
    {"statistic", "TEXT", "the statistic that it explains: STATISTIC.name; NULL = none"},
    {"text", "TEXT", "what was said, in words; parts of it may be the program's own"},
};

inline constexpr SessionColumn statistic_doc[]{
    {"name", "TEXT PRIMARY KEY", "name of the statistic"},
    {"severity", "TEXT", "info, notice, data_loss or error"},
    {"help", "TEXT", "what was counted, and what to do about it"},
};

inline constexpr SessionColumn enum_name[]{
    {"enum", "TEXT", "type as the columns' docs name it"},
    {"value", "INT", "number in the column"},
    {"name", "TEXT", "short name, nvprof's where it has one"},
};

inline constexpr SessionColumn api_name[]{
    {"domain", "TEXT", "runtime or driver"},
    {"cbid", "INT", "number of the function, as RUNTIME.cbid and DRIVER.cbid have it"},
    {"name", "TEXT", "CUPTI's name of the function, suffixes such as _v3020 and _ptsz included"},
};

inline constexpr SessionColumn table_doc[]{
    {"table", "TEXT PRIMARY KEY", "name of the table or view"},
    {"doc", "TEXT", "what a row is"},
};

inline constexpr SessionColumn column_doc[]{
    {"table", "TEXT", "name of the table"},
    {"column", "TEXT", "name of the column"},
    {"doc", "TEXT", "meaning, unit, what stands for none"},
};

inline constexpr SessionColumn nvtx_range[]{
    {"_id_", "INTEGER PRIMARY KEY", "the range"},
    {"processId", "INT", "process it was made in"},
    {"threadId", "INT", "thread that opened it; 0 = not known"},
    {"id", "INT", "MARKER.id of both its ends, in the same process"},
    {"domain", "INT", "NVTX domain: StringTable id; 0 = the default domain"},
    {"name", "INT", "message: StringTable id; 0 = none"},
    {"start", "INT", "when it was opened, ns on CUPTI's clock"},
    {"stop", "INT", "when it was closed, ns on CUPTI's clock; NULL = never"},
    {"depth", "INT", "push/pop ranges of its thread and domain around it; NULL for start_end"},
    {"parent", "INT", "_id_ of the innermost of those; NULL = none"},
    {"kind", "TEXT",
     "'push_pop', or 'start_end' for one that ends in another thread or crosses another range: "
     "CUPTI does not tell them apart"},
    {"payloadInt", "INT", "payload that is a whole number, else NULL"},
    {"payloadDouble", "REAL", "payload that is a floating-point number, else NULL"},
    {"color", "INT", "0xAARRGGBB; NULL = none"},
    {"category", "INT", "category number; NULL or 0 = none"},
};

inline constexpr SessionColumn nvtx_payload[]{
    {"processId", "INT", "process it was made in"},
    {"id", "INT", "the mark or range: MARKER.id of the same process"},
    {"schema", "TEXT", "name of the layout; '' = none"},
    {"field", "TEXT", "name of the field; a.b = b inside a, a[2] = an element; '' = no layout"},
    {"intValue", "INT", "a whole number, or the number behind the name of an enum; else NULL"},
    {"realValue", "REAL", "a floating-point number; else NULL"},
    {"textValue", "TEXT", "a text, or the name that an enum has for the number; else NULL"},
};

inline constexpr SessionColumn nvtx_payload_entry[]{
    {"processId", "INT", "process that registered it"},
    {"domainId", "INT", "CUPTI's number of the domain: MARKER_DATA.cuptiDomainId"},
    {"schemaId", "INT", "the layout or enum: MARKER_DATA.payloadSchema, or type of an entry"},
    {"isEnum", "INT", "1 = a value of an enum, 0 = a field of a layout"},
    {"schema", "TEXT", "name of the layout or enum"},
    {"size", "INT", "bytes of the layout or enum; 0 = not told"},
    {"place", "INT", "counts its entries from 0"},
    {"field", "TEXT", "name of the field or value"},
    {"type", "INT",
     "NVTX_PAYLOAD_ENTRY_TYPE_* of nvToolsExtPayload.h, or another schemaId; of an enum the value"},
    {"flags", "INT", "NVTX_PAYLOAD_ENTRY_FLAG_*, bits"},
    {"length", "INT", "elements of an array, bytes of a text; 0 = one element"},
    {"offset", "INT", "bytes from the beginning of the payload"},
};

inline constexpr SessionColumn metric[]{
    {"_id_", "INTEGER PRIMARY KEY", "the metric, as METRIC_VALUE.metric has it"},
    {"name", "TEXT", "nvprof's name or CUPTI's, as it was asked for"},
    {"unit", "TEXT", "unit of the values; '' = a plain number"},
    {"description", "TEXT", "what it measures"},
    {"formula", "TEXT", "how it is computed from metrics of CUPTI's"},
    {"nvprofId", "INT",
     "id of the values in CUPTI_ACTIVITY_KIND_METRIC, or EVENT for an event; NULL = none there"},
    {"isEvent", "INT", "1 = one of nvprof's events"},
};

inline constexpr SessionColumn metric_group[]{
    {"_id_", "INTEGER PRIMARY KEY", "the group, as METRIC_RANGE.passGroup has it"},
    {"chip", "TEXT", "chip it is for, as CUPTI names it"},
    {"mode", "TEXT", "how kernels were measured: application, multiplex, kernel or range"},
    {"scope", "TEXT", "which kernels were asked for; '' = all"},
    {"costClass", "TEXT", "where the counters sit, which decides what measuring them costs"},
    {"passes", "INT", "runs of a kernel it takes"},
    {"expectedMicroseconds", "REAL", "what a kernel was expected to cost, all passes"},
    {"metrics", "TEXT", "names of its metrics, with commas between"},
    {"counters", "TEXT", "what CUPTI was asked for, with commas between"},
};

inline constexpr SessionColumn metric_range[]{
    {"_id_", "INTEGER PRIMARY KEY", "the range, as METRIC_VALUE.range has it"},
    {"correlationId", "INT",
     "of the call that launched it: CONCURRENT_KERNEL.correlationId; NULL = none"},
    {"kind", "TEXT",
     "'kernel', 'graph' for a launch of a CUDA graph, 'range' for one that the user marked"},
    {"name", "INT", "kernel's mangled name, or range's: StringTable id; NULL = not known"},
    {"processId", "INT", "process it was measured in"},
    {"deviceId", "INT", "device that ran it"},
    {"contextId", "INT", "context that ran it"},
    {"streamId", "INT", "stream that ran it; NULL = not known"},
    {"ordinal", "INT", "counts the launches of the context from 1; of 'range' the ranges"},
    {"gridX", "INT", "blocks in x; NULL = no kernel"},
    {"gridY", "INT", "blocks in y"},
    {"gridZ", "INT", "blocks in z"},
    {"blockX", "INT", "threads of a block in x; NULL = no kernel"},
    {"blockY", "INT", "threads of a block in y"},
    {"blockZ", "INT", "threads of a block in z"},
    {"start", "INT",
     "when the user's range began, ns on CUPTI's clock; NULL for others: CONCURRENT_KERNEL has "
     "the times of kernels"},
    {"stop", "INT", "when the user's range was over; NULL as start"},
    {"passGroup", "INT", "METRIC_GROUP that was measured"},
    {"note", "TEXT", "why values are missing; NULL = none is"},
};

inline constexpr SessionColumn metric_value[]{
    {"range", "INT", "METRIC_RANGE that was measured"},
    {"metric", "INT", "METRIC it is a value of"},
    {"value", "REAL", "in METRIC.unit. There is no row for a value that is missing"},
};

}  // namespace session

inline constexpr std::array session_tables{
    SessionTable{"Version", "One row: which layout of nvprof's the file has.", session::version},
    SessionTable{"StringTable",
                 "Every string once. Other tables have its _id_. Row 0 stands for NULL.",
                 session::string_table},
    SessionTable{"RUN", "What is known about the run as a whole.", session::run},
    SessionTable{"PROCESS", "The processes of the run that loaded the collector.",
                 session::process},
    SessionTable{"CLOCK",
                 "Clocks of a process read at one moment: turns CUPTI's clock into time of day.",
                 session::clock},
    SessionTable{"STATISTIC",
                 "What was counted while collecting and loading, losses among it. The view losses "
                 "has those that matter.",
                 session::statistic, "PRIMARY KEY(processId, kind, name)"},
    SessionTable{"DIAGNOSTIC",
                 "What gpuprof and its collectors had to say: why something was lost or could not "
                 "be had. The view losses has what explains a loss.",
                 session::diagnostic},
    SessionTable{"STATISTIC_DOC", "What each statistic means.", session::statistic_doc},
    SessionTable{"ENUM_NAME", "Names of the numbers in columns whose doc says enum.",
                 session::enum_name, "PRIMARY KEY(enum, value)", true},
    SessionTable{"API_NAME", "Names of the CUDA functions, as the CUPTI that ran knows them.",
                 session::api_name, "PRIMARY KEY(domain, cbid)"},
    SessionTable{"TABLE_DOC", "What each table and view is.", session::table_doc},
    SessionTable{"COLUMN_DOC", "What each column of the tables is.", session::column_doc,
                 "PRIMARY KEY(\"table\", \"column\")", true},
    SessionTable{"NVTX_RANGE",
                 "NVTX ranges with both ends in one row, computed from MARKER and MARKER_DATA.",
                 session::nvtx_range},
    SessionTable{"NVTX_PAYLOAD",
                 "Fields of NVTX payloads that have a layout (NCCL's have one), computed from "
                 "MARKER_DATA and NVTX_PAYLOAD_ENTRY. The view nvtx_payloads has them with their "
                 "ranges.",
                 session::nvtx_payload},
    SessionTable{"NVTX_PAYLOAD_ENTRY",
                 "Layouts of NVTX payloads, and enums in them, as the program registered them.",
                 session::nvtx_payload_entry, "PRIMARY KEY(processId, domainId, schemaId, place)"},
    SessionTable{"METRIC", "The metrics and events that were collected.", session::metric},
    SessionTable{"METRIC_GROUP", "Which metrics were measured together, and how.",
                 session::metric_group},
    SessionTable{"METRIC_RANGE",
                 "What was measured: a launch, or a range of the user's, once for each group. The "
                 "view metric_gaps has those without values.",
                 session::metric_range},
    SessionTable{"METRIC_VALUE",
                 "Values of metrics. The views kernel_metrics and range_metrics have them with "
                 "names.",
                 session::metric_value, "PRIMARY KEY(range, metric)", true},
};

// Kept up while rows come in: they come in the order of correlation ids, so it costs little.
inline constexpr std::string_view session_indexes[]{
    "CREATE INDEX IF NOT EXISTS METRIC_RANGE_BY_CORRELATION ON METRIC_RANGE(correlationId)",
};

// Made when NVTX ranges are paired.
inline constexpr std::string_view range_index =
    "CREATE INDEX IF NOT EXISTS INDEX_CUPTI_ACTIVITY_KIND_MARKER_DATA ON "
    "CUPTI_ACTIVITY_KIND_MARKER_DATA(id)";

inline std::string create_table_sql(const SessionTable& table) {
  std::string sql = "CREATE TABLE IF NOT EXISTS " + sql_name(table.name) + "(";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const SessionColumn& column = table.columns[i];
    if (i > 0) sql += ", ";
    sql += sql_name(column.name);
    if (!column.type.empty()) sql += " " + std::string(column.type);
  }
  if (!table.constraint.empty()) sql += ", " + std::string(table.constraint);
  return sql + (table.without_rowid ? ") WITHOUT ROWID" : ")");
}

// StringTable's row 0, as nvprof writes it.
inline constexpr std::string_view null_string = "-- null --";

struct KeyDoc {
  std::string_view key;
  std::string_view doc;
};

// What RUN holds. A key that does not apply is absent.
inline constexpr std::array run_keys{
    KeyDoc{"gpuprof_version", "version of gpuprof that made the file"},
    KeyDoc{"schema_version", "version of our tables and views"},
    KeyDoc{"wire_version", "version of the stream between collector and launcher"},
    KeyDoc{"command_line",
           "the command that was profiled, quoted for a shell; absent with --no-command-line"},
    KeyDoc{"gpuprof_command_line",
           "gpuprof's own command line, quoted for a shell; absent with --no-command-line"},
    KeyDoc{"working_directory", "directory the command was run in"},
    KeyDoc{"host_name", "name of the machine"},
    KeyDoc{"boot_id", "the machine since it was last booted: clocks of one boot id are the same"},
    KeyDoc{"operating_system", "system and kernel version"},
    KeyDoc{"cpu_count", "processors the system had online"},
    KeyDoc{"driver_version", "version of NVIDIA's driver, as in 580.65.06"},
    KeyDoc{"environment",
           "variables that matter, as a JSON object: an exact list of those of CUDA, NCCL, the "
           "frameworks and the job, and LD_LIBRARY_PATH, LD_PRELOAD, PYTHONPATH"},
    KeyDoc{"t0_realtime_ns", "when the command was run, ns since 1970"},
    KeyDoc{"t1_realtime_ns", "when it was over, ns since 1970"},
    KeyDoc{"target_process_id", "process id of the command"},
    KeyDoc{"exit_status", "status of the command; absent when a signal ended it"},
    KeyDoc{"exit_signal", "signal that ended the command; absent when none did"},
    KeyDoc{"finished", "1 = the file is complete; 0 = gpuprof is at work, or was ended at it"},
    KeyDoc{"trace_groups", "what was collected: names as --trace takes them, with commas between"},
    KeyDoc{"calls_left_out",
           "functions whose calls have no rows because they only ask, with commas between, without "
           "_v3020 and _ptsz; none = all calls have rows; absent where no calls were collected"},
    KeyDoc{"loss", "1 = the view losses has rows; 0 = nothing was lost"},
    KeyDoc{"zero_ns",
           "what times of the run count from, ns on CUPTI's clock: those of --from and --to, and "
           "relative times of JSON; the earliest kernel, copy, set, API call or NVTX marker"},
    KeyDoc{"derived_from", "command that took this part out of a file; absent in a recording"},
};

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
                  "Records read from the buffers of a process after its death. They are complete; "
                  "what CUPTI had not written by then is missing."},
    StatisticInfo{"records_dropped_by_cupti", Severity::data_loss,
                  "Records that CUPTI threw away because it had no room for them."},
    StatisticInfo{"records_without_times", Severity::data_loss,
                  "Records of GPU work with start and end 0: the process died before CUPTI had the "
                  "times (incomplete_records), or CUPTI had no device memory for them. Counts are "
                  "right, durations miss these."},
    StatisticInfo{"records_discarded", Severity::data_loss,
                  "Records that CUPTI delivered and that were thrown away, because gpuprof did not "
                  "read for so long that the activity buffers were full, or had no room for them "
                  "in memory and on disk (bytes_discarded)."},
    StatisticInfo{
        "stream_cut", Severity::data_loss,
        "1 = what this process sent could not be read to its end, or gpuprof ended before "
        "it did. Records are missing; how many is not known."},
    StatisticInfo{"blocks_discarded", Severity::data_loss,
                  "Blocks of rows thrown away of which nobody knows how many rows they had."},
    StatisticInfo{"bytes_discarded", Severity::data_loss,
                  "Bytes of rows thrown away because neither memory nor disk had room for them."},
    StatisticInfo{"frames_malformed", Severity::error,
                  "Frames of the stream that could not be read. What they held is missing."},
    StatisticInfo{
        "stream_refused", Severity::data_loss,
        "Frames left out because what the process sent made no sense any more, or its "
        "collector is newer than this gpuprof. What the process did from then on is missing."},
    StatisticInfo{"stream_limited", Severity::data_loss,
                  "Things left out because the process sent more of them than gpuprof keeps: rows "
                  "of further tables, names of statistics and the like."},
    StatisticInfo{"process_id_replaced", Severity::notice,
                  "1 = the process gave another process id than the system has for it. The rows "
                  "have the system's."},
    StatisticInfo{"strings_lost", Severity::data_loss,
                  "Names that died with their process: salvaged rows say so there."},
    StatisticInfo{"names_not_demangled", Severity::notice,
                  "Names that took the demangler too much time or memory. They are there as the "
                  "compiler wrote them."},
    StatisticInfo{"salvage_failed", Severity::data_loss,
                  "1 = the buffers that the process left behind could not be read, or not to the "
                  "end. What was in them is missing; how much is not known."},
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
    StatisticInfo{"profiler_kernels", Severity::info, "Kernels of CUPTI's own that were left out."},
    StatisticInfo{"metrics_overhead_permille", Severity::info,
                  "Share of the run that was spent on metrics, as it was measured, in 1/1000."},
};

constexpr const StatisticInfo* find_statistic(std::string_view name) {
  for (const StatisticInfo& statistic : statistics) {
    if (statistic.name == name) return &statistic;
  }
  return nullptr;
}

// The name of a statistic that gpuprof itself counts. One that is not in the list does not compile:
// it would be stored with a severity that nobody chose.
class StatisticName {
 public:
  // Implicit: a literal stands where a name is asked for.
  consteval StatisticName(const char* name) : name_(name) {
    // Not by find_statistic(): with UBSan, GCC does not compare its pointer in a constant.
    bool known = false;
    for (const StatisticInfo& each : statistics) known |= each.name == name_;
    if (!known) throw "the list above has no such statistic";
  }
  constexpr operator std::string_view() const { return name_; }
  constexpr std::string_view name() const { return name_; }

 private:
  std::string_view name_;
};

// How a statistic counts that is not in the list: a newer collector's. It may tell of a loss.
inline constexpr Severity unknown_severity = Severity::notice;

}  // namespace gpuprof::schema
