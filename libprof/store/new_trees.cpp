#include "libprof/store/new_trees.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "libprof/store/file_header.hpp"

namespace gpuprof::store {
namespace {

constexpr std::size_t buffer_bytes = 1 << 20;
constexpr std::int64_t lock_byte = 1 << 30;
constexpr std::size_t change_counter = 24, page_count = 28;  // offsets in the file's header

// Page types.
constexpr std::uint8_t inner_index = 2, inner_table = 5, leaf_index = 10, leaf_table = 13;
constexpr std::size_t leaf_header = 8, inner_header = 12, pointer_bytes = 2, child_bytes = 4;

void store_number(std::byte* at, std::size_t size, std::uint64_t value) {
  for (std::size_t i = 0; i < size; ++i)
    at[i] = static_cast<std::byte>(value >> 8 * (size - 1 - i));
}

std::uint32_t load_number(const std::byte* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint32_t>(at[i]);
  return value;
}

// SQLite's variable-length integer: 7 bits per byte, most significant first; the ninth byte has 8.
std::byte* put_varint(std::byte* at, std::uint64_t value) {
  if (value >> 56 != 0) {
    at[8] = static_cast<std::byte>(value);
    value >>= 8;
    for (int i = 7; i >= 0; --i, value >>= 7) at[i] = static_cast<std::byte>(value | 0x80);
    return at + 9;
  }
  int size = 1;
  while (value >> 7 * size != 0) ++size;
  for (int i = size - 1; i >= 0; --i, value >>= 7) {
    at[i] = static_cast<std::byte>((value & 0x7f) | (i == size - 1 ? 0 : 0x80));
  }
  return at + size;
}

// How a record encodes an integer: its serial type and size in bytes.
struct Form {
  std::uint8_t type;
  std::uint8_t bytes;
};

Form form_of(std::int64_t value) {
  if (value == 0 || value == 1) return {static_cast<std::uint8_t>(8 + value), 0};
  const auto magnitude = static_cast<std::uint64_t>(value < 0 ? ~value : value);
  const int bits = 65 - std::countl_zero(magnitude);  // including the sign bit
  if (bits <= 8) return {1, 1};
  if (bits <= 16) return {2, 2};
  if (bits <= 24) return {3, 3};
  if (bits <= 32) return {4, 4};
  return bits <= 48 ? Form{5, 6} : Form{6, 8};
}

// Writes a record of integers and NULLs; its header must be shorter than 128 bytes.
class Record {
 public:
  Record(std::byte* at, std::size_t values) : header_(at), body_(at + 1 + values) {
    *header_++ = static_cast<std::byte>(1 + values);
  }
  void add_null() { *header_++ = std::byte{0}; }
  void add(std::int64_t value) {
    const Form form = form_of(value);
    *header_++ = static_cast<std::byte>(form.type);
    store_number(body_, form.bytes, static_cast<std::uint64_t>(value));
    body_ += form.bytes;
  }
  std::byte* end() const { return body_; }

 private:
  std::byte* header_;
  std::byte* body_;
};

}  // namespace

NewTrees::NewTrees(Snapshot& snapshot) : database_(snapshot.database()) {
  FileHeader header;
  const bool plain =
      snapshot.reader(0).read_file(0, std::as_writable_bytes(std::span(header.bytes))) &&
      header.is_plain() && header.file_size() > 0 && !header.moves_pages();
  if (!plain) return;
  page_size_ = static_cast<std::size_t>(header.page_size());
  std::memcpy(header_.data(), header.bytes.data() + change_counter, header_.size());
  next_ = load_number(header_.data() + page_count - change_counter) + 1;
  buffered_ = behind_last_ = next_;
}

std::uint32_t NewTrees::lock_page() const {
  return static_cast<std::uint32_t>(lock_byte / static_cast<std::int64_t>(page_size_)) + 1;
}

std::uint32_t NewTrees::add_page(std::span<const std::byte> page) {
  if (next_ == lock_page()) {
    write_buffer();
    buffered_ = ++next_;
  }
  buffer_.insert(buffer_.end(), page.begin(), page.end());
  const std::uint32_t number = next_++;
  if (buffer_.size() >= buffer_bytes) write_buffer();
  return number;
}

void NewTrees::go_back() {
  next_ = behind_last_;
  if (next_ < buffered_) buffered_ = next_;
  buffer_.resize((next_ - buffered_) * page_size_);
}

void NewTrees::write_buffer() {
  const std::int64_t offset = std::int64_t{buffered_ - 1} * static_cast<std::int64_t>(page_size_);
  if (!buffer_.empty()) database_.write_file(offset, buffer_);
  buffer_.clear();
  buffered_ = next_;
}

// SQLite stores the text without this clause.
void NewTrees::add(Object object) {
  constexpr std::string_view words = "IF NOT EXISTS ";
  const std::size_t at = object.sql.find(words);
  if (at != object.sql.npos) object.sql.erase(at, words.size());
  objects_.push_back(std::move(object));
  behind_last_ = next_;
}

bool NewTrees::publish() {
  if (objects_.empty()) return true;
  write_buffer();
  // A separate connection: the reader's guard forbids changing sqlite_master.
  Database database = database_.writer();
  std::array<std::byte, 16> now{};
  const auto unchanged = [&] { return database.read_file(change_counter, now) && now == header_; };
  // SQLite learns of the pages from the file's header, which it reads when a transaction begins, so
  // this is a separate transaction.
  database.execute("BEGIN EXCLUSIVE");
  std::byte last{};
  const std::int64_t size = std::int64_t{next_ - 1} * static_cast<std::int64_t>(page_size_);
  const bool ours = unchanged() && database.read_file(size - 1, {&last, 1});
  if (ours) {
    const auto pages = std::span(header_).subspan(page_count - change_counter, 4);
    store_number(pages.data(), pages.size(), next_ - 1);
    database.write_file(page_count, pages);
  }
  database.execute("COMMIT");
  if (!ours) return false;
  database.execute("BEGIN IMMEDIATE");
  if (!unchanged()) return false;
  for (const Object& object : objects_) {
    if (object.type != "table") continue;
    database.execute("DROP TABLE IF EXISTS main." + quoted_name(object.name));
  }
  const std::int64_t version = database.integer("PRAGMA schema_version").value_or(0);
  database.execute("PRAGMA writable_schema = ON");
  Statement insert = database.prepare(
      "INSERT INTO main.sqlite_master(type, name, tbl_name, rootpage, sql) "
      "VALUES(?1, ?2, ?3, ?4, ?5)");
  for (const Object& object : objects_) {
    insert.bind(1, object.type).bind(2, object.name).bind(3, object.table);
    insert.bind(4, std::int64_t{object.root}).bind(5, object.sql).run();
  }
  database.execute("PRAGMA schema_version = " + std::to_string(version + 1));
  database.execute("COMMIT");
  return true;
}

void TreeWriter::Bytes::set(std::span<const std::byte> from) {
  size = static_cast<std::uint8_t>(from.size());
  std::ranges::copy(from, bytes.begin());
}

TreeWriter::TreeWriter(NewTrees& trees, Kind kind)
    : trees_(trees), kind_(kind), page_(trees.page_size()), header_(leaf_header) {
  start_page();
}

void TreeWriter::start_page() {
  std::ranges::fill(page_, std::byte{0});
  cells_ = 0;
  content_ = page_.size();
}

bool TreeWriter::has_room(std::size_t cell) const {
  return header_ + (cells_ + 1) * pointer_bytes + cell <= content_;
}

void TreeWriter::put(std::span<const std::byte> cell) {
  content_ -= cell.size();
  std::memcpy(page_.data() + content_, cell.data(), cell.size());
  store_number(page_.data() + header_ + cells_ * pointer_bytes, pointer_bytes, content_);
  ++cells_;
}

// A content offset of 65,536 is stored as 0.
std::uint32_t TreeWriter::write_page(std::uint8_t type, std::uint32_t right_child) {
  page_[0] = static_cast<std::byte>(type);
  store_number(page_.data() + 3, 2, cells_);
  store_number(page_.data() + 5, 2, content_);
  if (header_ == inner_header) store_number(page_.data() + leaf_header, child_bytes, right_child);
  const std::uint32_t number = trees_.add_page(page_);
  start_page();
  return number;
}

void TreeWriter::end_page(std::span<const std::byte> key) {
  Child child{.page = write_page(kind_ == Kind::table ? leaf_table : leaf_index, 0), .key = {}};
  child.key.set(key);
  leaves_.push_back(child);
}

// In a table, the page above repeats a page's last key. In an index each key occurs once: the one
// after a full page moves up, and requires another one after it.
void TreeWriter::add(std::span<const std::byte> cell, std::span<const std::byte> key) {
  if (waiting_.size != 0) {
    end_page(waiting_.get());
    waiting_.size = 0;
  } else if (!has_room(cell.size())) {
    if (kind_ == Kind::index) {
      waiting_.set(cell);
      return;
    }
    end_page(last_.get());
  }
  put(cell);
  last_.set(kind_ == Kind::index ? cell : key);
}

std::uint32_t TreeWriter::finish() {
  if (waiting_.size != 0) {
    // No cell followed: the page's last cell moves up instead.
    --cells_;
    content_ += last_.size;
    store_number(page_.data() + header_ + cells_ * pointer_bytes, pointer_bytes, 0);
    end_page(last_.get());
    put(waiting_.get());
  }
  end_page({});
  std::vector<Child> level = std::move(leaves_);
  header_ = inner_header;
  while (level.size() > 1) level = next_level(level);
  return level.front().page;
}

std::vector<TreeWriter::Child> TreeWriter::next_level(const std::vector<Child>& children) {
  start_page();
  const std::size_t cells =
      (page_.size() - inner_header) / (pointer_bytes + child_bytes + most_cell);
  const std::size_t pages = (children.size() + cells) / (cells + 1);
  std::vector<Child> level;
  auto child = children.begin();
  for (std::size_t page = 0; page < pages; ++page) {
    // Distributed evenly, so that no page has a single child.
    const auto end =
        children.begin() + static_cast<std::ptrdiff_t>(children.size() * (page + 1) / pages);
    for (; child + 1 != end; ++child) {
      std::array<std::byte, child_bytes + most_cell> cell{};
      store_number(cell.data(), child_bytes, child->page);
      std::ranges::copy(child->key.get(), cell.begin() + child_bytes);
      put(std::span(cell).first(child_bytes + child->key.size));
    }
    const std::uint8_t type = kind_ == Kind::table ? inner_table : inner_index;
    level.push_back({.page = write_page(type, child->page), .key = child->key});
    ++child;
  }
  return level;
}

void IndexWriter::add(std::optional<std::int64_t> value, std::int64_t row_id) {
  std::array<std::byte, most_cell> cell;
  Record record(cell.data() + 1, 2);
  value ? record.add(*value) : record.add_null();
  record.add(row_id);
  const std::byte* end = record.end();
  cell[0] = static_cast<std::byte>(end - cell.data() - 1);
  TreeWriter::add({cell.data(), end}, {});
}

void TableWriter::add(std::int64_t row_id, std::span<const std::int64_t> values) {
  std::array<std::byte, most_cell> cell, key;
  std::byte* at = put_varint(cell.data() + 1, static_cast<std::uint64_t>(row_id));
  Record record(at, values.size() + 1);
  record.add_null();  // the row id's own column
  for (const std::int64_t value : values) record.add(value);
  cell[0] = static_cast<std::byte>(record.end() - at);
  const std::byte* key_end = put_varint(key.data(), static_cast<std::uint64_t>(row_id));
  TreeWriter::add({cell.data(), record.end()}, {key.data(), key_end});
}

void BlobTableWriter::add(std::int64_t row_id, std::span<const std::byte> blob) {
  constexpr std::size_t most_varint = 9;
  std::array<std::byte, 2 + most_varint> header;  // of the record: its length, NULL, a blob
  std::byte* end = put_varint(header.data() + 2, 2 * blob.size() + 12);
  header[0] = static_cast<std::byte>(end - header.data());
  header[1] = std::byte{0};
  const auto header_bytes = static_cast<std::size_t>(end - header.data());
  cell_.resize(2 * most_varint);
  std::array<std::byte, most_cell> key;
  const std::byte* key_end = put_varint(key.data(), static_cast<std::uint64_t>(row_id));
  std::byte* at = put_varint(cell_.data(), header_bytes + blob.size());
  at = std::ranges::copy(std::span<const std::byte>(key.data(), key_end), at).out;
  cell_.resize(static_cast<std::size_t>(at - cell_.data()));
  cell_.insert(cell_.end(), header.data(), end);
  cell_.insert(cell_.end(), blob.begin(), blob.end());
  TreeWriter::add(cell_, {key.data(), key_end});
}

}  // namespace gpuprof::store
