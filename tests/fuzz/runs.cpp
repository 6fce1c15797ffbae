// Files of runs and of rules, which gate reads and which may be a stranger's: baselines and
// calibrations.
//
// What was read is written as a file that is read as the same.
#include "libprof/base/error.hpp"
#include "libprof/conclude/compare/checks.hpp"
#include "libprof/conclude/compare/runs_file.hpp"
#include "tests/fuzz/support.hpp"

namespace gpuprof::fuzz {
namespace {

std::string written(const std::string& path, const std::vector<compare::Run>& runs) {
  const std::string text = compare::runs_text(runs);
  write_file(path, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  return text;
}

void runs(const std::string& path) {
  std::vector<compare::Run> read;
  try {
    read = compare::read_runs_file(path);
  } catch (const Error& wrong) {
    if (wrong.exit_code() != ExitCode::import_failed) finding(wrong.what());
    return;
  }
  const std::string text = written(path, read);
  if (written(path, compare::read_runs_file(path)) != text) finding("a file is read as another");
}

void rules(const std::string& path) {
  try {
    compare::Rules rules;
    compare::read_rules(path, rules);
    compare::KernelThresholds(rules).of("ampere_sgemm_128x64_nn");
  } catch (const Error& wrong) {
    if (wrong.exit_code() == ExitCode::internal) finding(wrong.what());
  }
}

// Whether a value of JSON ends there: nothing is known of the places of strings.
bool ends_value(char c) { return c == ',' || c == '}' || c == ']' || c == '\n'; }

}  // namespace
}  // namespace gpuprof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuprof;
  static const std::string path = fuzz::folder() + "/runs.json";
  fuzz::write_file(path, {data, size});
  fuzz::rules(path);
  fuzz::runs(path);
  return 0;
}

// Replaces a value by another one, so that most of it stays JSON.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t room, unsigned seed) {
  using namespace gpuprof::fuzz;
  static constexpr const char* values[] = {"0",
                                           "-1",
                                           "1",
                                           "1e18",
                                           "1e19",
                                           "1e-300",
                                           "0.1",
                                           "null",
                                           "true",
                                           "[]",
                                           "{}",
                                           "\"\"",
                                           "[1]",
                                           "2",
                                           "\"8 %\"",
                                           "\"\\u0000\"",
                                           "\"(a|\"",
                                           "1e999",
                                           "[1,2]",
                                           "\"é\"",
                                           "\"compute\"",
                                           "[null,3]",
                                           "9007199254740993"};
  Dice dice(seed);
  if (dice.one_in(4)) return LLVMFuzzerMutate(data, size, room);
  std::string text(as_text({data, size}));
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == ':' || text[i] == '[' || text[i] == ',') begins.push_back(i + 1);
  }
  for (std::size_t times = 1 + dice.below(2); times > 0 && !begins.empty(); --times) {
    const std::size_t begin = dice.of(begins);
    std::size_t end = begin;
    while (end < text.size() && !ends_value(text[end])) ++end;
    text.replace(begin, end - begin, dice.of(values));
    begins.resize(1);  // the places after it have moved
  }
  if (text.size() > room) return LLVMFuzzerMutate(data, size, room);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}
