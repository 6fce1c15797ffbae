// Arithmetic of views over columns of numbers, with SQLite's rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "libprof/columns/view_text.hpp"

namespace gpuprof::columns {

// Thrown where only SQLite knows what comes out.
class OnlySqlite : public std::runtime_error {
 public:
  OnlySqlite() : std::runtime_error("this view has to be read by SQLite") {}
};

// The numbers of some rows, one of the two; where there is NULL, they are 0.
struct Numbers {
  bool are_real = false;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::uint8_t> nulls;  // 1 = NULL; empty: there are none

  std::size_t size() const { return are_real ? reals.size() : integers.size(); }
  bool is_null(std::size_t row) const { return !nulls.empty() && nulls[row] != 0; }
};

// Made of + - * / &, nullif(…, number), CAST(… AS INTEGER), numbers, references, and SELECTs in
// parentheses that know of no row.
class Arithmetic {
 public:
  struct Places {
    // The number of an input; nothing: it holds no numbers.
    std::function<std::optional<std::size_t>(const Reference&)> input;
    // What a SELECT in parentheses gives; nothing: it asks for the row.
    std::function<std::optional<Numbers>(Tokens)> constant;  // of one row
  };
  // Nothing, where it is made of anything else.
  static std::optional<Arithmetic> parse(Tokens expression, const Places& places);

  // Throws OnlySqlite where whole numbers become too large.
  Numbers evaluate(std::size_t rows,
                   const std::function<const Numbers&(std::size_t input)>& input) const;

  struct Node;

 private:
  explicit Arithmetic(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

}  // namespace gpuprof::columns
