// Tables that nvprof 11.8 has and no kind in schema/activity fills, and nvprof's indexes. EVENT and
// METRIC are filled with what gpuprof measures, the others stay empty.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace gpuprof::schema {

struct LegacyTable {
  int kind;                  // CUpti_ActivityKind; 0: not an activity kind
  std::string_view name;     // of the table
  std::string_view columns;  // as in CREATE TABLE; without _id_ for an activity kind
  std::string_view doc;      // what nvprof has there, and why it is empty, if it is
};

// All are in every file, so that a query never meets a missing table. Some are empty views and no
// tables: nvprof prints a section on CPU sampling for a file that has a *table* of the first two
// names, and nvprof itself has tables of pthreads only when it was asked for them (own_times in
// schema/database.hpp says what each table with times costs).
constexpr bool is_view(const LegacyTable& table) {
  return table.name == "collLibrary" || table.name == "profIndex" ||
         table.name.starts_with("PTHREAD_");
}

inline constexpr std::array legacy_tables{
    LegacyTable{6, "CUPTI_ACTIVITY_KIND_EVENT", "id INT, value INT, domain INT, correlationId INT",
                "Values of nvprof's events per kernel, as METRIC_VALUE has them."},
    LegacyTable{7, "CUPTI_ACTIVITY_KIND_METRIC", "id INT, value BLOB, correlationId INT, flags INT",
                "Values of nvprof's metrics per kernel, as METRIC_VALUE has them."},
    LegacyTable{14, "CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR", "id INT, lineNumber INT, fileName INT",
                "Source lines that the source-level tables point to. CUPTI no longer makes "
                "them."},
    LegacyTable{15, "CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS",
                "flags INT, sourceLocatorId INT, correlationId INT, functionId INT, "
                "executed INT, pcOffset INT, threadsExecuted INT, l2_transactions INT, "
                "theoreticalL2Transactions INT",
                "Global memory accesses per instruction. CUPTI refuses the kind; SASS metrics "
                "replace it."},
    LegacyTable{16, "CUPTI_ACTIVITY_KIND_BRANCH",
                "sourceLocatorId INT, correlationId INT, functionId INT, pcOffset INT, "
                "diverged INT, threadsExecuted INT, executed INT",
                "Branches per instruction. CUPTI refuses the kind; SASS metrics replace it."},
    LegacyTable{18, "CUPTI_ACTIVITY_KIND_CDP_KERNEL",
                "cacheConfig BLOB, sharedMemoryConfig INT, registersPerThread INT, start INT, "
                "end INT, deviceId INT, contextId INT, streamId INT, gridX INT, gridY INT, "
                "gridZ INT, blockX INT, blockY INT, blockZ INT, staticSharedMemory INT, "
                "dynamicSharedMemory INT, localMemoryPerThread INT, localMemoryTotal INT, "
                "correlationId INT, gridId INT, parentGridId INT, queued INT, submitted INT, "
                "completed INT, parentBlockX INT, parentBlockY INT, parentBlockZ INT, name INT",
                "Kernels launched by kernels, in the first form of dynamic parallelism, which "
                "today's GPUs do not have."},
    LegacyTable{19, "CUPTI_ACTIVITY_KIND_PREEMPTION",
                "preemptionKind INT, timestamp INT, gridId INT, blockX INT, blockY INT, "
                "blockZ INT",
                "Blocks saved and restored for dynamic parallelism in its first form, gone "
                "with it."},
    LegacyTable{21, "CUPTI_ACTIVITY_KIND_EVENT_INSTANCE",
                "id INT, domain INT, instance INT, value INT, correlationId INT",
                "Values of hardware events per unit, from the Event API, which CUDA 13 no "
                "longer has."},
    LegacyTable{23, "CUPTI_ACTIVITY_KIND_METRIC_INSTANCE",
                "id INT, value BLOB, instance INT, correlationId INT, flags INT",
                "Values of nvprof's metrics per unit. CUPTI delivers none."},
    LegacyTable{24, "CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION",
                "flags INT, sourceLocatorId INT, correlationId INT, functionId INT, "
                "pcOffset INT, threadsExecuted INT, notPredOffThreadsExecuted INT, executed INT",
                "Executions per instruction. CUPTI refuses the kind; SASS metrics replace it."},
    LegacyTable{29, "CUPTI_ACTIVITY_KIND_SHARED_ACCESS",
                "flags INT, sourceLocatorId INT, correlationId INT, functionId INT, "
                "pcOffset INT, threadsExecuted INT, sharedTransactions INT, "
                "theoreticalSharedTransactions INT, executed INT",
                "Shared memory accesses per instruction. CUPTI refuses the kind; SASS metrics "
                "replace it."},
    LegacyTable{30, "CUPTI_ACTIVITY_KIND_PC_SAMPLING",
                "flags INT, sourceLocatorId INT, correlationId INT, functionId INT, "
                "latencySamples INT, samples INT, stallReason INT, pcOffset INT",
                "PC samples per instruction. CUPTI refuses the kind; its PC sampling API "
                "replaces it."},
    LegacyTable{31, "CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO",
                "correlationId INT, totalSamples INT, droppedSamples INT, "
                "samplingPeriodInCycles INT",
                "Totals of the PC samples of a kernel. CUPTI refuses the kind; its PC sampling "
                "API replaces it."},
    LegacyTable{32, "CUPTI_ACTIVITY_KIND_INSTRUCTION_CORRELATION",
                "flags INT, sourceLocatorId INT, functionId INT, pcOffset INT",
                "Source lines of instructions. CUPTI refuses the kind."},
    LegacyTable{41, "CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT",
                "id INT, value INT, timestamp INT, deviceId INT",
                "Hardware events read from time to time, from the Event API, which CUDA 13 no "
                "longer has."},
    LegacyTable{42, "CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT_INSTANCE",
                "id INT, value INT, timestamp INT, deviceId INT, instance INT",
                "Hardware events per unit, read from time to time, from the Event API, which "
                "CUDA 13 no longer has."},
    LegacyTable{43, "CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC",
                "id INT, value BLOB, timestamp INT, deviceId INT, flags INT",
                "nvprof's metrics read from time to time, from the Event API, which CUDA 13 no "
                "longer has."},
    LegacyTable{44, "CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC_INSTANCE",
                "id INT, value BLOB, timestamp INT, deviceId INT, flags INT, instance INT",
                "nvprof's metrics per unit, read from time to time, from the Event API, which "
                "CUDA 13 no longer has."},
    LegacyTable{0, "PTHREAD_ACTIVITY_EXEC",
                "id INTEGER PRIMARY KEY, kind INT, pid INT, tid INT, timestamp INT",
                "Threads that were started (--track-pthread). gpuprof does not follow pthreads."},
    LegacyTable{0, "PTHREAD_ACTIVITY_MGMT",
                "id INTEGER PRIMARY KEY, kind INT, pid INT, tid INT, start INT, end INT, "
                "otherTid INT",
                "Calls that make, join and end threads (--track-pthread). gpuprof does not "
                "follow pthreads."},
    LegacyTable{0, "PTHREAD_ACTIVITY_MUTEX",
                "id INTEGER PRIMARY KEY, kind INT, pid INT, tid INT, start INT, end INT, "
                "mutex INT",
                "Calls on mutexes (--track-pthread). gpuprof does not follow pthreads."},
    LegacyTable{0, "PTHREAD_ACTIVITY_COND",
                "id INTEGER PRIMARY KEY, kind INT, pid INT, tid INT, start INT, end INT, "
                "mutex INT, cond INT",
                "Calls on condition variables (--track-pthread). gpuprof does not follow "
                "pthreads."},
    LegacyTable{0, "profStringTable", "id INTEGER PRIMARY KEY, value TEXT UNIQUE",
                "Strings of CPU sampling (--cpu-profiling). gpuprof does not sample the CPU."},
    LegacyTable{0, "profIndex",
                "parentPid INT, threadIndex TEXT, forkIndex INT, runIndex INT, pid INT",
                "Processes of CPU sampling. An empty view, as collLibrary."},
    LegacyTable{0, "collLibrary", "id INTEGER PRIMARY KEY, name INTEGER",
                "Libraries found by CPU sampling. An empty view: nvprof prints a CPU section as "
                "soon as a table of this name exists."},
    LegacyTable{0, "collFunction",
                "id INTEGER PRIMARY KEY, name INTEGER, library INTEGER, fp INTEGER, "
                "sourcePos INTEGER",
                "Functions found by CPU sampling."},
    LegacyTable{0, "collInstruction",
                "id INTEGER PRIMARY KEY, function INTEGER, offset INTEGER, sourcePos INTEGER",
                "Instructions found by CPU sampling."},
    LegacyTable{0, "profCall", "id INTEGER PRIMARY KEY, instruction INTEGER",
                "Calls found by CPU sampling."},
    LegacyTable{0, "profGraph",
                "id INTEGER PRIMARY KEY, branch INTEGER, orientation INTEGER, "
                "isOriginal INTEGER, samplingPeriod REAL",
                "Call graphs of CPU sampling."},
    LegacyTable{0, "collSourcePos",
                "id INTEGER PRIMARY KEY, fileName INTEGER, lineNo INTEGER, UNIQUE (fileName, "
                "lineNo)",
                "Source lines found by CPU sampling."},
    LegacyTable{0, "collCCFFMessage",
                "id INTEGER PRIMARY KEY, text INTEGER, type INTEGER, UNIQUE (text, type)",
                "What the PGI compiler said about code found by CPU sampling."},
    LegacyTable{0, "collHit", "call INTEGER, time INTEGER, tid INTEGER",
                "Samples of CPU sampling."},
    LegacyTable{0, "collFunctionCall", "caller INTEGER, callee INTEGER",
                "Edges of the call graphs of CPU sampling."},
    LegacyTable{0, "collRootCall", "graph INTEGER, callee INTEGER",
                "Roots of the call graphs of CPU sampling."},
    LegacyTable{0, "collFunctionCCFFMessage", "function INTEGER, message INTEGER",
                "Compiler messages of functions."},
    LegacyTable{0, "collInstructionCCFFMessage", "instruction INTEGER, message INTEGER",
                "Compiler messages of instructions."},
    LegacyTable{0, "collSourcePosCCFFMessage", "sourcePos INTEGER, message INTEGER",
                "Compiler messages of source lines."},
};

inline std::string create_table_sql(const LegacyTable& table, bool with_process = true) {
  const std::string name(table.name);
  if (is_view(table)) {
    // "id INTEGER, name TEXT" -> "NULL AS id, NULL AS name"
    std::string nothing;
    std::string_view columns = table.columns;
    while (!columns.empty()) {
      const std::size_t end = std::min(columns.find(", "), columns.size());
      const std::string_view column = columns.substr(0, columns.find(' '));
      nothing += (nothing.empty() ? "NULL AS " : ", NULL AS ") + std::string(column);
      columns.remove_prefix(std::min(end + 2, columns.size()));
    }
    return "CREATE VIEW IF NOT EXISTS " + name + " AS SELECT " + nothing + " WHERE 0";
  }
  const std::string sql = "CREATE TABLE IF NOT EXISTS " + name + "(";
  if (table.kind == 0) return sql + std::string(table.columns) + ")";
  return sql + "_id_ INTEGER PRIMARY KEY, " + std::string(table.columns) +
         (with_process ? ", processId INT)" : ")");
}

// An index of nvprof's. It is called INDEX_ and the table's name. nvprof asks for a second one on
// start or timestamp under the same name, which SQLite therefore never makes.
struct Index {
  std::string_view table;
  std::string_view column;
};

// Made at the end of a run: an index costs time on every row that comes after it.
inline constexpr std::array indexes{
    Index{"CUPTI_ACTIVITY_KIND_MEMCPY", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_MEMSET", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_KERNEL", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_DRIVER", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_RUNTIME", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_EVENT", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_METRIC", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_MARKER", "timestamp"},
    Index{"CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_BRANCH", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_OVERHEAD", "start"},
    Index{"CUPTI_ACTIVITY_KIND_CDP_KERNEL", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_PREEMPTION", "timestamp"},
    Index{"CUPTI_ACTIVITY_KIND_ENVIRONMENT", "timestamp"},
    Index{"CUPTI_ACTIVITY_KIND_EVENT_INSTANCE", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_MEMCPY2", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_METRIC_INSTANCE", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER", "start"},
    Index{"CUPTI_ACTIVITY_KIND_SHARED_ACCESS", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_PC_SAMPLING", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_OPENACC_DATA", "start"},
    Index{"CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH", "start"},
    Index{"CUPTI_ACTIVITY_KIND_OPENACC_OTHER", "start"},
    Index{"CUPTI_ACTIVITY_KIND_CUDA_EVENT", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_STREAM", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT", "timestamp"},
    Index{"CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT_INSTANCE", "timestamp"},
    Index{"CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC", "timestamp"},
    Index{"CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC_INSTANCE", "timestamp"},
    Index{"CUPTI_ACTIVITY_KIND_MEMORY", "start"},
    Index{"CUPTI_ACTIVITY_KIND_OPENMP", "start"},
    Index{"CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_MEMORY2", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_MEMORY_POOL", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "correlationId"},
    Index{"CUPTI_ACTIVITY_KIND_JIT", "correlationId"},
};

inline std::string create_index_sql(const Index& index) {
  return "CREATE INDEX IF NOT EXISTS INDEX_" + std::string(index.table) + " ON " +
         std::string(index.table) + "(" + std::string(index.column) + ")";
}

}  // namespace gpuprof::schema
