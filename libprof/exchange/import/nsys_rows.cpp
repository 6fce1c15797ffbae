#include "libprof/exchange/import/nsys_rows.hpp"

#include <charconv>
#include <utility>

#include "libprof/base/text.hpp"
#include "libprof/exchange/import/frames.hpp"

namespace gpuprof::importing {

using Type = store::Statement::Type;

NsysRows::NsysRows(store::Database& database, std::string_view table,
                   std::span<const std::string_view> columns) {
  const std::string list = joined(columns, ", ", [&](std::string_view column) {
    return database.has_column(table, column) ? store::quoted_name(column) : "NULL";
  });
  statement_ = database.prepare("SELECT " + list + " FROM main." + store::quoted_name(table));
}

std::optional<std::int64_t> NsysRows::number(int column) const {
  if (statement_.type(column) != Type::integer) return std::nullopt;
  return statement_.integer(column);
}

std::string_view NsysRows::text(int column) const {
  return statement_.type(column) == Type::text ? statement_.text(column) : "";
}

NsysStrings::NsysStrings(store::Database& database)
    : database_(database),
      there_(database.has_table("StringIds") && database.has_column("StringIds", "id") &&
             database.has_column("StringIds", "value")) {}

std::string_view NsysStrings::text(std::optional<std::int64_t> id) {
  constexpr std::size_t most = 65536, most_bytes = std::size_t{64} << 20;
  if (!id || !there_) return "";
  const auto known = known_.find(*id);
  if (known != known_.end()) return known->second;
  if (known_.size() >= most || held_ > most_bytes) {
    known_.clear();
    held_ = 0;
  }
  if (!find_) find_ = database_.prepare("SELECT value FROM main.StringIds WHERE id = ?1");
  find_->reset();
  find_->bind(1, *id);
  std::string text;
  if (find_->step() && find_->type(0) == Type::text) {
    text = find_->text(0).substr(0, FrameWriter::longest_text);
  }
  find_->reset();
  held_ += text.size();
  return known_.emplace(*id, std::move(text)).first->second;
}

std::string uuid_bytes(std::string_view text) {
  if (text.starts_with("GPU-")) text.remove_prefix(4);
  std::string digits, bytes;
  for (const char c : text.substr(0, 64)) {
    if (c != '-') digits += c;
  }
  for (std::size_t i = 0; i + 2 <= digits.size(); i += 2) {
    unsigned value = 0;
    const char* end = digits.data() + i + 2;
    if (std::from_chars(digits.data() + i, end, value, 16).ptr != end) return {};
    bytes += static_cast<char>(value);
  }
  return bytes.size() == 16 ? bytes : std::string();
}

}  // namespace gpuprof::importing
