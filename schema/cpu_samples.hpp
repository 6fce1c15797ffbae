// Where threads used the processor, as the collector sampled them: packed rows (schema/rows.hpp).
// Only files of runs with --cpu-profiling have the table: the rows bring it, and its docs.
#pragma once

#include <array>
#include <cstdint>

#include "schema/column.hpp"
#include "schema/rows.hpp"

namespace gpuprof::schema {

struct CpuSample {
  struct Row {
    std::uint64_t time, stop;
    std::uint32_t thread;
    std::uint32_t frame;
    std::uint64_t stack;
    std::uint32_t samples;
    std::uint64_t cpu_time;
  };

  static constexpr std::array fields{
      field<Row>("time", "[ns] when the first of the samples was taken, on CUPTI's clock",
                 [](const Row& row) { return row.time; }),
      field<Row>("stop", "[ns] when the last one was taken",
                 [](const Row& row) { return row.stop; }),
      field<Row>("threadId", "the thread", [](const Row& row) { return row.thread; }),
      field<Row>("frame",
                 "where it was: joins STACK_FRAME.frame of processId; 0 = not known. Its offset is "
                 "that of the next instruction, those of callers are of the call",
                 [](const Row& row) { return row.frame; }),
      field<Row>(
          "stack",
          "its callers from there on: joins STACK_ENTRY.stack of processId; 0 = it has none, "
          "or there were too many",
          [](const Row& row) { return row.stack; }),
      field<Row>("samples",
                 "[count] how often the thread's timer, which runs while the thread does, had "
                 "expired",
                 [](const Row& row) { return row.samples; }),
      field<Row>("cpuTime", "[ns] processor time that the samples stand for",
                 [](const Row& row) { return row.cpu_time; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{
      .name = "CPU_SAMPLE",
      .doc =
          "With --cpu-profiling: where threads of the process used the processor. A row is for the "
          "samples in turn in which a thread was in the same place. A thread that waits has none.",
      .columns = columns,
      .origin = Origin::own,
      .row_doc = row_id_doc,
      .with_process = true};
  static constexpr std::uint32_t id = first_row_table + 15;
};

}  // namespace gpuprof::schema
