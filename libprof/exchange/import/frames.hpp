// Another tool's file as the frames that a collector would have sent: one stream per process. They
// are loaded like any other run.
//
// Used by one thread. The file's contents are not trusted: values that do not fit are NULL, and the
// caller learns of them in order to count them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libprof/wire/codec.hpp"
#include "libprof/wire/frame.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::importing {

// The columns of a kind's table that the rows of a file have. All others stay NULL.
class Layout {
 public:
  struct Cell {
    std::size_t offset = 0;
    std::uint16_t width = 0;
    schema::Type type{};
    schema::Role role{};
  };

  template <class Kind>
  static Layout of(std::span<const std::string_view> columns) {
    return Layout(Kind::table, columns);
  }
  template <class Kind>
  static Layout of(std::initializer_list<std::string_view> columns) {
    return Layout(Kind::table, {columns.begin(), columns.size()});
  }

  const wire::WireTable& table() const { return table_; }
  const std::vector<Cell>& cells() const { return cells_; }
  const std::vector<std::byte>& nulls() const { return nulls_; }

 private:
  Layout(const schema::Table& table, std::span<const std::string_view> columns);

  wire::WireTable table_;
  std::vector<Cell> cells_;
  std::vector<std::byte> nulls_;  // a row of NULLs
};

// A row that initially consists of NULLs. Valid until the next one is added.
class ImportedRow {
 public:
  ImportedRow(const Layout& layout, std::byte* bytes) : layout_(layout), bytes_(bytes) {}
  // `column`: index in the layout. False: the value does not fit, and the column stays NULL.
  bool set(std::size_t column, std::int64_t value);
  void set_blob(std::size_t column, std::span<const std::byte> bytes);

 private:
  const Layout& layout_;
  std::byte* bytes_;
};

class FrameWriter;

// A process in the file.
class Process {
 public:
  Process(FrameWriter& writer, std::uint32_t stream, std::int64_t id);
  std::int64_t id() const { return id_; }

  ImportedRow add(const Layout& layout);
  // Ids for columns of the current row: of type string, and of type bytes. 0: empty, or there is no
  // room.
  std::uint32_t string(std::string_view text);
  std::uint32_t bytes(std::string_view bytes);

 private:
  friend class FrameWriter;
  struct Rows {
    std::uint32_t count = 0;
    std::vector<std::byte> bytes;
  };
  void flush();

  FrameWriter& writer_;
  const std::uint32_t stream_;
  const std::int64_t id_;
  std::map<std::uint32_t, Rows> rows_;  // by table
  std::vector<std::uint32_t> defined_;
  std::unordered_map<std::string, std::uint32_t> strings_;
  wire::Encoder new_strings_, new_bytes_;
  std::uint32_t new_string_count_ = 0, new_bytes_count_ = 0;
};

class FrameWriter {
 public:
  // Longer texts are truncated.
  static constexpr std::size_t longest_text = std::size_t{1} << 20;

  explicit FrameWriter(std::function<void(wire::Frame)> take) : take_(std::move(take)) {}

  // The first request for a process sends `fields` about it. Null: there are too many.
  Process* process(std::int64_t id, const wire::Fields& fields = {});
  // The number that represents a function: `given`, unless it already belongs to another name;
  // otherwise nvprof's number for it, or one that CUPTI does not use. 0: there are too many, or the
  // name is too long.
  std::uint32_t callback_id(Process& process, bool runtime, std::string_view name,
                            std::optional<std::int64_t> given = {});
  // Relates a time in the file to a time of day.
  void clock(Process& process, std::int64_t time, std::int64_t realtime);
  void send(wire::FrameType type, const Process& process, std::span<const std::byte> payload);
  void finish();
  std::uint64_t rows() const { return rows_; }

 private:
  friend class Process;
  struct Functions {
    std::map<std::string, std::uint32_t, std::less<>> numbers;
    std::map<std::uint32_t, std::string> names;
  };
  void flush_all();
  void forget_strings();

  std::function<void(wire::Frame)> take_;
  std::map<std::int64_t, std::unique_ptr<Process>> processes_;
  Functions runtime_, driver_;
  std::uint32_t own_numbers_ = 0;
  std::size_t held_ = 0;          // bytes of rows and texts not yet sent
  std::size_t strings_held_ = 0;  // bytes of texts that were sent and are remembered
  std::uint64_t rows_ = 0;
};

}  // namespace gpuprof::importing
