// Points in time as users specify them, and the window between two of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "libprof/read/tables.hpp"

namespace gpuprof::reading {

// The value of --from or --to: ns after the run's zero, or the start of the first NVTX range of
// this name (its end, as the end of a window). Neither: not specified.
struct Moment {
  std::optional<std::int64_t> ns = {};
  std::string range = {};
  std::string text = {};  // as it was given

  bool given() const { return ns || !range.empty(); }
};

// "1.5s", "20ms", "7us", "12ns", "nvtx:NAME"; a bare number is seconds. Nullopt for anything else.
std::optional<Moment> parse_moment(std::string_view text);
inline constexpr std::string_view moment_words =
    "a time such as 1.5 or 1.5s, 20ms, 7us, 12ns, or nvtx:NAME";

// The time, ns, that times of the run are relative to: from RUN, or else the earliest time of any
// record of GPU work, API calls or NVTX markers.
std::optional<std::int64_t> zero_of_run(Tables& tables);

// On the clock of the records, ns: from <= time < to.
struct Window {
  std::optional<std::int64_t> from, to;
};

// Throws gpuprof::Error if no NVTX range has that name. `zero` is called only if needed.
Window find_window(Tables& tables, const Moment& from, const Moment& to,
                   const std::function<std::int64_t()>& zero);

}  // namespace gpuprof::reading
