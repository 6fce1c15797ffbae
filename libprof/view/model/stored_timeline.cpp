// Tracks from the timeline stored in the file.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/compute/timeline/store_timeline.hpp"
#include "libprof/view/model/reading.hpp"
#include "libprof/view/model/stored_row.hpp"

namespace gpuprof::view {
namespace {

constexpr std::int64_t most_stored_names = 10'000'000;

// Whether the tables drawn today are those that were stored.
bool is_current(Reading& reading, const std::vector<timeline::RecordTable>& tables) {
  auto rows = reading.database.prepare(
      "SELECT _id_, name, kind, lastId FROM main.TIMELINE_TABLE ORDER BY _id_");
  std::size_t count = 0;
  for (; rows.step(); ++count) {
    if (count >= tables.size()) return false;
    const timeline::RecordTable& table = tables[count];
    if (rows.integer(0) != static_cast<std::int64_t>(count) || rows.text(1) != table.name ||
        rows.text(2) != timeline::name_of(table.kind) ||
        rows.integer(3) != timeline::last_id(reading.database, table.name)) {
      return false;
    }
  }
  return count > 0 && count == tables.size();
}

// Names by number; also reads the statistics of the whole run.
std::vector<std::uint32_t> read_names(Reading& reading,
                                      const std::vector<timeline::RecordTable>& tables,
                                      Statistics& whole) {
  std::vector<std::uint32_t> names;
  std::map<std::pair<TrackKind, std::uint32_t>, Statistics::Work> all;
  auto rows = reading.database.prepare(
      "SELECT _id_, tableNumber, named, records, total, longest FROM main.TIMELINE_NAME "
      "ORDER BY _id_");
  while (rows.step()) {
    const std::int64_t table = rows.integer(1);
    if (rows.integer(0) != std::ssize(names) || table < 0 || table >= std::ssize(tables) ||
        std::ssize(names) >= most_stored_names) {
      throw Error("the timeline in the file is damaged");
    }
    const timeline::RecordTable& its = tables[static_cast<std::size_t>(table)];
    const std::uint32_t name = name_of_record(reading, its, rows.integer(2));
    names.push_back(name);
    Statistics::Work& work = all[{its.kind, name}];
    work.kind = its.kind;
    work.name = name;
    work.count += rows.integer(3);
    work.time += static_cast<std::uint64_t>(rows.integer(4));
    work.longest = std::max(work.longest, static_cast<std::uint64_t>(rows.integer(5)));
  }
  for (const auto& [key, work] : all) {
    if (work.count > 0) whole.work.push_back(work);
  }
  std::ranges::stable_sort(whole.work, std::greater{}, &Statistics::Work::time);
  return names;
}

// The times computed at the end of the run, from the same records.
bool read_devices(Reading& reading, Statistics& whole) {
  if (!reading.tables.has("DEVICE_TIME", "exposedCommunication")) return false;
  auto rows = reading.database.prepare(
      "SELECT deviceId, busy, kernelsOnly, copiesOnly, both, exposedCommunication, first, last "
      "FROM main.DEVICE_TIME");
  while (rows.step()) {
    const auto ns = [&](int column) { return static_cast<std::uint64_t>(rows.integer(column)); };
    whole.devices.push_back({.device = rows.integer(0),
                             .name = {},
                             .busy = ns(1),
                             .compute = ns(2) + ns(4),
                             .copies = ns(3) + ns(4),
                             .both = ns(4),
                             .exposed = ns(5),
                             .work = {.from = rows.integer(6), .to = rows.integer(7)}});
  }
  return true;
}

}  // namespace

std::optional<StoredTracks> open_stored_tracks(Reading& reading,
                                               const std::vector<timeline::RecordTable>& tables) {
  if (!reading.tables.has("TIMELINE_BLOCK", "records") ||
      !reading.tables.has("TIMELINE_ROW", "blocks") ||
      !reading.tables.has("TIMELINE_NAME", "longest") ||
      !reading.tables.has("TIMELINE_TABLE", "leftOut") || !is_current(reading, tables)) {
    return std::nullopt;
  }
  StoredTracks stored;
  Statistics whole;
  std::vector<std::uint32_t> names = read_names(reading, tables, whole);
  if (read_devices(reading, whole)) stored.whole = std::move(whole);
  std::vector<std::uint8_t> numbers;
  auto lost = reading.database.prepare(
      "SELECT withoutTimes, leftOut FROM main.TIMELINE_TABLE ORDER BY _id_");
  for (const timeline::RecordTable& table : tables) {
    numbers.push_back(reading.table(table));
    if (!lost.step()) continue;
    reading.model.without_times += lost.integer(0);
    stored.left_out[table.kind] += lost.integer(1);
  }
  stored.blocks =
      std::make_shared<BlockFile>(reading.database.reader(), std::move(names), std::move(numbers));
  auto rows = reading.database.prepare(
      "SELECT kind, key0, key1, key2, key3, place, records, leftOut, blocks "
      "FROM main.TIMELINE_ROW ORDER BY _id_");
  while (rows.step()) {
    TrackKind kind{};
    auto blocks = timeline::read_index(rows.blob(8));
    if (!timeline::read_kind(rows.text(0), kind) || !blocks || blocks->empty()) {
      throw Error("the timeline in the file is damaged");
    }
    auto& tracks_of_kind = stored.tracks[kind];
    Track& track =
        tracks_of_kind[{rows.integer(1), rows.integer(2), rows.integer(3), rows.integer(4)}];
    if (tracks_of_kind.size() > timeline::most_tracks || track.rows.size() == timeline::most_rows ||
        rows.integer(5) != std::ssize(track.rows)) {
      throw Error("the timeline in the file is damaged");
    }
    auto row = std::make_unique<StoredRow>(stored.blocks, std::move(*blocks));
    track.left_out += std::max<std::int64_t>(rows.integer(7), 0);
    track.records += static_cast<std::int64_t>(row->size());
    track.rows.push_back(std::move(row));
  }
  for (auto& [kind, tracks_of_kind] : stored.tracks) {
    for (auto& [key, track] : tracks_of_kind) track.records += track.left_out;
  }
  return stored;
}

void add_stored_tracks(Reading& reading, TrackKind kind, StoredTracks& stored) {
  std::vector<timeline::TrackKey> keys;
  std::vector<Track> made;
  for (auto& [key, track] : stored.tracks[kind]) {
    keys.push_back(key);
    made.push_back(std::move(track));
  }
  describe_tracks(reading, kind, keys, made);
  std::ranges::move(made, std::back_inserter(reading.model.tracks));
  tell_of_tracks_left_out(reading.model, kind, stored.left_out[kind]);
}

}  // namespace gpuprof::view
