// A run's timeline as tables TIMELINE_..., so that a viewer need not read all records.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::timeline {

// With this many records or more, a file gets a timeline by default.
inline constexpr std::int64_t stored_from = 30'000'000;

enum class StoredTimeline { automatic, always, never };

// The greatest row id; 0: the table is empty.
std::int64_t last_id(store::Database& database, std::string_view table);

// Fills the tables, or empties them if there is to be no timeline. Call outside a transaction, on a
// connection that may create tables; a `check` that throws leaves no timeline. Memory: what
// OrderedRecords uses, a few KiB per row and 44 bytes per block; if the file has small pages or a
// log, also the blocks, up to 64 MiB. False: records are too far out of order, or there was no
// room.
bool store_timeline(store::Database& database, StoredTimeline wanted,
                    const std::function<void()>& check);

}  // namespace gpuprof::timeline
