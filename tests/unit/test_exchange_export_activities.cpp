// What exports are fed with, by columns and as SQLite sorts it.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/exchange/export/activities.hpp"
#include "tests/unit/replay.hpp"

using namespace gpuprof;
using exporting::Activity;

namespace {

std::string text_of(const Activity& activity) {
  std::string text = std::to_string(static_cast<int>(activity.group));
  const auto add = [&](auto value) { text += " " + std::to_string(value); };
  for (const std::string_view part :
       {activity.type, activity.name, activity.path, activity.domain}) {
    text.append(" ").append(part);
  }
  for (const std::int64_t value :
       {activity.start, activity.end, activity.process, activity.thread, activity.device,
        activity.context, activity.stream, activity.correlation}) {
    add(value);
  }
  add(activity.launches);
  add(activity.bytes.value_or(-1));
  if (!activity.shape) return text;
  for (const auto& numbers : {activity.shape->grid, activity.shape->block}) {
    for (const std::int64_t number : numbers) add(number);
  }
  for (const auto& known :
       {activity.shape->registers, activity.shape->static_memory, activity.shape->dynamic_memory}) {
    add(known.value_or(-1));
  }
  return text;
}

std::vector<std::string> visited(const std::string& path, const reading::Filter& filter,
                                 std::size_t most_waiting) {
  store::Database database(path, store::Database::Mode::read_only);
  reading::Profile profile(database, filter, reading::NameStyle::modern, [](std::string_view) {});
  exporting::Texts texts;
  std::vector<std::string> all;
  exporting::visit_activities(
      profile, {}, {}, texts, [&](const Activity& activity) { all.push_back(text_of(activity)); },
      most_waiting);
  return all;
}

}  // namespace

TEST_CASE("activities by columns are those that SQLite sorts, in every capture") {
  const TemporaryFolder folder;
  std::size_t captures = 0, activities = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(GPUPROF_SOURCE_DIR "/tests/captures")) {
    if (entry.path().extension() != ".gpcap") continue;
    const std::string path = folder / (entry.path().stem().string() + ".sqlite");
    replay(entry.path().string(), path);
    for (const reading::Filter& filter : {reading::Filter{}, reading::Filter{.kernels = "add|gemm"},
                                          reading::Filter{.devices = {0}}}) {
      const auto by_columns = visited(path, filter, std::size_t{256} << 20);
      CHECK(by_columns == visited(path, filter, 0));
      activities += by_columns.size();
    }
    ++captures;
  }
  CHECK(captures >= 6);
  CHECK(activities > 10'000);
}
