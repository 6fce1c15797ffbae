// Table RUN of a merged file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::merging {

class RunFacts {
 public:
  struct File {
    std::string boot_id, host;  // empty: not known
    std::int64_t zero = 0;      // what its times count from; 0: not known
  };
  // Takes note of what this file says.
  File add(store::Database& source);
  std::size_t files() const { return facts_.size(); }
  // The zero of the file that was added last, on the merged file's clock.
  void set_zero(std::int64_t zero);

  // What all files have, the sums and extremes of others, and for the rest what the first says.
  // Inside a transaction.
  void write(store::Database& out, const std::string& command) const;

 private:
  using Value = std::variant<std::int64_t, std::string>;
  using Facts = std::map<std::string, Value, std::less<>>;

  static std::int64_t integer(const Facts& facts, std::string_view key);
  static std::string text(const Facts& facts, std::string_view key);
  Facts merged() const;
  std::string joined(std::string_view key, std::string_view separator) const;
  const Facts& that_failed() const;

  std::vector<Facts> facts_;
  std::int64_t zero_ = 0;
};

}  // namespace gpuprof::merging
