// Files and processes as the kernel shows them: what is no regular file, or is gone, is refused
// without waiting.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <fstream>
#include <string>

#include "libprof/base/process_stat.hpp"
#include "libprof/base/regular_file.hpp"
#include "libprof/base/temporary_folder.hpp"

using namespace gpuprof;

TEST_CASE("a beginning is read of regular files alone") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/file";
  const std::string text(200'000, 'x');
  std::ofstream(file) << text << "end";
  CHECK(read_beginning(file, 0) == "");
  CHECK(read_beginning(file, 5) == "xxxxx");
  CHECK(read_beginning(file, 200'001) == text + "e");
  CHECK(read_beginning(file, 1 << 20) == text + "end");
  const Descriptor opened = open_regular(file);
  REQUIRE(*opened >= 0);
  CHECK(read_up_to(*opened, 200'000) == text);
  CHECK(read_up_to(*opened, 100) == "end");  // from where the first ended

  const std::string pipe = folder.path() + "/pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& other : {pipe, folder.path(), std::string("/dev/null")}) {
    CAPTURE(other);
    errno = 0;
    CHECK(!read_beginning(other, 10));
    CHECK(errno == EINVAL);
  }
  CHECK(!read_beginning(folder.path() + "/none", 10));
  CHECK(errno == ENOENT);

  const std::string link = folder.path() + "/link";
  REQUIRE(symlink(file.c_str(), link.c_str()) == 0);
  CHECK(read_beginning(link, 1) == "x");
  CHECK(*open_regular(link, O_NOFOLLOW) < 0);
  CHECK(errno == ELOOP);
}

TEST_CASE("a process's status and numbers") {
  const std::string own = "/proc/" + std::to_string(getpid());
  CHECK(process_status(own, "Uid").starts_with(std::to_string(getuid()) + "\t"));
  CHECK(process_status(own, "Ui").empty());
  REQUIRE(!process_numbers(own).empty());
  CHECK(process_numbers(own).front() == getpid());
  CHECK(process_numbers(own + "/task/" + std::to_string(getpid())) == process_numbers(own));
  CHECK(process_stat(getpid()).size() > 40);

  for (const std::string gone : {"/proc/0", "/proc/self/task/0"}) {
    CHECK(process_status(gone, "Uid").empty());
    CHECK(process_numbers(gone).empty());
  }
  CHECK(process_stat(0).empty());
}
