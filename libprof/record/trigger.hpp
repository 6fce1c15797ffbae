// --trigger: incidents for which a run with --keep-last writes a snapshot.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace gpuprof::record {

struct Trigger {
  enum class Kind {
    range,   // an NVTX range of some name was too long
    step,    // the same of those that are steps
    idle,    // no GPU work ended for some time
    memory,  // a call found no memory
    sql,     // the user's question has a row
  };

  Kind kind = Kind::range;
  std::string what;                     // the ranges' name, or the question
  std::chrono::nanoseconds longest{0};  // of ranges; idle: the time; 0: there is no such limit
  double times = 0;                     // of ranges: as often their median; 0: no such limit
  std::string text;                     // as the user wrote it

  static constexpr const char* syntax =
      "step>50ms, step>3x, range:NAME>50ms, range:NAME>3x, idle, idle:10s, oom, sql:SELECT ...";

  // nullopt: it is no trigger.
  static std::optional<Trigger> parsed(std::string_view text);
  // Whether it is about ranges of this name, with or without a number at its end.
  bool is_about(std::string_view range) const;
};

}  // namespace gpuprof::record
