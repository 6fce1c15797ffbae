#include "libprof/store/statistic_writer.hpp"

#include "schema/statistics.hpp"

namespace gpuprof::store {

void StatisticWriter::add(std::int64_t process_id, std::string_view kind, std::string_view name,
                          std::int64_t difference) {
  const auto known = changes_.find(std::tuple(process_id, kind, name));
  if (known != changes_.end()) {
    known->second += difference;
  } else {
    changes_.emplace(Key(process_id, kind, name), difference);
  }
}

void StatisticWriter::write() {
  if (changes_.empty()) return;
  Statement add = database_.prepare(
      "INSERT INTO STATISTIC(processId, kind, name, value, severity) "
      "VALUES(?1, ?2, ?3, ?4, ?5) "
      "ON CONFLICT(processId, kind, name) DO UPDATE SET value = value + excluded.value");
  for (const auto& [key, difference] : changes_) {
    const auto& [process_id, kind, name] = key;
    const schema::StatisticInfo* info = schema::find_statistic(name);
    add.bind(1, process_id)
        .bind(2, kind)
        .bind(3, name)
        .bind(4, difference)
        .bind(5, schema::severity_name(info ? info->severity : schema::unknown_severity))
        .run();
  }
  changes_.clear();
}

}  // namespace gpuprof::store
