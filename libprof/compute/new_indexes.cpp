#include "libprof/compute/new_indexes.hpp"

#include <algorithm>
#include <tuple>

#include "libprof/compute/sorted.hpp"
#include "libprof/read/columns/reader.hpp"

namespace gpuprof::compute {
namespace {

struct Entry {
  std::int64_t value = 0;
  std::int64_t row_id = 0;
  bool operator<(const Entry& other) const {
    return std::tie(value, row_id) < std::tie(other.value, other.row_id);
  }
};

// Whether both columns hold integers in all rows.
bool is_sound(const columns::Chunk& chunk, std::size_t row_id, std::size_t value) {
  return chunk.misfits() == 0 && chunk[row_id].nulls() == 0 && chunk[value].nulls() == 0 &&
         chunk[row_id].int64s().size() == chunk.rows() &&
         chunk[value].int64s().size() == chunk.rows();
}

void take_entries(const columns::Chunk& chunk, std::size_t row_id, std::size_t value,
                  const auto& take) {
  const auto row_ids = chunk[row_id].int64s(), values = chunk[value].int64s();
  for (std::size_t row = 0; row < chunk.rows(); ++row) take(Entry{values[row], row_ids[row]});
}

}  // namespace

// An index whose entries arrive nearly in its order.
class NewIndexes::Making {
 public:
  Making(const schema::Index& index, store::NewTrees& trees) : index_(index), writer_(trees) {}

  const schema::Index& index() const { return index_; }
  void add(const columns::Chunk& chunk, std::size_t row_id, std::size_t value) {
    sound_ &= is_sound(chunk, row_id, value);
    if (!sound_) return;
    take_entries(chunk, row_id, value, [&](const Entry& entry) { sorted_.add(entry, put_); });
  }
  // Returns the root page. 0: entries are not integers, or too far out of order.
  std::uint32_t finish() { return sound_ && sorted_.finish(put_) ? writer_.finish() : 0; }

 private:
  struct Put {
    store::IndexWriter& writer;
    void operator()(const Entry& entry) const { writer.add(entry.value, entry.row_id); }
  };

  const schema::Index index_;
  store::IndexWriter writer_;
  Put put_{writer_};
  NearlySorted<Entry> sorted_;
  bool sound_ = true;
};

NewIndexes::NewIndexes(store::Snapshot& snapshot, std::span<const schema::Index> indexes,
                       store::NewTrees* trees)
    : snapshot_(snapshot), trees_(trees) {
  if (!trees) return;
  store::Database& database = snapshot.reader(0);
  for (const schema::Index& index : indexes) {
    const std::string table(index.table);
    if (database.has_index(table, index.column) || !database.has_table(table)) continue;
    if (database.integer("SELECT 1 FROM main." + table + " LIMIT 1")) wanted_.push_back(index);
  }
}

NewIndexes::~NewIndexes() = default;

void NewIndexes::publish(const schema::Index& index, std::uint32_t root) {
  trees_->add({.type = "index",
               .name = "INDEX_" + std::string(index.table),
               .table = std::string(index.table),
               .sql = schema::create_index_sql(index),
               .root = root});
  std::erase_if(wanted_, [&](const schema::Index& each) { return each.table == index.table; });
}

void NewIndexes::add(std::string_view table, const columns::Chunk& chunk, std::size_t row_id,
                     std::size_t value) {
  if (table != table_) {
    finish();
    table_ = table;
    const auto index = std::ranges::find_if(wanted_, [&](const schema::Index& each) {
      return each.table == table && each.column == column;
    });
    if (index != wanted_.end()) making_ = std::make_unique<Making>(*index, *trees_);
  }
  if (making_) making_->add(chunk, row_id, value);
}

void NewIndexes::finish() {
  table_.clear();
  if (!making_) return;
  const std::uint32_t root = making_->finish();
  if (root == 0) return give_up();
  publish(making_->index(), root);
  making_.reset();
}

void NewIndexes::give_up() {
  table_.clear();
  making_.reset();
  if (trees_) trees_->go_back();
}

void NewIndexes::make(const schema::Index& index, const std::function<void()>& check) {
  const auto read = [&](const auto& take) {
    columns::Reader reader(snapshot_, {.table = std::string(index.table),
                                       .columns = {"_id_", std::string(index.column)}});
    reader.read([&](const columns::Chunk& chunk) {
      check();
      take(chunk);
    });
  };
  {
    Making making(index, *trees_);
    read([&](const columns::Chunk& chunk) { making.add(chunk, 0, 1); });
    if (const std::uint32_t root = making.finish()) return publish(index, root);
  }
  trees_->go_back();
  bool sound = true;
  Sorted<Entry> sorted;
  read([&](const columns::Chunk& chunk) {
    sound = sound && is_sound(chunk, 0, 1);
    if (sound) take_entries(chunk, 0, 1, [&](const Entry& entry) { sorted.add(entry); });
  });
  if (!sound) return;
  store::IndexWriter writer(*trees_);
  sorted.for_each([&](const Entry& entry) { writer.add(entry.value, entry.row_id); });
  publish(index, writer.finish());
}

void NewIndexes::make_others(const std::function<void()>& check) {
  const std::vector<schema::Index> others = wanted_;
  for (const schema::Index& index : others) make(index, check);
}

}  // namespace gpuprof::compute
