// The program of scripts/bench_columns: sums up kernels, runtime and driver calls by name, reading
// them one way.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/read/columns/reader.hpp"

using namespace gpuprof;

namespace {

struct Sum {
  std::int64_t calls = 0, time = 0;
};

struct Sums {
  std::vector<Sum> by_key;  // ids, from 0
  std::int64_t rows = 0;

  void add(std::int64_t key, Sum sum) {
    if (static_cast<std::size_t>(key) >= by_key.size()) by_key.resize(key + 1);
    by_key[key].calls += sum.calls;
    by_key[key].time += sum.time;
  }
};

template <class Keys>
void add(Sums& sums, const columns::Chunk& chunk, Keys keys) {
  const auto start = chunk[1].int64s(), end = chunk[2].int64s();
  for (std::size_t row = 0; row < chunk.rows(); ++row) {
    sums.add(keys[row], {1, end[row] - start[row]});
  }
  sums.rows += static_cast<std::int64_t>(chunk.rows());
}

// Rows.
std::int64_t sum_up(store::Database& database, const char* table, const char* key,
                    bool only_sqlite) {
  const auto begin = std::chrono::steady_clock::now();
  store::Snapshot snapshot(database);
  columns::Reader reader(
      snapshot, {.table = table, .columns = {key, "start", "end"}, .only_sqlite = only_sqlite});
  Sums all;
  for (const Sums& part : reader.scan<Sums>([](Sums&sums, const columns::Chunk&chunk) {
         if (chunk[0].type() == columns::Type::int64) {
           add(sums, chunk, chunk[0].int64s());
         } else {
           add(sums, chunk, chunk[0].int32s());
         }
       })) {
    for (std::size_t i = 0; i < part.by_key.size(); ++i) {
      all.add(static_cast<std::int64_t>(i), part.by_key[i]);
    }
    all.rows += part.rows;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf(
      "%s: %lld rows in %.3f s, %.1f ns each; %zu threads, %lld parts from the file, %lld "
      "by SQLite\n",
      table, static_cast<long long>(all.rows), took.count(),
      1e9 * took.count() / static_cast<double>(all.rows), snapshot.threads(),
      static_cast<long long>(reader.read_from_file()),
      static_cast<long long>(reader.read_by_sqlite()));
  return all.rows;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || (std::strcmp(argv[1], "pages") != 0 && std::strcmp(argv[1], "sqlite") != 0)) {
    std::fprintf(stderr, "usage: bench_columns pages|sqlite FILE\n");
    return 2;
  }
  const bool only_sqlite = std::strcmp(argv[1], "sqlite") == 0;
  try {
    store::Database database(argv[2], store::Database::Mode::read_only);
    sum_up(database, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "name", only_sqlite);
    sum_up(database, "CUPTI_ACTIVITY_KIND_RUNTIME", "cbid", only_sqlite);
    sum_up(database, "CUPTI_ACTIVITY_KIND_DRIVER", "cbid", only_sqlite);
  } catch (const Error& error) {
    std::fprintf(stderr, "bench_columns: %s\n", error.what());
    return 1;
  }
}
