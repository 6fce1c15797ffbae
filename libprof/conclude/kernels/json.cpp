#include "libprof/base/json_text.hpp"
#include "libprof/conclude/kernels/print.hpp"

namespace gpuprof::kernels {
namespace {

using Json = nlohmann::ordered_json;

// Increase it when existing readers would misread the document; see docs/json.md.
constexpr int version = 1;

Json timed(const Shape& shape, std::int64_t ns) { return shape.timed > 0 ? Json(ns) : Json(); }

Json share_json(const std::optional<Share>& share) {
  if (!share) return nullptr;
  return {{"percent", share->percent}, {"metric", share->metric}};
}

Json shape_json(const Shape& shape) {
  return {
      {"name", shape.name},
      {"device", shape.device.empty() ? Json() : Json(shape.device)},
      {"grid", shape.grid},
      {"block", shape.block},
      {"registers", shape.registers},
      {"dynamic_shared_memory_bytes", shape.dynamic_shared_memory},
      {"static_shared_memory_bytes", shape.static_shared_memory},
      {"local_memory_per_thread_bytes", shape.local_memory < 0 ? Json() : Json(shape.local_memory)},
      {"carveout_percent", shape.carveout < 0 ? Json() : Json(shape.carveout)},
      {"launches", shape.launches},
      {"timed", shape.timed},
      {"total_ns", timed(shape, shape.total)},
      {"median_ns", timed(shape, shape.median)},
      {"p90_ns", timed(shape, shape.p90)},
      {"shortest_ns", timed(shape, shape.shortest)},
      {"longest_ns", timed(shape, shape.longest)}};
}

Json occupancy_json(const std::optional<Occupancy>& occupancy) {
  if (!occupancy) return nullptr;
  return {{"theoretical", occupancy->theoretical},
          {"limiter", occupancy->limiter},
          {"blocks_per_sm", occupancy->blocks_per_multiprocessor},
          {"waves", occupancy->waves},
          {"tail_share", occupancy->tail_share}};
}

Json roofline_json(const std::optional<Roofline>& found) {
  if (!found) return nullptr;
  const auto by_memory = found->is_bound_by_memory();
  return {{"operations", found->operations},
          {"operation_metrics", found->operation_metrics},
          {"bytes", found->bytes},
          {"byte_metrics", found->byte_metrics},
          {"operations_per_byte", or_null(found->intensity())},
          {"duration_ns", or_null(found->duration)},
          {"compute_roof", share_json(found->compute)},
          {"memory_roof", share_json(found->memory)},
          {"nearer_roof", by_memory ? Json(*by_memory ? "memory" : "compute") : Json()}};
}

Json metrics_json(const std::vector<Metric>& metrics) {
  Json list = Json::array();
  for (const Metric& metric : metrics) {
    list.push_back({{"name", metric.name},
                    {"unit", metric.unit},
                    {"mean", metric.mean},
                    {"measured", metric.measured}});
  }
  return list;
}

Json code_json(const Code& code) {
  if (code.all() == 0) return nullptr;
  Json stalls = Json::array(), lines = Json::array();
  for (const Stall& stall : code.stalls) {
    stalls.push_back({{"reason", stall.reason}, {"samples", stall.samples}});
  }
  for (const Line& line : code.lines) {
    lines.push_back({{"place", line.place},
                     {"count", line.count},
                     {"mostly", line.mostly.empty() ? Json() : Json(line.mostly)}});
  }
  return {{"samples", code.samples},
          {"executed", code.executed},
          {"stalls", std::move(stalls)},
          {"lines", std::move(lines)}};
}

Json baseline_json(const std::optional<Baseline>& baseline) {
  if (!baseline) return nullptr;
  return {{"launches_of_all_shapes", baseline->launches},
          {"share", baseline->share},
          {"shape", baseline->shape ? shape_json(*baseline->shape) : Json()}};
}

}  // namespace

std::string kernels_json(const Kernels& kernels) {
  Json list = Json::array();
  for (const Kernel& kernel : kernels.kernels) {
    Json row = shape_json(kernel.shape);
    row["share"] = kernel.share;
    row["occupancy"] = occupancy_json(kernel.occupancy);
    const auto achieved = achieved_occupancy(kernel.metrics);
    row["achieved_occupancy"] = share_json(achieved);
    row["compute"] = share_json(compute_share(kernel.metrics));
    row["memory"] = share_json(memory_share(kernel.metrics));
    row["roofline"] = roofline_json(roofline(kernel.metrics));
    row["metrics"] = metrics_json(kernel.metrics);
    row["code"] = code_json(kernel.code);
    row["baseline"] = baseline_json(kernel.baseline);
    list.push_back(std::move(row));
  }
  const Json document{
      {"version", version},           {"devices", kernels.devices},
      {"launches", kernels.launches}, {"total_ns", kernels.total},
      {"shapes", kernels.shapes},     {"launches_in_other_shapes", kernels.left_out},
      {"patched", kernels.patched},   {"missing", kernels.missing},
      {"kernels", std::move(list)}};
  return json_text(document, 2) + '\n';
}

}  // namespace gpuprof::kernels
