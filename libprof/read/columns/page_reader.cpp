#include "libprof/read/columns/page_reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "libprof/read/columns/bytes.hpp"

namespace gpuprof::columns {
namespace {

constexpr std::size_t leaf_header = 8;
constexpr std::size_t smallest_cell = 4;
// Readable bytes needed past the last page, before values are validated: a row's head as far as
// layouts keep it, plus more than two varints.
constexpr std::size_t slack = 128;
constexpr std::size_t most_layouts = 4096;

// Value sizes in bytes for serial types below 10.
constexpr std::array<std::uint8_t, 10> sizes{0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
constexpr std::uint64_t first_blob = 12;

std::int64_t number(const std::uint8_t* at, unsigned shift) {
  return static_cast<std::int64_t>(big_endian_64(at)) >> shift;
}

}  // namespace

PageReader::PageReader(store::Database& database, const Plan& plan)
    : database_(database), plan_(plan) {
  const auto want = [&](const ColumnSource& source) {
    if (source.place != ColumnSource::Place::missing) wanted_.push_back(source.index);
  };
  for (const ColumnSource& source : plan.columns) want(source);
  for (const Plan::Test& test : plan.tests) want(test.source);
  std::ranges::sort(wanted_);
  wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
  row_id_field_ = wanted_.size();
  const auto field = [&](const ColumnSource& source) {
    const auto found =
        static_cast<std::size_t>(std::ranges::find(wanted_, source.index) - wanted_.begin());
    if (source.place == ColumnSource::Place::row_id) row_id_field_ = found;
    return found;
  };
  for (const ColumnSource& source : plan.columns) field_of_column_.push_back(field(source));
  for (const Plan::Test& test : plan.tests) field_of_test_.push_back(field(test.source));
  // The header size and each type nearly always use one byte.
  const std::size_t head = wanted_.empty() ? 1 : wanted_.back() + 2;
  head_words_ = std::clamp<std::size_t>(head / 8, 1, 8);
}

bool PageReader::read(const Stretch& stretch, Chunk& chunk) {
  if (!fetch(stretch)) return false;
  const std::size_t page_size = plan_.tree->page_size;
  std::int64_t first = stretch.first;
  for (std::size_t i = 0; i < stretch.pages.size(); ++i) {
    // A table without rows is a leaf without cells.
    const bool may_be_empty = stretch.pages[i] == plan_.tree->root;
    if (!find_cells(&pages_[i * page_size], may_be_empty, first, stretch.last_ids[i])) return false;
    if (i + 1 < stretch.pages.size()) first = stretch.last_ids[i] + 1;
    if (!plan_.tests.empty()) test_cells();
    for (std::size_t column = 0; column < plan_.columns.size(); ++column) {
      add_column(chunk, column);
    }
    chunk.add_rows(cells_.size());
  }
  return true;
}

// Reads pages that are consecutive in the file at once.
bool PageReader::fetch(const Stretch& stretch) {
  const std::size_t page_size = plan_.tree->page_size, count = stretch.pages.size();
  if (pages_.size() < count * page_size + slack) pages_.resize(count * page_size + slack);
  for (std::size_t i = 0, end = 0; i < count; i = end) {
    const std::uint32_t number = stretch.pages[i];
    end = i + 1;
    while (end < count && stretch.pages[end] == number + (end - i)) ++end;
    if (number < 2 || number + (end - i) - 1 > plan_.tree->pages) return false;
    const std::span<std::uint8_t> bytes(&pages_[i * page_size], (end - i) * page_size);
    if (!database_.read_file(static_cast<std::int64_t>((number - 1) * page_size),
                             std::as_writable_bytes(bytes))) {
      return false;
    }
  }
  return true;
}

// Sets `cells_`.
bool PageReader::find_cells(const std::uint8_t* page, bool may_be_empty, std::int64_t first,
                            std::int64_t last) {
  cells_.clear();
  if (layouts_.size() > most_layouts) {
    layouts_.clear();
    known_.fill(nullptr);
    latest_ = nullptr;
  }
  const std::size_t page_size = plan_.tree->page_size;
  const std::uint8_t* const end = page + page_size;
  const std::size_t count = big_endian_16(page + 3), begin = leaf_header + 2 * count;
  if (page[0] != leaf_page || begin > page_size || (count == 0 && !may_be_empty)) return false;
  const std::size_t longest_row = page_size - 35;  // longer rows have overflow pages
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = big_endian_16(page + leaf_header + 2 * i);
    if (at < begin || at > page_size - smallest_cell) return false;
    const std::uint8_t* row = page + at;
    const std::uint64_t size = varint(row);
    const auto id = static_cast<std::int64_t>(varint(row));
    if (size > longest_row || row + size > end) return false;
    // Ids ascend, within the bounds given by the inner pages.
    if (id < first || id > last || (i > 0 && id <= cells_.back().id)) return false;
    const Layout* layout = layout_of(row, size);
    if (!layout) return false;
    cells_.push_back({.row = row, .layout = layout, .id = id});
  }
  return true;
}

// nullptr: the row is invalid.
const PageReader::Layout* PageReader::layout_of(const std::uint8_t* row, std::uint64_t size) {
  // By words: memcmp() of the portable build compares one byte after the other.
  const auto fits = [&](const Layout* layout) {
    if (!layout) return false;
    std::size_t at = 0;
    for (; at + 8 <= layout->head_size; at += 8) {
      if (big_endian_64(row + at) != big_endian_64(&layout->head[at])) return false;
    }
    const unsigned rest = 64 - 8 * static_cast<unsigned>(layout->head_size - at);
    return rest == 64 || (big_endian_64(row + at) ^ big_endian_64(&layout->head[at])) >> rest == 0;
  };
  const auto checked = [&](const Layout* layout) {
    const bool right = layout->whole ? layout->size == size : layout->size <= size;
    return right ? layout : nullptr;
  };
  if (fits(latest_)) return checked(latest_);
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < head_words_; ++i) {
    hash = (hash ^ big_endian_64(row + 8 * i)) * 0x9e3779b97f4a7c15u;
  }
  const Layout*& known = known_[hash >> 56];
  if (!fits(known)) {
    if (!parse(row, size, layouts_.emplace_back())) return nullptr;
    if (layouts_.back().head_size == 0) return &layouts_.back();
    known = &layouts_.back();
  }
  latest_ = known;
  return checked(known);
}

bool PageReader::parse(const std::uint8_t* row, std::uint64_t size, Layout& layout) const {
  const std::uint8_t* head = row;
  const std::uint64_t head_size = varint(head);
  if (head_size > size || head_size < static_cast<std::uint64_t>(head - row)) return false;
  const std::uint8_t* const head_end = row + head_size;
  std::uint64_t offset = head_size;
  const std::size_t values = wanted_.empty() ? 0 : wanted_.back() + 1;
  for (std::size_t i = 0; i < values; ++i) {
    if (head >= head_end) return false;  // a missing value has a default that is in the schema
    const std::uint64_t type = varint(head);
    if (head > head_end || type == 10 || type == 11) return false;
    const std::uint64_t bytes = type < first_blob ? sizes[type] : (type - first_blob) / 2;
    if (bytes > size || offset + bytes > size) return false;
    if (wanted_[layout.fields.size()] == i) {
      Field field{.form = Field::Form::number, .offset = static_cast<std::uint32_t>(offset)};
      if (type == 0) {
        field.form = Field::Form::null;
      } else if (type < 7) {
        field.shift = static_cast<std::uint8_t>(64 - 8 * bytes);
      } else if (type == 7) {
        field.form = Field::Form::real;
      } else if (type < first_blob) {
        field.form = Field::Form::constant;
        field.offset = static_cast<std::uint32_t>(type - 8);
      } else {
        field.form = type % 2 == 0 ? Field::Form::blob : Field::Form::text;
        field.size = static_cast<std::uint32_t>(bytes);
      }
      if (layout.fields.size() == row_id_field_ && type != 0) return false;
      layout.fields.push_back(field);
    }
    offset += bytes;
  }
  layout.size = offset;
  layout.whole = head == head_end;
  if (layout.whole && offset != size) return false;
  const auto read = static_cast<std::size_t>(head - row);
  if (read <= layout.head.size()) {
    layout.head_size = read;
    std::memcpy(layout.head.data(), row, read);
  }
  return true;
}

// Keeps only the cells that all tests accept.
void PageReader::test_cells() {
  for (std::size_t i = 0; i < plan_.tests.size(); ++i) {
    const Condition& condition = plan_.tests[i].condition;
    const bool is_id = plan_.tests[i].source.place == ColumnSource::Place::row_id;
    std::erase_if(cells_, [&](const Cell& cell) {
      if (is_id) return !condition.accepts(cell.id);
      const Field& field = cell.layout->fields[field_of_test_[i]];
      if (field.form == Field::Form::number) {
        return !condition.accepts(number(cell.row + field.offset, field.shift));
      }
      return field.form != Field::Form::constant || !condition.accepts(field.offset);
    });
  }
}

// Copies integers into a column that holds nothing else.
template <class Number>
void PageReader::add_numbers(Chunk& chunk, std::size_t index, Number* values) const {
  Column& column = chunk.column(index);
  const std::size_t first = column.size() - cells_.size();
  const std::size_t place = field_of_column_[index];
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Field& field = cells_[i].layout->fields[place];
    std::int64_t value = field.offset;
    if (field.form == Field::Form::number) {
      value = number(cells_[i].row + field.offset, field.shift);
    } else if (field.form != Field::Form::constant) {
      values[i] = 0;
      column.set_null(first + i);
      if (field.form != Field::Form::null) chunk.add_misfit();
      continue;
    }
    values[i] = static_cast<Number>(value);
    if (values[i] != value) {
      values[i] = 0;
      column.set_null(first + i);
      chunk.add_misfit();
    }
  }
}

void PageReader::add_column(Chunk& chunk, std::size_t index) const {
  const ColumnSource& source = plan_.columns[index];
  Column& column = chunk.column(index);
  const std::size_t count = cells_.size();
  switch (source.place) {
    case ColumnSource::Place::missing: return column.add_nulls(count);
    case ColumnSource::Place::row_id:
      if (column.type() == Type::int64) {
        std::ranges::transform(cells_, column.grow_int64s(count), &Cell::id);
        return;
      }
      for (const Cell& cell : cells_) {
        add_value(chunk, index, {.type = store::ValueType::integer, .integer = cell.id});
      }
      return;
    case ColumnSource::Place::record: break;
  }
  switch (column.type()) {
    case Type::int64: return add_numbers(chunk, index, column.grow_int64s(count));
    case Type::int32:
    case Type::name:
    case Type::enumeration: return add_numbers(chunk, index, column.grow_int32s(count));
    case Type::float64:
    case Type::boolean:
    case Type::text:
    case Type::blob: break;
  }
  for (const Cell& cell : cells_) {
    add_value(chunk, index, value_of(cell, cell.layout->fields[field_of_column_[index]]));
  }
}

Value PageReader::value_of(const Cell& cell, const Field& field) {
  using store::ValueType;
  const std::uint8_t* at = cell.row + field.offset;
  const std::string_view bytes(reinterpret_cast<const char*>(at), field.size);
  switch (field.form) {
    case Field::Form::null: break;
    case Field::Form::number:
      return {.type = ValueType::integer, .integer = number(at, field.shift)};
    case Field::Form::constant: return {.type = ValueType::integer, .integer = field.offset};
    case Field::Form::real: {
      const double real = std::bit_cast<double>(big_endian_64(at));
      if (std::isnan(real)) break;
      return {.type = ValueType::real, .real = real};
    }
    case Field::Form::text: return {.type = ValueType::text, .bytes = bytes};
    case Field::Form::blob: return {.type = ValueType::blob, .bytes = bytes};
  }
  return {};
}

}  // namespace gpuprof::columns
