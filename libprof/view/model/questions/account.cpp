#include "libprof/report/account.hpp"

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
  using nlohmann::json;
  const report::TimeAccount account = report::read_account(
      asked.database, {.from = time_of(asked, "from"), .to = time_of(asked, "to")}, asked.check);
  json gpus = json::array();
  for (const report::GpuAccount& gpu : account.gpus) {
    json rows = json::array();
    for (const report::AccountRow& row : gpu.rows) {
      rows.push_back({{"class", row.what},
                      {"cause", row.cause},
                      {"words", report::words_of(row)},
                      {"duration", row.duration},
                      {"intervals", row.intervals}});
    }
    gpus.push_back({{"id", gpu.id}, {"name", gpu.name}, {"rows", std::move(rows)}});
  }
  const json answer = {{"begin", account.begin}, {"time", account.time}, {"gpus", std::move(gpus)}};
  return json_text(answer);
}

}  // namespace gpuprof::view::questions
