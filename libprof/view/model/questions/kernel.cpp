#include <nlohmann/json.hpp>

#include "libprof/base/json_text.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/view/model/kernel_pages.hpp"
#include "libprof/view/model/question.hpp"
#include "schema/traits.hpp"

namespace gpuprof::view::questions {

// The page of gpuprof kernels for the shape of a launch, the `id`th row of a table of kernels,
// whose number among the model's is `table`.
std::string kernel(const Asked& asked) {
  const auto table = asked.number("table"), id = asked.number("id");
  nlohmann::json nothing{{"pages", nlohmann::json::array()}};
  if (!table || !id || *table < 0 || *table >= std::ssize(asked.model.tables)) {
    return json_text(nothing);
  }
  const std::string& name = asked.model.tables[static_cast<std::size_t>(*table)];
  if (!schema::is_kernel_kind(reading::kind_of(name))) return json_text(nothing);
  auto row = asked.database.prepare(
      "SELECT name, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread, "
      "dynamicSharedMemory FROM main." +
      store::quoted_name(name) + " WHERE _id_ = ?1");
  if (!row.bind(1, *id).step()) return json_text(nothing);
  const kernels::Launch launch{.name_id = row.integer(0),
                               .grid = {row.integer(1), row.integer(2), row.integer(3)},
                               .block = {row.integer(4), row.integer(5), row.integer(6)},
                               .registers = row.integer(7),
                               .dynamic_shared_memory = row.integer(8)};
  row.reset();
  return json_text(kernel_pages(asked.database, {.most = 1, .launch = launch}, {}, asked.check));
}

}  // namespace gpuprof::view::questions
