#include "libprof/store/stream_definitions.hpp"

#include <algorithm>
#include <utility>

#include "libprof/wire/limits.hpp"
#include "schema/activity/all.hpp"
#include "schema/database.hpp"

namespace gpuprof::store {
namespace {

// Captures of older collectors use other names for some columns.
void use_current_names(wire::WireTable& table) {
  const auto kind = std::ranges::find_if(
      schema::kinds, [&](const schema::KindRef& each) { return each.table->name == table.name; });
  if (kind == schema::kinds.end()) return;
  for (wire::WireColumn& column : table.columns) {
    column.name = schema::current_name(*kind->table, column.name);
  }
}

}  // namespace

bool StreamDefinitions::define(wire::WireTable table, std::span<const std::byte> text) {
  use_current_names(table);
  const std::uint32_t id = table.id;
  if (const auto known = definitions_.find(id); known != definitions_.end()) {
    bytes_ -= known->second.text.size();
    definitions_.erase(known);
  }
  if (bytes_ + text.size() > wire::max_definition_bytes ||
      definitions_.size() >= wire::max_definitions) {
    return false;
  }
  bytes_ += text.size();
  definitions_[id] = {std::move(table),
                      std::string(reinterpret_cast<const char*>(text.data()), text.size())};
  return true;
}

std::optional<StreamDefinitions::Table> StreamDefinitions::find(std::uint32_t id,
                                                                StreamTables& tables) {
  const auto known = definitions_.find(id);
  if (known == definitions_.end()) return {};
  Definition& definition = known->second;
  if (!definition.writer) {
    definition.writer = tables.writer_for(definition.table, definition.text, share_);
  }
  return Table{definition.table.name, *definition.writer};
}

}  // namespace gpuprof::store
