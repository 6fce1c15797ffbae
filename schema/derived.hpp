// Tables computed at the end of a run (libprof/compute) from everything that was recorded.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "schema/column.hpp"
#include "schema/sampled.hpp"
#include "schema/timeline.hpp"

namespace gpuprof::schema::tables {

inline constexpr Column launch_range_columns[]{
    stored("correlationId", Type::integer,
           "of the call: RUNTIME.correlationId, and that of the work it asked for"),
    stored("range", Type::i64, "innermost NVTX range around the call: NVTX_RANGE._id_"),
    stored("byThread", Type::i64,
           "1 = the range is of the calling thread; 0 = that had none, and this one was the last "
           "that was opened in the process and still open"),
};
inline constexpr Table launch_range{
    .name = "LAUNCH_RANGE",
    .doc = "The NVTX ranges in which calls asked for work of a GPU.",
    .columns = launch_range_columns,
    .origin = Origin::computed,
    .key = "correlationId"};

inline constexpr Column nvtx_path_columns[]{
    stored("range", Type::integer, "the NVTX range: NVTX_RANGE._id_"),
    stored(
        "path", Type::string,
        "messages of the ranges around it and its own, with / between: StringTable id; 0 = longer "
        "than 4000 bytes"),
};
inline constexpr Table nvtx_path{.name = "NVTX_PATH",
                                 .doc = "Where NVTX ranges lie.",
                                 .columns = nvtx_path_columns,
                                 .origin = Origin::computed,
                                 .key = "range"};

inline constexpr Column range_time_columns[]{
    stored("range", Type::i64, "the NVTX range: NVTX_RANGE._id_"),
    stored("deviceId", Type::i64, "device that worked for it"),
    stored("work", Type::i64,
           "[count] kernels, copies, sets and the like that were asked for in it"),
    stored("kernels", Type::i64, "[count] of these, kernels"),
    stored("busy", Type::i64, "[ns] time in which any of them ran"),
    stored("first", Type::i64, "[ns] when the first began, on CUPTI's clock"),
    stored("last", Type::i64, "[ns] when the last was over, on CUPTI's clock"),
};
inline constexpr Table range_time{
    .name = "RANGE_TIME",
    .doc =
        "What a device did for an NVTX range and the ranges inside it, not more than 32 ranges "
        "deep. The view nvtx_gpu has it with names.",
    .columns = range_time_columns,
    .origin = Origin::computed,
    .key = "range, deviceId",
    .without_rowid = true};

inline constexpr Column device_time_columns[]{
    stored("deviceId", Type::i64, "the device"),
    stored("first", Type::i64, "[ns] when its first work began, on CUPTI's clock"),
    stored("last", Type::i64, "[ns] when its last work was over, on CUPTI's clock"),
    stored("busy", Type::i64, "[ns] time in which it had work"),
    stored("kernelsOnly", Type::i64,
           "[ns] time in which kernels or graphs ran and nothing else did"),
    stored("copiesOnly", Type::i64,
           "[ns] time in which copies, sets and the like ran and none of those"),
    stored("both", Type::i64, "[ns] time in which both did"),
    stored("exposedCommunication", Type::i64,
           "[ns] of kernelsOnly, time in which no kernels ran but NCCL's"),
    stored("gaps", Type::i64, "[count] times between first and last in which it had no work"),
};
inline constexpr Table device_time{
    .name = "DEVICE_TIME",
    .doc = "How much of the time each device was at work. The view gpu_utilization has shares.",
    .columns = device_time_columns,
    .origin = Origin::computed,
    .key = "deviceId",
    .without_rowid = true};

inline constexpr Column stream_time_columns[]{
    stored("deviceId", Type::i64, "the device"),
    stored("streams", Type::i64, "[count] streams that had work running at a time"),
    stored("duration", Type::i64, "[ns] how long it was that number"),
};
inline constexpr Table stream_time{
    .name = "STREAM_TIME",
    .doc = "How many streams of a device were at work at a time. The view concurrency has shares.",
    .columns = stream_time_columns,
    .origin = Origin::computed,
    .key = "deviceId, streams",
    .without_rowid = true};

inline constexpr Column gpu_gap_columns[]{
    stored("deviceId", Type::i64, "device without work"),
    stored("start", Type::i64, "[ns] when the work before was over, on CUPTI's clock"),
    stored("stop", Type::i64, "[ns] when the work after it began, on CUPTI's clock"),
    stored("typeBefore", Type::text, "kernel, memcpy, ... of the work before"),
    stored("nameBefore", Type::string, "of a kernel: StringTable id; 0 = no kernel"),
    stored("typeBehind", Type::text, "kernel, memcpy, ... of the work after it"),
    stored("nameBehind", Type::string, "of a kernel: StringTable id; 0 = no kernel"),
    stored("correlationId", Type::i64, "of the call that asked for the work after it; 0 = none"),
    stored(
        "hostCall", Type::i64,
        "of the function, not launching, that took most of the gap in that process, the longest "
        "call: RUNTIME.correlationId or DRIVER's; NULL = none. Of several open calls the one that "
        "began first counts"),
    stored("hostTime", Type::i64,
           "[ns] how much of the gap the calls of that function took; NULL as hostCall"),
    stored("noCallTime", Type::i64,
           "[ns] how much of the gap it was in no call and launched nothing; NULL = none of its "
           "calls was recorded"),
    stored("launchTime", Type::i64, "[ns] how much of it is launch in the view account"),
    stored("queuedTime", Type::i64, "[ns] how much of it is queued there"),
    stored("range", Type::i64,
           "NVTX range of the call that asked for the work after it: NVTX_RANGE._id_; "
           "NULL = none"),
};
inline constexpr Table gpu_gap{
    .name = "GPU_GAP",
    .doc = "The 10,000 longest times in which a device had no work. The view gpu_gaps has names.",
    .columns = gpu_gap_columns,
    .origin = Origin::computed,
    .row_doc = row_id_doc};

inline constexpr Column copy_time_columns[]{
    stored("deviceId", Type::i64, "the device"),
    stored("copyKind", Type::i64, "direction: enum CUpti_ActivityMemcpyKind"),
    stored("copying", Type::i64, "[ns] time in which any copy of that direction ran"),
    stored("besideKernels", Type::i64, "[ns] of that, time in which kernels or graphs ran too"),
};
inline constexpr Table copy_time{.name = "COPY_TIME",
                                 .doc =
                                     "How long each device copied in each direction. The view "
                                     "copy_overlap has names and shares.",
                                 .columns = copy_time_columns,
                                 .origin = Origin::computed,
                                 .key = "deviceId, copyKind",
                                 .without_rowid = true};

inline constexpr Column device_account_columns[]{
    stored("deviceId", Type::i64, "the device"),
    stored("class", Type::text, "as in the view account"),
    stored("domain", Type::text, "of a function: API_NAME.domain; of no call: the line"),
    stored("cause", Type::i64,
           "of a copy: enum CUpti_ActivityMemcpyKind; of a call or launch: API_NAME.cbid, 0 = "
           "none; of queued: 1 = for an event"),
    stored("duration", Type::i64, "[ns] how long"),
    stored("intervals", Type::i64, "[count] how often; of idle time, in how many gaps"),
};
inline constexpr Table device_account{
    .name = "DEVICE_ACCOUNT",
    .doc = "Where the time of each device went. The view account has names and shares.",
    .columns = device_account_columns,
    .origin = Origin::computed,
    .key = "deviceId, class, domain, cause",
    .without_rowid = true};

inline constexpr Column account_block_columns[]{
    stored("deviceId", Type::i64, "the device"),
    stored("start", Type::i64,
           "[ns] when the block begins, on CUPTI's clock: at the begin of the run, or where a gap "
           "ends"),
    stored("stop", Type::i64, "[ns] when it ends: there the next one of the device begins"),
    stored("class", Type::text, "as in DEVICE_ACCOUNT"),
    stored("domain", Type::text, "as in DEVICE_ACCOUNT"),
    stored("cause", Type::i64, "as in DEVICE_ACCOUNT"),
    stored("duration", Type::i64, "[ns] how long in the block"),
    stored("intervals", Type::i64, "[count] how often in the block"),
};
// Only files with row groups have it.
inline constexpr Table account_block{
    .name = "ACCOUNT_BLOCK",
    .doc =
        "DEVICE_ACCOUNT in blocks of time, so that the account of a long time need not read all "
        "rows in it. Files with a million calls and works of GPUs have it.",
    .columns = account_block_columns,
    .origin = Origin::computed,
    .key = "deviceId, start, class, domain, cause",
    .without_rowid = true};

inline constexpr Column launch_shape_columns[]{
    stored("blocks", Type::i64, "[count] blocks of the launch"),
    stored("threadsPerBlock", Type::i64, "[count] threads of a block"),
    stored("sharedMemory", Type::i64, "[bytes] shared memory of a block, static and dynamic"),
    stored("registersPerThread", Type::i64, "[count] registers of a thread"),
    stored("carveout", Type::i64, "[%] carveout asked for; -1 = none"),
    stored("deviceId", Type::i64, "device that ran it"),
    stored("processId", Type::i64, "process that launched it"),
    stored("blocksPerMultiprocessor", Type::i64,
           "[count] blocks that fit on a multiprocessor at a time"),
    stored("limiter", Type::text,
           "what lets no more fit: warps, registers, shared memory or blocks; several have commas "
           "between"),
    stored("occupancy", Type::f64,
           "[share] warps of these blocks, of those that a multiprocessor holds, from 0 to 1"),
    stored("waves", Type::f64,
           "[count] blocks of the launch, by those that fit on the device at a time"),
    stored("tailShare", Type::f64,
           "[share] part of the room of all waves that the last one leaves empty, from 0 to 1"),
};
inline constexpr Table launch_shape{
    .name = "LAUNCH_SHAPE",
    .doc =
        "What CUDA's occupancy calculator says of launches, one row for all that are alike in what "
        "it looks at. The view kernels has it for each kernel.",
    .columns = launch_shape_columns,
    .origin = Origin::computed,
    .key =
        "blocks, threadsPerBlock, sharedMemory, registersPerThread, carveout, deviceId, "
        "processId",
    .without_rowid = true};

inline constexpr Column kernel_time_columns[]{
    stored("deviceId", Type::i64, "device that ran them"),
    stored("name", Type::string, "mangled name: StringTable id; 0 = none"),
    stored("median", Type::i64,
           "[ns] duration in the middle; of an even number the mean of the two, rounded down"),
    stored("p90", Type::i64, "[ns] least duration that 90 % do not exceed (nearest rank)"),
    stored("p99", Type::i64, "[ns] the same of 99 %"),
    stored("count", Type::i64, "[count] executions; NULL = there are too many names"),
    stored("timed", Type::i64, "[count] executions that have times; the rest is of these"),
    stored("total", Type::i64, "[ns] sum of durations"),
    stored("shortest", Type::i64, "[ns] least duration"),
    stored("longest", Type::i64, "[ns] greatest duration"),
    stored("first", Type::i64, "[ns] start of the first, on CUPTI's clock"),
    stored("last", Type::i64, "[ns] end of the last, on CUPTI's clock"),
};
inline constexpr Table kernel_time{
    .name = "KERNEL_TIME",
    .doc = "Durations of kernels, by name and device. The view kernel_summary has them in words.",
    .columns = kernel_time_columns,
    .origin = Origin::computed,
    .key = "deviceId, name",
    .without_rowid = true};

inline constexpr Column api_time_columns[]{
    stored("domain", Type::text, "runtime, driver or internal"),
    stored("name", Type::text, "function, without suffixes"),
    stored("median", Type::i64,
           "[ns] duration in the middle; of an even number the mean of the two, rounded down"),
    stored("p90", Type::i64, "[ns] least duration that 90 % do not exceed (nearest rank)"),
    stored("p99", Type::i64, "[ns] the same of 99 %"),
    stored("count", Type::i64, "[count] calls; NULL = there are too many functions"),
    stored("failed", Type::i64, "[count] calls that did not return 0"),
    stored("timed", Type::i64, "[count] calls that have times; the rest is of these"),
    stored("total", Type::i64, "[ns] sum of durations"),
    stored("shortest", Type::i64, "[ns] least duration"),
    stored("longest", Type::i64, "[ns] greatest duration"),
};
inline constexpr Table api_time{
    .name = "API_TIME",
    .doc = "Durations of API calls, by function. The view api_summary has shares of them.",
    .columns = api_time_columns,
    .origin = Origin::computed,
    .key = "domain, name",
    .without_rowid = true};

inline constexpr Column launch_time_columns[]{
    stored("name", Type::string, "mangled name of the kernel: StringTable id; 0 = none"),
    stored("apiName", Type::text,
           "function that launched it, without suffixes; '' = its name is not known"),
    stored("launches", Type::i64, "[count] launches of which both times are known"),
    stored("shortest", Type::i64,
           "[ns] least time from the begin of the call to the start of the kernel"),
    stored("median", Type::i64, "[ns] least such time that 50 % do not exceed (nearest rank)"),
    stored("p90", Type::i64, "[ns] the same of 90 %"),
    stored("p99", Type::i64, "[ns] the same of 99 %"),
    stored("longest", Type::i64, "[ns] greatest such time"),
    stored("calls", Type::i64, "[count] launches whose call has an end"),
    stored("callTime", Type::i64, "[ns] sum of the durations of these calls"),
};
inline constexpr Table launch_time{
    .name = "LAUNCH_TIME",
    .doc =
        "How long kernels waited for their start, by kernel and function; empty where there are "
        "too many, or no room on the disk.",
    .columns = launch_time_columns,
    .origin = Origin::computed,
    .key = "name, apiName",
    .without_rowid = true};

inline constexpr Column occupancy_time_columns[]{
    stored("name", Type::string, "mangled name of the kernel: StringTable id; 0 = none"),
    stored("occupancy", Type::f64, "[share] as LAUNCH_SHAPE.occupancy"),
    stored("limiter", Type::text, "as LAUNCH_SHAPE.limiter"),
    stored("waves", Type::f64, "[count] least LAUNCH_SHAPE.waves of these launches"),
    stored("launches", Type::i64, "[count] launches"),
    stored("total", Type::i64, "[ns] sum of their durations; NULL = none has times"),
};
inline constexpr Table occupancy_time{.name = "OCCUPANCY_TIME",
                                      .doc =
                                          "Launches by kernel and occupancy, where it is known; "
                                          "empty where there are too many kinds.",
                                      .columns = occupancy_time_columns,
                                      .origin = Origin::computed,
                                      .key = "name, occupancy, limiter",
                                      .without_rowid = true};

inline constexpr Column memory_use_columns[]{
    stored("operation", Type::integer, "allocation or release: MEMORY2._id_"),
    stored(
        "inUse", Type::i64,
        "[bytes] what its process has then of that kind of memory, on that device, from pools of "
        "that type; below 0 where what is released was allocated before collection began"),
};
inline constexpr Table memory_use{.name = "MEMORY_USE",
                                  .doc =
                                      "How much memory is allocated after each allocation and "
                                      "release. The view memory_timeline has it.",
                                  .columns = memory_use_columns,
                                  .origin = Origin::computed,
                                  .key = "operation"};

inline constexpr Column process_memory_columns[]{
    stored("processId", Type::i64, "process"),
    stored("deviceId", Type::i64, "device"),
    stored("time", Type::i64, "[ns] of an allocation or release, on CUPTI's clock"),
    stored("inUse", Type::i64,
           "[bytes] memory of the device, of whatever kind, that the process has allocated from "
           "then on"),
};
inline constexpr Table process_memory{.name = "PROCESS_MEMORY",
                                      .doc =
                                          "How much memory of a device a process has over time. "
                                          "The view kernel_memory has it for each kernel.",
                                      .columns = process_memory_columns,
                                      .origin = Origin::computed,
                                      .key = "processId, deviceId, time",
                                      .without_rowid = true};

inline constexpr Column memory_maximum_columns[]{
    stored("processId", Type::i64, "process"),
    stored("deviceId", Type::i64, "device"),
    stored("memoryKind", Type::i64, "kind of memory: enum CUpti_ActivityMemoryKind"),
    stored("poolType", Type::i64, "enum CUpti_ActivityMemoryPoolType; 0 = not from a pool"),
    stored("bytes", Type::i64, "[bytes] the most that was allocated at a time"),
    stored("operation", Type::i64, "the first allocation that made it that many: MEMORY2._id_"),
    stored("allocations", Type::i64, "[count] allocations that were there then"),
};
inline constexpr Table memory_maximum{
    .name = "MEMORY_MAXIMUM",
    .doc = "When most memory was allocated. The view memory_peak has it in words.",
    .columns = memory_maximum_columns,
    .origin = Origin::computed,
    .key = "processId, deviceId, memoryKind, poolType",
    .without_rowid = true};

inline constexpr Column memory_owner_columns[]{
    stored("processId", Type::i64, "process"),
    stored("deviceId", Type::i64, "device"),
    stored("memoryKind", Type::i64, "kind of memory: enum CUpti_ActivityMemoryKind"),
    stored("poolType", Type::i64, "enum CUpti_ActivityMemoryPoolType; 0 = not from a pool"),
    stored("source", Type::string,
           "program or library that asked: StringTable id; 0 = not collected, which takes --trace "
           "+allocation-source"),
    stored("bytes", Type::i64, "[bytes] how much of it was there"),
    stored("allocations", Type::i64, "[count] allocations of it that were there then"),
};
inline constexpr Table memory_owner{
    .name = "MEMORY_OWNER",
    .doc = "Whose memory it was when most was allocated. The view memory_owners has it in words.",
    .columns = memory_owner_columns,
    .origin = Origin::computed,
    .key = "processId, deviceId, memoryKind, poolType, source",
    .without_rowid = true};

inline constexpr Column step_columns[]{
    stored("range", Type::i64,
           "the NVTX range: NVTX_RANGE._id_; NULL = a window between "
           "cudaProfilerStart and cudaProfilerStop, or a period"),
    stored("name", Type::string, "message of the range, or a period: StringTable id; 0 = a window"),
    stored("start", Type::i64, "[ns] when it began, on CUPTI's clock"),
    stored("stop", Type::i64, "[ns] when it ended, on CUPTI's clock; NULL = never"),
    stored("threadId", Type::i64, "thread that began it; 0 = not known"),
    stored("processId", Type::i64, "process it was in"),
    stored("work", Type::i64,
           "[count] kernels, copies, sets and the like that were asked for in a window; NULL = a "
           "range, which has a row in RANGE_TIME"),
    stored("kernels", Type::i64, "[count] of these, kernels; NULL as work"),
    stored("busy", Type::i64,
           "[ns] time in which any of them ran, of the busiest device; NULL as work"),
};
inline constexpr Table step{.name = "STEP",
                            .doc = "Steps of the program. The view steps has them in words.",
                            .columns = step_columns,
                            .origin = Origin::computed};

inline constexpr std::array pm_kernel_columns = [] {
  constexpr std::array own{
      stored("deviceId", Type::i64, "device that ran the kernel"),
      stored("name", Type::string, "its mangled name: StringTable id"),
      stored("start", Type::i64, "[ns] when it began, on CUPTI's clock"),
      stored("stop", Type::i64, "[ns] when it was over, on CUPTI's clock"),
      stored("correlationId", Type::i64, "of the call that launched it"),
      stored("samples", Type::i64,
             "[count] samples of which more than half lies inside the kernel"),
      stored("part", Type::i64, "which metrics these are values of: PM_METRIC.part"),
  };
  std::array<Column, own.size() + pm_values_per_row> columns{};
  std::ranges::copy(own, columns.begin());
  for (std::size_t i = 0; i < pm_values_per_row; ++i) {
    columns[own.size() + i] =
        stored(pm_value_names[i], Type::f64,
               "mean of the metric with this PM_METRIC.place and part over these samples, weighted "
               "by what of them lies inside the kernel; NULL = none");
  }
  return columns;
}();
inline constexpr Table pm_kernel{.name = "PM_KERNEL",
                                 .doc =
                                     "What the device's counters said while a kernel ran. The view "
                                     "kernel_pm has a row for each value.",
                                 .columns = pm_kernel_columns,
                                 .origin = Origin::computed,
                                 .row_doc = row_id_doc};

inline constexpr Column row_group_columns[]{
    stored("name", Type::text, "the table that has the rows"),
    stored("first", Type::i64, "lowest _id_ of the rows"),
    stored("last", Type::i64, "greatest _id_ of the rows"),
    stored("deviceId", Type::i64, "device of those that this row is about; NULL = calls"),
    stored("processId", Type::i64, "process of these"),
    stored("start", Type::i64,
           "[ns] when the first of these that have times began, on CUPTI's clock; NULL = none has"),
    stored("stop", Type::i64, "[ns] when the last of these was over; NULL as start"),
    stored("firstCorrelation", Type::i64, "lowest correlationId of these; NULL = all are 0"),
    stored("lastCorrelation", Type::i64, "greatest correlationId of these; NULL = all are 0"),
};
// Only large files have it: most rows of another are read faster than the table.
inline constexpr Table row_group{.name = "ROW_GROUP",
                                 .doc =
                                     "Where the work of GPUs and calls are in their tables: for "
                                     "some thousand rows and each device and process in them, the "
                                     "times and ids that they reach over. Files with a million "
                                     "such rows have it, so that the account of a short time need "
                                     "not read all of them.",
                                 .columns = row_group_columns,
                                 .origin = Origin::computed,
                                 .row_doc = row_id_doc};

// In documentation order; pm_kernel comes with the tables of PM samples.
inline constexpr std::array derived_tables{
    &nvtx_path,      &launch_range,   &range_time,     &device_time,    &stream_time,  &gpu_gap,
    &copy_time,      &device_account, &launch_shape,   &kernel_time,    &api_time,     &launch_time,
    &occupancy_time, &memory_use,     &process_memory, &memory_maximum, &memory_owner, &step};
inline constexpr std::array timeline_tables{&timeline_table, &timeline_name, &timeline_row,
                                            &timeline_block};

// All that is computed from a whole file, and again for a part of it.
inline constexpr auto derived =
    joined(derived_tables, std::array{&pm_kernel, &row_group, &account_block}, timeline_tables);

}  // namespace gpuprof::schema::tables
