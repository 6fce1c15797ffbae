#include "libprof/base/pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <new>

#include "libprof/base/error.hpp"

namespace gpuprof {
namespace {

// Steps per search: some 50 ms. A search for a.*b in a name of 30,000 characters stays below the
// limit.
constexpr std::uint32_t most_steps = 5'000'000;
constexpr std::uint32_t heap_kib = 20'000;
// After this many abandoned searches no more text is searched: an expression that takes too long in
// one name does so in all similar ones.
constexpr std::uint64_t most_given_up = 100;

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

}  // namespace

struct Pattern::Code {
  std::unique_ptr<pcre2_code, Free> code;
  std::unique_ptr<pcre2_match_context, Free> limits;
};

Pattern::Pattern(const std::string& expression, bool any_case) {
  constexpr std::uint32_t as_ecmascript = PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS |
                                          PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF |
                                          PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C;
  int error = 0;
  PCRE2_SIZE place = 0;
  auto made = std::make_unique<Code>();
  made->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                                 as_ecmascript | (any_case ? PCRE2_CASELESS : 0), &error, &place,
                                 nullptr));
  if (!made->code) {
    PCRE2_UCHAR text[256] = {};
    pcre2_get_error_message(error, text, sizeof text);
    throw Error(std::string(reinterpret_cast<const char*>(text)) + " (at character " +
                    std::to_string(place + 1) + ")",
                "", ExitCode::bad_option);
  }
  made->limits.reset(pcre2_match_context_create(nullptr));
  if (!made->limits) throw std::bad_alloc();
  pcre2_set_match_limit(made->limits.get(), most_steps);
  pcre2_set_heap_limit(made->limits.get(), heap_kib);
  code_ = std::move(made);
}

Pattern::~Pattern() = default;

bool Pattern::found_in(std::string_view text) const { return match(text, 0); }

bool Pattern::fits(std::string_view text) const {
  return match(text, PCRE2_ANCHORED | PCRE2_ENDANCHORED);
}

bool Pattern::match(std::string_view text, std::uint32_t options) const {
  if (gave_up() >= most_given_up) {
    gave_up_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  // Only whether it matches is needed, not where.
  const std::unique_ptr<pcre2_match_data, Free> data(pcre2_match_data_create(1, nullptr));
  if (!data) throw std::bad_alloc();
  const int result = pcre2_match(code_->code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                 text.size(), 0, options, data.get(), code_->limits.get());
  if (result < 0 && result != PCRE2_ERROR_NOMATCH) {
    gave_up_.fetch_add(1, std::memory_order_relaxed);
  }
  return result >= 0;
}

}  // namespace gpuprof
