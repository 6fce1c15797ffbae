// Regular expressions with limits on time and memory, because the profiled program chooses the text
// they search. Stack use does not depend on that text.
//
// The syntax is ECMAScript's, as implemented by PCRE2. It matches bytes, not characters: a dot is
// one byte of UTF-8.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace gpuprof {

// Immutable, so any thread may use one.
class Pattern {
 public:
  // Throws gpuprof::Error (ExitCode::bad_option) that says what is wrong with the expression.
  // `any_case` ignores the case of ASCII letters.
  explicit Pattern(const std::string& expression, bool any_case = false);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // Text that exceeds the limits does not match, and is counted in gave_up().
  bool found_in(std::string_view text) const;  // anywhere in the text
  bool fits(std::string_view text) const;      // the whole text
  std::uint64_t gave_up() const { return gave_up_.load(std::memory_order_relaxed); }

 private:
  struct Code;
  bool match(std::string_view text, std::uint32_t options) const;

  std::unique_ptr<const Code> code_;
  mutable std::atomic<std::uint64_t> gave_up_{0};
};

}  // namespace gpuprof
