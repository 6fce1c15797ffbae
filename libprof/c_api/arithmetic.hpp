// Arithmetic of views on numeric columns, following SQLite's rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "libprof/c_api/view_text.hpp"

namespace gpuprof::c_api {

// Thrown if only SQLite can compute the result.
class OnlySqlite : public std::runtime_error {
 public:
  OnlySqlite() : std::runtime_error("this view has to be read by SQLite") {}
};

// The numbers of some rows, in one of the two vectors; NULLs are stored as 0.
struct Numbers {
  bool are_real = false;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::uint8_t> nulls;  // 1 = NULL; empty: no NULLs

  std::size_t size() const { return are_real ? reals.size() : integers.size(); }
  bool is_null(std::size_t row) const { return !nulls.empty() && nulls[row] != 0; }
};

// An expression of + - * / &, nullif(…, number), CAST(… AS INTEGER), numbers, references, and
// parenthesized SELECTs that do not refer to the row.
class Arithmetic {
 public:
  struct Places {
    // The index of an input; nullopt: it is not numeric.
    std::function<std::optional<std::size_t>(const Reference&)> input;
    // The result of a parenthesized SELECT; nullopt: it refers to the row.
    std::function<std::optional<Numbers>(Tokens)> constant;  // one row
  };
  // Nullopt if the expression contains anything else.
  static std::optional<Arithmetic> parse(Tokens expression, const Places& places);

  // Throws OnlySqlite on integer overflow.
  Numbers evaluate(std::size_t rows,
                   const std::function<const Numbers&(std::size_t input)>& input) const;

  struct Node;

 private:
  explicit Arithmetic(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

}  // namespace gpuprof::c_api
