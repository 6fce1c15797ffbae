// Replaces libFuzzer: passes each of the given files, and each file in the given folders, to the
// target once. An input that fails ends the process, after it was named.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "tests/fuzz/support.hpp"

// Only mutators call it, which are not used here.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t*, std::size_t size, std::size_t) {
  return size;
}

int main(int argc, char** argv) {
  std::set<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::exists(argv[i])) continue;
    if (!std::filesystem::is_directory(argv[i])) {
      files.insert(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      files.insert(entry.path());
    }
  }
  // Otherwise a test without inputs would pass.
  if (files.empty()) {
    std::fprintf(stderr, "usage: %s FILE|FOLDER…\nno inputs there\n", argv[0]);
    return 2;
  }
  gpuprof::fuzz::ways_at_a_time = 4;
  for (const std::filesystem::path& file : files) {
    std::fprintf(stderr, "%s\n", file.c_str());
    const std::string bytes = gpuprof::fuzz::read_file(file);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::fprintf(stderr, "%zu inputs\n", files.size());
}
