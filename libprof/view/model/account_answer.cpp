#include "libprof/view/model/account_answer.hpp"

#include <nlohmann/json.hpp>

namespace gpuprof::view {

using nlohmann::json;

json account_answer(const report::TimeAccount& account) {
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
  return {
      {"time", account.time}, {"verdict", report::verdict_of(account)}, {"gpus", std::move(gpus)}};
}

}  // namespace gpuprof::view
