// Checks of a loader, for tests of damaged and forged streams.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

#include "libprof/store/loader.hpp"
#include "tests/unit/empty_profile.hpp"

namespace gpuprof::test {

// Sanitizers keep freed memory, so memory usage says nothing about the loader.
#ifdef GPUPROF_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

inline store::Loader bare_loader() {
  return store::Loader(empty_profile(), {.live = false, .indexes = false});
}

inline std::int64_t count(store::Loader& loader, const std::string& table) {
  return loader.database().integer("SELECT count(*) FROM " + table).value();
}

inline std::int64_t malformed(store::Loader& loader) {
  return loader.database()
      .integer("SELECT sum(value) FROM STATISTIC WHERE name = 'frames_malformed'")
      .value_or(0);
}

inline void check_sound(store::Loader& loader) {
  CHECK(loader.database().text("PRAGMA integrity_check") == "ok");
}

}  // namespace gpuprof::test
