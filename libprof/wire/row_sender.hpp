// Packed rows of gpuprof's own tables (schema/rows.hpp) as frames. For a single thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/wire/codec.hpp"
#include "libprof/wire/frame.hpp"
#include "libprof/wire/messages.hpp"
#include "schema/rows.hpp"

namespace gpuprof::wire {

// The wire definition of T::table.
template <class T>
WireTable definition_of() {
  WireTable made{.id = T::id,
                 .name = std::string(T::table.name),
                 .doc = std::string(T::table.doc),
                 .columns = {}};
  for (const auto& field : T::fields) {
    made.columns.push_back({.name = std::string(field.column.name),
                            .type = field.column.type,
                            .role = field.column.role,
                            .width = field.column.width,
                            .doc = schema::written_doc(field.column)});
  }
  return made;
}

class RowSender {
 public:
  // What the rows become: self-contained frames, or batches of a stream that has defined the
  // tables, which may contain texts but no names.
  enum class Form { rows, batch };

  explicit RowSender(Form form = Form::rows) : form_(form) {}

  // A row of T::table.
  template <class T>
  void add(const typename T::Row& row) {
    Rows& rows = rows_[T::id];
    if (rows.count++ == 0) rows.table = &definition<T>();
    Sink sink(*this, rows.bytes);
    for (const auto& field : T::fields) field.write(row, sink);
    if (rows.bytes.bytes().size() > most_bytes) seal();
  }

  // Frames with the rows added so far, for any stream, even another one's: they contain everything
  // needed to read them. Empty if there are no rows.
  std::vector<Frame> take(std::uint32_t stream);
  // The payloads alone, in either form.
  std::vector<std::vector<std::byte>> take();

 private:
  static constexpr std::size_t most_bytes = std::size_t{16} << 20;  // per table in a frame

  struct Rows {
    const WireTable* table = nullptr;
    std::uint32_t count = 0;
    Encoder bytes;
  };
  // The texts of a frame, without duplicates.
  struct Texts {
    std::map<std::string, std::uint32_t, std::less<>> ids;
    Encoder bytes;
    std::uint32_t id(std::string_view text);
  };
  class Sink : public schema::RowSink {
   public:
    Sink(RowSender& sender, Encoder& row) : sender_(sender), row_(row) {}
    void bytes(std::span<const std::byte> value) override { row_.raw(value); }
    std::uint32_t name(std::string_view text) override { return sender_.names_.id(text); }
    std::uint32_t text(std::string_view text) override { return sender_.texts_.id(text); }

   private:
    RowSender& sender_;
    Encoder& row_;
  };

  template <class T>
  static const WireTable& definition() {
    // Never destroyed: a target's threads keep running while it exits.
    static const WireTable& table = *new const WireTable(definition_of<T>());
    return table;
  }
  // Turns the rows added so far into a payload.
  void seal();

  const Form form_;
  std::map<std::uint32_t, Rows> rows_;  // by table
  Texts names_;
  Texts texts_;
  std::vector<std::vector<std::byte>> payloads_;
};

}  // namespace gpuprof::wire
