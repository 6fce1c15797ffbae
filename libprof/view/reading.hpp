// What the parts of read_model() share.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/columns/reader.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/view/labels.hpp"
#include "libprof/view/model.hpp"

namespace gpuprof::view {

struct Reading {
  Reading(store::Database& opened, Model& filled,
          const std::function<void(std::string_view)>& checked)
      : database(opened),
        snapshot(opened),
        names(opened, reading::NameStyle::modern),
        tables(opened),
        model(filled),
        check(checked) {
    for (const Name& each : model.names) {
      known_.try_emplace(each.text, static_cast<std::uint32_t>(known_.size()));
    }
  }

  // The same name is one name, wherever it comes from.
  std::uint32_t name(const std::string& text, const Labels::Label& label = {});
  std::uint32_t range_name(std::int64_t string_id);
  std::uint8_t table(const std::string& name, bool computes = false);
  std::string process(std::int64_t id) const { return "process " + std::to_string(id); }
  std::string thread(std::int64_t id) const;

  store::Database& database;
  store::Snapshot snapshot;
  reading::Names names;
  reading::Tables tables;
  Model& model;
  const std::function<void(std::string_view)>& check;

 private:
  std::unordered_map<std::string, std::uint32_t> known_;
};

// Times that can be drawn.
inline bool has_times(std::int64_t begin, std::int64_t end) {
  return begin > 0 && end >= begin && end < INT64_MAX;
}

// Records by track, while they are read. More tracks, as only forged files have them, are not made:
// their records are counted in a last one.
template <class Key>
class Collected {
 public:
  static constexpr std::size_t most_tracks = 1024;

  std::vector<Item>* find(const Key& key) {
    if (latest_ && latest_key_ == key) return latest_;
    auto found = tracks_.find(key);
    if (found == tracks_.end()) {
      if (tracks_.size() == most_tracks) {
        ++left_out;
        return nullptr;
      }
      found = tracks_.try_emplace(key).first;
    }
    latest_ = &found->second;
    latest_key_ = key;
    return latest_;
  }
  std::map<Key, std::vector<Item>>& tracks() { return tracks_; }

  std::int64_t left_out = 0;

 private:
  std::map<Key, std::vector<Item>> tracks_;
  std::vector<Item>* latest_ = nullptr;
  Key latest_key_{};
};

// Names of a table's records. While a reader reads, its connection is its own: records get a place
// in a list first, and the name of that when all have been read.
template <class Key>
class LateNames {
 public:
  explicit LateNames(Collected<Key>& records) : records_(records) {
    for (auto& [key, items] : records.tracks()) first_[&items] = items.size();
  }

  std::uint32_t place(std::int64_t id) {
    if (!ids_.empty() && id == latest_id_) return latest_;
    const auto [found, is_new] = known_.try_emplace(id, static_cast<std::uint32_t>(ids_.size()));
    if (is_new) ids_.push_back(id);
    latest_id_ = id;
    return latest_ = found->second;
  }

  // Calls make(id) for each id once; it gives a place in Model::names.
  template <class Make>
  void resolve(const Make& make) {
    std::vector<std::uint32_t> names;
    for (const std::int64_t id : ids_) names.push_back(make(id));
    for (auto& [key, items] : records_.tracks()) {
      const auto found = first_.find(&items);
      for (std::size_t i = found == first_.end() ? 0 : found->second; i < items.size(); ++i) {
        items[i].name = names[items[i].name];
      }
    }
  }

 private:
  Collected<Key>& records_;
  std::unordered_map<const std::vector<Item>*, std::size_t> first_;  // of this table, by track
  std::unordered_map<std::int64_t, std::uint32_t> known_;
  std::vector<std::int64_t> ids_;
  std::int64_t latest_id_ = 0;
  std::uint32_t latest_ = 0;
};

using columns::whole;

// Tracks stay where they are until all have their rows.
struct RowsJob {
  std::vector<Item>* items;
  Track* track;
};
void make_all_rows(std::vector<RowsJob>& jobs);

// A track for each key, with rows. `describe(key, track)` fills in the rest.
template <class Key, class Describe>
void add_tracks(Model& model, Collected<Key>& records, const Describe& describe) {
  const std::size_t first = model.tracks.size();
  model.tracks.resize(first + records.tracks().size());
  std::vector<RowsJob> jobs;
  for (auto& [key, items] : records.tracks()) {
    Track& track = model.tracks[first + jobs.size()];
    describe(key, track);
    jobs.push_back({&items, &track});
  }
  make_all_rows(jobs);
}

void read_gpu_tracks(Reading& reading);
void read_range_tracks(Reading& reading);
void read_call_tracks(Reading& reading);
void read_counters(Reading& reading);

}  // namespace gpuprof::view
