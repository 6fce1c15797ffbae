// Tables of SASS metrics: what each instruction did, counted by code that CUPTI inserts. Four are
// nvprof's, which CUPTI no longer fills but gpuprof does.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "schema/column.hpp"

namespace gpuprof::schema {

// The CUPTI metrics from which nvprof's tables are computed.
namespace sass {
inline constexpr std::string_view executed = "smsp__sass_inst_executed";
inline constexpr std::string_view threads = "smsp__sass_thread_inst_executed";
inline constexpr std::string_view threads_on = "smsp__sass_thread_inst_executed_pred_on";
inline constexpr std::string_view global = "smsp__sass_inst_executed_op_global";
inline constexpr std::string_view global_load = "smsp__sass_inst_executed_op_global_ld";
inline constexpr std::string_view sectors = "smsp__sass_sectors_mem_global";
inline constexpr std::string_view sectors_ideal = "smsp__sass_sectors_mem_global_ideal";
inline constexpr std::string_view shared = "smsp__sass_inst_executed_op_shared";
inline constexpr std::string_view shared_load = "smsp__sass_inst_executed_op_shared_ld";
inline constexpr std::string_view wavefronts = "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared";
inline constexpr std::string_view wavefronts_ideal =
    "smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal";
inline constexpr std::string_view branch = "smsp__sass_inst_executed_op_branch";
inline constexpr std::string_view divergent = "smsp__sass_branch_targets_threads_divergent";
inline constexpr std::string_view uniform = "smsp__sass_branch_targets_threads_uniform";

inline constexpr std::array every{executed, threads, threads_on};
inline constexpr std::array global_access{global, global_load, sectors, sectors_ideal};
inline constexpr std::array shared_access{shared, shared_load, wavefronts, wavefronts_ideal};
inline constexpr std::array branches{branch, divergent, uniform};
}  // namespace sass

inline constexpr std::string_view sass_prefix = "smsp__sass_";

// The values of --source-level-analysis, as nvprof names them.
struct SourceAnalysis {
  std::string_view name;
  std::span<const std::string_view> metrics;  // in addition to sass::every
};
inline constexpr std::array source_analyses{
    SourceAnalysis{"global_access", sass::global_access},
    SourceAnalysis{"shared_access", sass::shared_access},
    SourceAnalysis{"branch", sass::branches},
    SourceAnalysis{"instruction_execution", {}},
};

// In the flags of GLOBAL_ACCESS and SHARED_ACCESS: CUPTI_ACTIVITY_FLAG_..._ACCESS_KIND_LOAD.
inline constexpr std::int64_t access_is_load = 1 << 8;

namespace tables {

inline constexpr Column sass_metric_columns[]{
    stored("id", Type::integer, "number of the metric in this file, from 1"),
    stored("name", Type::text, "CUPTI's name of it"),
    stored("metric", Type::text, "the part of the name that differs: inst_executed"),
    stored("description", Type::text, "what it counts, as CUPTI says"),
};
inline constexpr Table sass_metric{
    .name = "SASS_METRIC",
    .doc = "SASS metrics that were counted in this run (--source-level-analysis).",
    .columns = sass_metric_columns,
    .origin = Origin::run,
    .key = "id"};

inline constexpr Column sass_instruction_columns[]{
    stored("id", Type::integer, "number of the row"),
    stored("sourceLocatorId", Type::i64, "its source line: SOURCE_LOCATOR.id; 0 = not known"),
    stored("functionId", Type::i64, "kernel or device function: FUNCTION.id"),
    stored("pcOffset", Type::i64,
           "[bytes] the instruction: how far from the beginning of the function"),
    stored("deviceId", Type::i64, "device it ran on"),
    stored("processId", Type::i64, WrittenDoc{{}, process_doc}),
};
inline constexpr Table sass_instruction{
    .name = "SASS_INSTRUCTION",
    .doc = "Instructions that have values of SASS metrics. Rows may be alike but for their id.",
    .columns = sass_instruction_columns,
    .origin = Origin::run,
    .key = "id"};

inline constexpr Column sass_value_columns[]{
    stored("instructionId", Type::i64, "instruction: SASS_INSTRUCTION.id"),
    stored("metricId", Type::i64, "what was counted: SASS_METRIC.id"),
    stored("correlationId", Type::i64,
           "call that launched the kernel; 0 = of all launches together"),
    stored("value", Type::i64, "how much"),
};
inline constexpr Table sass_value{
    .name = "SASS_VALUE",
    .doc =
        "Values of SASS metrics by instruction. What is 0 has no row; rows may be alike but for "
        "their value: add them up.",
    .columns = sass_value_columns,
    .origin = Origin::run};

// nvprof's tables, whose rows gpuprof computes at the end of a run.
inline constexpr Column source_locator_column =
    stored("sourceLocatorId", Type::i64, "its source line: SOURCE_LOCATOR.id; 0 = not known");
inline constexpr Column correlation_column = stored(
    "correlationId", Type::i64, "call that launched the kernel; 0 = of all launches together");
inline constexpr Column function_column =
    stored("functionId", Type::i64, "kernel or device function: FUNCTION.id");
inline constexpr Column pc_offset_column = stored(
    "pcOffset", Type::i64, "[bytes] the instruction: how far from the beginning of the function");
inline constexpr Column executed_column =
    stored("executed", Type::i64, "[count] warps that executed it, whatever its predicate was");
inline constexpr Column threads_column = stored(
    "threadsExecuted", Type::i64, "[count] threads that executed it, whatever their predicate was");
inline constexpr Column threads_on_column = stored(
    "threadsExecuted", Type::i64, "[count] threads that executed it and whose predicate was true");

inline constexpr Column global_access_columns[]{
    stored("flags", Type::i64,
           "256 = a load; the size of an access, which nvprof has in the lowest 8 bits, is 0"),
    source_locator_column,
    correlation_column,
    function_column,
    executed_column,
    pc_offset_column,
    threads_on_column,
    stored("l2_transactions", Type::i64, "[count] sectors of 32 bytes that it took"),
    stored("theoreticalL2Transactions", Type::i64,
           "[count] sectors that it would have taken if its threads' addresses lay side by side; "
           "0 = not known"),
};
inline constexpr Table global_access{
    .name = "CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS",
    .doc =
        "Accesses to global memory by instruction, from SASS metrics (--source-level-analysis "
        "global_access). Made at the end of a run.",
    .columns = global_access_columns,
    .origin = Origin::run,
    .kind = 15,
    .row_doc = row_id_doc,
    .with_process = true};

inline constexpr Column branch_columns[]{
    source_locator_column,
    correlation_column,
    function_column,
    pc_offset_column,
    stored("diverged", Type::i64, "[count] warps whose threads went different ways"),
    threads_column,
    executed_column,
};
inline constexpr Table branch{
    .name = "CUPTI_ACTIVITY_KIND_BRANCH",
    .doc =
        "Branches by instruction, from SASS metrics (--source-level-analysis branch). Made at the "
        "end of a run.",
    .columns = branch_columns,
    .origin = Origin::run,
    .kind = 16,
    .row_doc = row_id_doc,
    .with_process = true};

inline constexpr Column instruction_execution_columns[]{
    stored("flags", Type::i64, "0: nvprof has the class of an instruction there"),
    source_locator_column,
    correlation_column,
    function_column,
    pc_offset_column,
    threads_column,
    stored("notPredOffThreadsExecuted", Type::i64,
           "[count] of these threads, those whose predicate was true"),
    executed_column,
};
inline constexpr Table instruction_execution{
    .name = "CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION",
    .doc =
        "How often each instruction was executed, from SASS metrics (--source-level-analysis, "
        "whatever it asks for). Made at the end of a run.",
    .columns = instruction_execution_columns,
    .origin = Origin::run,
    .kind = 24,
    .row_doc = row_id_doc,
    .with_process = true};

inline constexpr Column shared_access_columns[]{
    stored("flags", Type::i64,
           "256 = a load; the size of an access, which nvprof has in the lowest 8 bits, is 0"),
    source_locator_column,
    correlation_column,
    function_column,
    pc_offset_column,
    threads_on_column,
    stored("sharedTransactions", Type::i64, "[count] wavefronts that it took"),
    stored("theoreticalSharedTransactions", Type::i64,
           "[count] wavefronts that it would have taken without bank conflicts; 0 = not known"),
    executed_column,
};
inline constexpr Table shared_access{
    .name = "CUPTI_ACTIVITY_KIND_SHARED_ACCESS",
    .doc =
        "Accesses to shared memory by instruction, from SASS metrics (--source-level-analysis "
        "shared_access). Made at the end of a run.",
    .columns = shared_access_columns,
    .origin = Origin::run,
    .kind = 29,
    .row_doc = row_id_doc,
    .with_process = true};

}  // namespace tables
}  // namespace gpuprof::schema
