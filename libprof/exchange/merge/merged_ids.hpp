// Numbers that mean something in one file, as numbers of the merged file. The first file's stay as
// they are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/exchange/merge/column_rule.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::merging {

// Texts of all files, each once, in the merged file's StringTable.
class MergedStrings {
 public:
  explicit MergedStrings(store::Database& out) : out_(out) {}
  // Continues with this file. Inside a transaction.
  void add(store::Database& source);
  // 0, which stands for NULL, for a number that the file does not have.
  std::int64_t of(std::int64_t id) const;

 private:
  store::Database& out_;
  std::unordered_map<std::string, std::int64_t> ids_;
  std::unordered_map<std::int64_t, std::int64_t> of_file_;
};

// Processes. One whose number another file has already gets a number that Linux gives to none.
class MergedProcesses {
 public:
  struct Renumbered {
    std::int64_t before = 0, now = 0;
  };
  std::vector<Renumbered> add(store::Database& source);
  // Another number, such as 0 or that of a process without the collector, stays.
  std::int64_t of(std::int64_t id) const;

  // Correlation ids and PROCESS.number of this file.
  std::int64_t correlation(std::int64_t id);
  std::int64_t number(std::int64_t number);

 private:
  std::set<std::int64_t> taken_;
  std::unordered_map<std::int64_t, std::int64_t> of_file_;
  std::int64_t first_number_ = 0, next_number_ = 0;
};

// Devices. The same GPU of the same machine has one number, by its UUID; others have different
// ones.
class MergedDevices {
 public:
  // `machine`: its boot id.
  void add(store::Database& source, const std::string& machine);
  std::int64_t of(std::int64_t process, std::int64_t id);
  // Nullopt: the process had no such device.
  std::optional<std::int64_t> known(std::int64_t process, std::int64_t id) const;

 private:
  std::int64_t number_of(const std::string& identity, std::int64_t wanted);

  int file_ = 0;
  std::map<std::string, std::int64_t> by_identity_;
  std::set<std::int64_t> taken_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> of_file_;  // by process and id
};

// Numbers of rows of numbered tables. Those of a file are moved by the least with which no number
// means two different rows.
class MergedNumbers {
 public:
  explicit MergedNumbers(store::Database& out) : out_(out) {}
  void add(store::Database& source);
  // 0, which stands for none, stays.
  std::int64_t of(const RowNumber& column, std::int64_t number) const;

 private:
  std::int64_t offset_of(store::Database& source, const NumberedTable& table);

  store::Database& out_;
  std::map<const schema::Table*, std::int64_t> offsets_;
};

}  // namespace gpuprof::merging
