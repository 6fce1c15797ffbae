// Reads modified pages of a table as columns.
//
// There must be no crash and no out-of-bounds read, which ASan detects; and if the pages are
// accepted, the values must equal SQLite's.
#include <cstring>

#include "libprof/base/error.hpp"
#include "libprof/read/columns/reader.hpp"
#include "tests/fuzz/support.hpp"

namespace gpuprof::fuzz {
namespace {

constexpr std::size_t page_size = 512;

using Rows = std::vector<std::vector<std::string>>;

const std::vector<std::string> wanted{"_id_", "name", "start", "stop", "kind", "payloadDouble"};

std::string text_of(const columns::Column& column, std::size_t row) {
  using columns::Type;
  if (column.is_null(row)) return "-";
  switch (column.type()) {
    case Type::int64: return std::to_string(column.int64s()[row]);
    case Type::int32:
    case Type::name:
    case Type::enumeration: return std::to_string(column.int32s()[row]);
    case Type::float64: return std::to_string(column.doubles()[row]);
    case Type::boolean: return std::to_string(column.booleans()[row]);
    case Type::text:
    case Type::blob: break;
  }
  return std::string(column.text(row));
}

struct Result {
  Rows rows;
  bool from_file_alone = false;
  bool failed = false;
};

Result read(const std::string& path, bool only_sqlite) {
  Result result;
  try {
    store::Database database(path, store::Database::Mode::read_only);
    store::Snapshot snapshot(database, {.threads = 1});
    columns::Reader reader(snapshot, {.table = "NVTX_RANGE",
                                      .columns = wanted,
                                      .only_sqlite = only_sqlite,
                                      .pages_at_a_time = 3});
    reader.read([&](const columns::Chunk& chunk) {
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        auto& values = result.rows.emplace_back();
        for (std::size_t i = 0; i < wanted.size(); ++i) values.push_back(text_of(chunk[i], row));
      }
    });
    result.from_file_alone = reader.read_from_file() > 0 && reader.read_by_sqlite() == 0;
  } catch (const Error&) {
    result.failed = true;
  }
  return result;
}

}  // namespace
}  // namespace gpuprof::fuzz

// The input is a database file of some 512-byte pages.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuprof::fuzz;
  static const std::string path = folder() + "/columns.sqlite";
  write_file(path, Input(data, size));
  const Result pages = read(path, false);
  const Result sqlite = read(path, true);
  if (!pages.failed && pages.from_file_alone && (sqlite.failed || pages.rows != sqlite.rows)) {
    finding("pages give other values than SQLite");
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t room, unsigned seed) {
  using namespace gpuprof::fuzz;
  Dice dice(seed);
  if (size < 2 * page_size) return LLVMFuzzerMutate(data, size, room);
  const std::size_t pages = size / page_size;
  for (std::size_t times = 1 + dice.below(4); times > 0; --times) {
    std::uint8_t* const page = data + dice.below(pages) * page_size;
    const auto anything = static_cast<std::uint8_t>(dice.number());
    switch (dice.below(7)) {
      case 0: page[dice.below(12)] = anything; break;
      case 1: page[8 + dice.below(64)] = anything; break;
      case 2: page[dice.below(page_size)] ^= static_cast<std::uint8_t>(1u << dice.below(8)); break;
      case 3: page[dice.below(page_size)] = static_cast<std::uint8_t>(dice.below(16)); break;
      case 4: std::memset(page + dice.below(page_size - 9), 0xff, 1 + dice.below(9)); break;
      case 5: std::memmove(page, data + dice.below(pages) * page_size, page_size); break;
      default: return LLVMFuzzerMutate(data, size, room);
    }
  }
  return size;
}
