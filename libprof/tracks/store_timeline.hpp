// The timeline of a run as tables TIMELINE_..., so that a viewer need not read all records.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::tracks {

// From so many records on a file gets one unless told otherwise.
inline constexpr std::int64_t stored_from = 30'000'000;

enum class StoredTimeline { automatic, always, never };

// The greatest id of a row; 0: it has none.
std::int64_t last_id(store::Database& database, std::string_view table);

// Fills the tables, or empties them where there is to be no timeline. Outside a transaction, with a
// connection that may make tables; a check that throws leaves no timeline. Memory: what
// OrderedRecords takes, a few KiB for each row, and 44 bytes for each block; where the file's pages
// are small or it has a log, the blocks too, up to 64 MiB. False: records lie too far out of order,
// or there was no room.
bool store_timeline(store::Database& database, StoredTimeline wanted,
                    const std::function<void()>& check);

}  // namespace gpuprof::tracks
