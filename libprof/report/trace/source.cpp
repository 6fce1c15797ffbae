#include "libprof/report/trace/source.hpp"

namespace gpuprof::report {

std::string_view memory_name(std::int64_t kind) {
  static constexpr std::array<std::string_view, 6> names{"Unknown", "Pageable", "Pinned",
                                                         "Device",  "Array",    "Managed"};
  const bool known = kind >= 0 && kind < static_cast<std::int64_t>(names.size());
  return known ? names[static_cast<std::size_t>(kind)] : std::string_view();
}

}  // namespace gpuprof::report
