// What threads of Python did, as gpuprof saw from outside: packed rows (schema/rows.hpp) made by
// the launcher. Only files of runs with --host-samples have the table: the rows bring it, and its
// docs.
#pragma once

#include <array>
#include <cstdint>

#include "schema/column.hpp"
#include "schema/rows.hpp"

namespace gpuprof::schema {

struct HostSample {
  // The numbers are in files.
  enum class State : std::uint8_t {
    runs = 0,
    has_no_processor = 1,
    waits_for_lock = 2,
    sleeps = 3,
    waits = 4
  };

  struct Row {
    std::uint64_t time, stop;
    std::uint32_t samples;
    std::uint32_t process, thread;
    State state;
    std::uint64_t stack;
    std::uint32_t holder;
  };

  static constexpr std::array fields{
      field<Row>("time", "[ns] when it was first seen there, on CUPTI's clock",
                 [](const Row& row) { return row.time; }),
      field<Row>("stop", "[ns] when it was no longer seen there",
                 [](const Row& row) { return row.stop; }),
      field<Row>("samples", "[count] how often it was seen there in between",
                 [](const Row& row) { return row.samples; }),
      field<Row>("ofProcess",
                 "process of the thread: processId, or one that it started and that uses no CUDA",
                 [](const Row& row) { return row.process; }),
      field<Row>("threadId", "the thread", [](const Row& row) { return row.thread; }),
      field<Row>("state",
                 "0 = it ran, 1 = it could run and had no processor, 2 = it waited for the "
                 "interpreter's lock, 3 = it slept for a time, 4 = it waited for something else",
                 [](const Row& row) { return static_cast<std::uint8_t>(row.state); }),
      field<Row>("stack", "joins STACK_ENTRY.stack of processId; 0 = it was in no function",
                 [](const Row& row) { return row.stack; }),
      field<Row>("holder", "thread that had the interpreter's lock; 0 = none, or not known",
                 [](const Row& row) { return row.holder; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{
      .name = "HOST_SAMPLE",
      .doc =
          "With --host-samples: what threads of Python were seen doing. A row is for the samples "
          "in turn in which a thread was in the same place.",
      .columns = columns,
      .origin = Origin::own,
      .row_doc = row_id_doc,
      .with_process = true};
  static constexpr std::uint32_t id = first_row_table + 14;
};

}  // namespace gpuprof::schema
