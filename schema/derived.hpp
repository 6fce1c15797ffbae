// Tables that are computed when a run is over (libprof/derive), out of all that was recorded.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "schema/column.hpp"

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
    .doc =
        "Calls that asked for work of a GPU, with the NVTX range they were made in. Views of that "
        "work have its name and path.",
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
    stored("work", Type::i64, "kernels, copies, sets and the like that were asked for in it"),
    stored("kernels", Type::i64, "of these, kernels"),
    stored("busy", Type::i64, "time in which any of them ran, ns"),
    stored("first", Type::i64, "when the first began, ns on CUPTI's clock"),
    stored("last", Type::i64, "when the last was over, ns on CUPTI's clock"),
};
inline constexpr Table range_time{
    .name = "RANGE_TIME",
    .doc =
        "What a device did for an NVTX range and the ranges inside it. A range with work more than "
        "32 ranges deep in it has no row. The view nvtx_gpu has it "
        "with names.",
    .columns = range_time_columns,
    .origin = Origin::computed,
    .key = "range, deviceId",
    .without_rowid = true};

inline constexpr Column device_time_columns[]{
    stored("deviceId", Type::i64, "the device"),
    stored("first", Type::i64, "when its first work began, ns on CUPTI's clock"),
    stored("last", Type::i64, "when its last work was over, ns on CUPTI's clock"),
    stored("busy", Type::i64, "time in which it had work, ns"),
    stored("kernelsOnly", Type::i64,
           "time in which kernels or graphs ran and nothing else did, ns"),
    stored("copiesOnly", Type::i64,
           "time in which copies, sets and the like ran and none of those, ns"),
    stored("both", Type::i64, "time in which both did, ns"),
    stored("gaps", Type::i64, "times between first and last in which it had no work"),
};
inline constexpr Table device_time{
    .name = "DEVICE_TIME",
    .doc = "How much of the time each device was at work. The view gpu_utilization has shares.",
    .columns = device_time_columns,
    .origin = Origin::computed,
    .key = "deviceId"};

inline constexpr Column stream_time_columns[]{
    stored("deviceId", Type::i64, "the device"),
    stored("streams", Type::i64, "streams that had work running at a time"),
    stored("duration", Type::i64, "how long it was so many, ns"),
};
inline constexpr Table stream_time{
    .name = "STREAM_TIME",
    .doc =
        "How many streams of a device were at work at a time, between its first work and its "
        "last. The view concurrency has shares.",
    .columns = stream_time_columns,
    .origin = Origin::computed,
    .key = "deviceId, streams",
    .without_rowid = true};

inline constexpr Column gpu_gap_columns[]{
    stored("deviceId", Type::i64, "device without work"),
    stored("start", Type::i64, "when the work before was over, ns on CUPTI's clock"),
    stored("stop", Type::i64, "when the work behind began, ns on CUPTI's clock"),
    stored("typeBefore", Type::text, "kernel, memcpy, ... of the work before"),
    stored("nameBefore", Type::string, "of a kernel: StringTable id; 0 = no kernel"),
    stored("typeBehind", Type::text, "kernel, memcpy, ... of the work behind"),
    stored("nameBehind", Type::string, "of a kernel: StringTable id; 0 = no kernel"),
    stored("correlationId", Type::i64, "of the call that asked for the work behind; 0 = none"),
    stored("hostCall", Type::i64,
           "the call of that process that took most of the gap: RUNTIME.correlationId or DRIVER's; "
           "NULL = none"),
    stored("hostTime", Type::i64, "how much of the gap that call took, ns"),
    stored("range", Type::i64,
           "NVTX range that the call which asked for the work behind was made in: NVTX_RANGE._id_; "
           "NULL = none"),
};
inline constexpr Table gpu_gap{
    .name = "GPU_GAP",
    .doc =
        "Times in which a device had no work, between its first and its last: the 10,000 longest "
        "of each device. The view gpu_gaps has names.",
    .columns = gpu_gap_columns,
    .origin = Origin::computed,
    .row_doc = row_id_doc};

inline constexpr std::array derived{&nvtx_path,   &launch_range, &range_time,
                                    &device_time, &stream_time,  &gpu_gap};

}  // namespace gpuprof::schema::tables
