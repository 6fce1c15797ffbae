#include "libprof/compute/timeline/store_timeline.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/compute/timeline/blocks.hpp"
#include "libprof/compute/timeline/ordered_records.hpp"
#include "libprof/store/new_trees.hpp"
#include "libprof/store/scan.hpp"
#include "schema/database.hpp"
#include "schema/timeline.hpp"

namespace gpuprof::timeline {
namespace {

// The names of one table.
class Names {
 public:
  struct Name {
    std::uint32_t number = 0;
    std::int64_t id = 0;
    std::int64_t count = 0;
    std::uint64_t time = 0, longest = 0;
  };

  Name& find(std::int64_t id, std::uint32_t& next) {
    if (latest_ && latest_->id == id) return *latest_;
    const auto [found, is_new] = all_.try_emplace(id);
    if (is_new) found->second = {.number = next++, .id = id};
    return *(latest_ = &found->second);
  }
  const std::unordered_map<std::int64_t, Name>& all() const { return all_; }

 private:
  std::unordered_map<std::int64_t, Name> all_;
  Name* latest_ = nullptr;
};

struct RowBuilder {
  BlockBuilder builder;
  std::vector<std::byte> index;
  std::int64_t records = 0;
};

struct Track {
  RowChoice choice;
  std::vector<std::unique_ptr<RowBuilder>> rows;
  std::int64_t left_out = 0;
};

// Where blocks go while the file is read: past its end or, if its pages are too small or it has a
// log and must not be written to, into memory.
class Blocks {
 public:
  explicit Blocks(store::Snapshot& snapshot) {
    if (!snapshot.in_file()) return;
    trees_.emplace(snapshot);
    if (trees_->page_size() >= store::BlobTableWriter::least_page) {
      writer_.emplace(*trees_);
    } else {
      trees_.reset();
    }
  }

  // False: it does not fit.
  bool add(std::uint32_t id, std::span<const std::byte> block) {
    if (writer_) {
      writer_->add(id, block);
      return true;
    }
    bytes_ += block.size();
    if (bytes_ > most_in_memory) return false;
    kept_.emplace_back(block.begin(), block.end());
    return true;
  }

  // Call while the snapshot lives.
  void end() {
    if (!writer_) return;
    const schema::Table& table = schema::tables::timeline_block;
    const std::string name(table.name);
    trees_->add({"table", name, name, schema::create_table_sql(table), writer_->finish()});
  }

  // Call when the snapshot is gone, outside a transaction. False: another process wrote to the
  // file.
  bool publish() { return !trees_ || trees_->publish(); }
  // Call inside a transaction.
  void write_kept(store::Database& database) {
    auto insert = database.prepare("INSERT INTO main.TIMELINE_BLOCK VALUES(?1, ?2)");
    std::int64_t id = 0;
    for (const auto& block : kept_) insert.bind(1, ++id).bind_blob(2, block).run();
  }

 private:
  static constexpr std::size_t most_in_memory = std::size_t{64} << 20;

  std::optional<store::NewTrees> trees_;
  std::optional<store::BlobTableWriter> writer_;
  std::vector<std::vector<std::byte>> kept_;  // starting with id 1
  std::size_t bytes_ = 0;
};

// The tracks of a file, built record by record.
class Tracks {
 public:
  Tracks(const std::vector<RecordTable>& tables, Blocks& blocks)
      : tables_(tables), blocks_(blocks), names_(tables.size()), left_out_(tables.size()) {}

  // False: there is no room for it.
  bool add(std::size_t table, const Record& record) {
    Track* track = find(tables_[table].kind, record.key);
    if (!track) {
      ++left_out_[table];
      return true;
    }
    const std::size_t place = track->choice.choose(record.begin, record.end);
    if (place == RowChoice::none) {
      ++track->left_out;
      return true;
    }
    Names::Name& name = names_[table].find(record.name, next_name_);
    const auto length = static_cast<std::uint64_t>(record.end - record.begin);
    ++name.count;
    name.time += length;
    name.longest = std::max(name.longest, length);
    if (place == track->rows.size()) track->rows.push_back(std::make_unique<RowBuilder>());
    RowBuilder& row = *track->rows[place];
    ++row.records;
    const Item item{record.begin, record.end, record.id, name.number,
                    static_cast<std::uint8_t>(table)};
    if (row.builder.add(item)) return true;
    if (!finish_block(row)) return false;
    row.builder.add(item);
    return true;
  }

  bool finish() {
    for (auto& [of, track] : tracks_) {
      for (const auto& row : track.rows) {
        if (!row->builder.empty() && !finish_block(*row)) return false;
      }
    }
    return true;
  }

  void write(store::Database& database, const std::vector<std::int64_t>& without_times) const {
    write_rows(database);
    write_names(database);
    auto insert =
        database.prepare("INSERT INTO main.TIMELINE_TABLE VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      const RecordTable& table = tables_[i];
      insert.bind(1, static_cast<std::int64_t>(i)).bind(2, table.name).bind(3, name_of(table.kind));
      insert.bind(4, last_id(database, table.name)).bind(5, without_times[i]);
      insert.bind(6, left_out_[i]).run();
    }
  }

 private:
  Track* find(TrackKind kind, const TrackKey& key) {
    if (latest_ && latest_of_.first == kind && same_track(latest_of_.second, key)) return latest_;
    const std::pair of(kind, key);
    auto found = tracks_.find(of);
    if (found == tracks_.end()) {
      if (counts_[kind] == most_tracks) return nullptr;
      ++counts_[kind];
      found = tracks_.try_emplace(of).first;
    }
    latest_of_ = of;
    return latest_ = &found->second;
  }

  bool finish_block(RowBuilder& row) {
    BlockInfo info = row.builder.finish(block_);
    info.id = ++next_block_;
    append(info, row.index);
    return blocks_.add(info.id, block_);
  }

  void write_rows(store::Database& database) const {
    auto insert = database.prepare(
        "INSERT INTO main.TIMELINE_ROW VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
    std::int64_t number = 0;
    for (const auto& [of, track] : tracks_) {
      const auto& [kind, key] = of;
      for (std::size_t i = 0; i < track.rows.size(); ++i) {
        const RowBuilder& row = *track.rows[i];
        insert.bind(1, ++number).bind(2, name_of(kind));
        insert.bind(3, key[0]).bind(4, key[1]).bind(5, key[2]).bind(6, key[3]);
        insert.bind(7, static_cast<std::int64_t>(i)).bind(8, row.records);
        insert.bind(9, i == 0 ? track.left_out : 0).bind_blob(10, row.index).run();
      }
    }
  }

  void write_names(store::Database& database) const {
    auto insert = database.prepare("INSERT INTO main.TIMELINE_NAME VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
    for (std::size_t i = 0; i < names_.size(); ++i) {
      for (const auto& [id, name] : names_[i].all()) {
        insert.bind(1, std::int64_t{name.number}).bind(2, static_cast<std::int64_t>(i)).bind(3, id);
        insert.bind(4, name.count).bind(5, static_cast<std::int64_t>(name.time));
        insert.bind(6, static_cast<std::int64_t>(name.longest)).run();
      }
    }
  }

  const std::vector<RecordTable>& tables_;
  Blocks& blocks_;
  std::vector<Names> names_;            // by table
  std::vector<std::int64_t> left_out_;  // by table: beyond most_tracks
  std::uint32_t next_name_ = 0;
  std::map<std::pair<TrackKind, TrackKey>, Track> tracks_;
  std::map<TrackKind, std::size_t> counts_;
  Track* latest_ = nullptr;
  std::pair<TrackKind, TrackKey> latest_of_{};
  std::uint32_t next_block_ = 0;
  std::vector<std::byte> block_;
};

constexpr const schema::Table* all_tables[] = {
    &schema::tables::timeline_table, &schema::tables::timeline_name, &schema::tables::timeline_row,
    &schema::tables::timeline_block};

// Creates them in files of an older gpuprof.
void empty_tables(store::Database& database) {
  for (const schema::Table* table : all_tables) {
    const std::string name = "main." + std::string(table->name);
    if (!database.has_table(table->name)) {
      database.execute(schema::create_table_sql(*table));
    } else if (database.integer("SELECT 1 FROM " + name + " LIMIT 1")) {
      database.execute("DELETE FROM " + name);
    }
  }
}

}  // namespace

std::int64_t last_id(store::Database& database, std::string_view table) {
  return database.integer("SELECT max(_id_) FROM main." + store::quoted_name(table)).value_or(0);
}

bool store_timeline(store::Database& database, StoredTimeline wanted,
                    const std::function<void()>& check) {
  empty_tables(database);
  if (wanted == StoredTimeline::never) return true;
  const std::vector<RecordTable> tables = record_tables(database);
  if (wanted == StoredTimeline::automatic) {
    std::int64_t most = 0;
    for (const RecordTable& table : tables) most += last_id(database, table.name);
    if (most < stored_from) return true;
  }
  std::optional<Blocks> blocks;
  std::optional<Tracks> tracks;
  std::vector<std::int64_t> without_times;  // by table
  {
    store::Snapshot snapshot(database);
    OrderedRecords records(snapshot, tables, check);
    if (!records.possible()) return false;
    blocks.emplace(snapshot);
    tracks.emplace(tables, *blocks);
    while (records.next()) {
      if (!tracks->add(records.table(), records.record())) return false;
    }
    if (!tracks->finish()) return false;
    blocks->end();
    without_times = records.without_times();
  }
  if (!blocks->publish()) return false;
  database.execute("BEGIN");
  try {
    blocks->write_kept(database);
    tracks->write(database, without_times);
  } catch (...) {
    if (database.in_transaction()) database.execute("ROLLBACK");
    throw;
  }
  database.execute("COMMIT");
  return true;
}

}  // namespace gpuprof::timeline
