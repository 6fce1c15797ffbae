// The tables that one stream has defined.
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

// A part of the loader, on its thread. By the stream's own numbers; a later definition of a number
// takes the place of the one before.
class StreamDefinitions {
 public:
  struct Table {
    std::string_view name;
    StreamTables::Writer* writer = nullptr;  // null: its rows are left out
  };

  // `text`: the definition as it came. false: there are too many, or they are too long: it is left
  // out, and so is one of its number that was there.
  bool define(wire::WireTable table, std::span<const std::byte> text);
  // Makes the table when it is asked for first. Nothing: the stream has not defined it.
  std::optional<Table> find(std::uint32_t id, StreamTables& tables);

 private:
  struct Definition {
    wire::WireTable table;
    std::string text;
    std::optional<StreamTables::Writer*> writer = {};  // once rows came
  };

  std::map<std::uint32_t, Definition> definitions_;
  std::size_t bytes_ = 0;  // of their texts
  StreamTables::Share share_;
};

}  // namespace gpuprof::store
