#include "libprof/collect/extra/chosen_launches.hpp"

#include <span>

#include "libprof/collect/launch.hpp"

namespace gpuprof::collect {

std::optional<wire::CollectConfig> ChosenLaunches::wanted(const wire::Fields& config) {
  const std::string_view wanted = config.text("sass_launches");
  if (wanted.empty()) return std::nullopt;
  return wire::decode_collect_config(std::as_bytes(std::span(wanted)));
}

ChosenLaunches::Hold ChosenLaunches::begins(Context& context, const Launch& launch,
                                            const std::function<std::uint32_t()>& stream,
                                            const std::function<bool()>& begin) {
  if (!off_.load(std::memory_order_relaxed) && chooses(context, launch, stream)) {
    std::unique_lock lock(context.launching, patience());
    std::unique_lock counting(counting_, std::defer_lock);
    if (lock && captures_.any()) {
      capture_.fetch_add(1);
    } else if (lock && counting.try_lock_for(patience()) && begin()) {
      context.disturbed.store(false);
      context.watch.begin(launch.symbol);
      lock.release();
      counting.release();
      return Hold::alone;
    } else {
      failed_.fetch_add(1);
    }
  }
  if (context.launching.try_lock_shared_for(patience())) return Hold::shared;
  // Let it proceed: the counted launch may be waiting for it.
  context.disturbed.store(true);
  return Hold::nothing;
}

bool ChosenLaunches::chooses(Context& context, const Launch& launch,
                             const std::function<std::uint32_t()>& stream) {
  // The kernels of a graph are unknown; a captured launch does not run.
  if (launch.graph || captures_.any()) {
    (launch.graph ? graph_ : capture_).fetch_add(1);
    return false;
  }
  const std::lock_guard lock(context.choosing);
  Shape& shape = selection_.shape_of(context.shapes, launch);
  if (!shape.known) selection_.learn(context.shapes, launch, shape, false);
  ++shape.launches;
  if (!shape.known) {
    selection_.unanswered().fetch_add(1);
    return false;
  }
  bool chosen = false;
  selection_.for_each_scope(context.shapes, shape, stream,
                            [&](std::uint32_t) { return chosen = true; });
  if (chosen && shape.may_hang) excluded_.fetch_add(1);
  return chosen && !shape.may_hang;
}

void ChosenLaunches::ends(Context& context, Hold hold, const std::function<void(bool)>& end) {
  if (hold == Hold::shared) return context.launching.unlock_shared();
  const std::unique_lock lock(context.launching, std::adopt_lock);
  const std::unique_lock counting(counting_, std::adopt_lock);
  end(!context.disturbed.load());
  context.watch.end();
}

bool ChosenLaunches::capture_call(CUpti_CallbackId id, const CUpti_CallbackData& call,
                                  const std::function<std::vector<Context*>()>& contexts) {
  return captures_.take(id, call, [&] {
    for (Context* const context : contexts()) {
      const std::shared_lock none(context->launching, patience());
    }
  });
}

std::unique_lock<std::timed_mutex> ChosenLaunches::between() {
  return std::unique_lock(counting_, std::chrono::seconds(1));
}

bool ChosenLaunches::listen(int timeout_ms) {
  wire::Frame frame;
  return questions_.receive(frame, timeout_ms);
}

const char* ChosenLaunches::hanging(const std::vector<Context*>& contexts) {
  for (const Context* const context : contexts) {
    const std::int64_t since = context->watch.since();
    if (since == 0 || now_ns() - since < std::chrono::nanoseconds(patience()).count()) continue;
    const char* const kernel = context->watch.with();
    return off_.exchange(true) ? nullptr : kernel ? kernel : "";
  }
  return nullptr;
}

std::vector<wire::Statistic> ChosenLaunches::statistics() const {
  std::vector<wire::Statistic> all;
  const auto add = [&](schema::StatisticName name, const std::atomic<std::uint64_t>& count) {
    if (const std::uint64_t value = count.load()) all.push_back({"", name, value});
  };
  add("metrics_skipped_graph", graph_);
  add("metrics_skipped_excluded", excluded_);
  add("metrics_skipped_capture", capture_);
  add("metrics_skipped_failed", failed_);
  add("metrics_skipped_unanswered", selection_.unanswered());
  return all;
}

}  // namespace gpuprof::collect
