// The tables defined by one stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "libprof/store/stream_tables.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::store {

// Part of the loader, on its thread. Tables are identified by the stream's own numbers; a later
// definition replaces an earlier one with the same number.
class StreamDefinitions {
 public:
  struct Table {
    std::string_view name;
    StreamTables::Writer* writer = nullptr;  // null: its rows are dropped
  };

  // `text`: the definition as received. False: there are too many or they are too long; the
  // definition is dropped, along with any earlier one of its number.
  bool define(wire::WireTable table, std::span<const std::byte> text);
  // Creates the table on first use. Nullopt: the stream has not defined it.
  std::optional<Table> find(std::uint32_t id, StreamTables& tables);

 private:
  struct Definition {
    wire::WireTable table;
    std::string text;
    std::optional<StreamTables::Writer*> writer = {};  // set once rows have come
  };

  std::map<std::uint32_t, Definition> definitions_;
  std::size_t bytes_ = 0;  // of their texts
  StreamTables::Share share_;
};

}  // namespace gpuprof::store
