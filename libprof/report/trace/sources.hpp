// The available sources; each is a file in this folder.
#pragma once

#include <memory>
#include <vector>

#include "libprof/report/directives.hpp"
#include "libprof/report/metrics.hpp"
#include "libprof/report/trace/source.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {

std::unique_ptr<TraceSource> work_source(Session& session, const schema::GpuKind& work);
// Calls of the runtime and of the driver.
std::vector<std::unique_ptr<TraceSource>> api_sources(Session& session);
std::unique_ptr<TraceSource> marker_source(Session& session);
std::unique_ptr<TraceSource> openacc_source(Session& session, const OpenaccKind& kind);
std::unique_ptr<TraceSource> unified_memory_source(Session& session);
std::unique_ptr<TraceSource> environment_source(Session& session);
// Values of events and metrics at a point in time.
std::unique_ptr<TraceSource> instant_source(Session& session, const ValueTable& table);

}  // namespace gpuprof::report
