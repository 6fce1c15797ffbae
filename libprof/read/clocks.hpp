// CUPTI's clock, which all records have, and the time of day.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::reading {

// Clocks are read every 10 s while a run goes on.
constexpr std::chrono::seconds clocks_are_near{20};

// A time of day, in ns since 1970, on CUPTI's clock, by the reading of both clocks (table CLOCK)
// that is nearest to it. nullopt: none is as near as that.
std::optional<std::int64_t> on_cuptis_clock(store::Database& database, std::int64_t realtime,
                                            std::chrono::nanoseconds nearest = clocks_are_near);
// The other way round.
std::optional<std::int64_t> time_of_day(store::Database& database, std::int64_t cupti,
                                        std::chrono::nanoseconds nearest = clocks_are_near);

}  // namespace gpuprof::reading
