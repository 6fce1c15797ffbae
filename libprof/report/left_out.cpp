#include "libprof/report/left_out.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/report/number.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {
namespace {

std::string format_time_of(std::int64_t ns) {
  return format_time(static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)), start_format);
}

std::string given(const Filter& filter) {
  std::string options;
  const auto add = [&](bool is, const char* name) {
    if (is) options += (options.empty() ? "" : ", ") + std::string(name);
  };
  add(!filter.kernels.empty(), "--kernels");
  add(!filter.devices.empty(), "--devices");
  add(filter.from.given(), "--from");
  add(filter.to.given(), "--to");
  return options;
}

}  // namespace

void check_devices(Session& session) {
  const Filter& filter = session.options().filter;
  const std::vector<std::int64_t> devices = session.names().devices();
  if (!filter.check || devices.empty()) return;
  for (const std::int64_t id : filter.devices) {
    if (std::ranges::find(devices, id) != devices.end()) continue;
    throw Error("there is no device " + std::to_string(id) + " in this profile",
                "it has " + joined(devices, ", "), ExitCode::bad_option);
  }
}

void report_left_out(Session& session) {
  const Filter& filter = session.options().filter;
  if (given(filter).empty()) return;
  std::int64_t all = 0, kernels = 0;
  std::optional<std::int64_t> first, last;
  for (const schema::GpuKind& work : schema::gpu_kinds) {
    const std::string_view kind = work.kind;
    if (!session.has_rows(kind) || kind == session.left_out) continue;
    auto left = session.select(kind, {"count(*)"}, "WHERE " + session.filter(kind));
    if (left.step() && left.integer(0) > 0) return;
    auto rows = session.select(kind, {"count(*)", "min(nullif(start, 0))", "max(start)"});
    if (!rows.step()) continue;
    all += rows.integer(0);
    if (schema::is_kernel_kind(kind)) kernels += rows.integer(0);
    if (rows.is_null(1)) continue;
    first = std::min(first.value_or(rows.integer(1)), rows.integer(1));
    last = std::max(last.value_or(rows.integer(2)), rows.integer(2));
  }
  if (all == 0) return;
  if (kernels > 0 && session.no_kernel_has_the_name()) {
    return session.output().warning("None of " + count_of(kernels, "kernel") + " has \"" +
                                    printable(filter.kernels) +
                                    "\" in its name; case matters, unless it begins with (?i).");
  }
  std::string text = given(filter) + " left out all of " + count_of(all, "record") + " of GPU work";
  const bool window = filter.from.given() || filter.to.given();
  if (first && window) {
    const std::int64_t zero = session.zero();
    text += ", which begin from " + format_time_of(saturating_subtract(*first, zero)) + " to " +
            format_time_of(saturating_subtract(*last, zero));
  }
  session.output().warning(text + ".");
}

}  // namespace gpuprof::report
