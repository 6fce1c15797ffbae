#include "libprof/conclude/kernels/kernels.hpp"

#include <algorithm>
#include <utility>

#include "libprof/base/pattern.hpp"

namespace gpuprof::kernels {
namespace {

double share_of(std::int64_t time, std::int64_t all) {
  return all > 0 ? static_cast<double>(time) / static_cast<double>(all) : 0;
}

// Their number; keeps the first `wanted.most` of those with such a name.
std::size_t choose(std::vector<Shape>& shapes, const Wanted& wanted) {
  if (!wanted.pattern.empty()) {
    const Pattern pattern(wanted.pattern);
    std::erase_if(shapes, [&](const Shape& shape) { return !pattern.found_in(shape.name); });
  }
  if (wanted.launch) {
    std::erase_if(shapes, [&](const Shape& shape) { return !wanted.launch->is_of(shape); });
  }
  const std::size_t all = shapes.size();
  if (all > wanted.most) shapes.resize(wanted.most);
  return all;
}

std::string display_of(store::Database& database, const Shape& shape) {
  if (database.has_column("StringTable", "display")) {
    auto row = database.prepare("SELECT display FROM main.StringTable WHERE _id_ = ?1");
    if (row.bind(1, shape.name_id).step() && !row.text(0).empty()) return std::string(row.text(0));
  }
  return shape.name;
}

std::vector<std::string> missing_in(const Kernels& found, bool any_metrics, bool any_code) {
  std::vector<std::string> missing;
  const auto is_known = [&](auto&& known) { return std::ranges::any_of(found.kernels, known); };
  if (!is_known([](const Kernel& kernel) { return kernel.occupancy.has_value(); })) {
    missing.emplace_back(
        "Occupancy and waves: they are computed when a run ends; gpuprof finish does it later.");
  }
  if (!any_metrics) {
    missing.emplace_back(
        "Speed of light and roofline: --set roofline measures them; --set compute and --set memory "
        "say more.");
  } else if (!is_known([](const Kernel& kernel) { return roofline(kernel.metrics).has_value(); })) {
    missing.emplace_back("Roofline: --set roofline measures operations and bytes.");
  }
  if (!any_code) {
    missing.emplace_back("Stall reasons and hot lines: --set stalls samples them.");
  }
  return missing;
}

}  // namespace

bool Launch::is_of(const Shape& shape) const {
  return shape.name_id == name_id && shape.grid == grid && shape.block == block &&
         shape.registers == registers && shape.dynamic_shared_memory == dynamic_shared_memory;
}

Kernels read_kernels(report::Session& session, const Wanted& wanted,
                     const std::function<void()>& check) {
  Shapes all = read_shapes(session, check);
  Kernels found;
  found.devices = std::move(all.devices);
  found.launches = all.launches;
  found.total = all.total;
  found.left_out = all.left_out;
  found.shapes = choose(all.shapes, wanted);
  if (all.shapes.empty()) return found;
  const Measured measured = read_measured(session, all.shapes, check);
  found.patched = measured.patched;
  std::vector<std::int64_t> names;
  for (const Shape& shape : all.shapes) names.push_back(shape.name_id);
  const CodeByKernel code = read_code(session, names);
  for (std::size_t i = 0; i < all.shapes.size(); ++i) {
    check();
    Kernel& kernel = found.kernels.emplace_back();
    kernel.shape = std::move(all.shapes[i]);
    kernel.display = display_of(session.database(), kernel.shape);
    kernel.share = share_of(kernel.shape.total, found.total);
    kernel.occupancy = read_occupancy(session, kernel.shape);
    kernel.metrics = measured.metrics[i];
    const auto its_code = code.by_name.find(kernel.shape.name_id);
    if (its_code != code.by_name.end()) kernel.code = its_code->second;
  }
  found.missing = missing_in(found, measured.any, code.any);
  return found;
}

void compare_with(Kernels& kernels, const Shapes& baseline) {
  for (Kernel& kernel : kernels.kernels) {
    Baseline& before = kernel.baseline.emplace();
    for (const Shape& shape : baseline.shapes) {
      if (shape.name != kernel.shape.name) continue;
      before.launches += shape.launches;
      // Of several that differ in registers or shared memory, the one with most time is first.
      if (!before.shape && shape.same_launch(kernel.shape)) before.shape = shape;
    }
    if (before.shape) before.share = share_of(before.shape->total, baseline.total);
  }
}

}  // namespace gpuprof::kernels
