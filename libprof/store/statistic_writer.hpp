// Table STATISTIC.
//
// Part of the loader, on its thread. Changes since the last commit are held until the next one, so
// neither memory nor the cost of a commit grows with the number of processes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

class StatisticWriter {
 public:
  // The database must outlive this object.
  explicit StatisticWriter(Database& database) : database_(database) {}

  // Processes that had the same id one after the other share their rows: values add up.
  void add(std::int64_t process_id, std::string_view kind, std::string_view name,
           std::int64_t difference);
  // Call inside a transaction. Holds no statement afterwards.
  void write();

 private:
  using Key = std::tuple<std::int64_t, std::string, std::string>;
  Database& database_;
  std::map<Key, std::int64_t, std::less<>> changes_;
};

}  // namespace gpuprof::store
