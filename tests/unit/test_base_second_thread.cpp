// Work that two threads share.
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include "libprof/base/second_thread.hpp"

using gpuprof::SecondThread;

TEST_CASE("both parts are over when the call is, also where one throws") {
  SecondThread second;
  CHECK_FALSE(second.exists());
  int own = 0, other = 0;
  std::thread::id of_other;
  const auto thrown_by = [&](bool own_throws, bool other_throws) -> std::string {
    try {
      second.call_both(
          [&] {
            ++own;
            if (own_throws) throw std::runtime_error("own");
          },
          [&] {
            of_other = std::this_thread::get_id();
            ++other;
            if (other_throws) throw std::runtime_error("other");
          });
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  for (int round = 1; round <= 100; ++round) {
    CHECK(thrown_by(round % 3 == 0, round % 5 == 0) == (round % 3 == 0   ? "own"
                                                        : round % 5 == 0 ? "other"
                                                                         : ""));
    CHECK(own == round);
    CHECK(other == round);
    CHECK(of_other != std::this_thread::get_id());
  }
  CHECK(second.exists());
}

TEST_CASE("work goes on until it is waited for, and throws then") {
  int done = 0;
  SecondThread second;
  second.end();
  for (int round = 1; round <= 100; ++round) {
    second.begin([&] {
      ++done;
      if (round % 3 == 0) throw std::runtime_error("work");
    });
    if (round % 3 == 0) {
      CHECK_THROWS_WITH(second.end(), "work");
    } else {
      second.end();
    }
    CHECK(done == round);
    second.end();  // what it threw is thrown once
  }
  second.begin([&] { ++done; });  // is over when `second` is gone
}
