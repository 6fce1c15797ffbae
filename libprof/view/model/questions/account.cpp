#include "libprof/view/model/account_answer.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "libprof/base/json_text.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/view/model/question.hpp"

namespace gpuprof::view::questions {
namespace {

// A time of the page on the clock of the records.
std::optional<std::int64_t> time_of(const Asked& asked, std::string_view word) {
  const auto text = asked.words.find(word);
  if (text == asked.words.end()) return std::nullopt;
  const auto time = parse<std::int64_t>(text->second);
  return time ? std::optional(saturating_add(*time, asked.model.zero)) : std::nullopt;
}

}  // namespace

// Where the time of each GPU went, of the run or between `from` and `to`.
std::string account(const Asked& asked) {
  const reading::Window window{.from = time_of(asked, "from"), .to = time_of(asked, "to")};
  const report::TimeAccount account = report::read_account(asked.database, window, asked.check);
  nlohmann::json answer = account_answer(account);
  answer["begin"] = account.begin;
  return json_text(answer);
}

}  // namespace gpuprof::view::questions
