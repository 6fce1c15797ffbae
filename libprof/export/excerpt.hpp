// A part of a profile as a profile of its own, which nvprof and gpuprof read as the whole.
//
// Works on nvprof's files and on ours: tables, columns, indexes and views are made as they are in
// the source, unknown ones included, and tables of nvprof's that are missing are added. Triggers
// and virtual tables, which are programs, are left out; the views of a file of ours are those of
// today. A part that is to be anonymous has known tables and columns alone, made by our own text.
// Rows are copied by SQLite, so memory does not grow with them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/read/window.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/tracks/store_timeline.hpp"

namespace gpuprof::exporting {

struct ExcerptOptions {
  // With any of these two, records are chosen by time:
  // - what has a start or a timestamp, if that is in [from, to);
  // - API calls also if GPU work that was kept has their correlationId;
  // - NVTX ranges with both ends and their data, if they overlap the window;
  // - records that have nothing but a correlationId, if a record that was kept has it;
  // - all others (devices, contexts, streams, names, strings, …) always.
  reading::Moment from = {}, to = {};
  // Tables of records; none: all. Devices, contexts, streams and names are kept anyway.
  std::optional<std::set<std::string>> keep;
  // What a run computes at its end is computed, where the file has a place for it.
  bool finish = false;
  // Whether the new file gets a timeline for viewers.
  tracks::StoredTimeline timeline = tracks::StoredTimeline::automatic;
  // Nothing goes into the part that tells who made the file and where (libprof/export/privacy.hpp).
  bool anonymise = false;
  std::string name = {};     // as messages call the new file; empty: by its path
  std::string command = {};  // told in RUN of a profile of ours
  // Changes the rows that were copied, before there are indexes and views; empty: nothing.
  std::function<void(store::Database&)> change = {};
};

struct Excerpt {
  std::int64_t kept = 0;           // records
  std::int64_t without_times = 0;  // GPU work that is in no window, as it has no times
  std::string not_computed;        // with `finish`: what the file has no place for; empty: nothing
  std::vector<std::string> left_out;  // "the trigger name": what is not made, or SQLite refused
};

// Writes into the new file `path`. `progress` is told what is being done; `stop` may end it, with
// a DatabaseError (interrupted). Throws gpuprof::Error; what is there then is of no use.
Excerpt write_excerpt(store::Database& source, const std::string& path,
                      const ExcerptOptions& options,
                      const std::function<void(std::string_view)>& progress,
                      const std::function<bool()>& stop);

}  // namespace gpuprof::exporting
