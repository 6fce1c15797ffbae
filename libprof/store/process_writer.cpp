#include "libprof/store/process_writer.hpp"

#include <string>
#include <string_view>

#include "libprof/wire/job.hpp"

namespace gpuprof::store {

void ProcessWriter::insert(std::int64_t process_id, std::int64_t number,
                           const wire::Fields& hello) {
  Statement insert = database_.prepare(
      "INSERT INTO PROCESS(processId, number, parentProcessId, executable, command_line, "
      "goodbye, salvaged, rank, worldSize, localRank, jobLauncher, job) "
      "VALUES(?1, ?2, ?3, ?4, ?5, 0, 0, ?6, ?7, ?8, ?9, nullif(?10, ''))");
  insert.bind(1, process_id).bind(2, number);
  if (hello.find("parent_process_id")) insert.bind(3, hello.integer("parent_process_id"));
  if (const auto executable = hello.find("executable")) insert.bind(4, *executable);
  if (const auto command_line = hello.find("command_line")) insert.bind(5, *command_line);
  if (const auto job = wire::job_of(hello)) {
    insert.bind(6, job->rank).bind(9, job->launcher).bind(10, job->id);
    if (job->world_size) insert.bind(7, *job->world_size);
    if (job->local_rank) insert.bind(8, *job->local_rank);
  }
  insert.run();
}

void ProcessWriter::set_versions(std::int64_t number, const wire::Fields& info) {
  for (const std::string_view column : {"cupti_version", "cupti_path", "driver_version"}) {
    const auto value = info.find(column);
    if (!value) continue;
    Statement update =
        database_.prepare("UPDATE PROCESS SET " + std::string(column) + " = ?2 WHERE number = ?1");
    update.bind(1, number);
    if (column == "cupti_path") {
      update.bind(2, *value);
    } else {
      update.bind(2, info.integer(column));
    }
    update.run();
  }
}

void ProcessWriter::set_goodbye(std::int64_t number) {
  database_.prepare("UPDATE PROCESS SET goodbye = 1 WHERE number = ?1").bind(1, number).run();
}

void ProcessWriter::set_salvaged(std::int64_t number) {
  database_.prepare("UPDATE PROCESS SET salvaged = 1 WHERE number = ?1").bind(1, number).run();
}

void ProcessWriter::set_end(const wire::Fields& run) {
  for (const std::string_view column : {"exit_status", "exit_signal"}) {
    if (!run.find(column) || !run.find("target_process_id")) continue;
    database_.prepare("UPDATE PROCESS SET " + std::string(column) + " = ?2 WHERE processId = ?1")
        .bind(1, run.integer("target_process_id"))
        .bind(2, run.integer(column))
        .run();
  }
}

}  // namespace gpuprof::store
