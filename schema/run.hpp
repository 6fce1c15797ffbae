// Tables about the run as a whole: its strings, processes and clocks, statistics, and messages.
// Their names avoid "timestamp", and "start" together with "end", because the Visual Profiler
// assumes such columns in a table whose text contains these words.
#pragma once

#include <array>
#include <string_view>

#include "schema/column.hpp"

namespace gpuprof::schema {

// Increased when a change breaks existing queries: a table, view or column of ours is removed,
// renamed, or changes its meaning or unit. Not increased for additions, for more or fewer rows, or
// for nvprof's tables, which do not change. docs/schema.md says the same.
inline constexpr int schema_version = 1;

// The PRAGMA application_id of gpuprof's files, and of no other program's: "gprf".
inline constexpr int application_id = 0x67707266;

// The content of table Version: the file is one of nvprof 11.8.
inline constexpr int nvprof_version = 18;

namespace tables {

inline constexpr Column version_columns[]{
    stored("version", Type::integer, "18: laid out as nvprof 11.8 does"),
};
inline constexpr Table version{.name = "Version",
                               .doc = "One row: which layout of nvprof's the file has.",
                               .columns = version_columns,
                               .origin = Origin::run};

inline constexpr Column string_table_columns[]{
    stored("value", Type::text, "the string; a kernel's name is mangled"),
    stored("demangled", Type::text,
           "a mangled name in C++ as one reads it; NULL = value is no mangled name"),
    stored("short", Type::text,
           "a mangled name's function alone: no namespace, template arguments or parameters; NULL "
           "as in demangled"),
    stored("display", Type::text,
           "a kernel's name as short as is unique within the file, computed at the end: the "
           "function, with the template arguments that distinguish its kernels; NULL = no kernel's "
           "name, or the run is not over"),
};
inline constexpr Table string_table{
    .name = "StringTable",
    .doc = "Every string once. Other tables have its _id_. Row 0 stands for NULL.",
    .columns = string_table_columns,
    .origin = Origin::run,
    .row_doc = "what other tables have instead of the string; 0 = NULL"};

inline constexpr Column run_columns[]{
    stored("key", Type::text, "name of the fact; the keys are listed in the documentation of RUN"),
    stored("value", Type::any, "an integer or a text"),
};
inline constexpr Table run{.name = "RUN",
                           .doc = "What is known about the run as a whole.",
                           .columns = run_columns,
                           .origin = Origin::run,
                           .key = "key"};

inline constexpr Column process_columns[]{
    stored("processId", Type::i64, "process id; the same number can come twice in a long run"),
    stored("number", Type::integer,
           "counts the processes of the run from 0; high 32 bits of its correlation ids. A process "
           "whose ids outgrow 32 bits goes on with a number that no row here has"),
    stored("parentProcessId", Type::i64, "process that made it; NULL = not known"),
    stored("executable", Type::text, "path of the program; NULL = not known"),
    stored("command_line", Type::text,
           "program and arguments, quoted for a shell; NULL with --no-command-line"),
    stored("cupti_version", Type::i64,
           "CUPTI's API version, 130500 for CUDA 13.5; NULL = CUDA not used"),
    stored("cupti_path", Type::text, "the libcupti that was used; NULL = CUDA not used"),
    stored("driver_version", Type::i64,
           "CUDA version of the driver, 13000 for 13.0; NULL = CUDA not used"),
    stored("exit_status", Type::i64,
           "status it ended with; NULL = not known, or ended by a signal"),
    stored("exit_signal", Type::i64, "signal that ended it; NULL = none, or not known"),
    stored("goodbye", Type::i64, "1 = its collector ended in order and sent everything"),
    stored("salvaged", Type::i64, "1 = rows were read from its buffers after its death"),
    stored("rank", Type::i64,
           "which process of a parallel job it is, from 0; NULL = of none that is known"),
    stored("worldSize", Type::i64, "[count] processes of that job; NULL = not known"),
    stored("localRank", Type::i64, "which of those on its machine, from 0; NULL = not known"),
    stored("jobLauncher", Type::text,
           "whose variables said so: torch, openmpi, mvapich, pmi or slurm; NULL as rank"),
    stored("job", Type::text,
           "variables that the processes of one job have in common; NULL = none"),
};
inline constexpr Table process{.name = "PROCESS",
                               .doc = "The processes of the run that loaded the collector.",
                               .columns = process_columns,
                               .origin = Origin::run,
                               .key = "number"};

inline constexpr Column clock_columns[]{
    stored("processId", Type::i64, "process that read its clocks"),
    stored("moment", Type::text,
           "'first' = when collection began, 'last' = when it was over, 'meanwhile' = every 10 s "
           "between"),
    stored("realtime", Type::i64, "[ns] time of day, since 1970 (CLOCK_REALTIME)"),
    stored("monotonic", Type::i64, "[ns] time since boot (CLOCK_MONOTONIC)"),
    stored("cupti", Type::i64, "[ns] CUPTI's clock: what all activity tables have"),
    stored("monotonicRaw", Type::i64,
           "[ns] time since boot, never corrected (CLOCK_MONOTONIC_RAW); NULL = not known"),
    stored("ticks", Type::i64,
           "the processor's own counter: TSC of x86-64, CNTVCT of Arm; NULL = not known"),
    stored("realtimeError", Type::i64,
           "[ns] how far the time of day may be off, as NTP, chrony or PTP report it to the kernel "
           "(adjtimex); NULL = it is not kept in step, or not known"),
};
inline constexpr Table clock{
    .name = "CLOCK",
    .doc = "Clocks of a process read at one moment: turns CUPTI's clock into time of day.",
    .columns = clock_columns,
    .origin = Origin::run};

inline constexpr Column statistic_columns[]{
    stored("processId", Type::i64, "process it was counted in; 0 = in gpuprof itself"),
    stored("kind", Type::text, "table of the rows, or what a cost is for; '' = neither"),
    stored("name", Type::text, "what was counted: STATISTIC_DOC.name"),
    stored("value", Type::i64, "how many"),
    stored("severity", Type::text,
           "info, notice, data_loss or error; counts only when value is not 0"),
};
inline constexpr Table statistic{.name = "STATISTIC",
                                 .doc =
                                     "What was counted while collecting and loading, losses among "
                                     "it. The view losses has those that matter.",
                                 .columns = statistic_columns,
                                 .origin = Origin::run,
                                 .key = "processId, kind, name",
                                 .without_rowid = true};

inline constexpr Column diagnostic_columns[]{
    stored("time", Type::i64, "[ns] when, since 1970 (CLOCK_REALTIME); NULL = not known"),
    stored("processId", Type::i64, "process it is about; 0 = gpuprof itself"),
    stored("severity", Type::text, "as that of a statistic: notice, data_loss or error"),
    stored("statistic", Type::text, "the statistic that it explains: STATISTIC.name; NULL = none"),
    stored("text", Type::text, "what was said, in words; parts of it may be the program's own"),
};
inline constexpr Table diagnostic{
    .name = "DIAGNOSTIC",
    .doc =
        "What gpuprof and its collectors had to say: why something was lost or could not be had. "
        "The view losses has what explains a loss.",
    .columns = diagnostic_columns,
    .origin = Origin::run};

}  // namespace tables

// StringTable's row 0, as nvprof writes it.
inline constexpr std::string_view null_string = "-- null --";

struct KeyDoc {
  std::string_view key;
  std::string_view doc;
};

// The keys of RUN. A key that does not apply is absent.
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
    KeyDoc{"clock_error_ns",
           "what NTP or PTP kept the wall clock within, as the kernel said when the run began; "
           "absent where "
           "nothing kept it"},
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
    KeyDoc{"not_computed",
           "what was left out at the end of the run, because of Ctrl-C: all records are there, and "
           "gpuprof finish computes it; absent where nothing was"},
    KeyDoc{"trace_groups", "what was collected: names as --trace takes them, with commas between"},
    KeyDoc{"step",
           "regular expression of --step: NVTX ranges whose message it is found in are steps (view "
           "steps); absent = those that are called as steps of a training are"},
    KeyDoc{"calls_left_out",
           "functions whose calls have no rows because they only ask, with commas between, without "
           "_v3020 and _ptsz; none = all calls have rows; absent where no calls were collected"},
    KeyDoc{
        "hw_trace",
        "'on' = times of GPU work are from the hardware event system, 'off: ' and why = they are "
        "not; absent without --hw-trace"},
    KeyDoc{"loss", "1 = the view losses has rows; 0 = nothing was lost"},
    KeyDoc{"zero_ns",
           "what times of the run count from, ns on CUPTI's clock: those of --from and --to, and "
           "relative times of JSON; the earliest kernel, copy, set, API call or NVTX marker, "
           "and where there is none the first sample"},
    KeyDoc{"imported_from",
           "the file of another tool that this one was made of by gpuprof import; absent in a "
           "recording"},
    KeyDoc{"written_because", "why this snapshot was written; absent where nothing said why"},
    KeyDoc{"derived_from", "command that took this part out of a file; absent in a recording"},
};

}  // namespace gpuprof::schema
