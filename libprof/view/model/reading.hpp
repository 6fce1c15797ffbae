// Shared by the parts of read_model().
#pragma once

#include <array>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "libprof/compute/timeline/records.hpp"
#include "libprof/read/columns/reader.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/view/model/labels.hpp"
#include "libprof/view/model/model.hpp"

namespace gpuprof::view {

struct Reading {
  Reading(store::Database& opened, Model& filled,
          const std::function<void(std::string_view)>& checked)
      : database(opened),
        snapshot(opened),
        names(opened, reading::NameStyle::modern),
        tables(opened),
        labels(tables),
        model(filled),
        check(checked) {
    for (const Name& each : model.names) {
      known_.try_emplace(each.text, static_cast<std::uint32_t>(known_.size()));
    }
  }

  // Equal names share one number, wherever they come from.
  std::uint32_t name(const std::string& text, const Labels::Label& label = {});
  std::uint8_t table(const timeline::RecordTable& table);
  std::string process(std::int64_t id) const { return names.process(id); }
  std::string thread(std::int64_t id) const;

  store::Database& database;
  store::Snapshot snapshot;
  reading::Names names;
  reading::Tables tables;
  Labels labels;
  Slabs slabs{true};
  Model& model;
  const std::function<void(std::string_view)>& check;

 private:
  std::unordered_map<std::string, std::uint32_t> known_;
};

// Records of a table. Their names are indices of `names`, which is filled when all are there: the
// connection is busy while they are read.
struct NamedRecords {
  std::shared_ptr<const std::vector<std::uint32_t>> names;
  RecordColumns records;
};
using TablesOfTrack = std::vector<NamedRecords>;

// Collects records by track while reading.
class Collected {
 public:
  explicit Collected(Slabs* slabs = nullptr) : slabs_(slabs) {}

  // The following records are of another table.
  void begin_table(std::shared_ptr<const std::vector<std::uint32_t>> names) {
    names_ = std::move(names);
    latest_ = nullptr;
  }

  // Null if there are too many tracks; the record is counted.
  RecordColumns* find(const timeline::TrackKey& key) {
    if (latest_ && timeline::same_track(latest_key_, key)) return latest_;
    auto found = tracks_.find(key);
    if (found == tracks_.end()) {
      if (tracks_.size() == timeline::most_tracks) {
        ++left_out;
        return nullptr;
      }
      found = tracks_.try_emplace(key).first;
    }
    TablesOfTrack& tables = found->second;
    if (tables.empty() || tables.back().names != names_)
      tables.push_back({names_, RecordColumns(slabs_)});
    latest_ = &tables.back().records;
    latest_key_ = key;
    return latest_;
  }
  std::map<timeline::TrackKey, TablesOfTrack>& tracks() { return tracks_; }

  std::int64_t left_out = 0;

 private:
  Slabs* slabs_;
  std::map<timeline::TrackKey, TablesOfTrack> tracks_;
  std::shared_ptr<const std::vector<std::uint32_t>> names_;
  RecordColumns* latest_ = nullptr;
  timeline::TrackKey latest_key_{};
};

// The names of a table's records, see NamedRecords.
class LateNames {
 public:
  std::uint32_t place(std::int64_t id) {
    Known& latest = latest_[static_cast<std::uint64_t>(id) % latest_.size()];
    if (latest.place != none && latest.id == id) return latest.place;
    const auto [found, is_new] = known_.try_emplace(id, static_cast<std::uint32_t>(ids_.size()));
    if (is_new) ids_.push_back(id);
    latest = {id, found->second};
    return found->second;
  }

  // Calls make(id) once per id; it returns an index into Model::names.
  template <class Make>
  void resolve(const Make& make) {
    for (const std::int64_t id : ids_) names_->push_back(make(id));
  }
  std::shared_ptr<const std::vector<std::uint32_t>> names() const { return names_; }

 private:
  std::shared_ptr<std::vector<std::uint32_t>> names_ =
      std::make_shared<std::vector<std::uint32_t>>();
  std::unordered_map<std::int64_t, std::uint32_t> known_;
  std::vector<std::int64_t> ids_;
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Known {
    std::int64_t id = 0;
    std::uint32_t place = none;
  };
  std::array<Known, 256> latest_;  // by the end of the id: few functions make most calls
};

using columns::whole;

// Tracks must not move until all have their rows.
struct RowsJob {
  TablesOfTrack* tables;
  Track* track;
};
void make_all_rows(std::vector<RowsJob>& jobs);

// Tracks of one kind. Other threads make their rows while the next records are read.
struct MadeTracks {
  explicit MadeTracks(Slabs& slabs) : records(&slabs) {}
  explicit MadeTracks(std::vector<Track> complete) : tracks(std::move(complete)) {}

  Collected records;
  std::vector<Track> tracks;
  std::future<void> rows;  // the last member: it is waited for before the others are destroyed
};
using AllMadeTracks = std::vector<std::unique_ptr<MadeTracks>>;
// Waits for the rows, and moves the tracks into the model.
void take_tracks(AllMadeTracks& made, Model& model);

// An index into Model::names; `id` is as stored in the table.
std::uint32_t name_of_record(Reading& reading, const timeline::RecordTable& table, std::int64_t id);
// Fills in the names of tracks with these keys, which must be all of that kind.
void describe_tracks(Reading& reading, TrackKind kind, std::span<const timeline::TrackKey> keys,
                     std::span<Track> made);
void tell_of_tracks_left_out(Model& model, TrackKind kind, std::int64_t records);

// Adds to `made`. Takes what is in it if records may be open, which end with everything else.
void read_record_tracks(Reading& reading, TrackKind kind,
                        std::span<const timeline::RecordTable> tables, AllMadeTracks& made);
void read_counters(Reading& reading);

struct StoredTracks {
  std::map<TrackKind, std::map<timeline::TrackKey, Track>> tracks;
  std::map<TrackKind, std::int64_t> left_out;  // records of tracks beyond the limit
  std::optional<Statistics> whole;
  std::shared_ptr<BlockFile> blocks;
};
// nullopt: the file has no timeline of its present state. Throws Error if the timeline is damaged.
std::optional<StoredTracks> open_stored_tracks(Reading& reading,
                                               const std::vector<timeline::RecordTable>& tables);
void add_stored_tracks(Reading& reading, TrackKind kind, StoredTracks& stored);

}  // namespace gpuprof::view
