// Extracts part of a profile into a separate one, which nvprof and gpuprof read like the original.
//
// Works on nvprof's files and on ours: tables, columns, indexes and views are created as in the
// source, including unknown ones, and missing nvprof tables are added. Triggers and virtual tables,
// which are programs, are omitted; one of our files gets the current views. An anonymized excerpt
// has only known tables and columns, created from our own SQL. SQLite copies the rows, so memory
// does not grow with them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/compute/timeline/store_timeline.hpp"
#include "libprof/read/window.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::exporting {

struct ExcerptOptions {
  // With either of these, records are selected by time:
  // - those with a start or timestamp, if it is in [from, to);
  // - API calls also if GPU work that was kept has their correlationId;
  // - NVTX ranges with both ends and their data, if they overlap the window;
  // - records that only have a correlationId, if a record that was kept has it;
  // - all others (devices, contexts, streams, names, strings, …) always.
  reading::Moment from = {}, to = {};
  // A time of day, ns since 1970: only what begins before it, by the same rules, and records
  // without times. Ignored if the file does not say what time it was on CUPTI's clock.
  std::optional<std::int64_t> until = {};
  // Tables of records; nullopt: all. Devices, contexts, streams and names are always kept.
  std::optional<std::set<std::string>> keep;
  // Computes what a run computes at its end, as far as the file has tables for it.
  bool finish = false;
  // Whether to store a timeline for viewers in the new file.
  timeline::StoredTimeline timeline = timeline::StoredTimeline::automatic;
  // Omits everything that reveals who created the file and where
  // (libprof/exchange/export/privacy.hpp).
  bool anonymise = false;
  std::string name = {};  // the new file's name in messages; empty: its path
  // Recorded in RUN if the profile is ours: what made the excerpt, and what for.
  std::string command = {}, why = {};
  // Modifies the copied rows, before indexes and views are created; may be empty.
  std::function<void(store::Database&)> change = {};
};

struct Excerpt {
  std::int64_t kept = 0;           // records
  std::int64_t without_times = 0;  // GPU work that is in no window because it has no times
  std::string not_computed;        // with `finish`: what the file has no tables for; may be empty
  std::vector<std::string> left_out;  // "the trigger name": not created, or refused by SQLite
};

// Writes into the new file `path`. `progress` receives the current step; `stop` may end it, with a
// DatabaseError (interrupted). Throws gpuprof::Error; the file is then useless.
Excerpt write_excerpt(store::Database& source, const std::string& path,
                      const ExcerptOptions& options,
                      const std::function<void(std::string_view)>& progress,
                      const std::function<bool()>& stop);

}  // namespace gpuprof::exporting
