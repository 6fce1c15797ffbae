#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "libprof/record/launch/trusted_library.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using launch::trusted_library;

namespace {

void make(const std::string& path, mode_t mode) {
  { std::ofstream file(path); }
  chmod(path.c_str(), mode);
}

}  // namespace

TEST_CASE("which libraries may be loaded on a target's behalf") {
  const test::TemporaryFolder folder;
  const std::vector<std::string> offered{"/offered/libcupti.so"};
  const uid_t us = geteuid();
  const auto loads = [&](const std::string& path, uid_t user) {
    const auto verdict = trusted_library(path, offered, user);
    CHECK(verdict.path.empty() != verdict.problem.empty());
    return !verdict.path.empty();
  };
  // What we named ourselves, whatever it is.
  CHECK(loads("/offered/libcupti.so", us));
  // Only whole paths: others mean something else in each process.
  CHECK_FALSE(loads("libcupti.so", us));
  CHECK_FALSE(loads("", us));

  const std::string file = folder / "lib.so";
  CHECK_FALSE(loads(file, us));
  make(file, 0644);
  CHECK(loads(file, us));
  CHECK_FALSE(loads(folder.path().string(), us));
  // Somebody else could have written it, or put it there.
  chmod(file.c_str(), 0646);
  CHECK_FALSE(loads(file, us));
  chmod(file.c_str(), 0644);
  chmod(folder.path().c_str(), 0777);
  CHECK_FALSE(loads(file, us));
  chmod(folder.path().c_str(), 0700);
  CHECK(loads(file, us));

  // A name that leads elsewhere is judged, and loaded, by where it leads.
  const std::string link = folder / "link.so";
  REQUIRE(symlink(file.c_str(), link.c_str()) == 0);
  CHECK(trusted_library(link, offered, us).path == std::filesystem::canonical(file));
}

TEST_CASE("a library of neither root nor the user") {
  const test::TemporaryFolder folder;
  const std::string file = folder / "lib.so";
  make(file, 0755);
  constexpr uid_t user = 1234, other = 1235;
  // Only root can make one, and in a namespace it may have no other users.
  if (chown(file.c_str(), user, user) != 0) return;
  REQUIRE(chown(file.c_str(), 0, 0) == 0);
  const auto loads = [&](uid_t as) { return !trusted_library(file, {}, as).path.empty(); };
  CHECK(loads(user));  // root's
  CHECK(loads(0));
  chmod(file.c_str(), 0775);
  CHECK_FALSE(loads(user));  // a group's
  REQUIRE(chown(file.c_str(), user, user) == 0);
  CHECK(loads(user));
  CHECK_FALSE(loads(other));
  CHECK_FALSE(loads(0));
  // Root's file in that user's folder can be replaced.
  REQUIRE(chown(file.c_str(), 0, 0) == 0);
  chmod(file.c_str(), 0755);
  REQUIRE(chown(folder.path().c_str(), user, user) == 0);
  CHECK(loads(user));
  CHECK_FALSE(loads(0));
}
