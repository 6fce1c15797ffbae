#include "libprof/store/metric_writer.hpp"

#include <cstdint>
#include <string_view>

#include "libprof/base/text.hpp"
#include "libprof/wire/measures.hpp"
#include "schema/nvprof_ids.hpp"

namespace gpuprof::store {

bool MetricWriter::load_metrics(std::span<const std::byte> payload) {
  const auto info = wire::decode_metrics(payload);
  if (!info || info->metrics.size() < metrics_.size()) return false;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (info->metrics[i].name != metrics_[i]) return false;
  }
  metrics_.clear();
  Statement insert =
      database_.prepare("INSERT OR REPLACE INTO METRIC VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  for (const wire::MetricInfo& metric : info->metrics) {
    // nvprof stops at an id that it does not know.
    const auto id = static_cast<std::int64_t>(metric.nvprof_id);
    const bool known = metric.is_event ? id != 0 && schema::nvprof_event(id).has_value()
                                       : schema::nvprof_metric(id) != nullptr;
    metrics_.push_back(metric.name);
    insert.bind(1, static_cast<std::int64_t>(metrics_.size()))
        .bind(2, metric.name)
        .bind(3, metric.unit)
        .bind(4, metric.description)
        .bind(5, metric.formula)
        .bind(7, std::int64_t{metric.is_event});
    known ? insert.bind(6, id) : insert.bind_null(6);
    insert.run();
  }
  insert = database_.prepare(
      "INSERT OR REPLACE INTO METRIC_GROUP VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  for (const wire::GroupInfo& group : info->groups) {
    std::vector<std::string_view> names;
    for (const std::uint32_t metric : group.metrics) names.push_back(metrics_[metric - 1]);
    insert.bind(1, std::int64_t{group.id})
        .bind(2, group.chip)
        .bind(3, group.mode)
        .bind(4, group.scope)
        .bind(5, group.cost_class)
        .bind(6, std::int64_t{group.passes})
        .bind(7, group.expected_us)
        .bind(8, joined(names, ", "))
        .bind(9, joined(group.counters, ", "))
        .run();
  }
  return true;
}

}  // namespace gpuprof::store
