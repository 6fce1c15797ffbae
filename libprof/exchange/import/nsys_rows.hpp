// Tables of an Nsight Systems export, whose columns may be missing and whose values may have any
// type.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::importing {

class NsysRows {
 public:
  // Missing columns are NULL.
  NsysRows(store::Database& database, std::string_view table,
           std::span<const std::string_view> columns);
  bool step() { return statement_.step(); }
  // Nullopt: NULL, or not an integer.
  std::optional<std::int64_t> number(int column) const;
  // Empty: NULL, or not text. Valid until the next step.
  std::string_view text(int column) const;
  bool is_null(int column) const { return statement_.is_null(column); }

 private:
  store::Statement statement_;
};

// The table StringIds.
class NsysStrings {
 public:
  explicit NsysStrings(store::Database& database);
  // Empty: no such id. Valid until the next call.
  std::string_view text(std::optional<std::int64_t> id);

 private:
  store::Database& database_;
  bool there_;
  std::optional<store::Statement> find_;
  std::map<std::int64_t, std::string> known_;
  std::size_t held_ = 0;  // bytes
};

// The 16 bytes of "GPU-6f2b1a…", or empty.
std::string uuid_bytes(std::string_view text);

}  // namespace gpuprof::importing
