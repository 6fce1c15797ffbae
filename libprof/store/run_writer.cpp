#include "libprof/store/run_writer.hpp"

#include <algorithm>
#include <string>

#include "schema/run.hpp"

namespace gpuprof::store {
namespace {

// Keys that a frame may set. Those that describe the file's own state cannot be loaded into it.
bool may_be_told(std::string_view key) {
  for (const std::string_view own :
       {"schema_version", "finished", "not_computed", "loss", "zero_ns", "derived_from"}) {
    if (key == own) return false;
  }
  return std::ranges::find(schema::run_keys, key, &schema::KeyDoc::key) != schema::run_keys.end();
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 19 && text != "-" &&
         text.find_first_not_of("0123456789", text[0] == '-' ? 1 : 0) == text.npos;
}

}  // namespace

void RunWriter::set(std::string_view key, std::string_view value) {
  database_.prepare("INSERT OR REPLACE INTO RUN VALUES(?1, ?2)").bind(1, key).bind(2, value).run();
}

void RunWriter::set(std::string_view key, std::int64_t value) {
  database_.prepare("INSERT OR REPLACE INTO RUN VALUES(?1, ?2)").bind(1, key).bind(2, value).run();
}

void RunWriter::set_told(const wire::Fields& run) {
  for (const auto& [key, value] : run) {
    if (!may_be_told(key)) continue;
    if (is_number(value)) {
      set(key, static_cast<std::int64_t>(std::stoll(value)));
    } else {
      set(key, std::string_view(value));
    }
  }
}

void RunWriter::set_calls_left_out(std::string_view functions) {
  database_
      .prepare(
          "INSERT INTO RUN VALUES('calls_left_out', ?1) "
          "ON CONFLICT(key) DO UPDATE SET value = excluded.value WHERE value = 'none'")
      .bind(1, functions)
      .run();
}

void RunWriter::set_hw_trace(std::string_view used) {
  database_
      .prepare(
          "INSERT INTO RUN VALUES('hw_trace', ?1) "
          "ON CONFLICT(key) DO UPDATE SET value = excluded.value WHERE value = 'on'")
      .bind(1, used)
      .run();
}

}  // namespace gpuprof::store
