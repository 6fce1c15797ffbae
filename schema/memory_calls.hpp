// Tables of --track-memory and --stacks: packed rows (schema/rows.hpp) sent by collectors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "schema/column.hpp"
#include "schema/rows.hpp"

namespace gpuprof::schema {

struct MemoryCall {
  struct Row {
    std::uint64_t time;
    std::uint32_t thread;
    bool runtime;
    std::uint32_t cbid;
    std::uint64_t address, handle;
    std::optional<std::uint64_t> bytes;
    std::optional<std::uint32_t> device;
    std::uint32_t context;
    std::uint32_t result;
    std::uint32_t correlation;
  };

  static constexpr std::array fields{
      field<Row>("time",
                 "[ns] when memory was there, or when giving it back began, on CUPTI's clock",
                 [](const Row& row) { return row.time; }),
      field<Row>("threadId", "thread that called", [](const Row& row) { return row.thread; }),
      field<Row>("runtime", "1 = a function of the CUDA runtime, 0 = of the driver",
                 [](const Row& row) { return std::uint8_t{row.runtime}; }),
      field<Row>("cbid", "which function: API_NAME.cbid", [](const Row& row) { return row.cbid; }),
      field<Row>("address", "address of the memory; 0 = it has none",
                 [](const Row& row) { return row.address; }),
      field<Row>("handle", "handle of memory that cuMemCreate made; 0 = none",
                 [](const Row& row) { return row.handle; }),
      field<Row>("bytes", "[bytes] the size asked for; NULL = the function takes none",
                 [](const Row& row) { return row.bytes; }),
      field<Row>("deviceId", "device; NULL = memory of the host, or not known",
                 [](const Row& row) { return row.device; }),
      field<Row>("contextId", "context; 0 = none", [](const Row& row) { return row.context; }),
      field<Row>("result", "what the function returned; 0 = success, 2 = there is no memory",
                 [](const Row& row) { return row.result; }),
      field<Row>("correlationId", "joins the API call",
                 [](const Row& row) { return Correlation{row.correlation}; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{
      .name = "MEMORY_CALL",
      .doc =
          "With --track-memory: calls for memory that CUPTI has no records of, and calls that "
          "found none. One row per call.",
      .columns = columns,
      .origin = Origin::own,
      .row_doc = row_id_doc,
      .with_process = true};
  static constexpr std::uint32_t id = first_row_table + 8;
};

struct DeviceMemory {
  // Why the driver was queried.
  enum class Reason : std::uint8_t { interval, context, module, failure, end };

  struct Row {
    std::uint64_t time;
    std::uint32_t device;
    std::uint64_t free, total;
    Reason reason;
  };

  static constexpr std::array fields{
      field<Row>("time", "[ns] when, on CUPTI's clock", [](const Row& row) { return row.time; }),
      field<Row>("deviceId", "device", [](const Row& row) { return row.device; }),
      field<Row>("freeBytes", "[bytes] free on the device",
                 [](const Row& row) { return row.free; }),
      field<Row>("totalBytes", "[bytes] what the device has",
                 [](const Row& row) { return row.total; }),
      field<Row>("reason",
                 "why it was read: 0 = each second, 1 = a context was made, 2 = code was loaded, "
                 "3 = a call found no memory, 4 = the process ends",
                 [](const Row& row) { return static_cast<std::uint8_t>(row.reason); }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{
      .name = "DEVICE_MEMORY",
      .doc = "With --track-memory: what the driver says is free on a device (cuMemGetInfo).",
      .columns = columns,
      .origin = Origin::own,
      .row_doc = row_id_doc,
      .with_process = true};
  static constexpr std::uint32_t id = first_row_table + 9;
};

// --stacks: the host functions that led to a call. A call has a stack, a stack has entries, and
// each entry refers to a frame that many entries may share.
struct CallStack {
  struct Row {
    std::uint32_t correlation;
    std::uint64_t stack;
  };

  static constexpr std::array fields{
      field<Row>("correlationId", "joins the API call and its allocation",
                 [](const Row& row) { return Correlation{row.correlation}; }),
      field<Row>("stack", "joins STACK_ENTRY.stack", [](const Row& row) { return row.stack; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{.name = "CALL_STACK",
                               .doc =
                                   "With --stacks: the stack of the thread that called. "
                                   "One row per call.",
                               .columns = columns,
                               .origin = Origin::own,
                               .row_doc = row_id_doc,
                               .with_process = true};
  static constexpr std::uint32_t id = first_row_table + 10;
};

struct StackEntry {
  struct Row {
    std::uint64_t stack;
    std::uint32_t position;
    std::uint32_t frame;
  };

  static constexpr std::array fields{
      field<Row>("stack", "number of the stack, the process's own",
                 [](const Row& row) { return row.stack; }),
      field<Row>("position", "0 = the innermost function, next who called it",
                 [](const Row& row) { return row.position; }),
      field<Row>("frame", "joins STACK_FRAME.frame, of the same process",
                 [](const Row& row) { return row.frame; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{.name = "STACK_ENTRY",
                               .doc = "With --stacks: what each stack is made of.",
                               .columns = columns,
                               .origin = Origin::own,
                               .row_doc = row_id_doc,
                               .with_process = true};
  static constexpr std::uint32_t id = first_row_table + 11;
};

struct StackFrame {
  struct Row {
    std::uint32_t frame;
    std::string_view module;
    std::optional<std::uint64_t> offset;
    std::string_view function;
    std::optional<std::uint32_t> line;
  };

  static constexpr std::array fields{
      field<Row>("frame", "number of the frame in its process, from 1",
                 [](const Row& row) { return row.frame; }),
      field<Row>("module",
                 "path of the program or library, of a function of Python its file; NULL = code of "
                 "no file",
                 [](const Row& row) { return Text{row.module}; }),
      field<Row>("offset",
                 "[bytes] the call, as the symbols of the module count (addr2line -e MODULE takes "
                 "it); without a module its address; NULL = a function of Python",
                 [](const Row& row) { return row.offset; }),
      field<Row>("function",
                 "symbol it is in, mangled; of Python the function's qualified name; NULL = the "
                 "module has none for it",
                 [](const Row& row) { return Text{row.function}; }),
      field<Row>("line", "line of the call in a file of Python; NULL = not known, or not Python",
                 [](const Row& row) { return row.line; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{.name = "STACK_FRAME",
                               .doc = "With --stacks: places in the code of the host.",
                               .columns = columns,
                               .origin = Origin::own,
                               .row_doc = row_id_doc,
                               .with_process = true};
  static constexpr std::uint32_t id = first_row_table + 12;
};

// The tables whose rows collectors may send, in addition to CUPTI's records.
inline constexpr std::array collected_tables{&MemoryCall::table, &DeviceMemory::table,
                                             &CallStack::table, &StackEntry::table,
                                             &StackFrame::table};

}  // namespace gpuprof::schema
