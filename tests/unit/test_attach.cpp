// What attaching reads of a process: memory maps and libraries, true and false ones.
#include <dlfcn.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "libprof/attach/image.hpp"
#include "libprof/attach/memory_map.hpp"
#include "libprof/attach/process.hpp"
#include "libprof/attach/signal_frame.hpp"

namespace {

using namespace gpuprof::attach;

const Mapping* libc_of(const std::vector<Mapping>& maps) {
  return find_file(maps, [](std::string_view name) {
    return name == "libc.so.6" || name.starts_with("libc-2.");
  });
}

}  // namespace

TEST_CASE("memory maps are read as far as they are the kernel's") {
  const auto maps = parse_maps(
      "7f0000000000-7f0000001000 r--p 00000000 fe:00 12   /a b/libc.so.6 (deleted)\n"
      "7f0000001000-7f0000003000 r-xp 00001000 fe:00 12   /a b/libc.so.6 (deleted)\n"
      "zz-1 r-xp 00000000 00:00 0 x\n"
      "2-1 r-xp 00000000 00:00 0\n"
      "-\n"
      "\n"
      "7f0000003000-7f0000004000 rw-p 00000000 00:00 0 \n"
      "ffffffffffffffffff-fffffffffffffffffff r-xp 0 00:00 0 /x");
  REQUIRE(maps.size() == 3);
  CHECK(maps[0].path == "/a b/libc.so.6");
  CHECK(file_name(maps[0]) == "libc.so.6");
  CHECK((maps[1].executable && maps[1].offset == 0x1000));
  CHECK(maps[2].path.empty());
  CHECK(libc_of(maps) == &maps[0]);
  CHECK(mapping_of(maps, 0x7f0000002fff) == &maps[1]);
  CHECK(mapping_of(maps, 0x7f0000004000) == nullptr);
}

#if defined(__x86_64__)
TEST_CASE("a library's functions are found in memory") {
  const Process self(getpid());
  const auto maps = self.maps();
  const Mapping* const libc = libc_of(maps);
  REQUIRE(libc);
  const Image image(self.memory(), libc->begin);
  for (const char* name : {"malloc", "poll", "pthread_create", "getenv"}) {
    void* const expected = dlsym(dlopen(libc->path.c_str(), RTLD_NOLOAD | RTLD_LAZY), name);
    INFO(name);
    CHECK(image.function(name) == reinterpret_cast<std::uint64_t>(expected));
  }
  CHECK_FALSE(image.function("no_such_function"));
  CHECK_FALSE(image.function(""));
  constexpr unsigned char code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  const auto found = find_code(self.memory(), maps, *libc, std::as_bytes(std::span(code)));
  REQUIRE(found);
  CHECK(std::memcmp(reinterpret_cast<const void*>(*found), code, sizeof code) == 0);
}

TEST_CASE("a library that is none, or lies, has no functions or wrong ones") {
  const Process self(getpid());
  const auto maps = self.maps();
  const Mapping* const libc = libc_of(maps);
  REQUIRE(libc);
  const ReadMemory real = self.memory();
  std::mt19937 random(38);
  std::uint64_t reads = 0;
  for (int i = 0; i < 2000; ++i) {
    const Image image(
        [&](std::uint64_t address, std::span<std::byte> to) {
          ++reads;
          REQUIRE(to.size() <= 1 << 16);
          if (!real(address, to)) {
            for (std::byte& byte : to) byte = static_cast<std::byte>(random());
          }
          if (!to.empty() && random() % 3 == 0) {
            to[random() % to.size()] = static_cast<std::byte>(random());
          }
          return random() % 50 != 0;
        },
        libc->begin);
    image.function("malloc");
  }
  // A chain without an end is left.
  CHECK(reads < 2000 * 10'000);
}

TEST_CASE("a signal frame is below the stack and as the kernel wants it") {
  ThreadState thread{};
  thread.registers.rip = 0x7f0000001009;
  for (std::uint64_t offset = 0; offset < 64; offset += 8) {
    for (const std::size_t length : {0, 1, 63, 64, 4000}) {
      thread.registers.rsp = 0x7ffff0000000 + offset;
      const std::string text(length, 'x');
      const SignalFrame frame = make_signal_frame(thread, 0x1234, text);
      CHECK(frame.begin % 16 == 8);
      CHECK(frame.begin + frame.bytes.size() <= thread.registers.rsp - 128);
      CHECK(std::memcmp(frame.bytes.data() + (frame.text - frame.begin), text.c_str(),
                        length + 1) == 0);
      std::uint64_t first = 0;
      std::memcpy(&first, frame.bytes.data(), sizeof first);
      CHECK(first == 0x1234);
    }
  }
}
#endif
