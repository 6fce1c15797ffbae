#include "libprof/view/model/account_answer.hpp"

#include <nlohmann/json.hpp>

#include "libprof/base/json_text.hpp"
#include "libprof/view/model/question.hpp"

namespace gpuprof::view::questions {
// Where the time of each GPU went, of the run or between `from` and `to`.
std::string account(const Asked& asked) {
  const reading::Window window{.from = asked.time("from"), .to = asked.time("to")};
  const report::TimeAccount account = report::read_account(asked.database, window, asked.check);
  nlohmann::json answer = account_answer(account);
  answer["begin"] = account.begin;
  return json_text(answer);
}

}  // namespace gpuprof::view::questions
