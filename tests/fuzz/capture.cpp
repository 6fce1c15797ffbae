// Runs a capture through reader, loader and reports.
//
// Whatever a capture contains, the database must be valid afterwards and the rest of the stream
// loaded: no frame may stop the loading. Only a file that is not a capture is refused.
#include <cstring>

#include "libprof/base/error.hpp"
#include "libprof/store/loader.hpp"
#include "libprof/wire/capture.hpp"
#include "libprof/wire/messages.hpp"
#include "tests/fuzz/reports.hpp"
#include "tests/fuzz/support.hpp"
#include "tests/unit/empty_profile.hpp"

namespace gpuprof::fuzz {
namespace {

void load(const std::string& path, std::uint32_t number) {
  wire::CaptureReader reader(path);
  // Reports take longer than everything before, and only they need views.
  const bool reported = ways_at_a_time != 1 || number / 4 % 4 == 0;
  store::Loader loader(reported ? test::empty_profile() : test::empty_tables(),
                       {.live = (number & 1) != 0, .indexes = (number & 2) != 0});
  wire::Frame frame;
  for (int frames = 1; reader.next(frame); ++frames) {
    loader.load(frame);
    if (frames % 16 == 0) loader.commit();
  }
  loader.finish();
  loader.totals();
  const auto state = loader.database().text("PRAGMA quick_check");
  if (state != "ok") finding("the database is damaged: " + state.value_or(""));
  if (!reported) return;
  std::ostringstream text;
  const report::ReportOptions options = options_of(number / 16);
  report::print_reports(loader.database(), text, options);
  check_report(text.str(), options.layout);
}

// A capture as a list, to be changed and reassembled.

struct Piece {
  std::uint32_t type = 0;
  std::uint32_t stream = 0;
  Bytes payload;
};

constexpr std::size_t head_size = wire::capture_magic.size() + sizeof wire::capture_version;

template <class T>
T at(Input bytes, std::size_t place) {
  T value{};
  if (place + sizeof value <= bytes.size()) std::memcpy(&value, &bytes[place], sizeof value);
  return value;
}

template <class T>
void append(Bytes& bytes, const T& value) {
  const auto* raw = reinterpret_cast<const std::uint8_t*>(&value);
  bytes.insert(bytes.end(), raw, raw + sizeof value);
}

Bytes of(const wire::Encoder& encoder) {
  const auto* raw = reinterpret_cast<const std::uint8_t*>(encoder.bytes().data());
  return {raw, raw + encoder.bytes().size()};
}

std::uint32_t version_of(Input capture) {
  return at<std::uint32_t>(capture, wire::capture_magic.size());
}

std::vector<Piece> pieces_of(Input capture) {
  std::vector<Piece> pieces;
  const bool heads = version_of(capture) != 1;
  const std::size_t in_front = heads ? sizeof(wire::CaptureHead) : sizeof(wire::FrameHeader);
  std::size_t place = head_size;
  while (place + in_front <= capture.size() && pieces.size() < 4000) {
    const auto header =
        heads ? at<wire::CaptureHead>(capture, place).frame : at<wire::FrameHeader>(capture, place);
    place += in_front;
    const auto length = std::min<std::uint64_t>(header.length, capture.size() - place);
    const Input payload = capture.subspan(place, static_cast<std::size_t>(length));
    pieces.push_back({header.type, header.stream, {payload.begin(), payload.end()}});
    place += payload.size();
  }
  return pieces;
}

// Checksums are right, so that the contents of frames are reached; occasionally one is wrong, and
// whole frames are missing.
void append_with_head(Bytes& capture, const Piece& piece, std::uint64_t number, Dice& dice) {
  const auto type = static_cast<wire::FrameType>(piece.type);
  const wire::Frame frame = wire::make_frame(type, piece.stream, as_bytes(piece.payload));
  const std::size_t place = capture.size();
  append(capture, wire::head_of(frame, dice.one_in(300) ? dice.odd_number() : number));
  capture.insert(capture.end(), piece.payload.begin(), piece.payload.end());
  if (dice.one_in(400)) spoil(std::span(capture).subspan(place), dice);
  if (dice.one_in(800)) capture.resize(place + dice.below(capture.size() - place));
}

Bytes capture_of(std::uint32_t version, const std::vector<Piece>& pieces, Dice& dice) {
  if (dice.one_in(50)) version = static_cast<std::uint32_t>(1 + dice.below(2));
  Bytes capture(wire::capture_magic.begin(), wire::capture_magic.end());
  append(capture, dice.one_in(400) ? static_cast<std::uint32_t>(dice.odd_number()) : version);
  std::uint64_t number = 0;
  for (const Piece& piece : pieces) {
    if (version != 1) {
      append_with_head(capture, piece, number++, dice);
      continue;
    }
    std::uint64_t length = piece.payload.size();
    if (dice.one_in(500)) length = dice.odd_number();
    append(capture, wire::FrameHeader{piece.type, piece.stream, length});
    capture.insert(capture.end(), piece.payload.begin(), piece.payload.end());
  }
  return capture;
}

// A batch as a list of blocks.

struct BlockOf {
  std::uint32_t table = 0;
  std::uint32_t rows = 0;
  Bytes bytes;
};

// A string with an id that others use, or with a distant one.
BlockOf new_string(Dice& dice) {
  static constexpr const char* parts[] = {
      "_Z", "N", "St", "1a", "I",        "E",    "i",  "S0_", "Kf",       "P",      "DpT",
      "L",  "4", "C",  "(",  "\x1b[31m", "\r\n", "\"", ",",   "\xff\xfe", "<name>", "é"};
  std::string text;
  for (std::size_t count = dice.below(12); count > 0; --count) text += dice.of(parts);
  wire::Encoder encoder;
  const auto id = dice.one_in(8) ? dice.odd_number() : dice.below(300);
  encoder.integer(static_cast<std::uint32_t>(id)).text(text);
  return {wire::string_block, 1, of(encoder)};
}

void change_batch(Bytes& payload, Dice& dice) {
  if (payload.size() < sizeof(wire::BatchHeader)) return mutate(payload, 32);
  auto header = at<wire::BatchHeader>(payload, 0);
  std::vector<BlockOf> blocks;
  std::size_t place = sizeof header;
  while (place + sizeof(wire::BlockHeader) <= payload.size()) {
    const auto block = at<wire::BlockHeader>(payload, place);
    place += sizeof block;
    const auto length = std::min<std::uint64_t>(block.bytes, payload.size() - place);
    const Input bytes = Input(payload).subspan(place, static_cast<std::size_t>(length));
    blocks.push_back({block.table, block.rows, {bytes.begin(), bytes.end()}});
    place += bytes.size();
  }
  if (blocks.empty()) blocks.push_back(new_string(dice));
  const std::size_t chosen = dice.below(blocks.size());
  BlockOf& block = blocks[chosen];
  switch (dice.below(9)) {
    case 0:
    case 1:
    case 2: spoil(block.bytes, dice); break;
    case 3:
      if (block.rows > 1 && block.table != wire::string_block) {
        const std::size_t width = block.bytes.size() / block.rows;
        block.rows = 1 + static_cast<std::uint32_t>(dice.below(block.rows));
        block.bytes.resize(width * block.rows);
      }
      break;
    case 4: block.rows = static_cast<std::uint32_t>(dice.odd_number()); break;
    case 5: block.table = static_cast<std::uint32_t>(dice.below(80)); break;
    case 6: mutate(block.bytes, 64); break;
    case 7:
      blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(chosen), blocks[chosen]);
      break;
    default: blocks.insert(blocks.begin(), new_string(dice));
  }
  header.blocks = static_cast<std::uint32_t>(dice.one_in(60) ? dice.odd_number() : blocks.size());
  if (dice.one_in(20)) header.flags ^= wire::batch_salvaged;
  payload.clear();
  append(payload, header);
  for (const BlockOf& each : blocks) {
    const std::uint64_t length = dice.one_in(200) ? dice.odd_number() : each.bytes.size();
    append(payload, wire::BlockHeader{each.table, each.rows, length});
    payload.insert(payload.end(), each.bytes.begin(), each.bytes.end());
  }
}

// A definition under a name that has a meaning for the schema, SQLite, or gpuprof.
Piece new_table(std::uint32_t stream, Dice& dice) {
  static constexpr const char* tables[] = {"CUPTI_ACTIVITY_KIND_KERNEL",
                                           "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
                                           "CUPTI_ACTIVITY_KIND_MARKER",
                                           "CUPTI_ACTIVITY_KIND_RUNTIME",
                                           "CUPTI_ACTIVITY_KIND_DEVICE",
                                           "CUPTI_ACTIVITY_KIND_NAME",
                                           "CUPTI_ACTIVITY_KIND_NEW",
                                           "cupti_activity_kind_memcpy",
                                           "NEW",
                                           "new",
                                           "Version",
                                           "kernels",
                                           "losses",
                                           "STATISTIC",
                                           "NVTX_RANGE",
                                           "METRIC_RANGE",
                                           "METRIC_RANGE_BY_CORRELATION",
                                           "main",
                                           "temp",
                                           "rows_0",
                                           "rows_1",
                                           "pragma_table_info",
                                           "sqlite",
                                           "sqlite_schema",
                                           "json_each",
                                           "dbstat",
                                           "rtree",
                                           "x.y"};
  static constexpr const char* columns[] = {
      "start", "end",      "name",   "id",  "flags", "processId",     "_rowid_", "rowid",
      "oid",   "value",    "select", "a",   "A",     "correlationId", "domain",  "timestamp",
      "bytes", "objectId", "a.b",    "key", "_id_",  "deviceId"};
  wire::WireTable table;
  table.id = 1 + static_cast<std::uint32_t>(dice.below(60));
  table.name = dice.of(tables);
  for (std::size_t count = 1 + dice.below(8); count > 0; --count) {
    wire::WireColumn column;
    column.name = dice.of(columns);
    column.type = static_cast<schema::Type>(1 + dice.below(12));
    column.role = static_cast<schema::Role>(dice.below(3));
    column.width = column.type == schema::Type::blob
                       ? static_cast<std::uint16_t>(1 + dice.below(20))
                       : schema::width_of(column.type);
    column.present = !dice.one_in(5);
    table.columns.push_back(std::move(column));
  }
  wire::Encoder encoder;
  wire::encode(encoder, table);
  return {static_cast<std::uint32_t>(wire::FrameType::table), stream, of(encoder)};
}

bool is_batch(const Piece& piece) {
  return piece.type == static_cast<std::uint32_t>(wire::FrameType::batch);
}

void change(std::vector<Piece>& pieces, Dice& dice) {
  std::size_t chosen = dice.below(pieces.size());
  // Most of the code under test is for batches.
  if (dice.one_in(2)) {
    for (int tries = 0; tries < 8 && !is_batch(pieces[chosen]); ++tries) {
      chosen = dice.below(pieces.size());
    }
  }
  Piece& piece = pieces[chosen];
  const auto somewhere = [&] {
    return pieces.begin() + static_cast<std::ptrdiff_t>(dice.below(pieces.size() + 1));
  };
  switch (dice.below(13)) {
    case 0:
      piece.type =
          static_cast<std::uint32_t>(dice.one_in(10) ? dice.odd_number() : 1 + dice.below(20));
      break;
    case 1:
      piece.stream = dice.one_in(6) ? wire::run_stream : static_cast<std::uint32_t>(dice.below(4));
      break;
    case 2:
      if (pieces.size() > 1) pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(chosen));
      break;
    case 3: {
      Piece copy = piece;
      pieces.insert(somewhere(), std::move(copy));
      break;
    }
    case 4: std::swap(piece, dice.of(pieces)); break;
    case 5:
    case 6: {
      Piece table = new_table(piece.stream, dice);
      pieces.insert(somewhere(), std::move(table));
      break;
    }
    case 7:
    case 8: spoil(piece.payload, dice); break;
    default:
      if (is_batch(piece)) {
        change_batch(piece.payload, dice);
      } else {
        mutate(piece.payload, 64);
      }
  }
}

}  // namespace
}  // namespace gpuprof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuprof;
  static const std::string path = fuzz::folder() + "/run.gpcap";
  const fuzz::Input input(data, size);
  fuzz::write_file(path, input);
  try {
    wire::CaptureReader reader(path);
  } catch (const Error&) {
    return 0;
  }
  try {
    for (const std::uint32_t number : fuzz::ways(input)) fuzz::load(path, number);
  } catch (const Error& error) {
    fuzz::finding(std::string("a frame ends the loading: ") + error.what());
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t room, unsigned seed) {
  using namespace gpuprof::fuzz;
  Dice dice(seed);
  const Input input(data, size);
  if (size < head_size || dice.one_in(16)) return LLVMFuzzerMutate(data, size, room);
  std::vector<Piece> pieces = pieces_of(input);
  if (pieces.empty()) return LLVMFuzzerMutate(data, size, room);
  for (std::size_t times = 1 + dice.below(3); times > 0; --times) change(pieces, dice);
  const Bytes capture = capture_of(version_of(input), pieces, dice);
  const std::size_t length = std::min(capture.size(), room);
  std::memcpy(data, capture.data(), length);
  return length;
}
