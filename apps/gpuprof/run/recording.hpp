// Translates the options for the commands that record: run, listen and sample.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpuprof/option/command_line.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "libprof/record/control.hpp"
#include "libprof/record/launch/end_requests.hpp"
#include "libprof/record/launch/listener.hpp"
#include "libprof/record/loading_thread.hpp"
#include "libprof/record/recorder.hpp"
#include "libprof/record/run_info.hpp"
#include "libprof/record/trace_selection.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::app {

// The collector's path. Throws gpuprof::Error if it is missing.
std::string collector_library();

// The collector's configuration. `cupti`: the copies to try, one per line.
wire::Fields collector_config(const Options& options, const record::TraceSelection& selection,
                              const std::string& cupti);

// Answers which launches are counted individually, if any are.
void listen_for_launches(launch::Listener::Options& listening, const Options& options);

// What `gpuprof status` and the like may ask, and the times that the user chose.
record::ControlOptions control_options(const Options& options,
                                       const record::TraceSelection& selection,
                                       const record::Say& say);

record::Recorder::Options recorder_options(const Options& options, const std::string& output,
                                           Log& log, const launch::EndRequests& ends,
                                           const record::Say& say,
                                           std::function<void(std::string_view)> progress);

// `application`: the recorded command.
record::RunInfo run_info(const Options& options, const record::TraceSelection& selection,
                         const std::vector<std::string>& application);

}  // namespace gpuprof::app
