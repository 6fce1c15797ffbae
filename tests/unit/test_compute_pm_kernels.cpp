#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "libprof/compute/derive.hpp"
#include "libprof/store/sqlite.hpp"
#include "tests/unit/empty_profile.hpp"

using namespace gpuprof;

namespace {

store::Database file_with(const std::string& rows) {
  store::Database file = test::empty_tables();
  file.execute(
      "INSERT INTO PM_METRIC(_id_, name, part, place) VALUES(1, 'a', 0, 1), (2, 'b', 0, 2), "
      "(17, 'c', 1, 1)");
  file.execute(rows);
  return file;
}

void complete(store::Database& file) { CHECK(compute::compute(file, {}).empty()); }

}  // namespace

TEST_CASE("a kernel has the means of the samples that lie in it, weighted by what does") {
  // Samples of 100 ns from 1000 on; the kernel holds 60 ns of the first and 40 of the third.
  store::Database file = file_with(
      "INSERT INTO PM_SAMPLE(deviceId, start, stop, part, v1, v2) VALUES(0, 1000, 1100, 0, 10, 1), "
      "(0, 1100, 1200, 0, 20, NULL), (0, 1200, 1300, 0, 1000, 1000), (1, 1100, 1200, 0, 7, 7);"
      "INSERT INTO PM_SAMPLE(deviceId, start, stop, part, v1) VALUES(0, 1100, 1200, 1, 5);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, \"end\", deviceId, correlationId, "
      "name, processId) VALUES(1040, 1240, 0, 9, 1, 1), (1110, 1150, 0, 10, 1, 1)");
  complete(file);
  auto rows = file.prepare(
      "SELECT correlationId, part, samples, v1, v2, start, stop FROM PM_KERNEL ORDER BY part");
  REQUIRE(rows.step());
  CHECK(rows.integer(0) == 9);
  CHECK(rows.integer(1) == 0);
  CHECK(rows.integer(2) == 2);
  CHECK(rows.real(3) == Approx((10.0 * 60 + 20.0 * 100) / 160));
  CHECK(rows.real(4) == Approx(1));
  CHECK(rows.integer(5) == 1040);
  CHECK(rows.integer(6) == 1240);
  REQUIRE(rows.step());
  CHECK(rows.integer(1) == 1);
  CHECK(rows.integer(2) == 1);
  CHECK(rows.real(3) == Approx(5));
  CHECK_FALSE(rows.step());
}

TEST_CASE("samples that are not sound, and files without any, make no means") {
  store::Database file = file_with(
      "INSERT INTO PM_SAMPLE(deviceId, start, stop, part, v1) VALUES(0, 0, 0, 0, 10), "
      "(0, 1100, 1000, 0, 20), (0, -5, 2000, 0, 3);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, \"end\", deviceId, correlationId, "
      "name, processId) VALUES(1040, 1240, 0, 9, 1, 1)");
  complete(file);
  CHECK(file.integer("SELECT count(*) FROM PM_KERNEL") == 0);
}
