// Times of a run as people name them, and the window between two of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "libprof/read/tables.hpp"

namespace gpuprof::reading {

// What --from and --to say: ns after the run's zero, or where the first NVTX range of this name
// begins, and as the end of a window where it ends. Neither: nothing was said.
struct Moment {
  std::optional<std::int64_t> ns = {};
  std::string range = {};

  bool given() const { return ns || !range.empty(); }
};

// "1.5s", "20ms", "7us", "12ns", "nvtx:NAME"; a bare number is seconds. Nothing: it is none of
// these.
std::optional<Moment> parse_moment(std::string_view text);
inline constexpr std::string_view moment_words =
    "a time such as 1.5 or 1.5s, 20ms, 7us, 12ns, or nvtx:NAME";

// What times of the run count from, ns: RUN has it, and else it is the earliest record of GPU work,
// API calls and NVTX markers that has a time.
std::optional<std::int64_t> zero_of_run(Tables& tables);

// On the clock of the records, ns: from the first time on, and before the second.
struct Window {
  std::optional<std::int64_t> from, to;
};

// Throws gpuprof::Error where there is no NVTX range of that name. `zero` is asked for if needed.
Window find_window(Tables& tables, const Moment& from, const Moment& to,
                   const std::function<std::int64_t()>& zero);

}  // namespace gpuprof::reading
