#include "libprof/metrics/formula.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "libprof/base/error.hpp"

namespace gpuprof::metrics {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool goes_on(char c) { return starts_name(c) || is_digit(c) || c == '.'; }

double divide(double above, double below) {
  if (below != 0) return above / below;
  return above == 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

// sum: product {+- product}; product: factor {*/ factor}; factor: [-] number, name or (sum).
class Formula::Parser {
 public:
  Parser(Formula& formula, std::string_view text) : formula_(formula), text_(text), rest_(text) {}

  void parse() {
    sum(0);
    if (peek()) fail("an operator is missing");
  }

 private:
  static constexpr int deepest = 100;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error("formula \"" + std::string(text_) + "\": " + what + " at character " +
                    std::to_string(text_.size() - rest_.size() + 1),
                {}, ExitCode::bad_option);
  }

  // The next non-blank character; 0 at the end.
  char peek() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
    return rest_.empty() ? '\0' : rest_.front();
  }

  bool take(char wanted) {
    if (peek() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void add(char operation) { formula_.steps_.push_back({.operation = operation}); }

  void sum(int depth) { chain("+-", &Parser::product, depth); }
  void product(int depth) { chain("*/", &Parser::factor, depth); }
  void chain(std::string_view operations, void (Parser::*operand)(int), int depth) {
    (this->*operand)(depth);
    for (;;) {
      const char operation = peek();
      if (operations.find(operation) == std::string_view::npos) return;
      rest_.remove_prefix(1);
      (this->*operand)(depth);
      add(operation);
    }
  }

  void factor(int depth) {
    if (depth > deepest) fail("too many parentheses");
    if (take('-')) {
      factor(depth + 1);
      add('~');
    } else if (take('(')) {
      sum(depth + 1);
      if (!take(')')) fail("a closing parenthesis is missing");
    } else if (is_digit(peek()) || peek() == '.') {
      number();
    } else if (starts_name(peek())) {
      name();
    } else {
      fail("a number or a name is missing");
    }
  }

  void number() {
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) fail("not a number");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    formula_.steps_.push_back({.operation = 'n', .number = value});
  }

  void name() {
    const auto length =
        static_cast<std::size_t>(std::ranges::find_if_not(rest_, goes_on) - rest_.begin());
    const std::string_view name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    auto& names = formula_.counters_;
    const auto place = std::ranges::find(names, name);
    formula_.steps_.push_back(
        {.operation = 'c', .counter = static_cast<std::size_t>(place - names.begin())});
    if (place == names.end()) names.emplace_back(name);
  }

  Formula& formula_;
  std::string_view text_;
  std::string_view rest_;
};

Formula::Formula(std::string_view text) { Parser(*this, text).parse(); }

double Formula::value(std::span<const double> counters) const {
  std::vector<double> stack;
  const auto pop = [&] {
    const double value = stack.back();
    stack.pop_back();
    return value;
  };
  for (const Step& step : steps_) {
    switch (step.operation) {
      case 'n': stack.push_back(step.number); continue;
      case 'c': stack.push_back(counters[step.counter]); continue;
      case '~': stack.back() = -stack.back(); continue;
      default: break;
    }
    const double right = pop();
    double& left = stack.back();
    switch (step.operation) {
      case '+': left += right; break;
      case '-': left -= right; break;
      case '*': left *= right; break;
      default: left = divide(left, right); break;
    }
  }
  return stack.back();
}

}  // namespace gpuprof::metrics
