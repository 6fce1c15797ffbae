// Regular expressions with limits on time and memory: what they are searched in is the program's to
// choose. Stack use does not depend on it.
//
// The syntax is ECMAScript's, as PCRE2 has it. Bytes, not characters: a dot is one byte of UTF-8.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace gpuprof {

// Never changes, so any thread may use one.
class Pattern {
 public:
  // Throws gpuprof::Error that says what is wrong with it (ExitCode::bad_option).
  // `any_case`: of ASCII's letters.
  explicit Pattern(const std::string& expression, bool any_case = false);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // What is beyond the limits does not fit, and is counted.
  bool found_in(std::string_view text) const;  // somewhere
  bool fits(std::string_view text) const;      // the whole
  std::uint64_t gave_up() const { return gave_up_.load(std::memory_order_relaxed); }

 private:
  struct Code;
  bool match(std::string_view text, std::uint32_t options) const;

  std::unique_ptr<const Code> code_;
  mutable std::atomic<std::uint64_t> gave_up_{0};
};

}  // namespace gpuprof
