#include "libprof/c_api/arithmetic.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace gpuprof::c_api {

struct Arithmetic::Node {
  enum class Kind : std::uint8_t { input, constant, calculation, null_if, to_integer };
  Kind kind{};
  std::size_t input = 0;
  Numbers constant = {};
  char sign = 0;  // of a calculation: + - * / &
  std::vector<std::shared_ptr<const Node>> of = {};
};

namespace {

using Node = Arithmetic::Node;
using NodePtr = std::shared_ptr<const Node>;

NodePtr make(Node node) { return std::make_shared<const Node>(std::move(node)); }

std::optional<Numbers> number(const std::string& text) {
  Numbers one;
  const char* const end = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole);
      read.ec == std::errc() && read.ptr == end) {
    one.integers = {whole};
    return one;
  }
  double real = 0;
  const auto read = std::from_chars(text.data(), end, real);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  one.are_real = true;
  one.reals = {real};
  return one;
}

// By precedence, lowest first: &, then + and -, then * and /.
class Parser {
 public:
  Parser(Tokens tokens, const Arithmetic::Places& places) : rest_(tokens), places_(places) {}

  NodePtr parse() {
    NodePtr all = level(0);
    return rest_.empty() ? all : nullptr;
  }

 private:
  static constexpr std::string_view signs[]{"&", "+-", "*/"};

  bool take(std::string_view word) {
    if (rest_.empty() || !rest_[0].is(word)) return false;
    rest_ = rest_.subspan(1);
    return true;
  }

  NodePtr level(std::size_t which) {
    if (which == std::size(signs)) return operand();
    NodePtr left = level(which + 1);
    while (left && !rest_.empty() && rest_[0].kind == Token::Kind::sign &&
           rest_[0].text.size() == 1 &&
           signs[which].find(rest_[0].text) != std::string_view::npos) {
      const char sign = rest_[0].text[0];
      rest_ = rest_.subspan(1);
      NodePtr right = level(which + 1);
      if (!right) return nullptr;
      left = make({.kind = Node::Kind::calculation, .sign = sign, .of = {left, right}});
    }
    return left;
  }

  NodePtr operand() {
    if (rest_.empty()) return nullptr;
    if (rest_[0].kind == Token::Kind::number) {
      auto value = number(rest_[0].text);
      rest_ = rest_.subspan(1);
      return value ? make({.kind = Node::Kind::constant, .constant = *std::move(value)}) : nullptr;
    }
    if (take("nullif")) {
      if (!take("(")) return nullptr;
      NodePtr value = level(0);
      if (!value || !take(",")) return nullptr;
      NodePtr other = operand();
      const bool plain = other && other->kind == Node::Kind::constant && !other->constant.are_real;
      if (!plain || !take(")")) return nullptr;
      return make({.kind = Node::Kind::null_if, .of = {value, other}});
    }
    if (take("CAST")) {
      if (!take("(")) return nullptr;
      NodePtr value = level(0);
      if (!value || !take("AS") || !(take("INTEGER") || take("BIGINT")) || !take(")"))
        return nullptr;
      return make({.kind = Node::Kind::to_integer, .of = {value}});
    }
    if (rest_.size() > 1 && rest_[0].is("(") && rest_[1].is("SELECT")) return select();
    if (take("(")) {
      NodePtr value = level(0);
      return value && take(")") ? value : nullptr;
    }
    const auto reference = reference_at(rest_);
    if (!reference) return nullptr;
    const auto input = places_.input(*reference);
    if (!input) return nullptr;
    rest_ = rest_.subspan(3);
    return make({.kind = Node::Kind::input, .input = *input});
  }

  NodePtr select() {
    int depth = 0;
    std::size_t end = 0;
    do {
      if (rest_[end].is("(")) ++depth;
      if (rest_[end].is(")")) --depth;
      ++end;
    } while (depth > 0 && end < rest_.size());
    auto value = places_.constant(rest_.first(end));
    rest_ = rest_.subspan(end);
    return value ? make({.kind = Node::Kind::constant, .constant = *std::move(value)}) : nullptr;
  }

  Tokens rest_;
  const Arithmetic::Places& places_;
};

void make_real(Numbers& numbers) {
  if (numbers.are_real) return;
  numbers.are_real = true;
  numbers.reals.assign(numbers.integers.begin(), numbers.integers.end());
  numbers.integers.clear();
}

void set_null(Numbers& numbers, std::size_t row) {
  if (numbers.nulls.empty()) numbers.nulls.resize(numbers.size());
  numbers.nulls[row] = 1;
  if (numbers.are_real) {
    numbers.reals[row] = 0;
  } else {
    numbers.integers[row] = 0;
  }
}

// Saturating, like SQLite's CAST.
std::int64_t to_integer(double value) {
  constexpr double limit = 9223372036854775808.0;
  if (value >= limit) return std::numeric_limits<std::int64_t>::max();
  if (value < -limit) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

void calculate_reals(Numbers& a, const Numbers& b, char sign) {
  for (std::size_t row = 0; row < a.reals.size(); ++row) {
    if (a.is_null(row)) continue;
    double& value = a.reals[row];
    switch (sign) {
      case '+': value += b.reals[row]; break;
      case '-': value -= b.reals[row]; break;
      case '*': value *= b.reals[row]; break;
      default: value = b.reals[row] == 0 ? std::nan("") : value / b.reals[row];
    }
    if (std::isnan(value)) set_null(a, row);
  }
}

void calculate_integers(Numbers& a, const Numbers& b, char sign) {
  bool overflow = false;
  for (std::size_t row = 0; row < a.integers.size(); ++row) {
    std::int64_t& value = a.integers[row];
    const std::int64_t other = b.integers[row];
    switch (sign) {
      case '+': overflow |= __builtin_add_overflow(value, other, &value); break;
      case '-': overflow |= __builtin_sub_overflow(value, other, &value); break;
      case '*': overflow |= __builtin_mul_overflow(value, other, &value); break;
      case '&': value &= other; break;
      default:
        if (a.is_null(row)) break;
        if (other == 0) {
          set_null(a, row);
        } else if (other == -1) {
          overflow |= __builtin_sub_overflow(std::int64_t{0}, value, &value);
        } else {
          value /= other;
        }
    }
  }
  if (overflow) throw OnlySqlite();
}

using Inputs = std::function<const Numbers&(std::size_t)>;

Numbers evaluate(const Node& node, std::size_t rows, const Inputs& input) {
  switch (node.kind) {
    case Node::Kind::input: return input(node.input);
    case Node::Kind::constant: {
      Numbers all = node.constant;
      if (all.are_real) all.reals.resize(rows, all.reals[0]);
      if (!all.are_real) all.integers.resize(rows, all.integers[0]);
      if (!all.nulls.empty()) all.nulls.resize(rows, all.nulls[0]);
      return all;
    }
    case Node::Kind::null_if: {
      Numbers all = evaluate(*node.of[0], rows, input);
      const std::int64_t none = node.of[1]->constant.integers[0];
      for (std::size_t row = 0; row < rows; ++row) {
        const bool is_none =
            all.are_real ? all.reals[row] == static_cast<double>(none) : all.integers[row] == none;
        if (is_none) set_null(all, row);
      }
      return all;
    }
    case Node::Kind::to_integer: {
      Numbers all = evaluate(*node.of[0], rows, input);
      if (!all.are_real) return all;
      all.integers.resize(rows);
      for (std::size_t row = 0; row < rows; ++row) all.integers[row] = to_integer(all.reals[row]);
      all.reals.clear();
      all.are_real = false;
      return all;
    }
    case Node::Kind::calculation: break;
  }
  Numbers a = evaluate(*node.of[0], rows, input);
  Numbers b = evaluate(*node.of[1], rows, input);
  if (!b.nulls.empty()) {
    for (std::size_t row = 0; row < rows; ++row) {
      if (b.is_null(row)) set_null(a, row);
    }
  }
  if (node.sign == '&' && (a.are_real || b.are_real)) throw OnlySqlite();
  if (a.are_real || b.are_real) {
    make_real(a);
    make_real(b);
    calculate_reals(a, b, node.sign);
  } else {
    calculate_integers(a, b, node.sign);
  }
  // Results of calculations with NULL are NULL.
  for (std::size_t row = 0; !a.nulls.empty() && row < rows; ++row) {
    if (a.is_null(row)) set_null(a, row);
  }
  return a;
}

}  // namespace

std::optional<Arithmetic> Arithmetic::parse(Tokens expression, const Places& places) {
  NodePtr root = Parser(expression, places).parse();
  if (!root) return std::nullopt;
  return Arithmetic(std::move(root));
}

Numbers Arithmetic::evaluate(std::size_t rows, const Inputs& input) const {
  return c_api::evaluate(*root_, rows, input);
}

}  // namespace gpuprof::c_api
