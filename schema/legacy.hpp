// Tables of nvprof 11.8 that CUPTI no longer fills, and nvprof's indexes. They stay empty; EVENT
// and METRIC, which gpuprof fills, are in schema/measured.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "schema/column.hpp"

namespace gpuprof::schema {

namespace legacy {

// A list of columns as in CREATE TABLE: "id INT, value BLOB".
template <std::size_t N>
struct ColumnList {
  char text[N]{};
  consteval ColumnList(const char (&literal)[N]) { std::copy_n(literal, N, text); }
};

constexpr Type declared(std::string_view type) {
  if (type == "INT") return Type::i64;
  if (type == "INTEGER") return Type::integer;
  if (type == "REAL") return Type::f64;
  if (type == "TEXT") return Type::text;
  if (type == "BLOB") return Type::bytes;
  throw "no type that is declared here";
}

// Columns without docs, since the tables have no rows. Uses indices because, with UBSan, GCC 12
// cannot search in a constant expression.
template <ColumnList list>
inline constexpr auto columns = [] {
  constexpr std::size_t length = sizeof list.text - 1;
  constexpr auto count = [] {
    std::size_t commas = 0;
    for (std::size_t i = 0; i < length; ++i) commas += list.text[i] == ',';
    return commas + 1;
  }();
  std::array<Column, count> result{};
  std::size_t at = 0;
  const auto word = [&at](char end) {
    const std::size_t begin = at;
    while (at < length && list.text[at] != end) ++at;
    return std::string_view(list.text + begin, at - begin);
  };
  for (Column& column : result) {
    const std::string_view name = word(' ');
    ++at;
    column = stored(name, declared(word(',')), WrittenDoc{});
    at += 2;
  }
  return result;
}();

template <ColumnList list>
consteval Table of_kind(int kind, std::string_view name, std::string_view doc, Traits traits = {}) {
  return {.name = name,
          .doc = doc,
          .columns = columns<list>,
          .origin = Origin::legacy,
          .kind = kind,
          .row_doc = row_id_doc,
          .with_process = true,
          .traits = traits};
}

// Every file has nvprof's tables that gpuprof never fills, so that a query never meets a missing
// one. They are empty views, because a view uses no page; own_times in schema/database.hpp explains
// what a table with times costs. nvprof treats a missing table as empty, and prints a CPU sampling
// section for a file that has a *table* collLibrary or profIndex.
template <ColumnList list>
consteval Table as_view(std::string_view name, std::string_view doc, std::string_view key = {},
                        std::string_view constraint = {}) {
  return {.name = name,
          .doc = doc,
          .columns = columns<list>,
          .origin = Origin::legacy,
          .key = key,
          .constraint = constraint,
          .is_view = true};
}

template <ColumnList list>
consteval Table kind_as_view(int kind, std::string_view name, std::string_view doc) {
  Table table = of_kind<list>(kind, name, doc);
  table.is_view = true;
  return table;
}

inline constexpr std::array tables{
    of_kind<"cacheConfig BLOB, sharedMemoryConfig INT, registersPerThread INT, start INT, end INT, "
            "deviceId INT, contextId INT, streamId INT, gridX INT, gridY INT, gridZ INT, blockX "
            "INT, blockY INT, blockZ INT, staticSharedMemory INT, dynamicSharedMemory INT, "
            "localMemoryPerThread INT, localMemoryTotal INT, correlationId INT, gridId INT, "
            "parentGridId INT, queued INT, submitted INT, completed INT, parentBlockX INT, "
            "parentBlockY INT, parentBlockZ INT, name INT">(
        18, "CUPTI_ACTIVITY_KIND_CDP_KERNEL",
        "Kernels launched by kernels, in the first form of dynamic parallelism, which today's GPUs "
        "do not have.",
        {.gpu_work = GpuWork{.type = "kernel", .named_by = "name"}, .nvprofs = true}),
    kind_as_view<
        "preemptionKind INT, timestamp INT, gridId INT, blockX INT, blockY INT, blockZ INT">(
        19, "CUPTI_ACTIVITY_KIND_PREEMPTION",
        "Blocks saved and restored for dynamic parallelism in its first form, gone with it."),
    kind_as_view<"id INT, domain INT, instance INT, value INT, correlationId INT">(
        21, "CUPTI_ACTIVITY_KIND_EVENT_INSTANCE",
        "Values of hardware events per unit. CUDA 13 has no Event API."),
    kind_as_view<"id INT, value BLOB, instance INT, correlationId INT, flags INT">(
        23, "CUPTI_ACTIVITY_KIND_METRIC_INSTANCE",
        "Values of nvprof's metrics per unit. CUPTI delivers none."),
    kind_as_view<"flags INT, sourceLocatorId INT, functionId INT, pcOffset INT">(
        32, "CUPTI_ACTIVITY_KIND_INSTRUCTION_CORRELATION",
        "Source lines of instructions. CUPTI refuses the kind."),
    kind_as_view<"id INT, value INT, timestamp INT, deviceId INT">(
        41, "CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT",
        "Hardware events, read from time to time. CUDA 13 has no Event API."),
    kind_as_view<"id INT, value INT, timestamp INT, deviceId INT, instance INT">(
        42, "CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT_INSTANCE",
        "Hardware events per unit, read from time to time. CUDA 13 has no Event API."),
    kind_as_view<"id INT, value BLOB, timestamp INT, deviceId INT, flags INT">(
        43, "CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC",
        "nvprof's metrics, read from time to time. CUDA 13 has no Event API."),
    kind_as_view<"id INT, value BLOB, timestamp INT, deviceId INT, flags INT, instance INT">(
        44, "CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC_INSTANCE",
        "nvprof's metrics per unit, read from time to time. CUDA 13 has no Event API."),
    as_view<"id INTEGER, kind INT, pid INT, tid INT, timestamp INT">(
        "PTHREAD_ACTIVITY_EXEC",
        "Threads that were started (--track-pthread). gpuprof does not follow pthreads.", "id"),
    as_view<"id INTEGER, kind INT, pid INT, tid INT, start INT, end INT, otherTid INT">(
        "PTHREAD_ACTIVITY_MGMT",
        "Calls that make, join and end threads (--track-pthread). gpuprof does not follow "
        "pthreads.",
        "id"),
    as_view<"id INTEGER, kind INT, pid INT, tid INT, start INT, end INT, mutex INT">(
        "PTHREAD_ACTIVITY_MUTEX",
        "Calls on mutexes (--track-pthread). gpuprof does not follow pthreads.", "id"),
    as_view<"id INTEGER, kind INT, pid INT, tid INT, start INT, end INT, mutex INT, cond INT">(
        "PTHREAD_ACTIVITY_COND",
        "Calls on condition variables (--track-pthread). gpuprof does not follow pthreads.", "id"),
    as_view<"id INTEGER, value TEXT">(
        "profStringTable",
        "Strings of CPU sampling (--cpu-profiling). gpuprof has CPU_SAMPLE instead.", "id",
        "UNIQUE (value)"),
    as_view<"parentPid INT, threadIndex TEXT, forkIndex INT, runIndex INT, pid INT">(
        "profIndex", "Processes of CPU sampling."),
    as_view<"id INTEGER, name INTEGER">("collLibrary", "Libraries found by CPU sampling.", "id"),
    as_view<"id INTEGER, name INTEGER, library INTEGER, fp INTEGER, sourcePos INTEGER">(
        "collFunction", "Functions found by CPU sampling.", "id"),
    as_view<"id INTEGER, function INTEGER, offset INTEGER, sourcePos INTEGER">(
        "collInstruction", "Instructions found by CPU sampling.", "id"),
    as_view<"id INTEGER, instruction INTEGER">("profCall", "Calls found by CPU sampling.", "id"),
    as_view<
        "id INTEGER, branch INTEGER, orientation INTEGER, isOriginal INTEGER, samplingPeriod REAL">(
        "profGraph", "Call graphs of CPU sampling.", "id"),
    as_view<"id INTEGER, fileName INTEGER, lineNo INTEGER">(
        "collSourcePos", "Source lines found by CPU sampling.", "id", "UNIQUE (fileName, lineNo)"),
    as_view<"id INTEGER, text INTEGER, type INTEGER">(
        "collCCFFMessage", "What the PGI compiler said about code found by CPU sampling.", "id",
        "UNIQUE (text, type)"),
    as_view<"call INTEGER, time INTEGER, tid INTEGER">("collHit", "Samples of CPU sampling."),
    as_view<"caller INTEGER, callee INTEGER">("collFunctionCall",
                                              "Edges of the call graphs of CPU sampling."),
    as_view<"graph INTEGER, callee INTEGER">("collRootCall",
                                             "Roots of the call graphs of CPU sampling."),
    as_view<"function INTEGER, message INTEGER">("collFunctionCCFFMessage",
                                                 "Compiler messages of functions."),
    as_view<"instruction INTEGER, message INTEGER">("collInstructionCCFFMessage",
                                                    "Compiler messages of instructions."),
    as_view<"sourcePos INTEGER, message INTEGER">("collSourcePosCCFFMessage",
                                                  "Compiler messages of source lines."),
};

}  // namespace legacy

// An index of nvprof's, named INDEX_ plus the table's name. nvprof requests a second one on start
// or timestamp under the same name, which SQLite therefore never creates.
struct Index {
  std::string_view table;
  std::string_view column;
};

// Created at the end of a run, since an index slows down every later insertion.
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
