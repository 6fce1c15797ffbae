// What the probe answered is believed only if the file is private, sound, and of today.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/record/launch/known_devices.hpp"

using namespace gpuprof;
using launch::KnownDevices;
using launch::ProbedDevice;

namespace {

const std::vector<ProbedDevice> two{
    {.index = 0,
     .chip = "GH100",
     .name = "NVIDIA H100",
     .problem = "",
     .pm_sampling = "no",
     .pc_sampling = ""},
    {.index = 1, .chip = "GB202", .name = "B", .problem = "", .pm_sampling = "", .pc_sampling = ""},
};

KnownDevices known_in(const std::string& file, const std::string& circumstances) {
  return KnownDevices(launch::KeptAnswer(file, circumstances));
}

struct Place {
  TemporaryFolder folder;
  std::string file = folder / "below/devices";
  KnownDevices known = known_in(file, "boot 1\ndriver 2\n");

  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  void write(const std::string& text) const { std::ofstream(file) << text; }
};

}  // namespace

TEST_CASE("devices are known until something changes") {
  const Place place;
  CHECK_FALSE(place.known.read());
  place.known.keep(two);
  const auto devices = place.known.read();
  REQUIRE(devices);
  CHECK(launch::lines_of(*devices) == launch::lines_of(two));
  CHECK(launch::lines_of(two) == "0\tGH100\tNVIDIA H100\t\tno\t\n1\tGB202\tB\t\t\t\n");
  struct stat status {};
  REQUIRE(stat(place.file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK_FALSE(known_in(place.file, "boot 1\ndriver 3\n").read());
  CHECK_FALSE(known_in(place.file, "boot 1\n").read());
  CHECK_FALSE(known_in(place.file, "").read());
  place.known.forget();
  CHECK_FALSE(place.known.read());
}

TEST_CASE("problems are not kept, and nothing without circumstances or a place") {
  const Place place;
  std::vector<ProbedDevice> devices = two;
  devices[1].problem = "another program is using the counters";
  place.known.keep(devices);
  known_in(place.file, "").keep(two);
  known_in("", "boot 1\n").keep(two);
  place.known.keep({});
  CHECK_FALSE(place.known.read());
  CHECK(place.text().empty());
}

TEST_CASE("a file that others can write, or that is not what was written, is not believed") {
  const Place place;
  place.known.keep(two);
  const std::string text = place.text();
  for (const mode_t mode : {0640, 0602, 0666}) {
    REQUIRE(chmod(place.file.c_str(), mode) == 0);
    CHECK_FALSE(place.known.read());
  }
  REQUIRE(chmod(place.file.c_str(), 0600) == 0);
  CHECK(place.known.read());
  const auto changed = [&](std::string_view from, std::string_view to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    place.write(other);
    return place.known.read().has_value();
  };
  CHECK(changed("NVIDIA H100", "NVIDIA H200"));
  CHECK_FALSE(changed("GH100", "gh100;"));
  CHECK_FALSE(changed("GH100", std::string(33, 'G')));
  CHECK_FALSE(changed("GH100", ""));
  CHECK_FALSE(changed("NVIDIA H100", "\x1b[2J"));
  CHECK_FALSE(changed("NVIDIA H100\t", "NVIDIA H100\tproblem"));
  CHECK_FALSE(changed("gpuprof 1", "gpuprof 2"));
  CHECK_FALSE(changed("---", "--"));
  place.write(text.substr(0, text.find("0\tGH100")));
  CHECK_FALSE(place.known.read());
  place.write("");
  CHECK_FALSE(place.known.read());
  place.write(text + std::string(100'000, '\n'));
  CHECK_FALSE(place.known.read());
  const std::string link = place.folder / "link";
  place.write(text);
  REQUIRE(symlink(place.file.c_str(), link.c_str()) == 0);
  CHECK_FALSE(known_in(link, "boot 1\ndriver 2\n").read());
}
