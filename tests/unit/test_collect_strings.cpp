#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "libprof/collect/arena.hpp"
#include "libprof/collect/strings.hpp"
#include "libprof/store/string_ids.hpp"
#include "libprof/wire/messages.hpp"

using namespace gpuprof::collect;

namespace {

class LaunchNamesTest {
 protected:
  LaunchNamesTest() { REQUIRE(arena.create(4, 64 * 1024)); }

  // What stands for a kernel of that name in a record of this launch, as salvage finds it.
  std::string salvaged(const char* pointer, std::uint32_t correlation_id) {
    LeftStrings left(arena);
    left.learn(pointer, correlation_id);
    const auto& bytes = left.fresh().bytes();
    if (bytes.empty()) return {};
    return {reinterpret_cast<const char*>(bytes.data()) + 8, bytes.size() - 8};
  }

  Arena arena;
};

}  // namespace

TEST_CASE_METHOD(LaunchNamesTest, "launches of several threads find their kernels' names",
                 "[tsan]") {
  constexpr std::uint32_t threads = 4;
  std::vector<std::string> kernels;
  for (int i = 0; i < 500; ++i) kernels.push_back("kernel_" + std::to_string(i));
  LaunchNames names(arena);
  std::atomic<std::uint32_t> ready{0};
  const auto launch_all = [&](std::uint32_t thread) {
    ++ready;
    while (ready < threads) std::this_thread::yield();
    for (std::uint32_t i = 0; i < kernels.size(); ++i) {
      names.note(kernels[i].c_str(), i * threads + thread);
    }
  };
  std::vector<std::thread> running;
  for (std::uint32_t i = 0; i < threads; ++i) running.emplace_back(launch_all, i);
  for (std::thread& one : running) one.join();
  for (std::uint32_t i = 0; i < kernels.size() * threads; ++i) {
    const std::string& kernel = kernels[i / threads];
    REQUIRE(salvaged(kernel.c_str(), i) == kernel);
  }
}

TEST_CASE_METHOD(LaunchNamesTest, "a kernel's name is kept once") {
  LaunchNames names(arena);
  std::array<char, 16> buffer{"copy"};
  names.note(buffer.data(), 1);
  names.note(buffer.data(), 2);
  std::size_t used = 0;
  for (const char c : arena.launch_names().text) used += c != 0;
  CHECK(used == std::strlen("copy"));

  // Modules are unloaded, and others take their place.
  std::strcpy(buffer.data(), "saxpy");
  names.note(buffer.data(), 3);
  CHECK(salvaged(buffer.data(), 3) == "saxpy");
  CHECK(salvaged(buffer.data(), 4).empty());
}

TEST_CASE("ids start over, and rows find their texts all the same") {
  Arena arena;
  REQUIRE(arena.create(4, 64 * 1024));
  LiveStrings strings(arena);
  gpuprof::store::StringIds known;  // as the reader has them: what they are of
  std::uint32_t highest = 0;
  std::size_t wrong = 0, restarts = 0;
  const std::array<const char*, 3> kernels{"copy", "scale", "add"};
  std::array<char, 32> message{};
  const auto sum = [](std::string_view text) {
    return static_cast<std::int64_t>(std::hash<std::string_view>()(text));
  };
  for (int batch = 0; batch < 400; ++batch) {
    std::vector<std::pair<std::uint32_t, std::int64_t>> rows;  // id, and what it is of
    const auto add = [&](const char* text) { rows.emplace_back(strings.intern(text), sum(text)); };
    for (int i = 0; i < 1000; ++i) {
      add(kernels[static_cast<std::size_t>(i) % kernels.size()]);
      std::snprintf(message.data(), message.size(), "request %d of %d", i, batch);
      add(message.data());
      wrong += strings.bytes(message.data(), 1) != static_cast<std::uint32_t>(i) + 1;
    }
    const auto fresh = gpuprof::wire::decode_strings(
        {gpuprof::wire::string_block, strings.fresh().count(), strings.fresh().bytes()});
    REQUIRE(fresh);
    for (const auto& string : *fresh) {
      restarts += string.id < highest;
      highest = std::max(highest, string.id);
      known.set(string.id, sum(string.text));
    }
    for (const auto& [id, text] : rows) wrong += known.of(id) != text;
    strings.clear();
  }
  CHECK(wrong == 0);
  CHECK(restarts > 0);
  CHECK(highest < LiveStrings::most_ids + 2000);
}

TEST_CASE("a dead target's strings are no longer than its arena's room for them") {
  Arena arena;
  REQUIRE(arena.create(4, 64 * 1024));
  // Many entries have half of the room as their text.
  constexpr std::size_t forged = 1000;
  const auto forge = [](const StringTable& table) {
    std::memset(table.text.data(), 'x', table.text.size());
    for (std::size_t i = 0; i < forged; ++i) {
      table.entries[i].id = static_cast<std::uint32_t>(i + 1);
      table.entries[i].offset = 0;
      table.entries[i].length = static_cast<std::uint32_t>(table.text.size() / 2 - 1);
      table.entries[i].pointer = i + 1;
    }
  };
  forge(arena.strings());
  forge(arena.launch_names());
  const auto launches = arena.launches();
  for (std::uint64_t i = 0; i < launches.size(); ++i) {
    const std::uint64_t place = i % forged + 1;
    launches[i] = place << 32 | i;
  }
  LeftStrings left(arena);
  for (std::uint32_t launch = 0; launch < launches.size(); ++launch) {
    left.learn(reinterpret_cast<const char*>(std::uint64_t{launch} + (1 << 20)), launch);
  }
  const std::size_t room = arena.strings().text.size() + arena.launch_names().text.size();
  CHECK(left.fresh().count() == 4);
  CHECK(left.fresh().bytes().size() <= room + 8 * left.fresh().count());
}
