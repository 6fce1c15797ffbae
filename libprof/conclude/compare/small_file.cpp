#include "libprof/conclude/compare/small_file.hpp"

#include <cerrno>
#include <cstring>

#include "libprof/base/error.hpp"
#include "libprof/base/regular_file.hpp"

namespace gpuprof::compare {
namespace {

constexpr int deepest = 8;

[[noreturn]] void fail(const std::string& path, const std::string& why, ExitCode code) {
  throw Error(path + ": " + why, "", code);
}

}  // namespace

std::string read_small_file(const std::string& path, std::size_t most) {
  const auto text = read_beginning(path, most + 1);
  if (!text) {
    fail(path, errno == EINVAL ? "it is not a regular file" : std::strerror(errno),
         ExitCode::import_failed);
  }
  if (text->size() > most) {
    fail(path, "it is larger than " + std::to_string(most) + " bytes", ExitCode::import_failed);
  }
  return *text;
}

bool is_json_file(const std::string& path) { return read_beginning(path, 1) == "{"; }

nlohmann::json parse_json(const std::string& text, const std::string& path) {
  using Json = nlohmann::json;
  const auto check_depth = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > deepest) fail(path, "it is nested too deeply", ExitCode::import_failed);
    return true;
  };
  Json all = Json::parse(text, check_depth, false);
  if (all.is_discarded()) fail(path, "it is not JSON", ExitCode::import_failed);
  return all;
}

}  // namespace gpuprof::compare
