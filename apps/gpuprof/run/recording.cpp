#include "apps/gpuprof/run/recording.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>

#include "apps/gpuprof/option/given_names.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/installation.hpp"
#include "libprof/base/text.hpp"
#include "libprof/metrics/selection.hpp"
#include "libprof/record/rank_choice.hpp"
#include "libprof/wire/measures.hpp"

namespace gpuprof::app {

std::string collector_library() {
  const auto path = library_folder() / "libgpuprof_collector.so";
  if (!std::filesystem::exists(path)) {
    throw Error("the collector is missing: " + path.string(),
                "this installation is not complete; install gpuprof again");
  }
  return path.string();
}

namespace {

// Null if none are counted individually.
std::shared_ptr<const metrics::Selection> chosen_launches(const Options& options) {
  if (options.sass.launches.empty()) return nullptr;
  return std::make_shared<const metrics::Selection>(
      metrics::Selection::patterns_of(options.sass.launches), options.metrics.left_out, "");
}

}  // namespace

void listen_for_launches(launch::Listener::Options& listening, const Options& options) {
  const auto chosen = chosen_launches(options);
  if (!chosen) return;
  listening.question = [chosen](const wire::Fields& question, launch::Listener::Reply reply) {
    metrics::Selection::answer(chosen, question, std::move(reply));
  };
}

wire::Fields collector_config(const Options& options, const record::TraceSelection& selection,
                              const std::string& cupti) {
  wire::Fields config;
  config.set("kinds", joined(selection.kinds, ","));
  config.set("launch_calls_only", static_cast<std::int64_t>(selection.launch_calls_only));
  config.set("queries", static_cast<std::int64_t>(selection.queries));
  config.set("allocation_source", static_cast<std::int64_t>(selection.allocation_source));
  config.set("latency_timestamps", static_cast<std::int64_t>(options.kernel_latency_timestamps));
  const bool whole = options.capture.what.empty();
  const bool waits = options.delay || options.activate_every;
  config.set("from_start", std::int64_t{options.profile_from_start && !waits && whole});
  if (!whole) {
    config.set("capture", options.capture.what);
    config.set("capture_from", options.capture.from);
    config.set("capture_to", options.capture.to);
    config.set("capture_first", options.capture.first);
    config.set("capture_last", options.capture.last);
  }
  if (options.flush_ms > 0) config.set("flush_ms", std::int64_t{options.flush_ms});
  if (options.budget > 0) config.set("budget", std::int64_t{options.budget});
  config.set("share", std::int64_t{options.share});
  config.set("cupti", cupti);
  if (options.trace.memory) config.set("track_memory", std::int64_t{1});
  if (options.trace.stacks) config.set("stacks", std::int64_t{1});
  config.set("launch_stacks", static_cast<std::int64_t>(selection.launch_stacks));
  if (options.trace.native_stacks) config.set("native_stacks", std::int64_t{1});
  if (options.reports.cpu.of_host) {
    config.set("cpu_sample_ns", std::int64_t{1'000'000'000} / options.reports.cpu.frequency);
  }
  if (options.pc_sampling.on) {
    config.set("pc_sampling", std::int64_t{1});
    config.set("pc_period", std::int64_t{options.pc_sampling.period});
    config.set("pc_reasons", options.pc_sampling.reasons);
    config.set("pc_serialize", std::int64_t{options.pc_sampling.serialize});
    config.set("pc_buffer_mb", std::int64_t{options.pc_sampling.buffer_mb});
  }
  if (!options.sass.metrics.empty()) config.set("sass_metrics", joined(options.sass.metrics, ","));
  if (const auto chosen = chosen_launches(options)) {
    wire::CollectConfig launches;
    launches.mode = wire::ReplayMode::kernel;  // kernels that hang when run alone are excluded
    launches.batch = 1;
    launches.hang_ms = static_cast<std::uint32_t>(options.metrics.hang_seconds) * 1000;
    launches.names_matter = chosen->names_matter();
    launches.scopes = metrics::scopes_of(options.sass.launches);
    config.set("sass_launches", wire::packed(launches));
  }
  if (!options.nvtx_domains.empty()) {
    config.set("nvtx_domains", joined(options.nvtx_domains, "\n"));
  }
  if (!options.nvtx_domains_left_out.empty()) {
    config.set("nvtx_domains_left_out", joined(options.nvtx_domains_left_out, "\n"));
  }
  if (options.slots > 0) config.set("slots", static_cast<std::int64_t>(options.slots));
  if (!options.hw_trace.mode.empty()) config.set("hw_trace", options.hw_trace.mode);
  if (options.hw_trace.buffer_mb > 0) {
    config.set("hw_trace_mb", std::int64_t{options.hw_trace.buffer_mb});
  }
  const auto& [megabytes, most] = options.device_buffers;
  if (megabytes > 0) config.set("device_buffer_mb", std::int64_t{megabytes});
  if (most > 0) config.set("device_buffers", std::int64_t{most});
  return config;
}

namespace {

std::optional<record::JobGroup> job_group(const Options& options) {
  if (options.trigger_group == no_trigger_group) return std::nullopt;
  if (!options.trigger_group.empty()) {
    return record::JobGroup{.id = options.trigger_group,
                            .rank = options.is_rank ? record::rank_of_this_process() : std::nullopt,
                            .is_named = true};
  }
  return options.is_rank ? record::JobGroup::of_environment() : std::nullopt;
}

}  // namespace

record::ControlOptions control_options(const Options& options,
                                       const record::TraceSelection& selection,
                                       const record::Say& say) {
  return {.delay = options.delay,
          .duration = options.duration,
          .every = options.activate_every,
          .most_bytes = options.max_bytes,
          .recorded = selection.groups,
          .why_not_switched = why_not_switched(options),
          .keeps_last = keeps_last(options),
          .triggers = options.triggers,
          .most_snapshots = options.most_snapshots,
          .kept = options.keep_time,
          .group = job_group(options),
          .note = options.quiet ? nullptr : say};
}

record::Recorder::Options recorder_options(const Options& options, const std::string& output,
                                           Log& log, const launch::EndRequests& ends,
                                           const record::Say& say,
                                           std::function<void(std::string_view)> progress) {
  return {.output = output,
          .files = {.overwrite = options.overwrite, .mode = options.file_mode},
          .loader = {.live = true,
                     .indexes = options.indexes,
                     .when_locked = record::wait_for_the_lock(say, ends),
                     .message = [&log](std::int64_t process,
                                       const std::string& text) { log.say_of(process, text); },
                     .hurried = [&ends] { return ends.hurried(); },
                     .progress = std::move(progress),
                     .object_names = given_names(options),
                     .keep_last = {options.keep_time, options.keep_bytes}},
          .capture = options.save_capture,
          .native_stacks = options.trace.native_stacks || options.reports.cpu.of_host,
          .say = say};
}

record::RunInfo run_info(const Options& options, const record::TraceSelection& selection,
                         const std::vector<std::string>& application) {
  return {.application = options.store_command_line ? application : std::vector<std::string>(),
          .command_line = options.store_command_line ? options.command_line : "",
          .trace_groups = selection.groups,
          .step = options.step};
}

}  // namespace gpuprof::app
