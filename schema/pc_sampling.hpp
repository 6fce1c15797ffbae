// Tables of PC sampling: where warps were, and what they waited for, when the hardware sampled
// them. Three are nvprof's, which CUPTI no longer fills but gpuprof does, with additional columns
// at the end.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "schema/column.hpp"

namespace gpuprof::schema {

// CUpti_ActivityPCSamplingStallReason: nvprof's stall reasons, which are fewer than CUPTI's.
struct StallReasonKind {
  std::string_view name;  // CUPTI's, after stall_prefix
  std::int64_t number;
};
inline constexpr std::int64_t stall_other = 11;
inline constexpr std::string_view stall_prefix = "smsp__pcsamp_warps_issue_stalled_";
// Suffix of a reason that counts samples in whose cycle the scheduler issued nothing.
inline constexpr std::string_view not_issued_suffix = "_not_issued";
// Reasons that are not listed count as other.
inline constexpr std::array stall_reason_kinds{
    StallReasonKind{"selected", 1},
    StallReasonKind{"branch_resolving", 2},
    StallReasonKind{"no_inst", 2},
    StallReasonKind{"no_instruction", 2},
    StallReasonKind{"no_instructions", 2},
    StallReasonKind{"short_scoreboard", 3},
    StallReasonKind{"wait", 3},
    StallReasonKind{"long_scoreboard", 4},
    StallReasonKind{"tex_throttle", 5},
    StallReasonKind{"barrier", 6},
    StallReasonKind{"membar", 6},
    StallReasonKind{"imc_miss", 7},
    StallReasonKind{"mio_throttle", 8},
    StallReasonKind{"math_pipe_throttle", 8},
    StallReasonKind{"drain", 9},
    StallReasonKind{"lg_throttle", 9},
    StallReasonKind{"not_selected", 10},
    StallReasonKind{"sleeping", 12},
};
constexpr std::int64_t stall_reason_number(std::string_view name) {
  for (const StallReasonKind& kind : stall_reason_kinds) {
    if (kind.name == name) return kind.number;
  }
  return stall_other;
}

// FUNCTION.id of functions that the collector did not list starts here.
inline constexpr std::int64_t first_sampled_function = std::int64_t{1} << 30;

namespace tables {

inline constexpr Column source_locator_columns[]{
    stored("id", Type::i64, "number of the source line; counts per run"),
    stored("lineNumber", Type::i64, "line in the file, from 1"),
    stored("fileName", Type::string, "path as passed to the compiler: StringTable id"),
};
inline constexpr Table source_locator{
    .name = "CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR",
    .doc =
        "Source lines of instructions that have PC samples or SASS metrics, as line information of "
        "their cubin (-lineinfo) says.",
    .columns = source_locator_columns,
    .origin = Origin::run,
    .kind = 14,
    .row_doc = row_id_doc,
    .with_process = true};

inline constexpr Column pc_sampling_columns[]{
    stored("flags", Type::i64, "0"),
    stored("sourceLocatorId", Type::i64, "its source line: SOURCE_LOCATOR.id; 0 = not known"),
    stored("correlationId", Type::i64,
           "call that launched the kernel, with --pc-serialize; 0 = of all launches together"),
    stored("functionId", Type::i64, "kernel or device function: FUNCTION.id"),
    stored("latencySamples", Type::i64,
           "[count] of the samples, those in whose cycle the warp's scheduler issued nothing"),
    stored("samples", Type::i64,
           "[count] samples of warps that were at this instruction for this reason"),
    stored("stallReason", Type::i64,
           "enum CUpti_ActivityPCSamplingStallReason; several of CUPTI's "
           "reasons are one of these"),
    stored("pcOffset", Type::i64,
           "[bytes] the instruction: how far from the beginning of the function"),
    stored("stallReasonId", Type::i64, "the reason itself: PC_STALL_REASON.id"),
    stored("deviceId", Type::i64, "device it ran on"),
    stored("processId", Type::i64, WrittenDoc{{}, process_doc}),
};
// SQLite finds it under nvprof's name, CUPTI_ACTIVITY_KIND_PC_SAMPLING. nvprof, which searches
// sqlite_master for exactly that, does not: it would look up the kernel of each row by correlation
// id, in the table of serialized kernels only, and crash if there is none.
inline constexpr Table pc_sampling{
    .name = "CUPTI_ACTIVITY_KIND_pc_sampling",
    .doc =
        "PC samples (--pc-sampling) by instruction and stall reason. Rows may be alike but for "
        "their numbers: add them up.",
    .columns = pc_sampling_columns,
    .origin = Origin::run,
    .kind = 30,
    .row_doc = row_id_doc};

inline constexpr Column pc_sampling_record_info_columns[]{
    stored("correlationId", Type::i64, "as PC_SAMPLING.correlationId"),
    stored("totalSamples", Type::i64,
           "[count] samples that the hardware took, dropped ones and those of kernels that are not "
           "the "
           "program's among them; of one launch: those that have rows"),
    stored("droppedSamples", Type::i64, "[count] samples that the hardware could not write"),
    stored("samplingPeriodInCycles", Type::i64, "cycles of a multiprocessor between samples"),
    stored("otherSamples", Type::i64,
           "[count] samples of kernels that are not the program's, of which no more is known"),
    stored("contextId", Type::i64, "context that was sampled"),
    stored("deviceId", Type::i64, "device of the context"),
    stored("processId", Type::i64, WrittenDoc{{}, process_doc}),
};
inline constexpr Table pc_sampling_record_info{
    .name = "CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO",
    .doc =
        "Totals of PC samples: a row for each context, and one for each launch that "
        "--pc-serialize distinguished.",
    .columns = pc_sampling_record_info_columns,
    .origin = Origin::run,
    .kind = 31,
    .row_doc = row_id_doc};

inline constexpr Column pc_stall_reason_columns[]{
    stored("id", Type::integer, "number of the reason in this file, from 1"),
    stored("name", Type::text, "CUPTI's name of it"),
    stored("reason", Type::text, "the part of the name that differs: long_scoreboard"),
    stored("cuptiIndex", Type::i64, "CUPTI's number on the device that had it first"),
    stored("stallReason", Type::i64,
           "what nvprof counts it as: enum CUpti_ActivityPCSamplingStallReason"),
};
inline constexpr Table pc_stall_reason{.name = "PC_STALL_REASON",
                                       .doc =
                                           "Reasons that warps of this run's devices can have "
                                           "for not going on, as CUPTI calls them.",
                                       .columns = pc_stall_reason_columns,
                                       .origin = Origin::run,
                                       .key = "id"};

}  // namespace tables
}  // namespace gpuprof::schema
