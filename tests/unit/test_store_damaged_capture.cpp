// ctest-cost: 60
// Captures that are cut off, or in which a byte is another: what came before the damage is in the
// database, and the damage is counted.
#include <catch2/catch.hpp>
#include <map>

#include "libprof/base/error.hpp"
#include "libprof/store/loader.hpp"
#include "libprof/wire/capture.hpp"
#include "tests/unit/loader_checks.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using test::BatchBuilder;
using test::check_sound;
using test::count;
using test::malformed;
using test::sanitized;

namespace {

// One of everything.
std::vector<wire::Frame> small_run() {
  std::vector<wire::Frame> frames;
  const auto add = [&](wire::Frame frame) { frames.push_back(std::move(frame)); };
  add(test::fields_frame(wire::FrameType::run, wire::run_stream,
                         {{"command_line", "app"}, {"cpu_count", "2"}}));
  add(test::hello(1, 100));
  add(test::fields_frame(wire::FrameType::info, 1,
                         {{"cupti_path", "/l.so"}, {"cupti_version", "130500"}}));
  add(test::table(1, test::tables::kernel));
  add(test::table(1, test::tables::marker));
  add(test::table(1, test::tables::module));
  wire::Encoder names, clock, statistics;
  encode(names, std::vector<wire::ApiName>{{"driver", 1, "cuInit"}});
  encode(clock, wire::Clock{wire::Clock::Moment::first, 1, 2, 3});
  encode(statistics, std::vector<wire::Statistic>{{"", "records_dropped_by_cupti", 3}});
  add(test::frame_of(wire::FrameType::api_names, 1, names));
  add(test::frame_of(wire::FrameType::clock, 1, clock));
  wire::Encoder kernels, marks, modules;
  test::add_kernel(kernels, 10, 20, 1, 1);
  test::add_kernel(kernels, 20, 30, 2, 1);
  test::add_mark(marks, {2, 5, 1, 2});
  test::add_mark(marks, {4, 40, 1});
  modules.integer(std::uint32_t{1}).integer(std::uint32_t{1});
  add(BatchBuilder()
          .strings({{1, "_Z1fv"}, {2, "r"}})
          .bytes({{1, "ELF"}})
          .rows(10, 2, kernels)
          .rows(12, 2, marks)
          .rows(27, 1, modules)
          .frame(1));
  add(test::frame_of(wire::FrameType::statistics, 1, statistics));
  add(BatchBuilder().rows(10, 2, kernels).frame(1, wire::batch_salvaged));
  add(wire::make_frame(wire::FrameType::goodbye, 1, {}));
  add(wire::make_frame(wire::FrameType::stream_end, 1, {}));
  return frames;
}

const std::vector<std::string> counted_tables{"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
                                              "CUPTI_ACTIVITY_KIND_MARKER",
                                              "CUPTI_ACTIVITY_KIND_MODULE",
                                              "PROCESS",
                                              "CLOCK",
                                              "API_NAME"};

using Counts = std::map<std::string, std::int64_t>;

Counts counts_of(store::Loader& loader) {
  Counts counts;
  for (const std::string& table : counted_tables) counts[table] = count(loader, table);
  return counts;
}

// Its views would be parsed each time, for longer than all else takes.
store::Loader bare_loader() {
  return store::Loader(test::empty_tables(), {.live = false, .indexes = false});
}

// Where each frame of the run begins, and what the tables hold when all before it is loaded.
struct Milestone {
  std::size_t offset;
  Counts counts;
};

std::vector<Milestone> milestones(const std::vector<wire::Frame>& frames) {
  std::vector<Milestone> list;
  store::Loader loader = bare_loader();
  std::size_t offset = test::capture_start(1).size();
  for (const wire::Frame& frame : frames) {
    list.push_back({offset, counts_of(loader)});
    loader.load(frame);
    offset += sizeof(wire::FrameHeader) + frame.length;
  }
  list.push_back({offset, counts_of(loader)});
  return list;
}

const Counts& counts_before(const std::vector<Milestone>& list, std::size_t offset) {
  std::size_t i = 0;
  while (i + 1 < list.size() && list[i + 1].offset <= offset) ++i;
  return list[i].counts;
}

// As `gpuprof replay` does it.
std::string replay(const std::string& path, store::Loader& loader) {
  wire::CaptureReader reader(path);
  wire::Frame frame;
  while (reader.next(frame)) loader.load(frame);
  if (!reader.whole()) loader.count("frames_malformed", 1);
  loader.finish();
  return reader.damage_text();
}

void check_damaged_at(const std::string& path, std::size_t offset,
                      const std::vector<Milestone>& list) {
  store::Loader loader = bare_loader();
  INFO("byte " << offset);
  try {
    const std::string damage = replay(path, loader);
    if (!damage.empty()) CHECK(malformed(loader) >= 1);
  } catch (const Error& error) {
    // The magic bytes, and the version after them.
    INFO(error.what());
    CHECK(offset < list.front().offset);
  }
  for (const auto& [table, rows] : counts_before(list, offset)) {
    INFO(table);
    CHECK(count(loader, table) >= rows);
  }
  if (offset % 16 == 0) check_sound(loader);
}

// Every fourth byte from `part` on, or every sixteenth under a sanitizer, where each takes four
// times as long.
void change_bytes(std::size_t part) {
  const std::size_t parts = sanitized ? 16 : 4;
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.gpcap";
  const auto frames = small_run();
  const auto list = milestones(frames);
  std::string bytes = test::capture_of_version_1(frames);
  // Another number, another sign, another size: each place gets one of them.
  constexpr unsigned char changes[] = {0x01, 0x80, 0xff, 0x20, 0x7f};
  for (std::size_t i = part; i < bytes.size(); i += parts) {
    const char kept = bytes[i];
    bytes[i] = static_cast<char>(static_cast<unsigned char>(kept) ^ changes[i % 5]);
    test::write_file(path, bytes);
    check_damaged_at(path, i, list);
    bytes[i] = kept;
  }
}

}  // namespace

TEST_CASE("a capture cut off anywhere is loaded up to the cut") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.gpcap";
  const auto frames = small_run();
  const auto list = milestones(frames);
  const std::string bytes = test::capture_of_version_1(frames);
  std::size_t last_frames = SIZE_MAX;
  for (std::size_t size = list.front().offset; size < bytes.size(); ++size) {
    test::write_file(path, bytes.substr(0, size));
    // The reader at every byte; the loader once for each number of frames that come out.
    wire::CaptureReader reader(path);
    wire::Frame frame;
    std::size_t read = 0;
    while (reader.next(frame)) ++read;
    std::size_t whole = 0;
    bool at_end_of_frame = false;
    for (std::size_t i = 1; i < list.size(); ++i) whole += list[i].offset <= size;
    for (const Milestone& milestone : list) at_end_of_frame |= milestone.offset == size;
    CHECK(read == whole);
    CHECK(reader.whole() == at_end_of_frame);
    if (read == last_frames) continue;
    last_frames = read;
    store::Loader loader = bare_loader();
    CHECK(replay(path, loader).empty() == at_end_of_frame);
    CHECK(counts_of(loader) == counts_before(list, size));
    CHECK(malformed(loader) == (at_end_of_frame ? 0 : 1));
    check_sound(loader);
  }
}

TEST_CASE("a changed byte spoils nothing in front of it, 1 of 4") { change_bytes(0); }
TEST_CASE("a changed byte spoils nothing in front of it, 2 of 4") { change_bytes(1); }
TEST_CASE("a changed byte spoils nothing in front of it, 3 of 4") { change_bytes(2); }
TEST_CASE("a changed byte spoils nothing in front of it, 4 of 4") { change_bytes(3); }
