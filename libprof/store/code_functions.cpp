#include "libprof/store/code_functions.hpp"

#include "libprof/wire/limits.hpp"
#include "schema/pc_sampling.hpp"

namespace gpuprof::store {

CodeFunctions::CodeFunctions(Database& database, StringWriter& strings)
    : database_(database), strings_(strings), last_(schema::first_sampled_function - 1) {}

std::int64_t CodeFunctions::id(Share& share, const RowContext& process, std::uint32_t context,
                               const wire::CodeFunction& function) {
  const auto [entry, fresh] = share.ids_.try_emplace({function.cubin, function.name}, 0);
  if (!fresh) return entry->second;
  if (share.ids_.size() > wire::max_code_functions) {
    share.ids_.erase(entry);
    return 0;
  }
  const std::int64_t name = strings_.id(function.name);
  // The module of this context, or else another context's.
  Statement module = database_.prepare(
      "SELECT m.contextId, m.id, f.id, f.functionIndex FROM CUPTI_ACTIVITY_KIND_MODULE AS m "
      "LEFT JOIN CUPTI_ACTIVITY_KIND_FUNCTION AS f ON f.processId = m.processId "
      "AND f.contextId = m.contextId AND f.moduleId = m.id AND f.name = ?3 "
      "WHERE m.processId = ?1 AND m.cubinCrc = ?2 ORDER BY m.contextId <> ?4, m._id_ LIMIT 1");
  // The checksum as MODULE.cubinCrc stores it.
  module.bind(1, process.process_id).bind(2, static_cast<std::int64_t>(function.cubin));
  module.bind(3, name).bind(4, std::int64_t{context});
  const bool loaded = module.step();
  if (loaded && !module.is_null(2)) return entry->second = module.integer(2);
  entry->second = ++last_;
  database_
      .prepare(
          "INSERT INTO CUPTI_ACTIVITY_KIND_FUNCTION(id, contextId, moduleId, functionIndex, name, "
          "processId) VALUES(?1, ?2, ?3, 0, ?4, ?5)")
      .bind(1, entry->second)
      .bind(2, loaded ? module.integer(0) : std::int64_t{context})
      .bind(3, loaded ? module.integer(1) : 0)
      .bind(4, name)
      .bind(5, process.process_id)
      .run();
  return entry->second;
}

}  // namespace gpuprof::store
